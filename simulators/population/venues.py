"""Where people spend the day in company: classes of schools with their staff, and teams of workplaces.

A *roster* lists who is where: persons, those of one class or team next to each other, and the number of the
class or team of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Integers, Mask
from simulators.population.tables import ADULT, EMPLOYED, ENROLLED, OLDEST, SCHOOL_LEVELS, WORKPLACE_EXPONENT

STAFF_CONTACTS = 0.6
"""Share of a class that a teacher meets on a day: it decides how many staff the contacts asked need."""


@dataclass(frozen=True, eq=False)
class Roster:
    """Who is where.

    Attributes
    ----------
    persons : (P,) int32 array
        Those of one place next to each other.
    place : (P,) int32 array
        Number of the class or team, from 0.
    """

    persons: NDArray[np.int32]
    place: NDArray[np.int32]

    def by_person(self, N: int) -> NDArray[np.int32]:
        """The place of each of N persons, -1 for those who have none."""
        places = np.full(N, -1, dtype=np.int32)
        places[self.persons] = self.place
        return places


def employed(age: Integers, rng: np.random.Generator) -> Mask:
    """Who works, (N,)."""
    return rng.random(len(age)) < EMPLOYED[age]


def classes(age: Integers, class_size: int, school_size: int, rng: np.random.Generator) -> Roster:
    """The pupils and students by class.

    Each level has schools of its own. A school takes in the neighbourhood, that is households of consecutive
    numbers, and divides its pupils into classes by age. Both sizes are stretched so that nobody is left over.
    Ages are given household by household.
    """
    enrolled = np.flatnonzero(rng.random(len(age)) < ENROLLED[age])
    level = np.searchsorted(SCHOOL_LEVELS, np.arange(OLDEST), side="right")[age[enrolled]]
    by_level = enrolled[np.argsort(level, kind="stable")]
    school_sizes = _equal_parts(np.bincount(level), school_size)
    school = np.repeat(np.arange(len(school_sizes)), school_sizes)
    # Within a school by age, at random within a year of age.
    pupils = by_level[np.lexsort((rng.random(len(by_level)), age[by_level], school))]
    class_sizes = _equal_parts(school_sizes, class_size)
    return Roster(
        pupils.astype(np.int32), np.repeat(np.arange(len(class_sizes), dtype=np.int32), class_sizes)
    )


def staff(
    pupils: Roster,
    age: Integers,
    group: Integers,
    meetings: Array,
    available: Mask,
    class_size: int,
    rng: np.random.Generator,
) -> Roster:
    """The pupils with teachers and other staff: as many of each group as their contacts with pupils need.

    Parameters
    ----------
    meetings : (K,) array
        Contacts a day asked between the children of the population and the adults of each group.
    available : (N,) bool array
        Who works.
    """
    n_classes = int(pupils.place[-1]) + 1 if len(pupils.place) else 0
    free = available & (age >= ADULT)
    free[pupils.persons] = False
    hired = []
    for k, contacts in enumerate(meetings):
        candidates = np.flatnonzero(free & (group == k))
        posts = min(int(np.ceil(contacts / (STAFF_CONTACTS * class_size))), len(candidates))
        hired.append(rng.choice(candidates, posts if n_classes else 0, replace=False))
    people = rng.permutation(np.concatenate(hired)).astype(np.int32)
    # Spread evenly: everyone a class of his own as long as there is one left.
    place = (np.arange(len(people)) % max(n_classes, 1)).astype(np.int32)
    persons, places = np.concatenate((pupils.persons, people)), np.concatenate((pupils.place, place))
    order = np.argsort(places, kind="stable")
    return Roster(persons[order], places[order])


def teams(workers: Integers, team_size: int, largest: int, rng: np.random.Generator) -> tuple[Roster, Roster]:
    """The workplaces, whose sizes have a heavy tail, and the teams within them, with one order of persons."""
    sizes = np.arange(1, largest + 1)
    mass = sizes**-WORKPLACE_EXPONENT
    cumulated = np.cumsum(mass / mass.sum())
    P = len(workers)
    mean = float(sizes @ mass / mass.sum())
    drawn = np.empty(0, dtype=np.int64)
    while drawn.sum() < P:
        more = np.searchsorted(cumulated, rng.random(int(1.1 * P / mean) + 1))
        drawn = np.concatenate((drawn, np.minimum(more, largest - 1) + 1))
    ends = np.minimum(np.cumsum(drawn), P)
    workplaces = np.diff(ends, prepend=0)
    workplaces = workplaces[workplaces > 0]
    persons = rng.permutation(workers).astype(np.int32)
    parts = _equal_parts(workplaces, team_size, at_most=True)
    return (
        Roster(persons, np.repeat(np.arange(len(workplaces), dtype=np.int32), workplaces)),
        Roster(persons, np.repeat(np.arange(len(parts), dtype=np.int32), parts)),
    )


def _equal_parts(wholes: Integers, size: int, at_most: bool = False) -> NDArray[np.int64]:
    """The sizes of the parts when wholes are divided equally, into about or at most a size."""
    wholes = wholes[wholes > 0]
    number = np.maximum(1, np.ceil(wholes / size) if at_most else np.rint(wholes / size)).astype(np.int64)
    place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    wholes, number = np.repeat(wholes, number), np.repeat(number, number)
    return (place + 1) * wholes // number - place * wholes // number
