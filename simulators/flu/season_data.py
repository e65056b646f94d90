"""Observed seasons, by which models are calibrated: attack rates by group, or counts by week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyloop.messages import unknown_name
from simulators.arrays import Array
from simulators.contract.validation import per_group
from simulators.files.grid import TableFile
from simulators.files.numbers import decimal_mark, numbers

TOTAL = "cases"
"""The column of counts of all groups together."""
KNOWN = ("group", "attack_rate", "persons", "standard_error", "week", TOTAL)
"""The columns that are no groups, in any case."""


@dataclass(frozen=True, eq=False)
class AttackRates:
    """The shares of some groups who fell ill in a season.

    Attributes
    ----------
    source : str
        For messages.
    rows : (k,) array of int
        The groups, counted from 0.
    rates : (k,) array
    persons : (k,) array or None
        Whom each rate was found among, where it is a count of so many.
    standard_errors : (k,) array or None
        Of the rates, where they are stated instead.
    """

    source: str
    rows: Any
    rates: Array
    persons: Array | None = None
    standard_errors: Array | None = None


@dataclass(frozen=True, eq=False)
class WeeklyCounts:
    """Cases by week from the season's first day on: (w, J), or (w, 1) of all groups together."""

    source: str
    counts: Array
    by_group: bool


def attack_rates(given: Any, groups: Sequence[str]) -> AttackRates:
    """Attack rates from a file, or from J numbers.

    The file has the columns `group` and `attack_rate`, and may have `persons` or `standard_error`.

    Raises
    ------
    ValueError
        Labels that are no groups, or twice; rates outside 0 to 1, both excluded.
    """
    if not isinstance(given, str):
        rates = per_group("calibrate: attack_rate", given, groups)
        found = AttackRates("calibrate: attack_rate", np.arange(len(groups)), rates)
        _refuse_rates(found, groups)
        return found
    header, rows, mark = _table(given)
    for column in ("group", "attack_rate"):
        if column not in header:
            raise ValueError(f"{given}: column {column!r} is missing; there are {', '.join(header)}")
    names = [row["group"] for row in rows]
    for number_of, name in enumerate(names, 2):
        if name not in groups:
            raise ValueError(f"{given}: row {number_of}: group: {unknown_name('group', name, groups)}")
        if names.count(name) > 1:
            raise ValueError(f"{given}: group {name!r} is there twice; accepted: a row a group")
    columns: dict[str, Array] = {
        column: _column(given, rows, column, mark)
        for column in ("attack_rate", "persons", "standard_error")
        if column in header
    }
    if "persons" in columns and "standard_error" in columns:
        raise ValueError(
            f"{given}: persons and standard_error exclude each other; accepted: one of the columns"
        )
    for column in ("persons", "standard_error"):
        if (columns.get(column, np.ones(1)) <= 0).any():
            raise ValueError(
                f"{given}: column {column!r} has {columns[column].min():g}; accepted: numbers above 0"
            )
    found = AttackRates(
        given,
        np.array([groups.index(name) for name in names]),
        columns["attack_rate"],
        columns.get("persons"),
        columns.get("standard_error"),
    )
    _refuse_rates(found, groups)
    return found


def _refuse_rates(found: AttackRates, groups: Sequence[str]) -> None:
    for row, rate in zip(found.rows, found.rates, strict=True):
        if not 0 < rate < 1:
            raise ValueError(
                f"{found.source}: the attack rate of group {groups[row]!r} is {rate:g}; accepted: a share, "
                "above 0 and below 1"
            )


def weekly_counts(given: Any, groups: Sequence[str]) -> WeeklyCounts:
    """Counts from a file with the column `week`, 1, 2, .., and one of `cases`, or one a group.

    Raises
    ------
    ValueError
        Other columns, weeks that are not in order, counts below 0.
    """
    if not isinstance(given, str):
        raise ValueError(f"calibrate: weekly_counts={given!r} must be a file")
    header, rows, mark = _table(given)
    if "week" not in header:
        raise ValueError(f"{given}: column 'week' is missing; there are {', '.join(header)}")
    columns = [column for column in header if column != "week"]
    if columns != [TOTAL]:
        for column in columns:
            if column not in groups:
                raise ValueError(
                    f"{given}: column {column!r}: {unknown_name('group', column, groups)}, or {TOTAL}"
                )
        missing = [group for group in groups if group not in columns]
        if missing:
            raise ValueError(f"{given}: group {missing[0]!r} has no column; accepted: all groups, or {TOTAL}")
        columns = list(groups)
    counts = np.array([_column(given, rows, column, mark) for column in columns]).T
    for k, row in enumerate(rows, 1):
        if row["week"].strip() != str(k):
            raise ValueError(f"{given}: row {k + 1}: week is {row['week']!r}; accepted: 1, 2, 3, .. in order")
    if (counts < 0).any():
        raise ValueError(f"{given}: a count is {counts.min():g}; accepted: numbers >= 0")
    if not counts.any():
        raise ValueError(f"{given}: nobody fell ill; accepted: counts of which some are above 0")
    return WeeklyCounts(given, counts, columns != [TOTAL])


def _table(path: str) -> tuple[list[str], list[Mapping[str, str]], str]:
    """Header and rows of a file of any kind that countries come in, and its decimal mark."""
    grid = TableFile(path).grid()
    header, *body = grid.rows
    if not body:
        raise ValueError(f"{path}: must have a header and a row at least")
    columns = [cell.strip().lower() if cell.strip().lower() in KNOWN else cell.strip() for cell in header]
    rows: list[Mapping[str, str]] = [
        dict(zip(columns, (cell.strip() for cell in row), strict=True)) for row in body
    ]
    mark = decimal_mark([row[c] for row in rows for c in columns if c not in ("group", "week")], path)
    return columns, rows, mark


def _column(path: str, rows: Sequence[Mapping[str, str]], column: str, mark: str) -> Array:
    values = numbers([row[column] for row in rows], mark)
    for k in np.flatnonzero(np.isnan(values))[:1]:
        raise ValueError(f"{path}: row {k + 2}: {column} is {rows[k][column]!r}; accepted: a number")
    return values
