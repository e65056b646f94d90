"""Perceived temperature against published tables, its derivatives against finite differences."""

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval2d

from simulators.stations.units import UNITS, convert, slope
from simulators.weather.perceived_temperature import (
    REGRESSION,
    RULES,
    heat_index,
    perceived_temperature,
    perceived_temperature_gradient,
    wind_chill,
)

REGRESSED = """
    80 80 84.2304   84 60 87.5243   86 90 105.2944  88 70 100.2175  90 50 94.5969   90 70 105.9220
    92 60 104.6844  94 60 110.1689  96 65 121.0316  98 50 112.7781  100 40 109.2556 100 60 129.4890
    102 55 130.2809 104 50 130.5823 110 40 135.6570
"""
HEAT_INDEX = """
    86 90 105.3944  85 95 104.6123  82 90 91.9917   100 5 92.5040   95 10 89.4496   110 5 101.4017
    75 50 74.7750   70 80 70.2300   80 40 79.7900
"""
WIND_CHILL = """
    40 5 36.4724    35 10 27.4454   30 5 24.7268    25 15 12.6231   20 20 4.2428    15 25 -4.0389
    10 30 -12.2832  5 35 -20.5204   0 15 -19.3980   0 60 -33.0904   -5 40 -35.7312  -10 45 -44.0695
    -20 50 -59.5298 -30 55 -75.1347 -45 60 -98.0963
"""


def table(text):
    return np.array(text.split(), dtype=float).reshape(-1, 3).T


# NWS heat index chart (weather.gov), humidity 40 to 100 % in steps of 10, whole degF.
CHART = {
    80: [80, 81, 82, 83, 84, 86, 87],
    86: [85, 88, 91, 95, 100, 105, 112],
    90: [91, 95, 100, 106, 113, 122, 132],
    94: [97, 103, 110, 119, 129],
    100: [109, 118, 129],
}


def regression(T, RH):
    """The bare regression of the NWS, without adjustments, wherever it is asked for."""
    return polyval2d(*np.broadcast_arrays(RH, T), REGRESSION["nws"])


def test_the_regression_equals_its_published_values():
    T, RH, expected = table(REGRESSED)
    assert np.abs(regression(T, RH) - expected).max() < 5.1e-5


def test_the_heat_index_equals_the_published_values_of_every_piece_and_adjustment():
    T, RH, expected = table(HEAT_INDEX)
    assert np.abs(heat_index(T, RH) - expected).max() < 5.1e-5


def test_the_wind_chill_equals_its_published_values():
    T, V, expected = table(WIND_CHILL)
    assert np.abs(wind_chill(T, V) - expected).max() < 5.1e-5


def test_the_regression_agrees_with_the_whole_numbers_of_the_chart():
    for T, row in CHART.items():
        RH = 40.0 + 10.0 * np.arange(len(row))
        assert np.rint(regression(T, RH)).tolist() == row


def test_the_perceived_temperature_is_the_heat_index_where_hot_and_the_wind_chill_where_cold():
    T, RH, expected = table(REGRESSED)
    adjusted = RH > 85
    assert np.abs(perceived_temperature(T, RH, 20.0) - expected)[~adjusted].max() < 5.1e-5
    T, RH, expected = table(HEAT_INDEX)
    hot = T >= 80
    assert np.abs(perceived_temperature(T, RH, 20.0) - expected)[hot].max() < 5.1e-5
    assert perceived_temperature(T, RH, 20.0)[~hot].tolist() == T[~hot].tolist()
    for rule in RULES:
        T, V, expected = table(WIND_CHILL)
        assert np.abs(perceived_temperature(T, 50.0, V, rule=rule) - expected).max() < 5.1e-5


def test_by_the_nws_rule_a_wind_of_three_mph_chills_nobody():
    assert perceived_temperature([50.0, 0.0], 50.0, 3.0).tolist() == [50.0, 0.0]
    assert (perceived_temperature([50.0, 0.0], 50.0, 3.0001) < [50.0, 0.0]).all()


