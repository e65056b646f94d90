"""What a report is made of before it is a page: sections of paragraphs, tables and figures, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

Cell = str | tuple[str, ...]
"""Text, or parts that stay together each, with commas between them."""


@dataclass(frozen=True)
class Paragraph:
    """Some sentences.

    Attributes
    ----------
    text : str
    tone : {"", "lead", "note", "warning"}
        The answer itself, small print, or what should stop a reader.
    """

    text: str
    tone: Literal["", "lead", "note", "warning"] = ""
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class Points:
    """Sentences of which each stands for itself."""

    items: Sequence[str]
    kind: Literal["points"] = "points"


@dataclass(frozen=True)
class Table:
    """Rows of cells under a caption.

    Attributes
    ----------
    caption : str
    head : sequence of str
        A name for every column.
    rows : sequence of sequence of Cell
        The first cell names its row.
    text_columns : sequence of int
        Columns that hold words; all others are numbers, and stand to the right.
    strong : sequence of int
        Rows that are what the table is about.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    text_columns: Sequence[int] = ()
    strong: Sequence[int] = ()
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Drawing:
    """A figure: an SVG that is named and described in itself, and the caption below it."""

    svg: Markup
    caption: str
    kind: Literal["drawing"] = "drawing"


@dataclass(frozen=True)
class Numbers:
    """A few numbers that a reader should take home, each with what it is of, and small print."""

    items: Sequence[tuple[str, str, str]]
    kind: Literal["numbers"] = "numbers"


@dataclass(frozen=True)
class Verbatim:
    """Text as it is, line by line, under a name."""

    name: str
    text: str
    kind: Literal["verbatim"] = "verbatim"


Block = Paragraph | Points | Table | Drawing | Numbers | Verbatim


@dataclass(frozen=True)
class Section:
    """A section with a heading; `key` is its place on the page."""

    key: str
    heading: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A whole report.

    Attributes
    ----------
    title, subtitle : str
    sections : sequence of Section
    foot : str
        Who made it, of what, and when the study was made.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    foot: str
    warnings: Sequence[str] = field(default_factory=tuple)
