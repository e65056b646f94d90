"""Whether a column looks like another unit than the declared one."""

from __future__ import annotations

import numpy as np

from simulators.arrays import Array
from simulators.stations.units import UNITS, convert

TYPICAL = {
    "temperature": (233.0, 313.0),
    "dew_point": (223.0, 303.0),
    "wind": (0.0, 25.0),
}
"""Where the median over the stations of a region lies: K, K, m/s. Only a median outside is suspicious, so
that degrees Celsius declared as Fahrenheit, or metres per second as knots, pass."""


def suspicion(quantity: str, values: Array, unit: str) -> str | None:
    """What is odd about the declared unit of a column's values, in a sentence, or None."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    with np.errstate(over="ignore"):  # of two cells of 1e308
        median = float(np.median(known))
    if quantity == "humidity":
        if unit == "percent" and known.max() <= 1.0:
            return f"humidity in percent never exceeds {known.max():g}: it looks like a fraction"
        if unit == "fraction" and median > 1.5:
            return f"humidity as a fraction has the median {median:g}: it looks like percent"
        return None
    low, high = TYPICAL[quantity]

    def plausible(candidate: str) -> bool:
        return bool(low <= convert(median, quantity, candidate) <= high)

    if plausible(unit):
        return None
    others = [candidate for candidate in UNITS[quantity] if candidate != unit and plausible(candidate)]
    looks = f": it looks like {' or '.join(others)}" if others else ""
    return f"{quantity.replace('_', ' ')} in {unit} has the median {median:g}{looks}" if others else None


def other_units(quantity: str, values: Array, unit: str) -> str:
    """In which other units than the declared one canonical values that cannot be would be usual, or ""."""
    if quantity not in TYPICAL or not len(values):
        return ""
    low, high = TYPICAL[quantity]
    raw = convert(values, quantity, next(iter(UNITS[quantity])), unit)
    found = [other for other in UNITS[quantity] if other != unit]
    usual = [
        other for other in found if ((x := convert(raw, quantity, other)) >= low).all() and (x <= high).all()
    ]
    return " or ".join(usual)
