"""How numbers, times and agents look, in tables and figures alike."""

from __future__ import annotations

import math


def significant(value: float | None, digits: int = 4) -> str:
    """A number with some significant digits, without exponent where it reads well; "-" for nan."""
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
    """An interval in brackets, "" where there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{significant(low, digits)}, {significant(high, digits)}]"


def duration(seconds: float) -> str:
    """A time as 0:07, 12:34 or 1:02:03."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
