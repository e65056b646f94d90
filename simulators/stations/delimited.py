"""Stations from CSV, TSV and other delimited text, by a map of its columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Mask
from simulators.files.text_file import lines
from simulators.stations.columns import check_map, drop_elsewhere
from simulators.stations.gather import TableOptions, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.station_set import Stations


@dataclass(frozen=True)
class Table:
    """Delimited text, read but not understood.

    Attributes
    ----------
    header : tuple of str
        Names of the columns.
    header_row : int
        The line of the header.
    comments : tuple of str
        Lines that began with the comment sign.
    cells : pandas.DataFrame
        Text; a row of another length than the header is cut or filled with "".
    rows : (n,) array of int
        The line on which each row ends.
    ragged : (n,) array of bool
        Rows of another length than the header.
    """

    header: tuple[str, ...]
    header_row: int
    comments: tuple[str, ...]
    cells: pd.DataFrame
    rows: NDArray[np.int64]
    ragged: Mask


LONGEST_CELL = 50
"""Lines that a quoted cell may have; a quote that is never closed takes in all that follow."""


def read_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    comment: str = "#",
    encoding: str | None = None,
) -> Table:
    """Read delimited text with a header, plain or packed; the options are those of `read_csv`."""
    comments: list[str] = []
    at = 0

    def data() -> Iterator[str]:
        nonlocal at
        for at, line in enumerate(lines(path, encoding), 1):  # noqa: B007
            if comment and line.startswith(comment):
                comments.append(line.rstrip("\r\n"))
            elif line.strip():
                yield line.strip() if delimiter == " " else line

    source = data()
    first = next(source, None)
    if first is None:
        raise ValueError(f"{path}: row {at}: there is no header")
    if delimiter is None:
        delimiter = _delimiter(first)
    elif len(delimiter) != 1:
        raise ValueError(f"{path}: delimiter {delimiter!r} must be one character")
    header_row = at
    header = _names(first, delimiter, f"{path}: row {at}")
    try:
        rows, cells, ragged = [], [], []
        before = at
        for row in csv.reader(source, delimiter=delimiter, skipinitialspace=delimiter == " "):
            rows.append(at)
            ragged.append(len(row) != len(header))
            if max(map(len, row), default=0) > 80 or ragged[-1]:
                _refuse_open_quote(row, ragged[-1], f"{path}: row {before + 1}")
            before = at
            cells.append((row + [""] * len(header))[: len(header)] if ragged[-1] else row)
    except csv.Error as error:
        raise ValueError(f"{path}: row {at}: {_in_words(error)}") from None
    if not rows:
        raise ValueError(f"{path}: row {header_row}: there are no rows below the header")
    frame = pd.DataFrame(cells, columns=range(len(header)), dtype="string")
    frame.columns = pd.Index(header)
    return Table(header, header_row, tuple(comments), frame, np.array(rows), np.array(ragged))


def _refuse_open_quote(row: list[str], ragged: bool, where: str) -> None:
    """Refuse a cell of many lines that no table has: its quote was opened by mistake."""
    for cell in row:
        taken = cell.count("\n")
        if taken > LONGEST_CELL or (taken and ragged):
            raise ValueError(f"{where}: a quote that opens there takes in the next {taken} lines; remove it")


def read_header(
    path: str | os.PathLike[str], delimiter: str | None = None, encoding: str | None = None
) -> tuple[str, ...]:
    """The names of the columns of usual delimited text; none where there is no header."""
    numbered = enumerate(lines(path, encoding), 1)
    row, first = next(((i, line) for i, line in numbered if line.strip() and line[0] != "#"), (1, ""))
    return _names(first, delimiter or _delimiter(first), f"{path}: row {row}")


def _delimiter(header: str) -> str:
    """Tab, semicolon or comma, whichever the header holds most; spaces where it holds none of them."""
    found = max("\t;,", key=header.count)
    return found if found in header or len(header.split()) < 3 else " "


def _names(line: str, delimiter: str, where: str) -> tuple[str, ...]:
    line = line.strip() if delimiter == " " else line
    spaces = delimiter == " "
    try:
        read = csv.reader([line], delimiter=delimiter, skipinitialspace=spaces)
        return tuple(name.strip() for name in next(read, []))
    except csv.Error as error:
        raise ValueError(f"{where}: {_in_words(error)}") from None


def _in_words(error: csv.Error) -> str:
    if "new-line character" in str(error):  # Python's own words are about how the file was opened
        return "a carriage return within a line; save the file with the line ends of Unix or Windows"
    return str(error)


def from_table(
    table: Table,
    columns: Mapping[str, str],
    units: Mapping[str, str],
    *,
    source: str,
    country: str | None = None,
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """The stations of a table that has been read, as `read_csv`."""
    check_map(columns, units, table.header, source, f"row {table.header_row}: ")
    journal = Journal(table.rows)
    journal.note("dropped", table.ragged, f"row has not the {len(table.header)} cells of the header")
    cells = table.cells[list(columns.values())]
    cells.columns = pd.Index(list(columns))
    drop_elsewhere(cells, country, journal, source)
    return gather(cells, journal, source=source, units=units, **options)


def read_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, str],
    units: Mapping[str, str],
    *,
    delimiter: str | None = None,
    comment: str = "#",
    country: str | None = None,
    encoding: str | None = None,
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """Read stations from delimited text, plain or packed (gzip, bzip2, xz, a zip of one file).

    Parameters
    ----------
    path : path
        The file. Its first line that is no comment names the columns.
    columns : mapping of quantity to column name
        `lon`, `lat`, `temperature`, `wind` and one or both of `humidity` and `dew_point`; if they
        are there `id` (else the row stands for it), `name`, `country` and `time`. Of both, the dew point
        serves where the humidity is missing.
    units : mapping of quantity to unit
        Of `temperature` and `dew_point` K, degC or degF; of `humidity` percent or fraction (0..1); of
        `wind` m/s, km/h, mph or kt; of `time` `"unix"` (seconds), a format of `strptime`, or left out
        for ISO 8601.
    delimiter : str, optional
        One character; left out, tab, semicolon or comma, whichever the header holds most, or spaces.
    comment : str
        Lines that begin with it are no data; "" for none.
    country : str, optional
        Rows whose country is another are dropped.
    encoding : str, optional
        Of the text; left out, UTF-8 where it is, or what it looks like.
    **options
        The others of `simulators.stations.StationOptions`.

    Returns
    -------
    stations : Stations
        In K, percent and m/s, UTC.
    report : ImportReport
        What was read, dropped, clipped, changed or odd, and why; rows are lines of the file.

    Raises
    ------
    ValueError
        The file is missing, empty or damaged, a column is not there, a unit is not given, or all rows are
        dropped; one line that names the file and the row.
    """
    table = read_table(path, delimiter=delimiter, comment=comment, encoding=encoding)
    return from_table(table, columns, units, source=os.fspath(path), country=country, **options)
