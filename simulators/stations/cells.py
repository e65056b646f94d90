"""From the cells of a table to numbers and times, with what stands for missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Array, Mask

MISSING_WORDS = r"(?i:|mm?|na|n/a|nan|nat|null|none|missing|-+|\?+|/+(kt|mps|kmh)?)"
"""Words for missing; M is the IEM's, slashes are those of METAR reports."""

SENTINELS = (-9999.0, -999.9, -999.0, 999.0, 999.9, 9999.0, 9999.9)
"""Numbers for missing, none of which any reading can be."""

CODES = (99.0, 99.9, 99.99, 999.99, 9999.99, 32767.0, -32768.0)
"""Numbers, with either sign, that stand for missing where they are far from all else in their column: some
readings can be 99 degF."""

FAR = 5.0
"""Robust standard deviations from the median of the others: no reading of the same weather."""

_DECIMAL_COMMA = r"[+-]?\d+,\d+"

_OFFSET = r"(?:[zZ]|UTC|GMT|[+-]\d\d(?::?\d\d)?)$"
_TIME_OF_DAY = r"\d:\d\d|T\d|\d \d"


def numbers(cells: pd.Series[str]) -> tuple[Array, Mask, Mask]:
    """The numbers of a column of text or numbers, and which cells are missing or cannot be read.

    Returns
    -------
    values : (n,) array
        nan where missing or unreadable.
    missing : (n,) array of bool
        Empty cells, the words of `MISSING_WORDS` and the numbers of `SENTINELS`.
    unreadable : (n,) array of bool
        Text that is no number, and numbers that are not finite.
    """
    text = stripped(cells)
    if decimal_commas(cells).any():
        text = text.where(~text.str.fullmatch(_DECIMAL_COMMA), text.str.replace(",", ".", regex=False))
    values = pd.to_numeric(text, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    words = text.str.fullmatch(MISSING_WORDS).to_numpy(dtype=bool)
    missing = words | np.isin(values, SENTINELS)
    unreadable = ~missing & ~np.isfinite(values)
    return np.where(missing | unreadable, np.nan, values), missing, unreadable


def decimal_commas(cells: pd.Series[str]) -> Mask:
    """Which cells are numbers with a decimal comma, in a column where no number has a decimal point."""
    if cells.dtype.kind in "fiub":
        return np.zeros(len(cells), dtype=bool)
    text = stripped(cells)
    commas: Mask = text.str.fullmatch(_DECIMAL_COMMA).to_numpy(dtype=bool)
    if commas.any() and text.str.contains(r"\d\.\d").any():
        return np.zeros(len(cells), dtype=bool)
    return commas


def missing_codes(values: Array) -> Mask:
    """Which values of a column, nan where there is none, are `CODES` that stand far from all others."""
    magnitude = np.abs(values)
    coded: Mask = np.isin(magnitude, np.abs(CODES))
    others = values[~coded & np.isfinite(values)]
    if not coded.any() or len(others) < 3:
        return np.zeros(len(values), dtype=bool)
    middle = np.median(others)
    spread = max(1.4826 * float(np.median(np.abs(others - middle))), 0.02 * abs(float(middle)), 1.0)
    beyond = (values > others.max() + spread) | (values < others.min() - spread)
    return np.asarray(coded & beyond & (np.abs(values - middle) > FAR * spread))


def examples(cells: pd.DataFrame, which: Mask) -> str:
    """Up to three different cells of the first thousand of some rows, as a message quotes them."""
    shown = cells.iloc[np.flatnonzero(which)[:1000]]
    different = dict.fromkeys(text for name in shown for text in stripped(shown[name]))
    return ", ".join(repr(text) if text else "an empty cell" for text in list(different)[:3])


def stripped(cells: pd.Series[str]) -> pd.Series[str]:
    """The cells as text without spaces around it; "" for missing."""
    return cells.astype("string").fillna("").str.strip()


def times(
    cells: pd.Series[str], unit: str | None, time_zone: str | None
) -> tuple[NDArray[np.datetime64], Mask, Mask]:
    """The times of a column in UTC.

    Parameters
    ----------
    cells : (n,) series
        ISO 8601 text, datetimes, or Unix seconds.
    unit : str or None
        `"unix"`, a format of `strptime`, or None for ISO 8601.
    time_zone : str or None
        That of times without an offset, such as `"America/Chicago"`; UTC if None.

    Returns
    -------
    values : (n,) array of datetime64[s]
        NaT where missing, unreadable, or skipped or repeated by a change of the clock.
    unreadable, naive : (n,) array of bool
        Cells of which nothing could be made though they are not missing; times without an offset.
    """
    text = stripped(cells)
    missing = text.str.fullmatch(MISSING_WORDS).to_numpy(dtype=bool)
    naive = np.zeros(len(text), dtype=bool)
    if unit == "unix":
        seconds = pd.to_numeric(text, errors="coerce")
        utc = pd.to_datetime(seconds.where(seconds.abs() < 1e11), unit="s", utc=True, errors="coerce")
    else:
        has_offset = text.str.contains(_OFFSET) & text.str.contains(_TIME_OF_DAY)
        naive = ~has_offset.to_numpy(dtype=bool) & ~missing
        form = unit or "ISO8601"
        utc = pd.to_datetime(text.mask(naive | missing), format=form, utc=True, errors="coerce")
        local = pd.to_datetime(text.where(naive), format=form, errors="coerce", utc=True).dt.tz_localize(None)
        try:
            placed = local.dt.tz_localize(time_zone or "UTC", ambiguous="NaT", nonexistent="NaT")
        except (KeyError, ValueError, OSError):
            raise ValueError(
                f"unknown time zone {time_zone!r}; accepted: names such as 'America/Chicago'"
            ) from None
        utc = utc.fillna(placed.dt.tz_convert("UTC"))
    values = utc.dt.tz_localize(None).to_numpy(dtype="datetime64[s]")
    unreadable = np.isnat(values) & ~missing
    return values, unreadable, naive & ~np.isnat(values)
