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
from simulators.stations.columns import check_map
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


def read_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, comment: str = "#", encoding: str = "utf-8"
) -> Table:
    """Read delimited text with a header, plain or gzip; the options are those of `read_csv`."""
    comments: list[str] = []
    at = 0

    def data() -> Iterator[str]:
        nonlocal at
        for at, line in enumerate(lines(path, encoding), 1):  # noqa: B007
            if comment and line.startswith(comment):
                comments.append(line.rstrip("\r\n"))
            elif line.strip():
                yield line

    source = data()
    first = next(source, None)
    if first is None:
        raise ValueError(f"{path}: row {at}: there is no header")
    if delimiter is None:
        delimiter = max("\t;,", key=first.count)
    elif len(delimiter) != 1:
        raise ValueError(f"{path}: delimiter {delimiter!r} must be one character")
    header_row = at
    header = _names(first, delimiter, f"{path}: row {at}")
    try:
        rows, cells, ragged = [], [], []
        for row in csv.reader(source, delimiter=delimiter):
            rows.append(at)
            ragged.append(len(row) != len(header))
            cells.append((row + [""] * len(header))[: len(header)] if ragged[-1] else row)
    except csv.Error as error:
        raise ValueError(f"{path}: row {at}: {_in_words(error)}") from None
    if not rows:
        raise ValueError(f"{path}: row {header_row}: there are no rows below the header")
    frame = pd.DataFrame(cells, columns=range(len(header)), dtype="string")
    frame.columns = pd.Index(header)
    return Table(header, header_row, tuple(comments), frame, np.array(rows), np.array(ragged))


def read_header(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of the columns of usual delimited text; none where there is no header."""
    numbered = enumerate(lines(path), 1)
    row, first = next(((i, line) for i, line in numbered if line.strip() and line[0] != "#"), (1, ""))
    return _names(first, max("\t;,", key=first.count), f"{path}: row {row}")


def _names(line: str, delimiter: str, where: str) -> tuple[str, ...]:
    try:
        return tuple(name.strip() for name in next(csv.reader([line], delimiter=delimiter), []))
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
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """The stations of a table that has been read, as `read_csv`."""
    check_map(columns, units, table.header, source, f"row {table.header_row}: ")
    journal = Journal(table.rows)
    journal.note("dropped", table.ragged, f"row has not the {len(table.header)} cells of the header")
    cells = table.cells[list(columns.values())]
    cells.columns = pd.Index(list(columns))
    return gather(cells, journal, source=source, units=units, **options)


def read_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, str],
    units: Mapping[str, str],
    *,
    delimiter: str | None = None,
    comment: str = "#",
    encoding: str = "utf-8",
    **options: Unpack[TableOptions],
) -> tuple[Stations, ImportReport]:
    """Read stations from delimited text, plain or gzip.

    Parameters
    ----------
    path : path
        The file. Its first line that is no comment names the columns.
    columns : mapping of quantity to column name
        `lon`, `lat`, `temperature`, `wind` and one or both of `humidity` and `dew_point`; if they
        are there `id` (else the row stands for it), `name` and `time`. Of both, the dew point serves
        where the humidity is missing.
    units : mapping of quantity to unit
        Of `temperature` and `dew_point` K, degC or degF; of `humidity` percent or fraction (0..1); of
        `wind` m/s, km/h, mph or kt; of `time` `"unix"` (seconds), a format of `strptime`, or left out
        for ISO 8601.
    delimiter : str, optional
        One character; left out, tab, semicolon or comma, whichever the header holds most.
    comment : str
        Lines that begin with it are no data; "" for none.
    encoding : str
        Of the text.
    time_zone : str, optional
        Of times without an offset, such as `"America/Chicago"`; left out, they count as UTC, and the report
        says so.
    at : str or datetime, optional
        Of a station that is there more than once, the reading nearest to this moment (UTC unless it says
        otherwise) is kept; left out, the latest.
    repeated_places : {"keep", "drop"}, default "keep"
        What to do with all but the first of the stations at one place. They are reported either way.

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
    return from_table(table, columns, units, source=os.fspath(path), **options)
