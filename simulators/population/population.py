"""A synthetic population: persons of an age, in households, schools and workplaces, with their contacts.

Households, classes and teams say who could meet; the contact matrices say how many do. Household members all
meet; of the pairs in a class or team, and of the pairs of the town at large for the community, as many as the
matrix of the setting asks for each pair of age groups are chosen at random. Where a structure has fewer pairs
than asked, the rest are random pairs of those who take part: guests at home, pupils of other classes, people
of other teams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.arrays import Array
from simulators.contract.seeds import as_sequence, child
from simulators.contract.validation import choice, number, per_group, real_numbers, whole
from simulators.population import households, tables, venues
from simulators.population.age_bands import age_bands
from simulators.population.ages import ages, group_shares
from simulators.population.asked_contacts import ask
from simulators.population.network import LARGEST_GRAPH, ContactNetwork, symmetric
from simulators.population.pairs import Keys, choose, count, fill, within
from simulators.population.places import Places, usual_levels, workplaces_up_to
from simulators.population.survey import SETTINGS

if TYPE_CHECKING:
    import networkx as nx


MOST_PERSONS = 100_000_000
"""Persons above whom a population is refused: its contacts take 200 bytes a person."""

SMALLEST_MATCHED = 100
"""Persons from which on the contacts asked must be met.

