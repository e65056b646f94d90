"""The B_j over data against the extremes of each piece's derivatives over a range, known in closed form.

The derivatives of the regression are parabolas in one reading and straight lines in the other, and those of
the wind chill are monotone, so their largest values are found exactly. Where the dry adjustment holds, the
largest value of a sum is bounded by the sum of the largest values.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.polynomial import polyder

from simulators.stations.units import convert
from simulators.weather.perceived_temperature import (
    AVERAGE_SLOPES,
    CALM,
    COLD,
    POWER,
    REGRESSION,
    RULES,
    WARM,
    PerceivedTemperature,
    perceived_temperature,
)

# (RH - 85) / 10 times (87 - T) / 5, laid out like REGRESSION.
HUMID = np.array([[-85.0 * 87.0, 85.0, 0.0], [87.0, -1.0, 0.0], [0.0, 0.0, 0.0]]) / 50.0


def bounds_in(T, RH=(0.0, 100.0), V=(0.0, 100.0), rule="nws"):
    """B_j >= |dg/df_j| in every piece of g over ranges in degF, percent and mph; inf where there is none."""
    B = np.zeros(3)
    calm_counts = rule == "nws" and V[0] <= CALM
    if T[0] < WARM[rule] and (T[1] > COLD or calm_counts):
        B[0] = 1.0
    if T[0] <= COLD and (rule == "paper" or V[1] > CALM):
        wind = V[0] if rule == "paper" else max(V[0], CALM), V[1]
        B = np.maximum(B, wind_chill_bounds((T[0], min(T[1], COLD)), wind))
    if T[1] >= WARM[rule]:
        for slopes in heat_bounds((max(T[0], WARM[rule]), T[1]), RH, rule):
            B[:2] = np.maximum(B[:2], slopes)
    return B


def wind_chill_bounds(T, V):
    per_degree = 0.6215 + 0.4275 * V[1] ** POWER
    if V[0] == 0.0:
        return np.array([per_degree, 0.0, np.inf])
    per_mph = POWER * V[0] ** (POWER - 1.0) * max(abs(0.4275 * t - 35.75) for t in T)
    return np.array([per_degree, 0.0, per_mph])


def heat_bounds(T, RH, rule):
    """Yield the bounds (2,), per degF and per percent, of every piece of the heat index in a range."""
    C = REGRESSION[rule]
    yield polynomial_bounds(C, T, RH)
    if rule == "paper":
        return
    if 0.5 * T[0] + 0.25 * (2.2 * T[0] - 20.6 + 0.094 * RH[0]) < 80.0:
        yield np.array(AVERAGE_SLOPES)
    if T[0] <= 87.0 and RH[1] > 85.0:
        yield polynomial_bounds(C + HUMID, (T[0], min(T[1], 87.0)), (max(RH[0], 85.0), RH[1]))
    if T[0] <= 112.0 and RH[0] < 13.0:
        yield from dry_bounds(C, T, (RH[0], min(RH[1], 13.0)))


def polynomial_bounds(C, T, RH):
    return np.array([max(map(abs, per_degree(C, T, RH))), max(map(abs, per_percent(C, T, RH)))])


def per_degree(C, T, RH):
    return extremes(polyder(C, axis=1).T, T, RH)


def per_percent(C, T, RH):
    return extremes(polyder(C, axis=0), RH, T)


def extremes(C, straight, curved):
    """The least and greatest value on a box: at its corners, or at a vertex of a parabola."""
    values = []
    for s in straight:
        c0, c1, c2 = C[0] + s * C[1]
        vertex = -c1 / (2.0 * c2) if c2 else curved[0]
        values += [c0 + x * (c1 + x * c2) for x in (*curved, min(max(vertex, curved[0]), curved[1]))]
    return min(values), max(values)


def dry_bounds(C, T, RH):
    """Yield the bounds of the regression less its dry adjustment, left and right of the kink at 95 degF."""
    for sign, (start, end) in ((-1, (80.0, 95.0)), (1, (95.0, 112.0))):
        t = max(T[0], start), min(T[1], end)
        if t[0] > t[1]:
            continue
        roots = [((17.0 - abs(x - 95.0)) / 17.0) ** 0.5 for x in t]
        steepest = np.inf if min(roots) == 0.0 else (13.0 - RH[0]) / (136.0 * min(roots))
        least = (13.0 - RH[1]) / (136.0 * max(roots))
        low, high = per_degree(C, t, RH)
        added = sorted((sign * least, sign * steepest))
        temperature = max(abs(low + added[0]), abs(high + added[1]))
        low, high = per_percent(C, t, RH)
        humidity = max(abs(low + 0.25 * min(roots)), abs(high + 0.25 * max(roots)))
        yield np.array([temperature, humidity])


def test_the_largest_derivatives_known_for_each_piece_bound_the_piece():
    assert bounds_in((-50, 50), V=(3.0, 60)) == pytest.approx([1.445, 0, 3.632], abs=5e-4)
    assert bounds_in((51, 79)).tolist() == [1.0, 0.0, 0.0]
    assert bounds_in((80, 112), (13, 100)) == pytest.approx([9.64, 3.53, 0], abs=5e-3)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(RULES),
    st.tuples(st.floats(-60, 120), st.floats(0, 60)),
    st.tuples(st.floats(0, 100), st.floats(0, 100)),
    st.tuples(st.floats(0.1, 60), st.floats(0, 30)),
    st.integers(0, 99),
)
def test_no_derivative_in_a_range_exceeds_its_bound(rule, T, RH, V, seed):
    low = np.array([T[0], min(RH), V[0]])
    high = np.array([T[0] + T[1], max(RH), V[0] + V[1]])
    bounds = bounds_in(*zip(low, high, strict=True), rule)
    X = np.random.default_rng(seed).uniform(low, high, (2000, 3))
    largest = PerceivedTemperature(rule).bounds(*X.T)
    assert (largest <= bounds * (1 + 1e-12)).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("ranges", "slack"),
    [
        (((-20, 40), (0, 100), (5, 40)), 1e-9),
        (((82, 100), (20, 80), (0, 9)), 1e-9),
        (((82, 108), (2, 12), (0, 9)), 0.2),
    ],
    ids=["cold", "hot", "hot and dry"],
)
def test_the_bounds_are_reached_and_nearly_so_where_the_dry_adjustment_holds(rule, ranges, slack):
    grid = np.meshgrid(*(np.linspace(*ends, 41) for ends in ranges))
    largest = PerceivedTemperature(rule).bounds(*grid)
    assert (bounds_in(*ranges, rule) <= largest * (1 + slack)).all()


def test_bounds_are_infinite_where_a_derivative_has_none():
    assert bounds_in((20, 60), V=(0, 20), rule="paper")[2] == np.inf
    assert np.isfinite(bounds_in((20, 60), V=(0, 20), rule="nws")).all()
    assert bounds_in((80, 112), (0, 100))[0] == np.inf
    assert np.isfinite(bounds_in((80, 111), (0, 100))).all()


def test_the_bounds_do_not_cover_the_jumps():
    bounds = bounds_in((20, 111), V=(0, 60))
    for a, b in (((30, 50, 3.0), (30, 50, 3.0001)), ((79.999, 0, 0), (80.0, 0, 0))):
        jump = abs(perceived_temperature(*a) - perceived_temperature(*b))
        assert jump > 1.0 > np.abs(np.subtract(a, b)) @ bounds


def test_bounds_are_per_unit_of_what_is_given():
    T, RH, V = np.array([14.0, 60.0, 104.0]), np.array([50.0, 60, 8]), np.array([10.0, 20, 4])
    fahrenheit = PerceivedTemperature().bounds(T, RH, V)
    celsius = PerceivedTemperature("nws", "degC", "m/s").bounds(
        convert(T, "temperature", "degF", "degC"), RH, convert(V, "wind", "mph")
    )
    assert celsius == pytest.approx(fahrenheit * [1.8, 1.0, 1 / 0.44704])


def test_bounds_over_data_leave_out_incomplete_readings():
    whole = PerceivedTemperature().bounds([20.0, 60.0], 50.0, [10.0, 5.0])
    assert PerceivedTemperature().bounds(
        [20.0, 60.0, np.nan, 100.0], [50, 50, 50, np.nan], [10, 5, 5, 5.0]
    ) == (pytest.approx(whole))
    with pytest.raises(ValueError, match="at least one complete reading"):
        PerceivedTemperature().bounds([np.nan], [50.0], [1.0])
