"""How numbers, times and agents look, in tables and figures alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

LineStyle = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's palette, which colour-blind readers can tell apart; line styles tell it in print.
_STYLES: dict[str, tuple[str, LineStyle]] = {
    "d-gpucb": ("#0072B2", "-"),
    "gp-ucb": ("#D55E00", "--"),
    "ei": ("#009E73", "-."),
    "mpi": ("#CC79A7", ":"),
    "d-ei": ("#009E73", "-"),
    "d-mpi": ("#CC79A7", "-"),
    "uniform": ("#7F7F7F", (0, (5, 1))),
    "current": ("#000000", (0, (5, 1, 1, 1, 1, 1))),
    "random": ("#B8860B", (0, (3, 1, 1, 1))),
}
_OTHERS: tuple[tuple[str, LineStyle], ...] = (
    ("#56B4E9", "-"),
    ("#E69F00", "--"),
    ("#8B4513", "-."),
    ("#4B0082", ":"),
)


def styles(labels: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, LineStyle]]:
    """Return colour and line style for every agent: the same for an agent in all figures of all studies.

    Parameters
    ----------
    labels, names : sequence of str
        The agents' labels and, in the same order, registry names. A second agent of the same name gets
        a colour that is free.
    """
    chosen: dict[str, tuple[str, LineStyle]] = {}
    used: set[str] = set()
    spare = 0
    for label, name in zip(labels, names, strict=True):
        if name in _STYLES and name not in used:
            used.add(name)
            chosen[label] = _STYLES[name]
        else:
            chosen[label] = _OTHERS[spare % len(_OTHERS)]
            spare += 1
    return chosen


def significant(value: float | None, digits: int = 4) -> str:
    """Return a number with some significant digits, without exponent where it reads well; "-" for nan."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    value = float(f"{value:.{digits - 1}e}")  # first, for 0.99996 has one digit more before the point
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 7:
        return f"{value:.{max(0, digits - 1 - size)}f}"
    return f"{value:.{digits - 1}e}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return an interval in brackets, "" where there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{significant(low, digits)}, {significant(high, digits)}]"


def duration(seconds: float) -> str:
    """Return a time as 0:07, 12:34 or 1:02:03."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def file_name(text: str) -> str:
    """Return a text as a part of a file name: letters, digits, '-', '_' and '.' only."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in text).strip(".-") or "unnamed"
