"""The text of a file in whatever encoding it was saved."""

from __future__ import annotations

import codecs
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark its own begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_LOOKED_AT = 2**18
"""Bytes by which an encoding is told."""


class Text(NamedTuple):
    """Text, and the encoding in which it was."""

    text: str
    encoding: str


def decoded(data: bytes, source: str, encoding: str | None = None) -> Text:
    """The text that bytes are.

    Parameters
    ----------
    data : bytes
    source : str
        In messages.
    encoding : str, optional
        Left out: as a byte-order mark says, or UTF-8, or what charset-normalizer takes it for.

    Raises
    ------
    ValueError
        No text: a picture, a program, a database; or none in the encoding that is named.
    """
    known = encoding or next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if known is None and b"\0" not in data:
        try:
            return Text(data.decode("utf-8"), "UTF-8")
        except UnicodeDecodeError:
            pass
    if known is None:
        known = _told(data)
    if known is None:
        raise ValueError(f"{source}: is no text (a binary file); accepted: CSV, or Excel's .xlsx")
    try:
        return Text(data.decode(known).removeprefix("\ufeff"), known.upper())
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{source}: row {row}: not text in {known} ({error.reason})") from None
    except LookupError:
        raise ValueError(f"{source}: unknown encoding {known!r}") from None


def _told(data: bytes) -> str | None:
    from charset_normalizer import from_bytes  # only for what is not UTF-8

    head = data[:_LOOKED_AT]
    best = from_bytes(head[: len(head) - len(head) % 4]).best()
    # Windows-1252 holds all of Latin-1 that is ever written, and is what a spreadsheet of the West saves.
    if best is None or "\0" in str(best):
        return None
    return "cp1252" if best.encoding in ("latin_1", "cp1252") else best.encoding
