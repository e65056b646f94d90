"""The relative humidity of each row, from its column, or from the dew point where that has none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from simulators.arrays import Array, Mask
from simulators.stations.cells import examples, numbers
from simulators.stations.import_report import Journal
from simulators.stations.readable import converted, reading
from simulators.stations.station_set import LIMITS
from simulators.stations.units import relative_humidity

MOST_HUMIDITY = 110.0
"""Percent. A saturated sensor may read a little over 100, which is clipped; more than this is no reading."""

MOST_DEW_POINT_EXCESS = 1.0
"""K. Rounding may put the dew point this far above the temperature, which means 100 %; more is an error."""


def humidity_of(
    cells: pd.DataFrame, units: Mapping[str, str], temperature: Array, journal: Journal
) -> tuple[Array, Array]:
    """The humidity in percent of a table's rows, and what the dew point makes of it.

    Returns
    -------
    humidity : (n,) array
        In 0..100.
    by_dew_point : (n,) array
        The humidity that the dew point means where a column gives another; nan where there are not both.
    """
    both = np.full(len(cells), np.nan)
    sources = [name for name in ("humidity", "dew_point") if name in cells]
    if "dew_point" not in cells:
        humidity = reading(cells, "humidity", units, journal)
    else:
        dew_point = _numbers(cells, "dew_point", units, journal)
        dew_point = converted(dew_point, "dew_point", units["dew_point"], journal)
        if "humidity" in cells:
            humidity = _numbers(cells, "humidity", units, journal)
            humidity = converted(humidity, "humidity", units["humidity"], journal)
            both = np.where(np.isnan(humidity), np.nan, relative_humidity(temperature, dew_point))
        else:
            humidity = np.full(len(cells), np.nan)
        without = np.isnan(humidity)
        nothing = without & np.isnan(dew_point)
        label = " and ".join(sources).replace("_", " ") + (" are" if len(sources) > 1 else " is")
        shown = examples(cells[sources], nothing & journal.alive)
        journal.note("dropped", nothing, f"{label} missing or not a number ({shown})")
        low, high = LIMITS["temperature"][0] - 60.0, LIMITS["temperature"][1]
        impossible = without & ~((dew_point >= low) & (dew_point <= high))
        journal.note("dropped", impossible, f"dew point is impossible: not within {low:g}..{high:g} K")
        excess = dew_point - temperature
        above = excess > 0.0
        far = excess > MOST_DEW_POINT_EXCESS
        limit = f"{MOST_DEW_POINT_EXCESS:g} K"
        journal.note("dropped", without & far, f"dew point above temperature by more than {limit}")
        journal.note(
            "clipped", without & above, f"dew point above temperature by up to {limit}: humidity 100 %"
        )
        journal.note("noted", ~without & above, "dew point above temperature; the humidity column was used")
        usable = without & journal.alive
        journal.note("noted", usable, "humidity computed from the dew point")
        t, d = temperature[usable], dew_point[usable]
        humidity[usable] = relative_humidity(t, np.minimum(d, t))
    impossible = ~((humidity >= 0.0) & (humidity <= MOST_HUMIDITY))
    shown = examples(cells[sources[:1]], impossible & journal.alive)
    why = f"humidity is impossible: not within 0..{MOST_HUMIDITY:g} percent ({shown})"
    journal.note("dropped", impossible, why)
    journal.note("clipped", humidity > 100.0, f"humidity above 100 % (up to {MOST_HUMIDITY:g}): set to 100")
    return np.minimum(humidity, 100.0), both


def contradicting(humidity: Array, by_dew_point: Array, alive: Mask, most: float, journal: Journal) -> Mask:
    """Which rows' dew point means a humidity that differs by more than `most` percent from the column's.

    Where more than half of those that have both do, the columns and not the sensors contradict each other: it
    is noted, and no row is meant.
    """
    with np.errstate(invalid="ignore"):
        differ = alive & (np.abs(humidity - np.clip(by_dew_point, 0.0, 150.0)) > most)
    known = int((alive & np.isfinite(by_dew_point)).sum())
    if known and differ.sum() > max(known / 2, 2):
        journal.note(
            "noted", differ, f"humidity and dew point differ by more than {most:g} %; the humidity was used"
        )
        return np.zeros(len(differ), dtype=bool)
    return differ


def _numbers(cells: pd.DataFrame, quantity: str, units: Mapping[str, str], journal: Journal) -> Array:
    values, *_ = numbers(cells[quantity])
    return values
