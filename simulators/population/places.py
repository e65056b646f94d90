"""Where the persons of a town go by day: the schools and workplaces there are, and who goes there by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simulators.arrays import Array, Integers
from simulators.contract.validation import whole
from simulators.population import tables
from simulators.population.tables import OLDEST


@dataclass(frozen=True)
class SchoolLevel:
    """The schools of one level: primary schools, say.

    Attributes
    ----------
    first, last : int
        Years of age of those who go there, both included.
    class_size, school_size : int
        Pupils in a class and in a school, about.
    enrolled : float or None
        The share of those ages who go there; None: as in the US of 2012, by year of age.
    """

    first: int
    last: int
    class_size: int = tables.CLASS_SIZE
    school_size: int = tables.SCHOOL_SIZE
    enrolled: float | None = None


def usual_levels(class_size: int, school_size: int) -> tuple[SchoolLevel, ...]:
    """Nursery, primary and secondary schools and colleges of the US, with classes and schools of one size."""
    ends = [first - 1 for first in tables.SCHOOL_LEVELS[1:]] + [OLDEST - 1]
    pairs = zip(tables.SCHOOL_LEVELS, ends, strict=True)
    return tuple(SchoolLevel(first, last, class_size, school_size) for first, last in pairs)


@dataclass(frozen=True, eq=False)
class Places:
    """The schools and workplaces of a town; what is not told is as in the US of 2012.

    Parameters
    ----------
    levels : sequence of SchoolLevel
        Their ages do not overlap; ages in between go to no school.
    employed : (95,) array
        The share of each year of age who work in company, 0..1.
    workplaces : (s,) array
        Shares of the workplaces of 1, 2, .. s persons.
    team_size : int
        Most persons in a team of a workplace.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted.
    """

    levels: Sequence[SchoolLevel] = field(
        default_factory=lambda: usual_levels(tables.CLASS_SIZE, tables.SCHOOL_SIZE)
    )
    employed: Array = field(default_factory=lambda: tables.EMPLOYED)
    workplaces: Array = field(default_factory=lambda: workplaces_up_to(tables.LARGEST_WORKPLACE))
    team_size: int = tables.TEAM_SIZE

    def __post_init__(self) -> None:
        before = -1
        for level in self.levels:
            if not before < level.first <= level.last < OLDEST:
                raise ValueError(
                    f"levels: ages {level.first} to {level.last} must ascend from {before + 1} and end "
                    f"before {OLDEST}"
                )
            before = level.last
            whole("school_size", level.school_size, least=whole("class_size", level.class_size))
        employed, workplaces = np.asarray(self.employed), np.asarray(self.workplaces)
        if employed.shape != (OLDEST,) or not ((employed >= 0) & (employed <= 1)).all():
            raise ValueError(f"employed must be {OLDEST} shares, 0..1, one a year of age")
        if workplaces.ndim != 1:
            raise ValueError(
                f"workplaces must be numbers, one a size from 1 person on, not {workplaces.tolist()}"
            )
        for i in np.flatnonzero(~(np.isfinite(workplaces) & (workplaces >= 0))):
            raise ValueError(
                f"workplaces of size {i + 1} is {workplaces[i]:g}; it must be a finite number >= 0"
            )
        if not workplaces.any():
            raise ValueError("workplaces: all are 0; some must be > 0")
        whole("team_size", self.team_size)

    @property
    def enrolled(self) -> Array:
        """The share of each year of age who go to school, (95,)."""
        shares = np.zeros(OLDEST)
        for level in self.levels:
            of = slice(level.first, level.last + 1)
            shares[of] = tables.ENROLLED[of] if level.enrolled is None else level.enrolled
        return shares

    @property
    def level_of_age(self) -> Integers:
        """The level of each year of age, from 1, 0 for none, (95,)."""
        levels = np.zeros(OLDEST, dtype=np.int64)
        for place, level in enumerate(self.levels, start=1):
            levels[level.first : level.last + 1] = place
        return levels


def workplaces_up_to(largest: int) -> Array:
    """Shares of the workplaces of 1, 2, .. persons, which fall with a power of the size."""
    return sized(1, largest)


def sized(least: int, most: int) -> Array:
    """Shares of the workplaces of `least` to `most` persons, as (most,) from 1 person on."""
    sizes = np.arange(1, most + 1)
    mass = np.where(sizes >= least, sizes**-tables.WORKPLACE_EXPONENT, 0.0)
    shares: Array = mass / mass.sum()
    return shares
