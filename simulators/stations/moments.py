"""The times of readings: how they are read, which moment a snapshot is of, and what is too far from it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Mask
from simulators.stations.cells import times
from simulators.stations.import_report import Journal

Moment = str | datetime.datetime | np.datetime64 | None
Times = NDArray[np.datetime64]

WINDOW = 24.0
"""Hours around the moment in which a reading is of the same weather, unless another window is asked for."""

SAID = 3.0
"""Hours; a longer span of the readings that are kept is noted, since the day warms and cools meanwhile."""


def moment_of(at: Moment) -> np.datetime64 | None:
    """The moment that is asked for, UTC; ValueError where it is none."""
    if at is None:
        return None
    moment = pd.to_datetime(pd.Series([at], dtype=object), utc=True, errors="coerce").dt.tz_localize(None)
    if moment.isna().any():
        raise ValueError(f"at={at!r} must be a date and time, such as '2007-10-14T15:00Z'")
    return np.datetime64(moment.iloc[0].isoformat(), "s")


def times_of(
    cells: pd.DataFrame, units: Mapping[str, str], time_zone: str | None, journal: Journal, source: str
) -> Times:
    """The times of a table's rows in UTC, NaT where there is none."""
    if "time" not in cells:
        return np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[s]")
    try:
        time, unreadable, naive = times(cells["time"], units.get("time"), time_zone)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    journal.note(
        "noted", unreadable, "time cannot be read, or the clock was changed then; kept without a time"
    )
    if time_zone is None:
        journal.note("noted", naive, "time without an offset or time zone, taken as UTC")
    elif naive.any() and time_zone.upper() not in ("UTC", "GMT", "ETC/UTC"):
        journal.note("changed", naive, f"time of {time_zone} turned into UTC")
    return time


def drop_stale(
    time: Times, moment: np.datetime64 | None, window: float | None, journal: Journal
) -> np.datetime64 | None:
    """Drop the readings further from a moment than a window of hours; return the moment.

    The moment is the one asked for, or the latest one before which, within the window, at least half as many
    readings lie as before any other: a few clocks that are ahead do not make all others stale.
    """
    hours = WINDOW if window is None else window
    seconds = time.astype("datetime64[s]").astype(np.int64)
    known = journal.alive & ~np.isnat(time)
    if not known.any():
        return moment
    span = int(hours * 3600)
    if moment is None:
        ordered = np.sort(seconds[known])
        before = np.arange(1, len(ordered) + 1) - np.searchsorted(ordered, ordered - span, side="left")
        latest = ordered[np.flatnonzero(before >= before.max() / 2)[-1]]
        moment = np.datetime64(int(latest), "s")
    away = np.abs(seconds - moment.astype(np.int64))
    stale = known & (away > span)
    if stale.all() or not (known & ~stale).any():
        nearest = time[known][np.argmin(away[known])]
        raise ValueError(
            f"no reading lies within {hours:g} hours of {moment} UTC; the nearest is of {nearest}"
        )
    journal.note("dropped", stale, f"stale: more than {hours:g} hours from {moment} UTC")
    return moment


def note_span(time: Times, journal: Journal) -> None:
    """Note where the readings that are kept are many hours apart."""
    known = time[journal.alive & ~np.isnat(time)]
    if len(known) < 2:
        return
    hours = (known.max() - known.min()).astype(np.int64) / 3600.0
    if hours > SAID:
        journal.remark(
            f"readings are up to {hours:.1f} hours apart, in which the day warms or cools; "
            "`window` keeps those near one moment"
        )


def nearest_first(time: Times, moment: np.datetime64 | None, asked: bool, rows: Mask) -> NDArray[np.intp]:
    """The rows ordered by time: the latest first, or the nearest to the moment where one was asked for."""
    later = np.iinfo(np.int64).max
    seconds = time.astype("datetime64[s]").astype(np.int64)
    away = np.abs(seconds - moment.astype(np.int64)) if asked and moment is not None else -seconds
    away = np.where(np.isnat(time), later, away)
    at = np.flatnonzero(rows)
    ordered: NDArray[np.intp] = at[np.argsort(away[at], kind="stable")]
    return ordered
