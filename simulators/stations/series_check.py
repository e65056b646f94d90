"""Stations that were read more than once: readings that jump away, and sensors that no longer change."""

from __future__ import annotations

import numpy as np
import pandas as pd

from simulators.arrays import Array, Mask, Rows
from simulators.stations.moments import Times

JITTER = 3.0
"""K by which two readings may differ however close they are in time."""

FEWEST = 5
"""Readings that must be the same for a sensor to be stuck, as in QARTOD's flat-line test (IOOS 2020)."""

LIVELY = 2.0
"""K over which the median station's temperature must range meanwhile."""


def spikes(ids: pd.Series[str], time: Times, temperature: Array, alive: Mask, most: float) -> Mask:
    """Which rows jump away from their station's readings before and after by more than `most` K an hour.

    The last (first) reading of a station is one if it jumps from the two before (after) it, which agree; of
    two readings nobody can say which is wrong. MADIS allows 35 degF, 19 K, an hour.
    """
    rows = _in_order(ids, time, alive)
    found = np.zeros(len(ids), dtype=bool)
    if len(rows) < 3:
        return found
    code = pd.factorize(ids.iloc[rows])[0]
    t, hour = temperature[rows], time[rows].astype(np.int64) / 3600.0

    def jumps(i: Rows, j: Rows) -> Mask:
        """Whether readings i and j, in range and of one station, are too far apart."""
        i, j = np.clip(i, 0, len(rows) - 1), np.clip(j, 0, len(rows) - 1)
        allowed = JITTER + most * np.abs(hour[i] - hour[j])
        far: Mask = (code[i] == code[j]) & (np.abs(t[i] - t[j]) > allowed)
        return far

    k = np.arange(len(rows))
    same = np.concatenate([[False], code[1:] == code[:-1]])
    first, last = ~same, np.concatenate([~same[1:], [True]])
    middle = ~first & ~last & jumps(k, k - 1) & jumps(k, k + 1) & ~jumps(k - 1, k + 1)
    three_before = last & (k >= 2) & (code[np.maximum(k - 2, 0)] == code)
    three_after = first & (k < len(rows) - 2) & (code[np.minimum(k + 2, len(rows) - 1)] == code)
    at_end = three_before & jumps(k, k - 1) & ~jumps(k - 1, k - 2)
    at_start = three_after & jumps(k, k + 1) & ~jumps(k + 1, k + 2)
    found[rows[middle | at_end | at_start]] = True
    return found


def stuck(ids: pd.Series[str], time: Times, temperature: Array, alive: Mask, hours: float) -> Mask:
    """Which rows are of stations whose last readings are the same for at least so many hours.

    Nobody is stuck where the weather stands still: the median station with as many readings must range over
    2 K in the same time.
    """
    rows = _in_order(ids, time, alive)
    found = np.zeros(len(ids), dtype=bool)
    if not len(rows):
        return found
    code = pd.factorize(ids.iloc[rows])[0]
    t, hour = temperature[rows], time[rows].astype(np.int64) / 3600.0
    table = pd.DataFrame({"code": code, "t": t, "hour": hour})
    last = table.groupby("code").tail(1).set_index("code")
    differs = table[table["t"] != table["code"].map(last["t"])]
    changed = differs.groupby("code")["hour"].max().reindex(last.index, fill_value=-np.inf)
    tail = table[table["hour"] > table["code"].map(changed)].groupby("code")["hour"].agg(["min", "count"])
    lasting = last["hour"] - tail["min"]
    suspects = lasting.index[(lasting >= hours) & (tail["count"] >= FEWEST)]
    for one in suspects:
        meanwhile = table[(table["hour"] >= tail["min"][one]) & (table["hour"] <= last["hour"][one])]
        groups = meanwhile.groupby("code")["t"]
        ranges = (groups.max() - groups.min())[groups.count() >= FEWEST]
        if len(ranges) >= 3 and ranges.median() >= LIVELY:
            found[rows[code == one]] = True
    return found


def _in_order(ids: pd.Series[str], time: Times, alive: Mask) -> Rows:
    """The rows with a time of stations, by station and time."""
    rows = np.flatnonzero(alive & ~np.isnat(time))
    return rows[np.lexsort((time[rows], pd.factorize(ids.iloc[rows])[0]))]
