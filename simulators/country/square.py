"""A table of contacts, one row and one column a group, with or without labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policyloop.messages import did_you_mean
from policyloop.plain_text import from_spreadsheet
from simulators.arrays import Array
from simulators.country.bands import band, check_dates
from simulators.country.groups import MOST
from simulators.country.totals import first_total
from simulators.files.grid import Grid
from simulators.files.numbers import decimal_mark, is_number, numbers

MOST_CONTACTS = 1e6
"""A day, of one person; more is no number of contacts, but perhaps of all persons of a group."""


@dataclass(frozen=True)
class Square:
    """Contacts as a file has them.

    Attributes
    ----------
    source : str
    labels : tuple of str or None
        J labels, of rows and columns alike; None where the file has none.
    contacts : (J, J) array
    findings : tuple of str
    """

    source: str
    labels: tuple[str, ...] | None
    contacts: Array
    findings: tuple[str, ...] = ()


def square_of(grid: Grid, decimal: str | None = None) -> Square:
    """The contacts of a table that has been read.

    Labels may stand in the first row, the first column, both or neither. Columns in another order than the
    rows are put in theirs.

    Raises
    ------
    ValueError
        One line that names the file, the row and the column: it is not square, labels of rows and columns
        differ, or an entry is missing, text, negative or not finite.
    """
    columns, rows, body, top, left = _parted(grid)
    J = len(body)
    _refuse_totals(grid.source, "column", columns)
    _refuse_totals(grid.source, "row", rows)
    if len(body[0]) != J:
        shape = f"{grid.source}: is not square: {J} rows and {len(body[0])} columns of contacts"
        raise ValueError(f"{shape}{_why_not_square(grid, columns, rows)}")
    if J > MOST:
        raise ValueError(f"{grid.source}: has {J} rows and columns; accepted: 1 to {MOST}")
    findings: list[str] = []
    if columns is None and rows is not None and only_counted(rows):
        rows = None
    labels = rows or columns
    check_dates(labels or (), grid.source)
    order: Sequence[int] = range(J)
    if rows is not None and columns is not None:
        order = places(columns, rows, f"{grid.source}: columns", "the rows")
        if list(order) != list(range(J)):
            findings.append(f"{grid.source}: its columns are in another order than its rows; put in theirs")
    mark = decimal or decimal_mark((text for row in body for text in row), grid.source)
    contacts = numbers([text for row in body for text in row], mark).reshape(J, J)
    for i, j in np.argwhere(~((contacts >= 0) & (contacts <= MOST_CONTACTS))):
        text = body[i][j]
        row = rows[i] if rows is not None else None
        named = f"row {grid.row(top + i)}" + (f" ({row!r})" if row is not None else "")
        column = f"column {columns[j]!r}" if columns is not None else f"column {left + j + 1}"
        told = "is missing" if not text else f"is {text!r}"
        most = f" and <= {MOST_CONTACTS:g}" if contacts[i, j] > 0 else ""
        raise ValueError(f"{grid.source}: {named}, {column} {told}; it must be a finite number >= 0{most}")
    return Square(
        grid.source, None if labels is None else tuple(labels), contacts[:, list(order)], tuple(findings)
    )


def _refuse_totals(source: str, what: str, labels: list[str] | None) -> None:
    """Refuse a row or a column of sums, which is no group."""
    total = first_total(labels or ()) if len(labels or ()) > 2 else None
    if total is not None:
        raise ValueError(
            f"{source}: its {what} {total!r} is the sum of the groups, and none itself; leave it out"
        )


def _why_not_square(grid: Grid, columns: list[str] | None, rows: list[str] | None) -> str:
    """What a table that is not square may be: a label without its row or column, or decimal commas."""
    named = [at for at, text in enumerate(grid.rows[0]) if text]
    if named and not is_number(grid.rows[0][named[0]]) and named[-1] + 2 < grid.width:
        return (
            "; rows have more cells than the header: where the decimal mark is a comma, part cells by "
            "semicolons, or write numbers with a point"
        )
    if columns is None or rows is None:
        return ""
    for one, other, what in ((columns, rows, "row"), (rows, columns, "column")):
        known = {_key(label) for label in other}
        missing = [label for label in one if _key(label) not in known]
        if missing:
            return f"; there is no {what} of {_listed(missing)}"
    return ""


def places(labels: Sequence[str], wanted: Sequence[str], where: str, whose: str) -> list[int]:
    """For each wanted name, the place of the label that means it.

    A label means a name that is the same but for case and spaces, or says the same ages.

    Raises
    ------
    ValueError
        A label twice, one that means none of the names, or a name without a label; in one line, which begins
        with `where` and says of `whose` names they are not.
    """
    exact = {name: place for place, name in enumerate(wanted)}
    by_key = {_key(name): place for place, name in enumerate(wanted)}
    found: dict[int, int] = {}
    for at, label in enumerate(labels):
        place = exact.get(label, by_key.get(_key(label)))
        if place is None:
            raise ValueError(
                f"{where}: {label!r} is none of {whose}{did_you_mean(label, wanted)} "
                f"(there are: {_listed(wanted)})"
            )
        if place in found:
            raise ValueError(f"{where}: {label!r} is there twice")
        found[place] = at
    for place, name in enumerate(wanted):
        if place not in found:
            raise ValueError(f"{where}: {name!r} of {whose} is not there (there are: {_listed(labels)})")
    return [found[place] for place in range(len(wanted))]


def same_names(labels: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether labels mean these names, in whatever order."""
    return sorted(map(_key, labels)) == sorted(map(_key, wanted))


