"""Numbers as people write them: 0.5 or 0,5; 1234567, 1 234 567, 1,234,567 or 1.234.567."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from simulators.arrays import Array

_SPACES = re.compile(r"(?<=\d)[\s'\u2019\u202f\u00a0](?=\d{3})")
_THOUSANDS = {
    ".": re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?"),
}
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")
"""A mark before three digits, which may be thousands as well as decimals."""
_DECIMALS = {mark: re.compile(rf"[-+]?\d*\{mark}\d+([eE][-+]?\d+)?") for mark in ".,"}


def numbers(texts: Sequence[str], decimal: str) -> Array:
    """The numbers that texts are, with a decimal mark; nan where a text is no finite number."""
    plain = [_plain(text, decimal) for text in texts]
    values = pd.to_numeric(pd.Series(plain, dtype=object), errors="coerce").to_numpy(dtype=float)
    return np.where(np.isfinite(values), values, np.nan)


def is_number(text: str) -> bool:
    """Whether a text is a number with either decimal mark."""
    return bool(np.isfinite(numbers([text], ".")[0]) or np.isfinite(numbers([text], ",")[0]))


def decimal_mark(texts: Iterable[str], source: str) -> str:
    """The decimal mark of a table, "." or ",", as its numbers tell.

    Raises
    ------
    ValueError
        Some numbers need the one and some the other, or all could be either, as 12,345.
    """
    seen = {".": "", ",": ""}
    either = {".": "", ",": ""}
    for text in map(str.strip, texts):
        for mark, other in ((".", ","), (",", ".")):
            sure = text.count(other) > 1 or (other in text and mark in text)
            if _EITHER.fullmatch(text) and mark in text:
                either[mark] = either[mark] or text
            elif _DECIMALS[mark].fullmatch(text) or (sure and _THOUSANDS[mark].fullmatch(text)):
                seen[mark] = seen[mark] or text
    if seen["."] and seen[","]:
        raise ValueError(
            f"{source}: {seen['.']!r} has a decimal point and {seen[',']!r} a decimal comma; "
            "use one of them, or say decimal"
        )
    if seen[","] or seen["."]:
        mark = "," if seen[","] else "."
        if either["."] and mark == ",":
            raise ValueError(_doubt(source, either["."]))
        return mark
    if either[","]:
        raise ValueError(_doubt(source, either[","]))
    return "."


def _doubt(source: str, text: str) -> str:
    return f"{source}: {text!r} may be thousands or decimals; say decimal, '.' or ',', or write it plainly"


def _plain(text: str, decimal: str) -> str:
    text = _SPACES.sub("", text.strip())
    if _THOUSANDS[decimal].fullmatch(text):
        text = text.replace("," if decimal == "." else ".", "")
    return text if decimal == "." else text.replace(".", "!").replace(",", ".")
