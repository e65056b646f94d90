"""Perceived temperature of temperature, humidity and wind: the composition g of the weather sensors.

Paper, section 8.2.3: heat index where it is hot, wind chill where it is cold. T is the temperature in degF,
RH the relative humidity in percent, V the wind speed in mph.

Rule `"nws"`, as the US National Weather Service publishes it:

- T <= 50 and V > 3: wind chill, 35.74 + 0.6215 T - 35.75 V^0.16 + 0.4275 T V^0.16 (Osczevski & Bluestein
  2005).
- T >= 80: heat index. Half of T plus half of Steadman's simple formula 0.5 (T + 61 + 1.2 (T - 68) + 0.094
  RH); if that average is 80 or more, Rothfusz's regression on Steadman (1979) instead (NWS Southern Region SR
  90-23), less ((13 - RH) / 4) sqrt((17 - |T - 95|) / 17) where RH < 13 and T <= 112, plus ((RH - 85) / 10)
  ((87 - T) / 5) where RH > 85 and T <= 87.
- T otherwise.

Rule `"paper"`, of the code that the paper's authors published: T <= 50: wind chill at any wind; T >= 70:
the regression with coefficients of four digits and no adjustment; T otherwise.

A Gaussian process may predict what no sensor reads, so that wind below 0 counts as 0 and humidity is clipped
to 0..100. Partial derivatives are those of the pieces; at the jumps between pieces (3 mph, 50 degF, 80 degF,
where the average reaches 80, the paper's 70 degF) there is none, and the piece that holds there lends its
own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array, Mask, Rows
from simulators.contract.validation import choice
from simulators.stations.units import convert, slope
from simulators.weather.indices import Index

Rule = Literal["nws", "paper"]

RULES: tuple[Rule, ...] = ("nws", "paper")

REGRESSION: dict[Rule, Array] = {
    "nws": np.array(
        [
            [-42.379, 2.04901523, -0.00683783],
            [10.14333127, -0.22475541, 0.00122874],
            [-0.05481717, 0.00085282, -0.00000199],
        ]
    ),
    "paper": np.array(
        [
            [-42.38, 2.049, -0.006838],
            [10.14, -0.2248, 0.001228],
            [-0.05482, 0.0008528, -0.00000199],
        ]
    ),
}
"""Coefficients (3, 3) of the regression by rule: row i belongs to RH^i, column k to T^k."""

COLD, CALM, POWER = 50.0, 3.0, 0.16
"""Wind chill holds at or below 50 degF and, by the NWS rule, above 3 mph; the power of V in it."""

WARM: dict[Rule, float] = {"nws": 80.0, "paper": 70.0}
"""The heat index holds from this temperature on, degF."""

SURELY_HOT = 81.2
"""From here on the average of T and the simple formula is above 80 at any humidity, degF."""

BLOCK = 16_384
"""Triples worked on together: their intermediate values stay in the processor's cache."""

# Average of T and the simple formula: 1.05 T + 0.0235 RH - 5.15.
AVERAGE_SLOPES = (1.05, 0.0235)


