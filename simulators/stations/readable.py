"""Columns of a table as numbers in canonical units; rows without one are dropped, what is odd is noted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from simulators.arrays import Array
from simulators.stations.cells import decimal_commas, examples, missing_codes, numbers, stripped
from simulators.stations.import_report import Journal
from simulators.stations.station_set import LIMITS
from simulators.stations.unit_check import other_units, suspicion
from simulators.stations.units import convert


def readable(cells: pd.DataFrame, quantity: str, journal: Journal) -> Array:
    """A column's numbers; rows where there is none are dropped."""
    values, missing, unreadable = numbers(cells[quantity])
    journal.note("changed", decimal_commas(cells[quantity]), f"{quantity} with a decimal comma")
    shown = examples(cells[[quantity]], missing & journal.alive)
    journal.note("dropped", missing, f"{quantity} is missing ({shown})")
    shown = examples(cells[[quantity]], unreadable & journal.alive)
    journal.note("dropped", unreadable, f"{quantity} is not a number ({shown})")
    return values


def reading(cells: pd.DataFrame, quantity: str, units: Mapping[str, str], journal: Journal) -> Array:
    """A column in canonical units; rows without a number are dropped, a suspicious unit is noted."""
    values = readable(cells, quantity, journal)
    if quantity in ("temperature", "wind"):
        coded = missing_codes(np.where(journal.alive, values, np.nan))
        shown = examples(cells[[quantity]], coded & journal.alive)
        journal.note("dropped", coded, f"{quantity} is a code for missing, far from all others ({shown})")
    return converted(values, quantity, units[quantity], journal)


ELEVATIONS = (-450.0, 9000.0)
"""m, from the shore of the Dead Sea to the summit of Mount Everest."""


def elevations(cells: pd.DataFrame, units: Mapping[str, str], journal: Journal) -> Array:
    """The elevations, m, nan where unknown or impossible: no row is dropped for its elevation."""
    if "elevation" not in cells:
        return np.full(len(cells), np.nan)
    _, missing, unreadable = numbers(cells["elevation"])
    # Not theirs: 999 is no code for missing here, but a height that many places have.
    raw = pd.to_numeric(stripped(cells["elevation"]), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    values = convert(raw, "elevation", units["elevation"])
    impossible = ~np.isnan(values) & ~((values >= ELEVATIONS[0]) & (values <= ELEVATIONS[1])) & ~missing
    shown = examples(cells[["elevation"]], (unreadable | impossible) & journal.alive)
    why = (
        f"elevation is no number of metres within {ELEVATIONS[0]:g}..{ELEVATIONS[1]:g}, and unknown ({shown})"
    )
    journal.note("changed", unreadable | impossible, why)
    known = (values >= ELEVATIONS[0]) & (values <= ELEVATIONS[1])
    return np.where(known, values, np.nan)


def converted(values: Array, quantity: str, unit: str, journal: Journal) -> Array:
    """Values in canonical units; a unit that looks like another is noted."""
    doubt = suspicion(quantity, values[journal.alive], unit)
    if doubt:
        journal.remark(doubt)
    return convert(values, quantity, unit)


def drop_impossible(
    cells: pd.DataFrame,
    quantity: str,
    values: Array,
    journal: Journal,
    units: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Drop the rows whose value no place or sensor can have; say where another unit would explain it."""
    low, high = LIMITS[quantity]
    unit = {"lat": "degrees", "lon": "degrees", "temperature": "K", "wind": "m/s"}[quantity]
    outside = ~((values >= low) & (values <= high))
    shown = examples(cells[[quantity]], outside & journal.alive)
    others = other_units(quantity, values[outside & journal.alive], units.get(quantity, unit))
    hint = f"; they may be {others}" if others else ""
    why = f"{quantity} is impossible: not within {low:g}..{high:g} {unit} ({shown}){hint}"
    journal.note("dropped", outside, why)