def test_between_50_and_80_degf_the_perceived_temperature_is_the_temperature():
    T = np.linspace(50.001, 79.999, 50)
    assert perceived_temperature(T, 95.0, 30.0).tolist() == T.tolist()


def test_the_papers_rule_chills_in_calm_and_takes_the_regression_from_70_degf_on():
    # By hand: 35.74 + 0.6215 * 40; the second is the warmest of the paper's stations, Immokalee FL.
    assert perceived_temperature(40.0, 50.0, 0.0, rule="paper") == pytest.approx(60.6)
    assert perceived_temperature(71.024, 73.0, 5.0, rule="paper") == pytest.approx(72.69, abs=0.005)
    assert perceived_temperature(69.99, 73.0, 5.0, rule="paper") == 69.99


def test_the_papers_rule_rounds_the_coefficients_and_adjusts_nothing():
    T, RH = np.meshgrid(np.arange(80.0, 113.0, 4.0), np.arange(0.0, 101.0, 4.0))
    difference = perceived_temperature(T, RH, 0.0, rule="paper") - regression(T, RH)
    assert 0.01 < np.abs(difference).max() < 10.0
    by_hand = -42.38 + 2.049 * 100 + 10.14 * 5 - 0.2248 * 500 - 0.006838 * 1e4 - 0.05482 * 25
    by_hand += 0.001228 * 5e4 + 0.0008528 * 2500 - 0.00000199 * 25e4
    assert perceived_temperature(100.0, 5.0, 0.0, rule="paper") == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_what_no_sensor_reads_counts_as_the_nearest_that_one_can(rule):
    T = np.array([-10.0, 40.0, 60.0, 85.0, 100.0])
    same = perceived_temperature(T, 0.0, 0.0, rule=rule)
    assert perceived_temperature(T, -7.0, -2.0, rule=rule).tolist() == same.tolist()
    full = perceived_temperature(T, 100.0, 0.0, rule=rule)
    assert perceived_temperature(T, 130.0, 0.0, rule=rule).tolist() == full.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_readings_in_other_units_give_the_same_on_every_piece_and_at_every_limit(rule):
    T = np.array([-10.0, 50.0, 50.0, 60.0, 70.0, 80.0, 100.0, 112.0])
    RH, V = np.array([50.0, 50, 50, 50, 73, 40, 5, 60]), np.array([12.0, 3, 5, 8, 2, 0, 6, 9])
    fahrenheit = perceived_temperature(T, RH, V, rule=rule)
    for unit, temperatures in (("degC", (T - 32) / 1.8), ("K", (T - 32) / 1.8 + 273.15)):
        for speed, factor in (("m/s", 0.44704), ("km/h", 1.609344), ("kt", 1609.344 / 1852)):
            other = perceived_temperature(
                temperatures, RH, V * factor, rule=rule, temperature_unit=unit, wind_unit=speed
            )
            assert np.abs(other - fahrenheit).max() < 1e-6


def test_shapes_broadcast_and_scalars_stay_scalars():
    assert perceived_temperature(60.0, 50.0, 5.0).shape == ()
    assert perceived_temperature(np.zeros((4, 1)), np.zeros(3), 5.0).shape == (4, 3)
    assert perceived_temperature_gradient(np.zeros((4, 1)), np.zeros(3), 5.0).shape == (4, 3, 3)
    assert perceived_temperature([], [], []).shape == (0,)


def test_a_missing_reading_is_missing_in_the_result_exactly_where_it_matters():
    T = np.array([40.0, 60.0, 90.0, np.nan])
    assert np.isnan(perceived_temperature(T, 50.0, np.nan)).tolist() == [True, False, False, True]
    assert np.isnan(perceived_temperature(T, np.nan, 5.0)).tolist() == [False, False, True, True]
    for RH, V in ((50.0, np.nan), (np.nan, 5.0)):
        value = perceived_temperature(T, RH, V)
        gradient = perceived_temperature_gradient(T, RH, V)
        assert np.isnan(gradient).any(axis=1).tolist() == np.isnan(value).tolist()


