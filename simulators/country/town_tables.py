"""Small tables of a country's towns: households, schools, workplaces, and who works at which age.

Each is told by a column that only it has (`SIGNS`), and read from a file as the tables of groups are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simulators.arrays import Array
from simulators.country.aggregation import Ages
from simulators.country.bands import Band, bands_of
from simulators.country.columns import Aliases, column_of, key_of
from simulators.country.groups import groups_of
from simulators.country.rows import Rows
from simulators.country.sizes import Sizes, sizes
from simulators.files.grid import Grid, TableFile

Path = str | os.PathLike[str]

LARGEST_HOUSEHOLD = 20
"""Persons of a household, at most."""

_AGES = ("ages", "age", "age_group", "agegroup", "age_band", "age_range", "band")
_SIZES = ("size", "size_class", "household_size", "workplace_size", "persons_in_household", "members")
_HOUSEHOLDS: Aliases = {
    "size": _SIZES,
    "households": ("households", "number_of_households", "share", "number", "count", "n", "percent"),
}
_SCHOOLS: Aliases = {
    "ages": _AGES,
    "level": ("level", "school", "schools", "name", "kind"),
    "class_size": ("class_size", "pupils_per_class", "pupils_in_class"),
    "school_size": ("school_size", "pupils_per_school", "pupils_in_school"),
    "enrolled": ("enrolled", "enrolment", "enrollment", "enrolment_rate", "attendance"),
}
_WORKPLACES: Aliases = {
    "size": _SIZES,
    "workplaces": ("workplaces", "establishments", "enterprises", "firms", "businesses"),
    "employees": ("employees", "persons", "persons_employed", "workers", "jobs", "employment"),
}
_WORKING = ("employed", "employment", "employment_rate", "working")
_EMPLOYMENT: Aliases = {
    "ages": _AGES,
    "employed": _WORKING,
    "commuting": ("commuting", "commuters", "at_workplace", "away_from_home"),
}
ALIASES = {
    "households": _HOUSEHOLDS,
    "schools": _SCHOOLS,
    "workplaces": _WORKPLACES,
    "employment": _EMPLOYMENT,
}
"""The columns of each table, by the names that they may have."""

SIGNS: dict[str, tuple[str, ...]] = {
    "households": ("households", "number_of_households", "household_size", "persons_in_household"),
    "schools": tuple(name for what in ("class_size", "school_size", "enrolled") for name in _SCHOOLS[what]),
    "workplaces": (*_WORKPLACES["workplaces"], "employees", "size_class", "workplace_size"),
    "employment": _WORKING,
}
"""Names of columns, any of which tells a table that has the first of its columns as well."""


class School(NamedTuple):
    """The schools of one level: the ages of those who go there, and what is told of them, else None."""

    ages: Band
    class_size: int | None
    school_size: int | None
    enrolled: float | None


class Workplaces(NamedTuple):
    """A class of workplaces: their sizes, and how many there are, or how many work there; else None."""

    sizes: Sizes
    number: float | None
    persons: float | None


class Working(NamedTuple):
    """An age band: the share who work, and of these the share who go to a workplace for it."""

    ages: Band
    employed: float
    commuting: float


@dataclass(frozen=True)
class TownTables:
    """What is known of a country's towns; None where it was not given.

    Attributes
    ----------
    households : (m,) array or None
        Shares of the households of 1, 2, .. m persons, which add up to 1.
    schools : tuple of School or None
        Youngest first.
    workplaces : tuple of Workplaces or None
        Smallest first.
    employment : tuple of Working or None
        Youngest first.
    persons : Ages or None
        Persons by age, of all the country.
    findings : tuple of str
        What was read, one sentence each.
    """

    households: Array | None = None
    schools: tuple[School, ...] | None = None
    workplaces: tuple[Workplaces, ...] | None = None
    employment: tuple[Working, ...] | None = None
    persons: Ages | None = None
    findings: tuple[str, ...] = ()

    @property
    def household_size(self) -> float:
        """Persons of a household, on average; nan where it is not known."""
        if self.households is None:
            return float("nan")
        return float(self.households @ np.arange(1, len(self.households) + 1))


def kind_of(header: Sequence[str]) -> str | None:
    """Which of the tables a header is of: a key of `SIGNS`; None where it is of none."""
    for kind, signs in SIGNS.items():
        first = next(iter(ALIASES[kind]))
        if any(key_of(title) in signs for title in header) and any(
            column_of(title, ALIASES[kind]) == first for title in header
        ):
            return kind
    return None


def read_town(
    *,
    households: Path | None = None,
    schools: Path | None = None,
    workplaces: Path | None = None,
    employment: Path | None = None,
    persons: Path | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> TownTables:
    """Read the tables of a country's towns, any of them.

    Parameters
    ----------
    households : path, optional
        Columns `size` (1, 2, .., the last may be open, as 7+) and `households`, how many there are, in any
        unit.
    schools : path, optional
        A row a level: `ages` (6-10; the last may be open), and any of `class_size`, `school_size` (pupils)
        and `enrolled` (share of those ages, 0 to 1).
    workplaces : path, optional
        Columns `size` (1, 2-9, 250+), and `workplaces`, how many there are, or `employees`, how many work
        there.
    employment : path, optional
        Columns `ages`, `employed` (the share who work), and perhaps `commuting`: the share of these who go to
        a workplace for it, 1 unless told.
    persons : path, optional
        Persons by age, as a table of groups: columns `age` and `persons`.
    decimal, encoding : str, optional
        As `simulators.country.read_country` has them.

    Raises
    ------
    ValueError
        What cannot be read, in one line that names the file and the row.
    """
    findings: list[str] = []

    read: dict[str, Any] = {}
    for name, (path, what, reader) in {
        "households": (households, "households by size", _households),
        "schools": (schools, "schools by level", _schools),
        "workplaces": (workplaces, "workplaces by size", _workplaces),
        "employment": (employment, "work by age", _employment),
        "persons": (persons, "persons by age", _persons),
    }.items():
        if path is not None:
            file = TableFile(path, None, encoding)
            findings.append(f"{file.source}: {what} ({file.how})")
            read[name] = reader(file.grid(), decimal, findings)
    return TownTables(**read, findings=tuple(findings))


def _households(grid: Grid, decimal: str | None, findings: list[str]) -> Array:
    rows = Rows(ALIASES["households"], grid, ("size", "households"), decimal, findings)
    count = np.zeros(LARGEST_HOUSEHOLD)
    seen: dict[int, int] = {}
    open_ended: int | None = None
    for at, (text, value) in enumerate(zip(rows.texts("size"), rows.told("households"), strict=True)):
        one = sizes(text, rows.place(at, "size"))
        if one.most is not None and one.most != one.least:
            raise ValueError(f"{rows.place(at, 'size')} is {text!r}; accepted: one size, or the last as '7+'")
        if one.least > LARGEST_HOUSEHOLD:
            raise ValueError(f"{rows.place(at, 'size')} is {text!r}; accepted: at most {LARGEST_HOUSEHOLD}")
        if one.least in seen:
            raise ValueError(f"{rows.place(at, 'size')} {text!r} is there already, in row {seen[one.least]}")
        seen[one.least] = rows.where[at]
        count[one.least - 1] = value
        if one.most is None:
            open_ended = at
            findings.append(f"{grid.source}: households of {text} are taken as of {one.least}")
    if open_ended is not None and seen[max(seen)] != rows.where[open_ended]:
        raise ValueError(
            f"{rows.place(open_ended, 'size')} has no end, and row {seen[max(seen)]} is larger; accepted: an "
            "open one is the largest"
        )
    if not count.any():
        raise ValueError(f"{grid.source}: all households are 0; some must be > 0")
    shares: Array = count[: max(seen)] / count.sum()
    return shares


def _schools(grid: Grid, decimal: str | None, findings: list[str]) -> tuple[School, ...]:
    rows = Rows(ALIASES["schools"], grid, ("ages",), decimal, findings)
    ages = rows.ages()
    enrolled = rows.values("enrolled", most=1.0)
    in_class, in_school = (
        [None if value is None else round(value) for value in rows.values(what, least=1.0)]
        for what in ("class_size", "school_size")
    )
    for at, (few, many) in enumerate(zip(in_class, in_school, strict=True)):
        if few is not None and many is not None and many < few:
            raise ValueError(f"{rows.place(at, 'school_size')} is {many}, and a class has {few}")
    return tuple(sorted(map(School, ages, in_class, in_school, enrolled)))


def _workplaces(grid: Grid, decimal: str | None, findings: list[str]) -> tuple[Workplaces, ...]:
    rows = Rows(ALIASES["workplaces"], grid, ("size",), decimal, findings)
    counted = "workplaces" if "workplaces" in rows.columns else "employees"
    if counted not in rows.columns:
        raise ValueError(
            f"{grid.source}: row {grid.row(0)}: no column 'workplaces' or 'employees' (accepted: "
            f"{', '.join(ALIASES['workplaces']['workplaces'])}, "
            f"{', '.join(ALIASES['workplaces']['employees'])})"
        )
    found: list[Workplaces] = []
    for at, (text, value) in enumerate(zip(rows.texts("size"), rows.told(counted), strict=True)):
        one = sizes(text, rows.place(at, "size"))
        for other in found:
            apart = other.sizes.most is not None and other.sizes.most < one.least
            if not apart and (one.most is None or one.most >= other.sizes.least):
                raise ValueError(f"{rows.place(at, 'size')} {text!r} and '{other.sizes}' overlap")
        found.append(
            Workplaces(one, value, None) if counted == "workplaces" else Workplaces(one, None, value)
        )
    if not any(one.number or one.persons for one in found):
        raise ValueError(f"{grid.source}: all {counted} are 0; some must be > 0")
    return tuple(sorted(found, key=lambda one: one.sizes.least))


def _employment(grid: Grid, decimal: str | None, findings: list[str]) -> tuple[Working, ...]:
    rows = Rows(ALIASES["employment"], grid, ("ages", "employed"), decimal, findings)
    commuting = [1.0 if value is None else value for value in rows.values("commuting", most=1.0)]
    return tuple(sorted(map(Working, rows.ages(), rows.told("employed", most=1.0), commuting)))


def _persons(grid: Grid, decimal: str | None, findings: list[str]) -> Ages:
    table = groups_of(grid, decimal)
    findings.extend(table.findings)
    found = bands_of(table.names)
    if found is None:
        raise ValueError(f"{grid.source}: its names are no ages")
    order = sorted(range(len(found)), key=lambda index: found[index])
    return Ages(tuple(found[index] for index in order), table.persons[order])
