"""Where people spend the day in company: classes of schools with their staff, and teams of workplaces.

A *roster* lists who is where: persons, those of one class or team next to each other, and the number of the
class or team of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Integers, Mask
from simulators.population.places import Places
from simulators.population.tables import ADULT

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


def employed(age: Integers, shares: Array, rng: np.random.Generator) -> Mask:
    """Who works, (N,), of whom each year of age has a share."""
    return rng.random(len(age)) < shares[age]


def classes(age: Integers, places: Places, rng: np.random.Generator) -> tuple[Roster, float]:
    """The pupils and students by class, and how many a class is meant to have, on average over pupils.

    Each level has schools of its own. A school takes in the neighbourhood, that is households of consecutive
    numbers, and divides its pupils into classes by age. Both sizes are stretched so that nobody is left over.
    Ages are given household by household.
    """
    enrolled = np.flatnonzero(rng.random(len(age)) < places.enrolled[age])
    level = places.level_of_age[age[enrolled]]
    by_level = enrolled[np.argsort(level, kind="stable")]
    pupils_of = np.bincount(level, minlength=len(places.levels) + 1)[1:]
    class_size = np.array([one.class_size for one in places.levels])
    school_sizes, of = _equal_parts(pupils_of, np.array([one.school_size for one in places.levels]))
    school = np.repeat(np.arange(len(school_sizes)), school_sizes)
    # Within a school by age, at random within a year of age.
    pupils = by_level[np.lexsort((rng.random(len(by_level)), age[by_level], school))]
    class_sizes, _ = _equal_parts(school_sizes, class_size[of])
    meant = float(class_size @ pupils_of) / max(int(pupils_of.sum()), 1)
    roster = Roster(
        pupils.astype(np.int32), np.repeat(np.arange(len(class_sizes), dtype=np.int32), class_sizes)
    )
    return roster, meant


def staff(
    pupils: Roster,
    age: Integers,
    group: Integers,
    meetings: Array,
    available: Mask,
    class_size: float,
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
        needed = contacts / (STAFF_CONTACTS * class_size) if n_classes else 0.0
        posts = min(int(np.ceil(needed)), len(candidates))
        hired.append(rng.choice(candidates, posts, replace=False))
    people = rng.permutation(np.concatenate(hired)).astype(np.int32)
    # Spread evenly: everyone a class of his own as long as there is one left.
    place = (np.arange(len(people)) % max(n_classes, 1)).astype(np.int32)
    persons, places = np.concatenate((pupils.persons, people)), np.concatenate((pupils.place, place))
    order = np.argsort(places, kind="stable")
    return Roster(persons[order], places[order])


def teams(
    workers: Integers, team_size: int, shares: Array, rng: np.random.Generator
) -> tuple[Roster, Roster]:
    """The workplaces, of 1, 2, .. persons in given shares, and their teams, with one order of persons."""
    largest = len(shares)
    sizes, mass = np.arange(1, largest + 1), shares
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
    parts, _ = _equal_parts(workplaces, np.full(len(workplaces), team_size), at_most=True)
    return (
        Roster(persons, np.repeat(np.arange(len(workplaces), dtype=np.int32), workplaces)),
        Roster(persons, np.repeat(np.arange(len(parts), dtype=np.int32), parts)),
    )


def _equal_parts(
    wholes: Integers, sizes: Integers, at_most: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sizes of the parts when wholes are divided equally, into about or at most a size each.

    Returns
    -------
    parts : (p,) array
    of : (p,) array
        The whole that each is a part of.
    """
    there = np.flatnonzero(wholes > 0)
    wholes, sizes = wholes[there], sizes[there]
    number = np.maximum(1, np.ceil(wholes / sizes) if at_most else np.rint(wholes / sizes)).astype(np.int64)
    place = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    of = np.repeat(there, number)
    wholes, number = np.repeat(wholes, number), np.repeat(number, number)
    return (place + 1) * wholes // number - place * wholes // number, of
