"""Bands of ages, as people write them: "0-4", "5 to 9", "65+", "<5 years", "[0,5)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

OPEN = 1000
"""Years. The end of a band without one, beyond any age."""


class Band(NamedTuple):
    """Ages in completed years, `low` to `high` with both."""

    low: int
    high: int

    @property
    def is_open(self) -> bool:
        """Whether it has no end, as 65+."""
        return self.high >= OPEN

    def holds(self, other: Band) -> bool:
        """Whether all ages of another band are in this one."""
        return self.low <= other.low and other.high <= self.high

    def __str__(self) -> str:
        if self.is_open:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


_UNIT = r"(?:\s*(?:years?|yrs?|y\.?o\.?|y|ans|jahre|a\u00f1os|anni))?(?:\s*(?:old|of age))?\.?"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?:ages?|aged|x)?\s*{form}{_UNIT}", re.IGNORECASE), kind)
    for form, kind in (
        (r"(\d{1,3})\s*(?:[-\u2010-\u2014_]|to|bis|a|\u00e0)\s*(\d{1,3})", "both"),
        (r"x(\d{1,3})\.(\d{1,3})", "both"),  # "0-4" as R makes a name of it
        (r"\[\s*(\d{1,3})\s*[,;]\s*(\d{1,3})\s*\)", "half"),  # R's cut()
        (r"\[\s*(\d{1,3})\s*[,;]\s*(?:inf|\u221e|\d{3,})\s*[\])]", "open"),
        (rf"(\d{{1,3}}){_UNIT}\s*(?:\+|plus|(?:and|or) (?:over|older|above|more|up))", "open"),
        (r"x(\d{1,3})\.", "open"),
        (r"(?:>=|\u2265|from)\s*(\d{1,3})", "open"),
        (r"(?:>|over|above|older than)\s*(\d{1,3})", "over"),
        (r"(?:<=|\u2264|up to)\s*(\d{1,3})", "up to"),
        (r"(?:<|under|below|younger than|less than)\s*(\d{1,3})", "under"),
        (r"(\d{1,3})", "one"),
    )
)

_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
DATE = re.compile(
    rf"\d{{4}}-\d\d-\d\d(T[\d:.]*)?|\d{{1,2}}[-. ]{_MONTH}|{_MONTH}[-. ]\d{{1,2}}", re.IGNORECASE
)
"""What a spreadsheet makes of "5-9" or "10-14"."""


def band(name: str) -> Band | None:
    """The ages that a name says, or None where it says none.

    "65+", "65 and over" and ">= 65" have no end; "<5" and "under 5" are 0-4, ">64" is 65+, "7" is one year,
    and "[0,5)" is 0-4.
    """
    text = " ".join(name.split())
    for form, kind in _FORMS:
        found = form.fullmatch(text)
        if found is None:
            continue
        ages = [int(age) for age in found.groups()]
        match kind:
            case "both":
                low, high = ages
            case "half":
                low, high = ages[0], ages[1] - 1
            case "open":
                low, high = ages[0], OPEN
            case "over":
                low, high = ages[0] + 1, OPEN
            case "up to":
                low, high = 0, ages[0]
            case "under":
                low, high = 0, ages[0] - 1
            case _:
                low = high = ages[0]
        # Nobody is older than 120: 80-100 and [75,120) are how some files write 80+ and 75+.
        return None if low > high else Band(low, OPEN if high >= 100 else high)
    return None


def bands_of(names: Sequence[str]) -> tuple[Band, ...] | None:
    """The bands of all names, or None where some name says no ages."""
    found = [band(name) for name in names]
    return None if not found or None in found else tuple(one for one in found if one is not None)


def check_dates(names: Sequence[str], source: str) -> None:
    """Refuse dates that a spreadsheet has made of bands."""
    for name in names:
        if DATE.fullmatch(name):
            raise ValueError(
                f"{source}: {name!r} is a date, which a spreadsheet has made of ages such as '5-9'; "
                "write '5 to 9'"
            )


def check_bands(names: Sequence[str], source: str) -> None:
    """Refuse bands that overlap or leave ages out, and dates that a spreadsheet has made of them.

    Names that say no ages pass.
    """
    check_dates(names, source)
    found = bands_of(names)
    if found is None or len(found) < 2:
        return
    order = sorted(range(len(found)), key=lambda index: found[index])
    for before, after in zip(order, order[1:], strict=False):
        if found[after].low <= found[before].high:
            at = "ages" if found[after].low < found[before].high else "age"
            ages = f"{at} {Band(found[after].low, min(found[before].high, found[after].high))}"
            raise ValueError(f"{source}: groups {names[before]!r} and {names[after]!r} overlap ({ages})")
        if found[after].low > found[before].high + 1:
            missing = Band(found[before].high + 1, found[after].low - 1)
            raise ValueError(
                f"{source}: no group holds the ages {missing}, between {names[before]!r} and {names[after]!r}"
            )
