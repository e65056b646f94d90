"""Bounds B_j of the partial derivatives of the perceived temperature (Definition 2).

B_j is an upper bound of |dg/df_j| inside the pieces of g. It says nothing of the jumps between them (3 mph,
50 degF, 80 degF, where the average reaches 80, and the paper's 70 degF): two readings on either side of a
jump can differ by more than sum_j B_j |difference of f_j|, so that what is proved from the B_j holds within a
piece alone. By the paper's rule V^0.16 has no bounded derivative at V = 0; the NWS rule's 3 mph limit removes
that, at the price of a jump.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.polynomial.polynomial import polyder
from numpy.typing import ArrayLike

from simulators.arrays import Array
from simulators.contract.validation import choice
from simulators.stations.units import convert, slope
from simulators.weather.perceived_temperature import (
    AVERAGE_SLOPES,
    CALM,
    COLD,
    POWER,
    REGRESSION,
    RULES,
    WARM,
    Rule,
    perceived_temperature_gradient,
)

Range = tuple[float, float]

# (RH - 85) / 10 times (87 - T) / 5, laid out like REGRESSION.
_HUMID = np.array([[-85.0 * 87.0, 85.0, 0.0], [87.0, -1.0, 0.0], [0.0, 0.0, 0.0]]) / 50.0


def derivative_bounds(
    temperature: Range,
    humidity: Range = (0.0, 100.0),
    wind: Range = (0.0, 100.0),
    *,
    rule: Rule = "nws",
    temperature_unit: str = "degF",
    wind_unit: str = "mph",
) -> Array:
    """B_j >= |dg/df_j| in every piece of g, over a range of the readings (Definition 2).

    The regression's derivatives are parabolas in one reading and straight lines in the other, and the wind
    chill's are monotone, so their largest values are found exactly. Where the dry adjustment holds, the
    largest value of a sum is bounded by the sum of the largest values.

    Parameters
    ----------
    temperature : (float, float)
        Least and greatest, in `temperature_unit`. The bounds grow fast with hot and humid corners that
        nature does not reach (9.6 degF per degF at 112 degF and 100 %): state the range, or take
        `derivative_bounds_at`.
    humidity : (float, float)
        Percent, within 0..100.
    wind : (float, float)
        In `wind_unit`, from 0 on.
    rule : {"nws", "paper"}
        See `simulators.weather.perceived_temperature`.
    temperature_unit : {"degF", "degC", "K"}
        Unit of `temperature`.
    wind_unit : {"mph", "m/s", "km/h", "kt"}
        Unit of `wind`.

    Returns
    -------
    (3,) array
        degF per unit of temperature, per percent, per unit of wind. inf where a piece has no bounded
        derivative: that of wind under the paper's rule if the range includes calm and 50 degF or colder, and
        that of temperature under the NWS rule if it includes 112 degF and less than 13 %.

    Raises
    ------
    ValueError
        Unknown rule or unit, or a range that is upside down, missing, or outside the readings' own.
    """
    choice("rule", rule, RULES)
    for name, (low, high), least, most in (
        ("temperature", temperature, -np.inf, np.inf),
        ("humidity", humidity, 0.0, 100.0),
        ("wind", wind, 0.0, np.inf),
    ):
        if not (least <= low <= high <= most and np.isfinite((low, high)).all()):
            raise ValueError(
                f"range of {name} ({low:g}, {high:g}) must be finite and rise within {least:g}..{most:g}"
            )
    coldest, hottest = convert(temperature, "temperature", temperature_unit, "degF").tolist()
    calmest, windiest = convert(wind, "wind", wind_unit, "mph").tolist()

    B = np.zeros(3)
    calm_counts = rule == "nws" and calmest <= CALM
    if coldest < WARM[rule] and (hottest > COLD or calm_counts):
        B[0] = 1.0
    if coldest <= COLD and (rule == "paper" or windiest > CALM):
        T = coldest, min(hottest, COLD)
        V = calmest if rule == "paper" else max(calmest, CALM), windiest
        B = np.maximum(B, _wind_chill_bounds(T, V))
    if hottest >= WARM[rule]:
        for slopes in _heat_bounds((max(coldest, WARM[rule]), hottest), humidity, rule):
            B[:2] = np.maximum(B[:2], slopes)
    return B * (slope("temperature", temperature_unit, "degF"), 1.0, slope("wind", wind_unit, "mph"))


def derivative_bounds_at(
    temperature: ArrayLike,
    humidity: ArrayLike,
    wind: ArrayLike,
    *,
    rule: Rule = "nws",
    temperature_unit: str = "degF",
    wind_unit: str = "mph",
) -> Array:
    """The largest |dg/df_j| at given readings: the B_j of Definition 2 over data.

    Parameters
    ----------
    temperature, humidity, wind, rule, temperature_unit, wind_unit
        As for `simulators.weather.perceived_temperature.perceived_temperature`. Readings with a missing
        entry are left out.

    Returns
    -------
    (3,) array
        degF per unit of each reading. Finite: where a derivative is unbounded, at calm under the paper's
        rule, it counts as 0, as in the gradient.

    Raises
    ------
    ValueError
        Unknown rule or unit, or no complete reading.
    """
    gradient = perceived_temperature_gradient(
        temperature, humidity, wind, rule=rule, temperature_unit=temperature_unit, wind_unit=wind_unit
    ).reshape(-1, 3)
    complete = np.ones(gradient.shape[:-1], dtype=bool)
    shape = np.broadcast_shapes(*(np.shape(x) for x in (temperature, humidity, wind)))
    for readings in (temperature, humidity, wind):
        complete &= ~np.isnan(np.broadcast_to(np.asarray(readings, dtype=float), shape).ravel())
    if not complete.any():
        raise ValueError("bounds of the derivatives need at least one complete reading")
    largest: Array = np.abs(gradient[complete]).max(axis=0)
    return largest


def _wind_chill_bounds(T: Range, V: Range) -> Array:
    """The bounds of the wind chill, whose derivatives are monotone in T and in V."""
    per_degree = 0.6215 + 0.4275 * V[1] ** POWER
    if V[0] == 0.0:
        return np.array([per_degree, 0.0, np.inf])
    per_mph = POWER * V[0] ** (POWER - 1.0) * max(abs(0.4275 * t - 35.75) for t in T)
    return np.array([per_degree, 0.0, per_mph])


def _heat_bounds(T: Range, RH: Range, rule: Rule) -> Iterator[Array]:
    """Yield the bounds (2,), per degF and per percent, of every piece of the heat index in a range."""
    C = REGRESSION[rule]
    if rule == "paper":
        yield _polynomial_bounds(C, T, RH)
        return
    if 0.5 * T[0] + 0.25 * (2.2 * T[0] - 20.6 + 0.094 * RH[0]) < 80.0:
        yield np.array(AVERAGE_SLOPES)
    yield _polynomial_bounds(C, T, RH)
    if T[0] <= 87.0 and RH[1] > 85.0:
        yield _polynomial_bounds(C + _HUMID, (T[0], min(T[1], 87.0)), (max(RH[0], 85.0), RH[1]))
    if T[0] <= 112.0 and RH[0] < 13.0:
        yield from _dry_bounds(C, T, (RH[0], min(RH[1], 13.0)))


def _polynomial_bounds(C: Array, T: Range, RH: Range) -> Array:
    return np.array([max(map(abs, _per_degree(C, T, RH))), max(map(abs, _per_percent(C, T, RH)))])


def _per_degree(C: Array, T: Range, RH: Range) -> Range:
    """The least and greatest derivative by T: straight in T, a parabola in RH."""
    return _extremes(np.asarray(polyder(C, axis=1).T, dtype=float), T, RH)


def _per_percent(C: Array, T: Range, RH: Range) -> Range:
    """The least and greatest derivative by RH: straight in RH, a parabola in T."""
    return _extremes(np.asarray(polyder(C, axis=0), dtype=float), RH, T)


def _extremes(C: Array, straight: Range, curved: Range) -> Range:
    """The least and greatest value on a box: at its corners, or at a vertex of a parabola."""
    values = []
    for s in straight:
        c0, c1, c2 = C[0] + s * C[1]
        vertex = -c1 / (2.0 * c2) if c2 else curved[0]
        for x in (*curved, min(max(vertex, curved[0]), curved[1])):
            values.append(float(c0 + x * (c1 + x * c2)))
    return min(values), max(values)


def _dry_bounds(C: Array, T: Range, RH: Range) -> Iterator[Array]:
    """Yield the bounds of the regression less its dry adjustment, left and right of the kink at 95 degF."""
    sides: tuple[tuple[Literal[-1, 1], Range], ...] = ((-1, (80.0, 95.0)), (1, (95.0, 112.0)))
    for sign, (start, end) in sides:
        t = max(T[0], start), min(T[1], end)
        if t[0] > t[1]:
            continue
        left = [17.0 - abs(x - 95.0) for x in t]
        roots = [(x / 17.0) ** 0.5 for x in left]
        steepest = np.inf if min(roots) == 0.0 else (13.0 - RH[0]) / (136.0 * min(roots))
        least = (13.0 - RH[1]) / (136.0 * max(roots))
        low, high = _per_degree(C, t, RH)
        added = sorted((sign * least, sign * steepest))
        per_degree = max(abs(low + added[0]), abs(high + added[1]))
        low, high = _per_percent(C, t, RH)
        per_percent = max(abs(low + 0.25 * min(roots)), abs(high + 0.25 * max(roots)))
        yield np.array([per_degree, per_percent])
