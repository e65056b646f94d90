"""Perceived temperature against the procedure of the US National Weather Service, written for one reading."""

import numpy as np
import pytest

from simulators.weather.perceived_temperature import perceived_temperature


def by_hand(T, RH, V):
    """As its pages word it (weather.gov: heat index equation; wind chill)."""
    RH, V = min(max(RH, 0.0), 100.0), max(V, 0.0)
    if T <= 50:
        return 35.74 + 0.6215 * T - 35.75 * V**0.16 + 0.4275 * T * V**0.16 if V > 3 else T
    if T < 80:
        return T
    simple = 0.5 * (T + 61.0 + (T - 68.0) * 1.2 + RH * 0.094)
    if (simple + T) / 2 < 80:
        return (simple + T) / 2
    index = (
        -42.379
        + 2.04901523 * T
        + 10.14333127 * RH
        - 0.22475541 * T * RH
        - 0.00683783 * T * T
        - 0.05481717 * RH * RH
        + 0.00122874 * T * T * RH
        + 0.00085282 * T * RH * RH
        - 0.00000199 * T * T * RH * RH
    )
    if RH < 13 and 80 <= T <= 112:
        index -= ((13 - RH) / 4) * np.sqrt((17 - abs(T - 95.0)) / 17)
    if RH > 85 and 80 <= T <= 87:
        index += ((RH - 85) / 10) * ((87 - T) / 5)
    return index


@pytest.mark.parametrize(
    "ranges",
    [
        ((-40, 125), (-5, 105), (-2, 40)),
        ((79.5, 81.5), (0, 60), (0, 5)),  # where the average decides
        ((79, 88), (80, 100), (0, 5)),
        ((79, 113), (0, 14), (0, 5)),
        ((49.5, 50.5), (0, 100), (2, 4)),
    ],
)
def test_every_reading_feels_as_the_weather_service_has_it(ranges):
    X = np.random.default_rng(0).uniform(*np.transpose(ranges), (3000, 3))
    limits = [[50, 50, 3.1], [80, 90, 0], [87, 90, 0], [112, 5, 0], [95, 12.9, 0], [111.9, 1, 0], [80, 0, 9]]
    limits.append([80.0, 48.936170212765845, 0])  # whose average is 80 to the last bit
    X = np.vstack([X, limits])
    expected = [by_hand(*x) for x in X]
    np.testing.assert_allclose(perceived_temperature(*X.T), expected, atol=1e-9)