def _key(name: str) -> str:
    ages = band(name)
    return " ".join(name.casefold().split()) if ages is None else f"ages {ages}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", .." if len(names) > 8 else "")


def _parted(grid: Grid) -> tuple[list[str] | None, list[str] | None, list[list[str]], int, int]:
    """Labels of the columns and of the rows, the entries, and in which row and column these begin."""
    rows = [row for row in grid.rows if any(row)]
    if len(rows) != len(grid.rows):
        blank = next(index for index, row in enumerate(grid.rows) if not any(row))
        raise ValueError(f"{grid.source}: row {grid.row(blank)}: is empty")
    height, width = len(rows), grid.width
    if height > 1 and width == height and not rows[0][-1] and is_number(rows[1][-1]):
        rows = [["", *rows[0][:-1]], *rows[1:]]  # R's write.table leaves the corner out
    top, side = rows[0][width > 1 :], [row[0] for row in rows[height > 1 :]]
    both = height == width and height > 1 and not is_number(rows[0][0])
    same = sorted(top) == sorted(side)
    above = _words(top) or (both and (same or _ascending(top))) or (height == width + 1 and only_counted(top))
    beside = (
        _words(side) or (both and (same or _ascending(side))) or (width == height + 1 and only_counted(side))
    )
    body = [row[beside:] for row in rows[above:]]
    columns = _labels(rows[0][beside:]) if above else None
    names = _labels([row[0] for row in rows[above:]]) if beside else None
    if not body or not body[0]:
        raise ValueError(f"{grid.source}: row {grid.row(0)}: there are no contacts below the labels")
    return columns, names, body, int(above), int(beside)


def _words(texts: list[str]) -> bool:
    """Whether most are no numbers, which no row of contacts is."""
    return 2 * sum(not is_number(text) for text in texts if text) > len(texts)


def _ascending(texts: list[str]) -> bool:
    """Whether they are ages, or numbers of groups, in their order."""
    if not all(re.fullmatch(r"\d{1,3}(\.0*)?", text) for text in texts):
        return False
    ages = [float(text) for text in texts]
    return all(after > before for before, after in zip(ages, ages[1:], strict=False))


def only_counted(labels: Sequence[str]) -> bool:
    """Whether labels are but counted from 0 or 1, as pandas and R do of their own."""
    return _ascending(list(labels)) and [int(float(label)) for label in labels] in (
        list(range(len(labels))),
        list(range(1, len(labels) + 1)),
    )


def _labels(texts: list[str]) -> list[str] | None:
    """Labels, or None where they are but counted, as R and pandas do: X1, V1, Unnamed: 1."""
    if all(re.fullmatch(r"([XV]|Unnamed: ?)\d+|", text) for text in texts):
        return None
    labels = [from_spreadsheet(text) for text in texts]
    return [str(int(float(label))) for label in labels] if _ascending(labels) else labels
