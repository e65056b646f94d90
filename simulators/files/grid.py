"""A table of a file as a grid of text, from CSV in any encoding or from a sheet of a workbook."""

from __future__ import annotations

import csv
import datetime
import io
import os
import zipfile
from dataclasses import dataclass
from typing import Any

import pandas as pd

from policyloop.messages import on_one_line, unknown_name
from simulators.files.encoding import decoded
from simulators.files.text_file import LARGEST, content

DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
"""The comma comes last: with another delimiter it may be the decimal mark."""

_LOOKED_AT = 20
"""Rows by which a delimiter is told."""

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True)
class Grid:
    """Cells of text; every row is as long as the longest.

    Attributes
    ----------
    source : str
        The file, and the sheet of a workbook with several; for messages.
    rows : list of list of str
        Without the empty rows and columns around them; "" where there is nothing.
    first : int
        The row of the file in which `rows` begins, counted from 1.
    how : str
        As what it was read: "CSV, semicolons, UTF-16".
    """

    source: str
    rows: list[list[str]]
    first: int
    how: str

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0])

    def row(self, index: int) -> int:
        """The row of the file that `rows[index]` is."""
        return self.first + index


def read_grid(path: str | os.PathLike[str], *, sheet: str | None = None, encoding: str | None = None) -> Grid:
    """Read the one table of a file.

    Parameters
    ----------
    path : path
        Delimited text, plain or gzip, or an Excel workbook (.xlsx), told by its content.
    sheet : str, optional
        Of a workbook; left out, its only one.
    encoding : str, optional
        Of text; left out, what it looks like.

    Raises
    ------
    ValueError
        One line that names the file: it is missing, empty, binary or damaged, a row is longer than the first,
        the sheet is not there or has to be named.
    """
    source = os.fspath(path)
    data = content(path)
    if data.startswith(_OLE):
        raise ValueError(f"{source}: is a workbook of old Excel (.xls); save it as .xlsx or CSV")
    if data.startswith(_ZIP):
        return _of_sheet(data, source, sheet)
    text, known = decoded(data, source, encoding)
    return _of_text(text, source, known)


def sheets(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of a workbook's sheets; none of any other file."""
    data = content(path)
    if not data.startswith(_ZIP):
        return ()
    with _workbook(data, os.fspath(path)) as book:
        return tuple(map(str, book.sheet_names))


def _of_text(text: str, source: str, encoding: str) -> Grid:
    delimiter = _delimiter(text)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise ValueError(f"{source}: {on_one_line(error)}") from None
    return _trimmed(rows, source, f"CSV, {DELIMITERS[delimiter]}, {encoding}")


def _delimiter(text: str) -> str:
    """The first delimiter that gives all rows the same number of cells, or else the most frequent."""
    lines = [line for line in text[: 2**20].splitlines() if line.strip() and line[0] != "#"][:_LOOKED_AT]
    for delimiter in DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        # R's write.table leaves the corner out, so that its header is one cell short.
        if (
            min(widths, default=0) > 1
            and len(set(widths[1:] or widths)) == 1
            and widths[-1] - widths[0] in (0, 1)
        ):
            return delimiter
    return max(DELIMITERS, key="\n".join(lines).count) if lines else ","


def _of_sheet(data: bytes, source: str, sheet: str | None) -> Grid:
    with _workbook(data, source) as book:
        names = [str(name) for name in book.sheet_names]
        if sheet is None and len(names) > 1:
            raise ValueError(f"{source}: has {len(names)} sheets; name one of them ({_some(names)})")
        chosen = names[0] if sheet is None else _sheet(names, sheet, source)
        try:
            cells = pd.read_excel(book, sheet_name=chosen, header=None, dtype=object, na_filter=False)
        except Exception as error:  # a damaged workbook fails in every way
            raise ValueError(f"{source}: cannot be read as a workbook ({on_one_line(error)})") from None
    rows = [[_text(cell) for cell in row] for row in cells.itertuples(index=False)]
    return _trimmed(rows, source if len(names) == 1 else f"{source} ({chosen})", "Excel workbook")


def _workbook(data: bytes, source: str) -> pd.ExcelFile:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(one.file_size for one in archive.infolist())
            names = archive.namelist()
        if not any(name.startswith("xl/") for name in names):
            raise ValueError(f"{source}: is a zip archive, and no workbook; accepted: CSV, or Excel's .xlsx")
        if size > LARGEST:
            raise ValueError(f"{source}: is larger than {LARGEST / 2**20:g} MiB, so no table of a country")
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source}: cannot be read as a workbook ({error})") from None
    try:
        return pd.ExcelFile(io.BytesIO(data), engine="openpyxl")
    except Exception as error:
        raise ValueError(f"{source}: cannot be read as a workbook ({on_one_line(error)})") from None


def _sheet(names: list[str], wanted: str, source: str) -> str:
    for name in names:
        if name.casefold() == wanted.casefold():
            return name
    raise ValueError(f"{source}: {unknown_name('sheet', wanted, names)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", .." if len(names) > 5 else "")


def _text(cell: Any) -> str:
    """A cell as text; a date in ISO 8601, by which `bands` knows what a spreadsheet has made of "5-9"."""
    if cell is None or cell is pd.NaT:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return (
            "" if cell != cell else repr(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        )
    if isinstance(cell, datetime.datetime | datetime.date):
        return cell.isoformat()
    return str(cell).strip()


def _trimmed(rows: list[list[str]], source: str, how: str) -> Grid:
    """The grid of some rows, without notes before and nothing around them."""
    rows = [[cell.strip() for cell in row] for row in rows]
    first = 0
    while first < len(rows) and (not any(rows[first]) or rows[first][0].startswith("#")):
        first += 1
    last = len(rows)
    while last > first and not any(rows[last - 1]):
        last -= 1
    if first == last:
        raise ValueError(f"{source}: the file is empty")
    kept = [row for row in rows[first:last]]
    width = max(len(row) for row in kept)
    kept = [row + [""] * (width - len(row)) for row in kept]
    while width > 1 and not any(row[width - 1] for row in kept):
        width -= 1
    return Grid(source, [row[:width] for row in kept], first + 1, how)