@dataclass(frozen=True)
class PerceivedTemperature(Index):
    """The perceived temperature in degF by a rule, of readings in given units (paper, section 8.2.3).

    Temperature, humidity and wind are array-likes that broadcast; humidity is in percent and clipped to
    0..100, wind below 0 counts as 0. An unknown rule or unit is a ValueError.

    Parameters
    ----------
    rule : {"nws", "paper"}
        See the module.
    temperature_unit : {"degF", "degC", "K"}
        Of the readings; the result is in degF whatever it is.
    wind_unit : {"mph", "m/s", "km/h", "kt"}
        Of the readings.
    """

    rule: Rule = "nws"
    temperature_unit: str = "degF"
    wind_unit: str = "mph"
    unit = "degF"
    meant_for = "any weather"

    def __post_init__(self) -> None:
        choice("rule", self.rule, RULES)

    def __call__(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The perceived temperature, degF.

        Returns
        -------
        array of the broadcast shape
            nan where a reading is missing (nan) that the piece which holds there needs.
        """
        T, RH, V, shape = self._readings(temperature, humidity, wind)
        result = np.array(T)
        for start in range(0, len(T), BLOCK):
            rows = slice(start, start + BLOCK)
            _perceive(result[rows], *_clipped(RH[rows], V[rows]), self.rule)
        return result.reshape(shape)

    def gradient(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The partial derivatives of the perceived temperature, exact within each piece.

        Returns
        -------
        array of the broadcast shape and a last axis of 3
            degF per unit of temperature, per percent, per unit of wind; nan where the value is. 0 where a
            reading is clipped. Where a piece's own is unbounded (V^0.16 at V = 0, the square root at T = 112)
            that term counts as 0; T = 95 is the middle of a kink.
        """
        T, RH, V, shape = self._readings(temperature, humidity, wind)
        return self._slopes(T, RH, V).reshape(*shape, 3)

    def meant(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Mask:
        """Everywhere: between heat and cold it is the temperature."""
        return np.ones(self._readings(temperature, humidity, wind)[3], dtype=bool)

    def _readings(
        self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike
    ) -> tuple[Array, Array, Array, tuple[int, ...]]:
        """T in degF, RH and V in mph as flat arrays, and the shape they had together."""
        T = convert(temperature, "temperature", self.temperature_unit, "degF")
        RH = np.asarray(humidity, dtype=float)
        V = convert(wind, "wind", self.wind_unit, "mph")
        shape = np.broadcast_shapes(T.shape, RH.shape, V.shape)
        T, RH, V = (np.broadcast_to(x, shape).ravel() for x in (T, RH, V))
        return T, RH, V, shape

    def _slopes(self, T: Array, raw: Array, V: Array) -> Array:
        """The gradient (n, 3) at flat readings, humidity and wind not clipped yet."""
        RH, V = _clipped(raw, V)
        cold, mild, hot = _pieces(T, RH, V, self.rule)
        gradient = np.zeros((len(T), 3))
        gradient[:, 0] = 1.0
        gradient[np.isnan(T), 0] = np.nan
        gradient[mild, :2] = AVERAGE_SLOPES
        gradient[mild[np.isnan(RH[mild])], :2] = np.nan

        t, v = T[cold], V[cold]
        moving = ~(v <= 0.0)
        power = np.where(moving, v, 1.0) ** (POWER - 1.0)
        gradient[cold, 0] = 0.6215 + 0.4275 * (v * power)
        gradient[cold, 2] = moving * POWER * power * (0.4275 * t - 35.75)

        t, rh = T[hot], RH[hot]
        C = REGRESSION[self.rule]
        per_degree = (C[:, 1, None] + 2.0 * C[:, 2, None] * t) * np.array([np.ones_like(rh), rh, rh * rh])
        gradient[hot, 0] = per_degree.sum(axis=0)
        gradient[hot, 1] = _parabola(C[1], t) + 2.0 * rh * _parabola(C[2], t)
        if self.rule == "nws":
            gradient[hot, :2] += _adjustment_slopes(t, rh)

        gradient[(raw < 0.0) | (raw > 100.0), 1] = 0.0
        gradient[:, 0] *= slope("temperature", self.temperature_unit, "degF")
        gradient[:, 2] *= slope("wind", self.wind_unit, "mph")
        return gradient


class System(TypedDict, total=False):
    """The rule and the units of `PerceivedTemperature`."""

    rule: Rule
    temperature_unit: str
    wind_unit: str


def perceived_temperature(
    temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike, **system: Unpack[System]
) -> Array:
    """The perceived temperature in degF: `PerceivedTemperature` at once."""
    return PerceivedTemperature(**system)(temperature, humidity, wind)


def perceived_temperature_gradient(
    temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike, **system: Unpack[System]
) -> Array:
    """The partial derivatives of the perceived temperature: `PerceivedTemperature.gradient` at once."""
    return PerceivedTemperature(**system).gradient(temperature, humidity, wind)


def heat_index(temperature: ArrayLike, humidity: ArrayLike) -> Array:
    """The heat index of the NWS in degF, of a temperature in degF and a humidity in percent.

    At any temperature by the full procedure: the average of T and the simple formula, or where that is 80 or
    more the regression with its adjustments.
    """
    T, RH, V, shape = PerceivedTemperature()._readings(temperature, humidity, 0.0)
    RH, _ = _clipped(RH, V)
    result = _average(T, RH)
    hot = np.flatnonzero(result >= 80.0)
    result[hot] = _hot(T[hot], RH[hot], "nws")
    return result.reshape(shape)


def wind_chill(temperature: ArrayLike, wind: ArrayLike) -> Array:
    """The wind chill of the NWS in degF: the formula at T <= 50 degF and V > 3 mph, else the temperature."""
    T, _, V, shape = PerceivedTemperature()._readings(temperature, 0.0, wind)
    result = T.copy()
    cold = np.flatnonzero((T <= COLD) & ~(V <= CALM))
    result[cold] = _wind_chill(T[cold], V[cold])
    return result.reshape(shape)


def _clipped(RH: Array, V: Array) -> tuple[Array, Array]:
    """Humidity and wind as near as a sensor can read them."""
    return np.clip(RH, 0.0, 100.0), np.maximum(V, 0.0)


def _perceive(T: Array, RH: Array, V: Array, rule: Rule) -> None:
    """Turn temperatures into perceived ones, in place."""
    cold, mild, hot = _pieces(T, RH, V, rule)
    T[cold] = _wind_chill(T[cold], V[cold])
    T[mild] = _average(T[mild], RH[mild])
    T[hot] = _hot(T[hot], RH[hot], rule)


def _pieces(T: Array, RH: Array, V: Array, rule: Rule) -> tuple[Rows, Rows, Rows]:
    """The rows of wind chill, of the average and of the regression; T is right for all others.

    Comparisons are turned so that a missing reading lands in a piece that makes the result missing.
    """
    cold = np.flatnonzero(T <= COLD)
    warm = WARM[rule]
    hot = np.flatnonzero(warm <= T)
    if rule == "paper":
        return cold, cold[:0], hot
    doubtful = np.flatnonzero(T[hot] < SURELY_HOT)
    rows = hot[doubtful]
    mild = doubtful[~(_average(T[rows], RH[rows]) >= 80.0)]
    return cold[~(V[cold] <= CALM)], hot[mild], np.delete(hot, mild)


def _wind_chill(T: Array, V: Array) -> Array:
    power = V**POWER
    chill: Array = 35.74 + 0.6215 * T + (0.4275 * T - 35.75) * power
    return chill


def _average(T: Array, RH: Array) -> Array:
    simple = 0.5 * (T + 61.0 + 1.2 * (T - 68.0) + 0.094 * RH)
    average: Array = 0.5 * (T + simple)
    return average


def _parabola(coefficients: Array, T: Array) -> Array:
    c0, c1, c2 = (float(c) for c in coefficients)
    value: Array = c0 + T * (c1 + T * c2)
    return value


def _regression(T: Array, RH: Array, rule: Rule) -> Array:
    C = REGRESSION[rule]
    value: Array = _parabola(C[0], T) + RH * (_parabola(C[1], T) + RH * _parabola(C[2], T))
    return value


def _hot(T: Array, RH: Array, rule: Rule) -> Array:
    """The regression with the adjustments of the rule."""
    values = _regression(T, RH, rule)
    if rule == "nws":
        dry, humid = _adjusted_rows(T, RH)
        values[dry] -= ((13.0 - RH[dry]) / 4.0) * np.sqrt((17.0 - np.abs(T[dry] - 95.0)) / 17.0)
        values[humid] += ((RH[humid] - 85.0) / 10.0) * ((87.0 - T[humid]) / 5.0)
    return values


def _adjusted_rows(T: Array, RH: Array) -> tuple[Rows, Rows]:
    """The rows of the dry and of the humid adjustment of the regression."""
    dry, humid = np.flatnonzero(RH < 13.0), np.flatnonzero(RH > 85.0)
    t = T[dry]
    dry = dry[(t >= 80.0) & (t <= 112.0)]
    t = T[humid]
    return dry, humid[(t >= 80.0) & (t <= 87.0)]


def _adjustment_slopes(T: Array, RH: Array) -> Array:
    """The derivatives (n, 2) of the adjustments per degF and per percent."""
    slopes = np.zeros((len(T), 2))
    dry, humid = _adjusted_rows(T, RH)
    t, rh = T[dry], RH[dry]
    left = 17.0 - np.abs(t - 95.0)
    root = np.sqrt(left / 17.0)
    bounded = left > 0.0
    slopes[dry, 0] = bounded * np.sign(t - 95.0) * (13.0 - rh) / (136.0 * np.where(bounded, root, 1.0))
    slopes[dry, 1] = 0.25 * root
    slopes[humid, 0] = -(RH[humid] - 85.0) / 50.0
    slopes[humid, 1] = (87.0 - T[humid]) / 50.0
    return slopes
