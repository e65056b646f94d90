"""Households: how many live together, which of them have children, and who lives with whom by age.

The ages of the population are given; the households only decide who gets which. Every place in a household
draws the age that would suit it (couples are of like age, siblings too, and the older the parents the older
their children), and the places take the ages there are in that order: the youngest age goes to the place that
wanted the youngest, among adults and among children. So the population's ages are met exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Mask
from simulators.population.tables import ADULT, FAMILIES, TWO_PARENTS

GENERATION = 28.0
"""Years between parents and children."""

PARENTS = (39.0, 8.0)
"""Mean and standard deviation of the age of those who live with children."""

GROWN_UP = (52.0, 8.0)
"""The same of three or more adults: parents of grown-up children."""

YOUNG, OLD = (29.0, 7.0), (67.0, 11.0)
"""The same of the younger and the older singles and couples."""

YOUNG_HOUSEHOLDS = 0.35
"""Share of the singles and couples that are young ones."""

BETWEEN_PARTNERS, BETWEEN_SIBLINGS = 3.0, 3.0
"""Standard deviations of a member's age about the household's, and of a child's about its siblings'."""

OTHER_GENERATION = 0.7
"""Share of the third and later adults who are a generation older (with children) or younger (without)."""

GRANDPARENTS = 0.5
"""Share of the families of five and more persons with a third adult."""


def settle(
    ages: NDArray[np.int8], size_shares: Array, rng: np.random.Generator
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Distribute people over households of 1, 2, .. m persons, in shares that add up to 1.

    Parameters
    ----------
    ages : (N,) int array
        Years of each person, ascending.
    size_shares : (m,) array

    Returns
    -------
    age : (N,) int8 array
        The same ages, household by household.
    household : (N,) int32 array
        Number of each person's household, ascending from 0.

    Raises
    ------
    ValueError
        More children than there is room for beside one adult a household.
    """
    N, n_children = len(ages), int(np.searchsorted(ages, ADULT))
    sizes = _sizes(N, size_shares, rng)
    children = _children(sizes, n_children, rng)
    family = children > 0
    anchor = _anchors(sizes, family, rng)

    household = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    place = np.arange(N) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    adults = (sizes - children)[household]
    is_child = place >= adults
    wanted = anchor[household] + BETWEEN_PARTNERS * rng.standard_normal(N)
    further = (place >= 2) & ~is_child & (rng.random(N) < OTHER_GENERATION)
    wanted[further] += np.where(family[household[further]], GENERATION, -GENERATION)

    age = np.empty(N, dtype=np.int8)
    adult_places, child_places = np.flatnonzero(~is_child), np.flatnonzero(is_child)
    wish = anchor[household[child_places]] + BETWEEN_SIBLINGS * rng.standard_normal(n_children)
    age[child_places[np.argsort(wish, kind="stable")]] = ages[:n_children]
    age[adult_places[np.argsort(wanted[adult_places], kind="stable")]] = ages[n_children:]
    return age, household


def _sizes(N: int, shares: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Household sizes in random order that add up to N, in the shares asked as nearly as can be."""
    sizes = np.arange(1, len(shares) + 1)
    households = N / float(shares @ sizes)
    chosen = np.repeat(sizes, np.floor(shares * households + 1e-9).astype(int))
    left, more = N - int(chosen.sum()), []
    while left > 0:
        more.append(min(int(rng.choice(sizes, p=shares)), left))
        left -= more[-1]
    return rng.permutation(np.concatenate((chosen, np.array(more, dtype=np.int64))))


def _children(sizes: NDArray[np.int64], n_children: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The number of children of each household, adding up to `n_children`."""
    odds = np.array(FAMILIES)[np.minimum(sizes, len(FAMILIES)) - 1]
    with np.errstate(divide="ignore"):
        order = np.argsort(rng.random(len(sizes)) / odds, kind="stable")
    two_parents = (rng.random(len(sizes)) < TWO_PARENTS) & (sizes >= 3)
    third_adult = (rng.random(len(sizes)) < GRANDPARENTS) & (sizes >= 5)
    # Beside the usual one to three adults as far as that goes, else with a single parent each.
    for adults in (1 + two_parents + third_adult, np.ones_like(sizes)):
        room = (sizes - adults)[order]
        if room.sum() >= n_children:
            children = np.empty_like(sizes)
            children[order] = np.clip(n_children - (np.cumsum(room) - room), 0, room)
            return children
    share, most = n_children / sizes.sum(), room.sum() / sizes.sum()
    raise ValueError(
        f"age_shares: {share:.0%} of the people are under {ADULT}; the households have room for {most:.0%} "
        "beside an adult each"
    )


def _anchors(sizes: NDArray[np.int64], family: Mask, rng: np.random.Generator) -> Array:
    """The age about which each household's adults are."""
    young = rng.random(len(sizes)) < YOUNG_HOUSEHOLDS
    z = rng.standard_normal(len(sizes))
    parents, grown_up, younger, older = (m + sd * z for m, sd in (PARENTS, GROWN_UP, YOUNG, OLD))
    return np.select([family, sizes >= 3, young], [parents, grown_up, younger], older)
