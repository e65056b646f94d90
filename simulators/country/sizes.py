"""Classes of sizes, as people write them: "1", "2-9", "10 to 49", "250+", "<10"."""

from __future__ import annotations

import re
from typing import NamedTuple

from simulators.country.bands import DATE

_NUMBER = r"(\d{1,3}(?:[ ,'\u202f\u00a0]\d{3})+|\d+)"
_UNIT = r"(?:\s*(?:persons?|people|members?|employees|workers))?"
_FORMS = tuple(
    (re.compile(form, re.IGNORECASE), kind)
    for form, kind in (
        (rf"{_NUMBER}\s*(?:[-\u2010-\u2014_]|to|bis|a|\u00e0)\s*{_NUMBER}{_UNIT}", "both"),
        (rf"{_NUMBER}{_UNIT}\s*(?:\+|plus|(?:and|or) (?:over|above|more|up|larger))", "open"),
        (rf"(?:>=|\u2265|from)\s*{_NUMBER}{_UNIT}", "open"),
        (rf"(?:<|under|below|less than|fewer than)\s*{_NUMBER}{_UNIT}", "under"),
        (rf"(?:<=|\u2264|up to)\s*{_NUMBER}{_UNIT}", "up to"),
        (rf"{_NUMBER}(?:\.0*)?{_UNIT}", "one"),
    )
)


class Sizes(NamedTuple):
    """Sizes in persons, `least` to `most` with both; `most` is None where there is no end."""

    least: int
    most: int | None

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least}+"
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def sizes(text: str, where: str) -> Sizes:
    """The sizes, from 1 person on, that a text says.

    Raises
    ------
    ValueError
        One line that begins with `where`: a date that a spreadsheet has made of them, or no sizes.
    """
    plain = " ".join(text.split())
    if DATE.fullmatch(plain):
        raise ValueError(
            f"{where} is the date {plain!r}, which a spreadsheet has made of sizes such as '2-9'; "
            "write '2 to 9'"
        )
    for form, kind in _FORMS:
        found = form.fullmatch(plain)
        if found is None:
            continue
        ends = [int(re.sub(r"\D", "", number)) for number in found.groups()]
        least, most = {
            "both": (ends[0], ends[-1]),
            "open": (ends[0], None),
            "under": (1, ends[0] - 1),
            "up to": (1, ends[0]),
            "one": (ends[0], ends[0]),
        }[kind]
        least = max(least, 1)  # a class "0-9" has nobody without persons
        if most is None or least <= most:
            return Sizes(least, most)
    raise ValueError(f"{where} is {plain!r}; accepted: sizes in persons, such as '2', '2-9' or '250+'")
