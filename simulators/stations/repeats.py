"""Stations, and places, that are in a table more than once."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Array, Mask
from simulators.stations.import_report import Journal
from simulators.stations.moments import Times, nearest_first

ROUNDING = np.array([1.0, 5.0, 2.0])
"""K, percent, m/s by which two reports of one station and time may differ as long as rounding explains it."""


def drop_repeated_stations(
    ids: pd.Series[str], time: Times, moment: np.datetime64 | None, asked: bool, journal: Journal
) -> None:
    """Of each station keep the reading that is the latest or nearest to a moment, the first of equals."""
    order = nearest_first(time, moment, asked, journal.alive)
    repeated = np.zeros(len(ids), dtype=bool)
    repeated[order] = ids.iloc[order].duplicated().to_numpy()
    kept = f"reading nearest to {moment} UTC is kept" if asked else "latest reading is kept"
    journal.note("dropped", repeated, f"repeated station: its {kept}")


def one_spelling(ids: pd.Series[str], place: pd.DataFrame, journal: Journal) -> pd.Series[str]:
    """Ids that differ from another in upper and lower case alone, at its place, are spelled as that one."""
    folded = ids.str.casefold()
    near = place.where(place.abs() <= 1e6).round(2)  # numbers that are no places have none
    at = pd.Series(list(zip(folded, near["lon"], near["lat"], strict=True)))
    first = ids.reset_index(drop=True).groupby(at, sort=False).transform("first")
    first.index = ids.index
    respelled = (first != ids).to_numpy(dtype=bool)
    journal.note("changed", respelled, "id differs from that of an earlier row at its place in case alone")
    same = pd.Series(folded.to_numpy())[journal.alive]
    spellings = first.reset_index(drop=True)[journal.alive].groupby(same).transform("nunique")
    elsewhere = np.zeros(len(ids), dtype=bool)
    elsewhere[journal.alive] = spellings.to_numpy() > 1
    journal.note("noted", elsewhere, "id differs from that of a station elsewhere in case alone")
    return first


def contradicting_repeats(ids: pd.Series[str], time: Times, readings: Array, alive: Mask) -> Mask:
    """Which rows give, of one station and time, other readings than the first such row does.

    Rows without a time are of one time where all of their station are.
    """
    rows: NDArray[np.intp] = np.flatnonzero(alive)
    found = np.zeros(len(ids), dtype=bool)
    if not ids.iloc[rows].duplicated().any():
        return found
    keys = pd.MultiIndex.from_arrays([ids.iloc[rows], time[rows].astype(np.int64)])
    number, _ = keys.factorize()
    table = pd.DataFrame(readings[rows]).groupby(number)
    spread = (table.max() - table.min()).to_numpy()
    found[rows] = (spread[number] > ROUNDING).any(axis=1)
    return found


def handle_repeated_places(place: pd.DataFrame, readings: Array, action: str, journal: Journal) -> None:
    """Note, or drop, all but the first of the stations at one place."""
    rows = np.flatnonzero(journal.alive)
    at = place.iloc[rows]
    again = np.zeros(len(place), dtype=bool)
    again[rows] = at.duplicated().to_numpy()
    if action == "drop":
        journal.note("dropped", again, "repeated place: the first station there is kept")
        return
    same = np.zeros(len(place), dtype=bool)
    same[rows] = pd.concat([at.reset_index(drop=True), pd.DataFrame(readings[rows])], axis=1).duplicated()
    journal.note("noted", again & same, "same place and readings as an earlier station")
    journal.note("noted", again & ~same, "same place as an earlier station, other readings")
