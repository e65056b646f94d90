"""A town's households, schools, workplaces and ages as small tables tell them, and what holds by default."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulators.arrays import Array
from simulators.contract.validation import whole
from simulators.population import tables
from simulators.population.places import Places, SchoolLevel, sized, usual_levels, workplaces_up_to

if TYPE_CHECKING:
    from simulators.country.aggregation import Ages
    from simulators.country.town_tables import School, Working, Workplaces

File = str | os.PathLike[str]
LARGEST = 1_000_000
"""Persons of a workplace, at most."""


class TownOptions(NamedTuple):
    """Options of a town, as `simulators.FluABM` has them; None where they are left out."""

    household_sizes: File | Sequence[float] | None = None
    persons_by_age: File | Sequence[float] | None = None
    schools: File | None = None
    workplaces: File | None = None
    employment: File | None = None
    class_size: int | None = None
    school_size: int | None = None
    team_size: int | None = None
    largest_workplace: int | None = None

    @property
    def any_file(self) -> bool:
        """Whether any of them is a table of somebody's own."""
        return any(isinstance(one, str | os.PathLike) for one in self)


class TownParts(NamedTuple):
    """What a town is built of.

    Attributes
    ----------
    arguments : dict of str
        For `simulators.population.population.build_population`.
    findings : tuple of str
        What was read, and what holds by default, one sentence each.
    """

    arguments: dict[str, Any]
    findings: tuple[str, ...]


def town_of(options: TownOptions) -> TownParts:
    """A town as options have it, whose files are read.

    Raises
    ------
    ValueError
        A table that cannot be read, or a number out of range; in one line.
    """
    files = {
        name: value
        for name, value in options._asdict().items()
        if name in ("schools", "workplaces", "employment") and value is not None
    }
    for name, value in files.items():
        if not isinstance(value, str | os.PathLike):
            raise ValueError(f"{name}={value!r} must be the file of a table")
    for name, kind in (("household_sizes", "households"), ("persons_by_age", "persons")):
        value = getattr(options, name)
        if isinstance(value, str | os.PathLike):
            files[kind] = value
    arguments: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("household_sizes", "persons_by_age", "class_size", "school_size", "team_size",
                     "largest_workplace")
        if getattr(options, name) is not None
    }  # fmt: skip
    said = _defaults(options)
    if not files:
        return TownParts(arguments, said)
    from simulators.country.town_tables import read_town  # brings what reads files, which is slow to import

    read = read_town(**files)
    if read.households is not None:
        arguments["household_sizes"] = read.households
    if read.persons is not None:
        arguments["persons_by_age"] = by_year(read.persons)
    class_size = whole("class_size", options.class_size or tables.CLASS_SIZE)
    school_size = whole("school_size", options.school_size or tables.SCHOOL_SIZE, least=class_size)
    largest = whole("largest_workplace", options.largest_workplace or tables.LARGEST_WORKPLACE)
    if read.schools is not None or read.workplaces is not None or read.employment is not None:
        arguments["places"] = Places(
            usual_levels(class_size, school_size)
            if read.schools is None
            else levels_of(read.schools, class_size, school_size),
            tables.EMPLOYED if read.employment is None else at_work(read.employment),
            workplaces_up_to(largest) if read.workplaces is None else by_size(read.workplaces, largest),
            options.team_size or tables.TEAM_SIZE,
        )
    return TownParts(arguments, (*read.findings, *said))


def by_year(ages: Ages) -> Array:
    """Persons of each year of age (95,): as a table has them, and within its bands as in the US of 2012."""
    found = np.zeros(tables.OLDEST)
    for band, persons in zip(ages.bands, ages.persons, strict=True):
        low, high = min(band.low, tables.OLDEST - 1), min(band.high, tables.OLDEST - 1)
        years = tables.PERSONS_BY_AGE[low : high + 1]
        found[low : high + 1] += persons * years / years.sum()
    return found


def levels_of(schools: Sequence[School], class_size: int, school_size: int) -> tuple[SchoolLevel, ...]:
    """The levels of schools; what a table leaves out is one size for all, and enrolment as in the US."""
    return tuple(
        SchoolLevel(
            one.ages.low,
            min(one.ages.high, tables.OLDEST - 1),
            one.class_size or class_size,
            one.school_size or max(school_size, one.class_size or class_size),
            one.enrolled,
        )
        for one in schools
    )


def at_work(employment: Sequence[Working]) -> Array:
    """The share of each year of age who go to a workplace (95,)."""
    shares = np.zeros(tables.OLDEST)
    for one in employment:
        shares[one.ages.low : min(one.ages.high, tables.OLDEST - 1) + 1] = one.employed * one.commuting
    return shares


def by_size(workplaces: Sequence[Workplaces], largest: int) -> Array:
    """How many workplaces of 1, 2, .. persons there are, relative to each other.

    Within a class they fall with a power of the size, as those of a town without a table do; a class without
    an end ends at the largest.
    """
    ends = [max(largest, one.sizes.least) if one.sizes.most is None else one.sizes.most for one in workplaces]
    if max(ends) > LARGEST:
        raise ValueError(f"workplaces: of {max(ends):,} persons; accepted: at most {LARGEST:,}")
    found = np.zeros(max(ends))
    for one, end in zip(workplaces, ends, strict=True):
        shares = sized(one.sizes.least, end)
        number = one.number
        if number is None:
            assert one.persons is not None
            number = one.persons / float(shares @ np.arange(1, end + 1))
        found[:end] += number * shares
    return found


def _defaults(options: TownOptions) -> tuple[str, ...]:
    """What holds by default of what is left out, one sentence each."""
    said = []
    if options.persons_by_age is None:
        said.append("ages within a group: as in the US of 2012, by default")
    if options.household_sizes is None:
        said.append("household sizes: those of the US of 2012, by default")
    if options.schools is None:
        in_class = options.class_size or tables.CLASS_SIZE
        in_school = options.school_size or tables.SCHOOL_SIZE
        said.append(
            f"schools: who goes there by age as in the US of 2012, by default; {in_class} in a class and "
            f"{in_school} in a school"
        )
    if options.employment is None:
        said.append("work: who works by age as in the US of 2012, by default")
    if options.workplaces is None:
        largest = options.largest_workplace or tables.LARGEST_WORKPLACE
        said.append(
            f"workplaces: of 1 to {largest:,} persons, fewer the larger (Axtell 2001), by default; teams of "
            f"at most {options.team_size or tables.TEAM_SIZE}"
        )
    return tuple(said)