def inside_a_piece(T, RH, V, rule):
    """Whether g is smooth around the readings, and so nearly straight over the step of a difference."""
    edges = [50.0, 70.0] if rule == "paper" else [50.0, 80.0, 87.0, 95.0, 112.0]
    near = np.min([np.abs(T - edge) for edge in edges], axis=0) < 0.02
    near |= np.min([np.abs(RH - edge) for edge in (0.0, 13.0, 85.0, 100.0)], axis=0) < 0.02
    near |= (np.abs(V) < 0.3) | (np.abs(V - 3.0) < 0.02)
    average = 0.5 * (T + 0.5 * (T + 61 + 1.2 * (T - 68) + 0.094 * RH))
    near |= np.abs(average - 80.0) < 0.05
    return ~near


@pytest.mark.parametrize("rule", RULES)
def test_the_gradient_equals_finite_differences_inside_the_pieces(rule):
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            rng.uniform([-50, 0, 0], [120, 100, 60], (20000, 3)),
            rng.uniform([79.9, 0, 0], [81.2, 100, 6], (5000, 3)),
            rng.uniform([78, -20, -5], [113, 14, 5], (5000, 3)),
            rng.uniform([78, 84, -5], [88, 120, 5], (5000, 3)),
        ]
    )
    X = X[inside_a_piece(*X.T, rule)]
    gradient = perceived_temperature_gradient(*X.T, rule=rule)
    for j in range(3):
        step = 1e-4 * np.eye(3)[j]
        ahead = perceived_temperature(*(X + step).T, rule=rule)
        behind = perceived_temperature(*(X - step).T, rule=rule)
        assert np.abs((ahead - behind) / 2e-4 - gradient[:, j]).max() < 2e-4


def test_the_gradient_is_per_unit_of_what_is_given():
    T, RH, V = np.array([20.0, 60.0, 95.0]), np.array([50.0, 60, 8]), np.array([10.0, 5, 4])
    fahrenheit = perceived_temperature_gradient(T, RH, V)
    kelvin, speed = convert(T, "temperature", "degF", "K"), convert(V, "wind", "mph", "m/s")
    gradient = perceived_temperature_gradient(kelvin, RH, speed, temperature_unit="K", wind_unit="m/s")
    assert np.abs(gradient - fahrenheit * [1.8, 1.0, 1 / 0.44704]).max() < 1e-6


@pytest.mark.parametrize("rule", RULES)
def test_the_gradient_is_finite_everywhere(rule):
    T, RH, V = np.meshgrid([-40.0, 50.0, 70.0, 80.0, 95.0, 112.0], [-1.0, 0, 13, 85, 100, 101], [-1.0, 0, 3])
    assert np.isfinite(perceived_temperature_gradient(T, RH, V, rule=rule)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: perceived_temperature(60, 50, 5, rule="nsw"),
            "rule='nsw' must be one of .*did you mean 'nws'",
        ),
        (lambda: perceived_temperature(60, 50, 5, temperature_unit="F"), "unit of temperature='F' must be"),
        (lambda: perceived_temperature(60, 50, 5, wind_unit="knots"), "unit of wind='knots' must be one of"),
    ],
)
def test_bad_input_is_one_line_that_names_it(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_units_agree_with_their_definitions():
    assert convert([0.0, 100.0], "temperature", "degC", "degF").tolist() == [32.0, 212.0]
    assert convert(-40.0, "temperature", "degF", "degC") == -40.0
    assert convert(1.0, "wind", "kt", "km/h") == pytest.approx(1.852, abs=1e-12)
    assert convert(1.0, "wind", "mph") == pytest.approx(0.44704, abs=1e-12)
    assert convert(0.35, "humidity", "fraction") == pytest.approx(35.0)
    assert slope("temperature", "K", "degF") == pytest.approx(1.8)


@pytest.mark.parametrize("quantity", UNITS)
def test_a_round_reading_stays_round_there_and_back(quantity):
    canonical, *others = UNITS[quantity]
    x = np.arange(0.0, 101.0, 0.25)
    for unit in others:
        assert convert(convert(x, quantity, unit), quantity, canonical, unit).tolist() == x.tolist()
