"""A checksum for every row of a study: what a disk or a copy changes is noticed, and never computed with.

SQLite notices a page that is no page any more; a bit that flips inside a number or a text it does not. The
checksum is the CRC-32 of the table's name and of the row as Python's `marshal` writes it, by its format 2: a
type and the bytes of every value (floats as IEEE 754 writes them, texts in UTF-8), the same on every machine.
It takes a fifth of the time that their text takes; nothing is ever read by `marshal`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import repeat
from marshal import dumps
from operator import itemgetter
from typing import Any
from zlib import crc32

Row = tuple[Any, ...]

COLUMNS: dict[str, tuple[str, ...]] = {
    "meta": ("key", "value"),
    "meta_copy": ("key", "value"),
    "runs": ("run", "began", "versions", "inputs", "accepted"),
    "priors": ("world", "key", "value"),
    "worlds": ("world", "seed", "policy", "row", "value", "outcomes"),
    "rounds": (
        *("trial", "agent", "round", "policy", "row", "outcomes", "noise_variance", "objective"),
        *("expected", "expected_outcomes", "regret", "seconds", "step_seconds", "status", "error"),
    ),
    "recommendations": ("trial", "agent", "rounds", "value", "expected", "simple_regret"),
    "details": ("trial", "agent", "round", "kind", "value"),
}
"""The columns of every table, without its checksum."""

KEYS = {
    **dict.fromkeys(("meta", "meta_copy"), 1),
    **dict.fromkeys(("runs", "worlds"), 1),
    **dict.fromkeys(("priors", "recommendations"), 2),
    "rounds": 3,
    "details": 4,
}
"""How many of the first columns name a row."""


UNREADABLE = (sqlite3.Error, UnicodeDecodeError, MemoryError, OverflowError)
"""What SQLite may raise of a damaged file: its words may be garbled too, and a length ask for any memory."""


FORMAT = 2
"""Of `marshal`: later ones also write which objects are one, which is no part of a row's values."""


_VALUES, _LAST = itemgetter(slice(-1)), itemgetter(-1)


class DamagedRow(ValueError):
    """A row is not what was written."""


def checksum(table: str, row: Row) -> int:
    """The checksum of a row, as SQLite gives its values back."""
    return crc32(dumps(row, FORMAT), crc32(table.encode()))


def sealed(table: str, row: Sequence[Any]) -> Row:
    """A row with its checksum, as it is to be written."""
    # SQLite has no negative zero.
    values = tuple([float(value) + 0.0 if isinstance(value, float) else value for value in row])
    return *values, checksum(table, values)


def statement(table: str, verb: str = "INSERT OR REPLACE") -> str:
    """The statement that writes sealed rows."""
    columns = COLUMNS[table]
    marks = ", ".join("?" * (len(columns) + 1))
    return f"{verb} INTO {table} ({', '.join(columns)}, checksum) VALUES ({marks})"


def rows(connection: sqlite3.Connection, table: str, tail: str = "", values: Row = ()) -> Iterator[Row]:
    """The rows of a table without their checksums, which are checked: DamagedRow at the first bad one."""
    for some in _sealed_rows(connection, table, tail, values):
        yield from [row[:-1] for row in some]


def by_column(
    connection: sqlite3.Connection, table: str, tail: str = "", values: Row = ()
) -> dict[str, list[Any]]:
    """The same, a list for every column: no row is kept, which is faster where there are many."""
    found: dict[str, list[Any]] = {name: [] for name in COLUMNS[table]}
    for some in _sealed_rows(connection, table, tail, values):
        for column, part in zip(found.values(), zip(*some, strict=True), strict=False):
            column.extend(part)
    return found


def _sealed_rows(connection: sqlite3.Connection, table: str, tail: str, values: Row) -> Iterator[list[Row]]:
    """The rows of a table, some at a time, with their checksums, which are checked."""
    columns = COLUMNS[table]
    found = connection.execute(f"SELECT {', '.join(columns)}, checksum FROM {table}{tail}", values)
    start = crc32(table.encode())
    while some := found.fetchmany(200):
        # `checksum`, for 100,000 rows: no Python between the calls
        texts = map(dumps, map(_VALUES, some), repeat(FORMAT))
        if list(map(crc32, texts, repeat(start))) != list(map(_LAST, some)):
            bad = next(row for row in some if checksum(table, row[:-1]) != row[-1])
            key = ", ".join(
                f"{name} {value}" for name, value in zip(columns[: KEYS[table]], bad, strict=False)
            )
            raise DamagedRow(f"a row of {table} ({key}) is not what was written: its checksum differs")
        yield some


def whole_rows(connection: sqlite3.Connection, table: str) -> tuple[list[Row], int]:
    """Of a damaged file: the rows that are what was written, in order of their keys, and how many are not.

    Rows are read from both ends, since a page that is none ends the reading.
    """
    columns, keys = COLUMNS[table], COLUMNS[table][: KEYS[table]]
    found: dict[Row, Row] = {}
    bad: set[Row] = set()
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    for way in ("ASC", "DESC"):
        order = ", ".join(f"{name} {way}" for name in keys)
        try:
            for row in connection.execute(
                f"SELECT {', '.join(columns)}, checksum FROM {table} ORDER BY {order}"
            ):
                good = checksum(table, row[:-1]) == row[-1]
                (found.__setitem__(row[: len(keys)], row[:-1]) if good else bad.add(row[: len(keys)]))
        except UNREADABLE:
            continue
    connection.text_factory = str
    return [found[key] for key in sorted(found)], len(bad - set(found))


def seal_all(connection: sqlite3.Connection) -> None:
    """Give every row of a file that had none its checksum."""
    for table in COLUMNS:
        connection.create_function(
            f"checksum_of_{table}", -1, lambda *row, table=table: checksum(table, row), deterministic=True
        )
        columns = ", ".join(COLUMNS[table])
        connection.execute(f"UPDATE {table} SET checksum = checksum_of_{table}({columns})")