A handful of people cannot have contacts with five age groups in four settings: below this number everybody
meets whom there is, and the table of the contacts achieved says how far off that is.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """N persons, numbered household by household, and their contacts.

    Attributes
    ----------
    age : (N,) int8 array
        Years.
    group : (N,) int8 array
        Index of the age group.
    groups : tuple of str
        Names of the J age groups.
    household : (N,) int32 array
        Number of the household, ascending from 0.
    school_class, workplace : (N,) int32 array
        Number of the class, of pupils and staff, and of the workplace; -1 for none.
    network : ContactNetwork
        Layers `household`, `school`, `work` and `community`.
    """

    age: NDArray[np.int8]
    group: NDArray[np.int8]
    groups: tuple[str, ...]
    household: NDArray[np.int32]
    school_class: NDArray[np.int32]
    workplace: NDArray[np.int32]
    network: ContactNetwork

    def __repr__(self) -> str:
        households = len(np.unique(self.household))
        return f"Population(persons={self.persons}, {households=})"

    @property
    def persons(self) -> int:
        """Number of persons N."""
        return len(self.age)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Persons in each group, (J,)."""
        return np.bincount(self.group, minlength=len(self.groups))

    def __deepcopy__(self, memo: object) -> Population:
        return self  # nothing changes it, and it may be large: copies of an environment share its town

    def to_networkx(self, largest: int = LARGEST_GRAPH) -> nx.Graph[Any]:
        """The graph of the network, whose nodes have `age` and `household` besides."""
        graph = self.network.to_networkx(largest)
        for person, age, household in zip(graph, self.age.tolist(), self.household.tolist(), strict=True):
            graph.nodes[person].update(age=age, household=household)
        return graph


def build_population(
    persons: int,
    *,
    seed: int | np.random.SeedSequence = 0,
    contacts: str | ArrayLike | Mapping[str, ArrayLike] = "mistry-2021-oregon",
    groups: Any = 5,
    age_shares: ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    persons_by_age: ArrayLike | None = None,
    household_sizes: Sequence[float] = tables.HOUSEHOLD_SIZES,
    class_size: int = tables.CLASS_SIZE,
    school_size: int = tables.SCHOOL_SIZE,
    team_size: int = tables.TEAM_SIZE,
    largest_workplace: int = tables.LARGEST_WORKPLACE,
    places: Places | None = None,
    tolerance: float = 0.1,
) -> Population:
    """Build a population and its contact network.

    Parameters
    ----------
    persons : int
        How many, N.
    seed : int or numpy.random.SeedSequence, default 0
        Equal seeds give the same population, bit for bit.
    contacts : str, (J, J) array-like or mapping of str to (J, J) array-like, default "mistry-2021-oregon"
        Contacts a day, row = age group of the person, column = group met: by setting (`household`,
        `school`, `work`, `community`), or of all settings, or a name of
        `simulators.population.survey.CONTACTS`. They are made reciprocal for the population
        (`network.asked.reciprocity()` tells how). Those of Mistry 2021 are known for five groups, and are
        asked for those whatever `groups` is.
    groups : {5, 9} or AgeBands, default 5
        Number J of age groups of the US, or bands of one's own, 2 to 20, with
        `age_shares` and `contacts`. Within a group ages are in the proportions of the US of 2012.
    age_shares : (J,) array-like, optional
        Share of each group in the population, in any unit. By default those that the contacts go with:
        Oregon's for Mistry 2021, else the US of 2012.
    weights : mapping of str to float, optional
        How readily a contact transmits, by setting, relative to the others; 1 where not given.
    persons_by_age : (95,) array-like, optional
        Persons of each year of age, in any unit, in whose proportions the years within a group are; and the
        groups, unless `age_shares` are given. The US of 2012 by default.
    household_sizes : sequence of float, default US 2012
        Shares of the households of 1, 2, .. persons.
    class_size, school_size, team_size, largest_workplace : int, default 25, 500, 20, 1000
        Pupils in a class and in a school, most persons in a team, persons in the largest workplace.
    places : Places, optional
        Schools and workplaces by age and size, in place of the four numbers.
    tolerance : float, default 0.1
        Most contacts, as a share of those asked, that may be too many or too few over settings and pairs of
        groups. In towns of fewer than 100 persons it is not applied.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted; or how far the contacts asked are from
        what can be had.
    """
    N = whole("persons", persons)
    bands = age_bands(groups)
    J = len(bands)
    class_size = whole("class_size", class_size)
    team_size = whole("team_size", team_size)
    largest_workplace = whole("largest_workplace", largest_workplace)
    for name, size in {"persons": N, "largest_workplace": largest_workplace}.items():
        if size > MOST_PERSONS:
            raise ValueError(f"{name}={size} must be at most {MOST_PERSONS:,}")
    school_size = whole("school_size", school_size, least=class_size)
    if places is None:
        levels = usual_levels(class_size, school_size)
        places = Places(levels, workplaces=workplaces_up_to(largest_workplace), team_size=team_size)
    by_year = None if persons_by_age is None else _by_year(persons_by_age)
    size_shares = _size_shares(household_sizes)
    if number("tolerance", tolerance, least=0) > 1:
        raise ValueError(f"tolerance={tolerance!r} must be a share, 0..1")
    layer_weights = _layer_weights(weights)
    world = as_sequence(seed)
    rng = {name: np.random.default_rng(child(world, i)) for i, name in enumerate((*SETTINGS, "jobs"))}

    shares = group_shares(bands, contacts, age_shares, by_year)
    by_age = ages(N, bands, shares, tables.PERSONS_BY_AGE if by_year is None else by_year)
    age, household = households.settle(by_age, size_shares, rng["household"])
    group = bands.of_age[age]
    everybody = np.arange(N, dtype=np.int32)

    homes = within(everybody, household, N)
    pairs_at_home = count(homes, group, J, N)
    sizes, homes_flow = np.bincount(group, minlength=J), pairs_at_home + pairs_at_home.T
    asked = ask(contacts, bands, sizes, homes_flow, places.employed)
    if N >= SMALLEST_MATCHED:
        _refuse(*asked.shortage(), tolerance)
    asked_group = asked.parent.astype(np.int8)[group]

    works = venues.employed(age, places.employed, rng["jobs"])
    pupils, usual_class = venues.classes(age, places, rng["school"])
    K = len(asked.groups)
    young = np.bincount(asked_group[age < tables.ADULT], minlength=K)
    children = young / np.maximum(np.bincount(asked_group, minlength=K), 1)  # the share of a group
    meetings = (children[:, None] * asked.flows["school"]).sum(axis=0)
    school = venues.staff(pupils, age, asked_group, meetings, works, usual_class, rng["school"])
    school_class = school.by_person(N)
    works &= (school_class < 0) | (pupils.by_person(N) >= 0)  # the staff work at school
    workplaces, teams = venues.teams(np.flatnonzero(works), places.team_size, places.workplaces, rng["work"])

    rosters = {"school": school, "work": teams}
    layers = {}
    for setting in SETTINGS:
        edges = asked.edges(setting)
        met: Keys = np.empty(0, dtype=np.int64)
        taking_part = everybody
        if setting == "household":
            met = homes
        elif setting in rosters:
            taking_part = rosters[setting].persons
            could_meet = within(taking_part, rosters[setting].place, N)
            met = choose(could_meet, edges, asked_group, N, rng[setting])
        others = fill(met, edges, taking_part, asked_group, N, rng[setting])
        layers[setting] = symmetric(N, np.concatenate((met, others)))

    network = ContactNetwork(layers, layer_weights, group, bands.names, asked)
    if N >= SMALLEST_MATCHED:
        _refuse(*asked.distance(network), tolerance)
    return Population(
        age=age,
        group=group,
        groups=bands.names,
        household=household,
        school_class=school_class,
        workplace=workplaces.by_person(N),
        network=network,
    )


def _by_year(given: ArrayLike) -> Array:
    by_year = real_numbers("persons_by_age", given)
    if by_year.shape != (tables.OLDEST,):
        raise ValueError(
            f"persons_by_age must be {tables.OLDEST} numbers, one a year of age; got shape {by_year.shape}"
        )
    for age in np.flatnonzero(~(np.isfinite(by_year) & (by_year >= 0))):
        raise ValueError(f"persons_by_age of age {age} is {by_year[age]:g}; it must be a finite number >= 0")
    return by_year


def _refuse(off: float, where: str, tolerance: float) -> None:
    if off > tolerance:
        raise ValueError(
            f"contacts cannot be matched: {100 * off:.3g}% of those asked are too many or too few "
            f"(tolerance={tolerance:g}), most of them in {where}"
        )


def _size_shares(given: Sequence[float]) -> Array:
    names = [str(size) for size in range(1, np.size(given) + 1)]
    shares = per_group("household_sizes", given, names, least=0, most=1)
    if abs(shares.sum() - 1) > 1e-6:
        raise ValueError(f"household_sizes={list(given)} must add up to 1, not {shares.sum():g}")
    shares /= shares.sum()
    return shares


def _layer_weights(given: Mapping[str, float] | None) -> dict[str, float]:
    weights = dict.fromkeys(SETTINGS, 1.0)
    for setting, value in (given or {}).items():
        weights[choice("weights", setting, SETTINGS)] = number(f"weights[{setting!r}]", value, least=0)
    return weights
