"""Units of weather readings, those that importers accept and formulas ask for; humidity from the dew point.

What is converted to another than the canonical unit (K, percent, m/s) is rounded to nine decimals, far below
any reading's resolution, so that 50 degF turned into kelvin and back is 50 degF again: formulas change at
round numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array
from simulators.contract.validation import choice, entry

# unit: (what is added to a reading, what the sum is multiplied by) on the way to the canonical unit
_TO_KELVIN = {"K": (0.0, 1.0), "degC": (273.15, 1.0), "degF": (459.67, 5.0 / 9.0)}
_TO_METRES_PER_SECOND = {
    "m/s": (0.0, 1.0),
    "km/h": (0.0, 1.0 / 3.6),
    "mph": (0.0, 0.44704),
    "kt": (0.0, 1852.0 / 3600.0),
}
_TO_PERCENT = {"percent": (0.0, 1.0), "fraction": (0.0, 100.0)}

UNITS = {
    "temperature": _TO_KELVIN,
    "dew_point": _TO_KELVIN,
    "humidity": _TO_PERCENT,
    "wind": _TO_METRES_PER_SECOND,
    "elevation": {"m": (0.0, 1.0), "ft": (0.0, 0.3048)},
}
"""The units of each quantity that `convert` knows; the first is the canonical one."""

_DECIMALS = 9


def convert(values: ArrayLike, quantity: str, unit: str, to: str | None = None) -> Array:
    """Readings of a quantity, converted from one unit to another, by default the canonical one.

    They are rounded to nine decimals, unless that is the canonical unit. Missing (nan) stays missing.
    """
    known = _known(quantity, unit)
    canonical = next(iter(known))
    to = canonical if to is None else to
    x = np.asarray(values, dtype=float)
    if unit == to:
        return x
    (add, times), (subtract, divide) = known[unit], _known(quantity, to)[to]
    with np.errstate(over="ignore"):  # what no reading can be becomes infinite, which none can be either
        converted: Array = (x + add) * (times / divide) - subtract
    return converted if to == canonical else np.round(converted, _DECIMALS)


def said(value: float, quantity: str, units: Mapping[str, str]) -> str:
    """A canonical value in the unit that a source has for it, "22.5 degC"; of no quantity a number."""
    if quantity not in UNITS:
        return f"{value:.0f}"
    canonical = next(iter(UNITS[quantity]))
    unit = units.get(quantity, canonical)
    x = float(convert(value, quantity, canonical, unit))
    return f"{x:.2f}" if unit == "fraction" else f"{x:.1f} {'%' if unit == 'percent' else unit}"


def slope(quantity: str, unit: str, to: str) -> float:
    """How much a converted reading grows when the reading grows by one (1.8 for K to degF)."""
    return _known(quantity, unit)[unit][1] / _known(quantity, to)[to][1]


def _known(quantity: str, unit: str) -> dict[str, tuple[float, float]]:
    """The units of a quantity, of which the given one is checked to be."""
    units = entry("quantity", quantity, UNITS)
    choice(f"unit of {quantity}", unit, tuple(units))
    return units


def relative_humidity(temperature: ArrayLike, dew_point: ArrayLike) -> Array:
    """The relative humidity over water, percent, of temperatures and dew points in K, by the Magnus formula.

    The saturation pressure is proportional to exp(17.62 t / (243.12 + t)), t in degC, valid from -45 to 60
    degC (World Meteorological Organization, Guide to Instruments and Methods of Observation, WMO-No. 8, annex
    4.B). Above 100 where the dew point is above the temperature.
    """
    t, d = (np.asarray(x, dtype=float) - 273.15 for x in (temperature, dew_point))
    # Divided first: what is no temperature may be near the largest number.
    humidity: Array = 100.0 * np.exp(17.62 * (d / (243.12 + d)) - 17.62 * (t / (243.12 + t)))
    return humidity


def dew_point_of(temperature: ArrayLike, humidity: ArrayLike) -> Array:
    """The dew point, K, of temperatures in K and humidities in percent: `relative_humidity` turned round.

    Minus infinity where the humidity is 0.
    """
    t = np.asarray(temperature, dtype=float) - 273.15
    with np.errstate(divide="ignore"):
        e = np.log(np.asarray(humidity, dtype=float) / 100.0) + 17.62 * (t / (243.12 + t))
    dew_point: Array = np.where(np.isneginf(e), -np.inf, 243.12 * e / (17.62 - e) + 273.15)
    return dew_point
