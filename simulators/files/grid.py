"""A table of a file, from text in any encoding or from a sheet of a workbook."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import os
import re
import zipfile
from dataclasses import dataclass
from typing import Any

import pandas as pd

from policyloop.messages import on_one_line, unknown_name
from simulators.files.encoding import decoded
from simulators.files.numbers import is_number
from simulators.files.text_file import LARGEST, content

DELIMITERS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "spaces"}
"""The comma comes late: with another delimiter it may be the decimal mark. Spaces part numbers alone."""

_LOOKED_AT = 20
"""Rows by which a delimiter is told."""

_NOTE_OF_EXCEL = re.compile(r"\Asep=[^\n]\r?\n")
"""A first line that tells Excel the delimiter; left blank, so that rows keep their numbers."""

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
    """

    source: str
    rows: list[list[str]]
    first: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0])

    def row(self, index: int) -> int:
        """The row of the file that `rows[index]` is."""
        return self.first + index


class TableFile:
    """A file with a table in it.

    Parameters
    ----------
    path : path
        Delimited text, plain or gzip, or an Excel workbook (.xlsx), told by its content.
    sheet : str, optional
        Of a workbook with several.
    encoding : str, optional
        Of text; left out, what it looks like.

    Attributes
    ----------
    source : str
        The file, and the sheet of a workbook with several; for messages.
    how : str
        As what it is read: "CSV, semicolons, UTF-16".

    Raises
    ------
    ValueError
        One line that names the file: it is missing, empty, binary or damaged, the sheet is not there or has
        to be named.
    """

    def __init__(
        self, path: str | os.PathLike[str], sheet: str | None = None, encoding: str | None = None
    ) -> None:
        self.source: str = os.fspath(path)
        data = content(path)
        if data.startswith(_OLE):
            raise ValueError(f"{self.source}: is a workbook of old Excel (.xls); save it as .xlsx or CSV")
        self._text: str | None = None
        self._cells: list[list[str]] = []
        if data.startswith(_ZIP):
            self.how: str = "Excel workbook"
            self._cells = self._of_workbook(data, sheet)
        else:
            text, known = decoded(data, self.source, encoding)
            self._text = _NOTE_OF_EXCEL.sub("\n", text, count=1)
            self._delimiter = _delimiter(self._text)
            self.how = f"CSV, {DELIMITERS[self._delimiter]}, {known}"

    def header(self) -> list[str]:
        """The cells of the first row that is no note; none of an empty file."""
        rows = self._cells
        if self._text is not None:
            rows = self._parsed(self._text[: 2**16].splitlines(keepends=True)[:50])
        first = next((row for row in rows if any(row) and not row[0].startswith("#")), [])
        return [cell.strip() for cell in first]

    def grid(self) -> Grid:
        """All cells, as text."""
        if self._text is None:
            return _trimmed(self._cells, self.source)
        return _trimmed(self._parsed(io.StringIO(self._text, newline="")), self.source)

    def frame(self) -> pd.DataFrame:
        """A table with a header as a data frame of text, with "" where there is nothing; for long tables.

        ValueError where a row is longer than the header.
        """
        if self._text is None:
            rows = self.grid().rows
            return pd.DataFrame(rows[1:], columns=rows[0], dtype=str)
        try:
            frame = pd.read_csv(
                io.StringIO(self._text),
                sep=self._delimiter,
                dtype=str,
                keep_default_na=False,
                na_filter=False,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{self.source}: {on_one_line(error)}") from None
        return frame.rename(columns=lambda name: str(name).strip())

    def _parsed(self, lines: Any) -> list[list[str]]:
        try:
            if self._delimiter == " ":
                return [line.split() for line in lines]
            return list(csv.reader(lines, delimiter=self._delimiter))
        except csv.Error as error:
            raise ValueError(f"{self.source}: {on_one_line(error)}") from None

    def _of_workbook(self, data: bytes, sheet: str | None) -> list[list[str]]:
        with _workbook(data, self.source) as book:
            names = [str(name) for name in book.sheet_names]
            if len(names) > 1 and sheet is None:
                raise ValueError(
                    f"{self.source}: has {len(names)} sheets; name the country of one ({_some(names)})"
                )
            chosen = names[0] if len(names) == 1 else _sheet(names, str(sheet), self.source)
            try:
                cells = pd.read_excel(book, sheet_name=chosen, header=None, dtype=object, na_filter=False)
            except Exception as error:  # a damaged workbook fails in every way
                raise ValueError(
                    f"{self.source}: cannot be read as a workbook ({on_one_line(error)})"
                ) from None
        if len(names) > 1:
            self.source = f"{self.source} ({chosen})"
        return [[_text(cell) for cell in row] for row in cells.itertuples(index=False)]


def _delimiter(text: str) -> str:
    """The first delimiter that gives all rows the same number of cells, or else the most frequent."""
    lines = [line for line in text[: 2**20].splitlines() if line.strip() and line[0] != "#"][:_LOOKED_AT]
    widths: dict[str, list[int]] = {}
    for delimiter in "\t;|,":
        with contextlib.suppress(csv.Error):
            widths[delimiter] = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
    # With the wrong delimiter a quote within a name may open a cell of several lines.
    for delimiter in sorted(widths, key=lambda one: len(widths[one]) < len(lines)):
        first, *others = widths[delimiter] or [0]
        # R's write.table leaves the corner out, so that its header is one cell short.
        rest = set(others or [first])
        if first > 1 and len(rest) == 1 and rest.pop() - first in (0, 1):
            return delimiter
    cells = [line.split() for line in lines]
    if len({len(row) for row in cells}) == 1 and all(is_number(cell) for row in cells for cell in row):
        return " "
    return max("\t;|,", key="\n".join(lines).count) if lines else ","


def _workbook(data: bytes, source: str) -> pd.ExcelFile:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(one.file_size for one in archive.infolist())
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source}: cannot be read as a workbook ({error})") from None
    if not any(name.startswith("xl/") for name in names):
        raise ValueError(f"{source}: is a zip archive, and no workbook; accepted: CSV, or Excel's .xlsx")
    if size > LARGEST:
        raise ValueError(f"{source}: is larger than {LARGEST / 2**20:g} MiB, so no table of a country")
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
    """A cell as text; a date in ISO 8601, by which one knows what a spreadsheet has made of "5-9"."""
    if cell is None or cell is pd.NaT:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        if cell != cell:
            return ""
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime | datetime.date):
        return cell.isoformat()
    return str(cell).strip()


def _trimmed(rows: list[list[str]], source: str) -> Grid:
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
    kept = rows[first:last]
    width = max(len(row) for row in kept)
    kept = [row + [""] * (width - len(row)) for row in kept]
    while width > 1 and not any(row[width - 1] for row in kept):
        width -= 1
    return Grid(source, [row[:width] for row in kept], first + 1)
