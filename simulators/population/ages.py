"""How many persons of each age a population has."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.arrays import Array
from simulators.contract.validation import per_group
from simulators.population import survey
from simulators.population.age_bands import AgeBands, usual_bands
from simulators.population.tables import OLDEST, PERSONS_BY_AGE


def ages(persons: int, bands: AgeBands, shares: Array, by_age: Array = PERSONS_BY_AGE) -> NDArray[np.int8]:
    """The ages of a population, ascending, in given shares of the groups, in any unit.

    The shares are met to a person, and within a group the years are in the proportions of persons by year of
    age (95,), also to a person: of the US of 2012 by default.

    Raises
    ------
    ValueError
        Nobody is of the ages of a group.
    """
    group = bands.of_age
    counts = np.zeros(OLDEST, dtype=np.int64)
    for j, size in enumerate(apportion(persons, shares)):
        years = by_age[group == j]
        if size and not years.any():
            raise ValueError(f"persons_by_age: nobody is of the ages of group {bands.names[j]!r}")
        counts[group == j] = apportion(int(size), years) if size else 0
    return np.repeat(np.arange(OLDEST, dtype=np.int8), counts)


def apportion(total: int, shares: Array) -> NDArray[np.int64]:
    """Whole numbers in the proportions of the shares that add up to a total (largest remainders)."""
    exact: Array = total * shares / shares.sum()
    counts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def group_shares(
    bands: AgeBands, contacts: object, given: ArrayLike | None, by_age: Array | None = None
) -> Array:
    """The share of each age group, (J,): the user's, or those that go with the contacts asked.

    Of persons by year of age (95,), where they are given, it is theirs.
    A name of `survey.AGE_SHARES` brings its own population, for nine groups divided as in the US of 2012.
    """
    if given is not None:
        return per_group("age_shares", given, bands.names, above=0)
    if by_age is not None:
        return np.bincount(bands.of_age, weights=by_age, minlength=len(bands)).astype(float)
    if bands.own:
        raise ValueError("age_shares is missing: groups of one's own need it")
    table = survey.AGES[len(bands)]
    if isinstance(contacts, str) and contacts in survey.AGE_SHARES:
        of = usual_bands(5).of_age[list(bands.first)]
        within = table.population / np.bincount(of, weights=table.population)[of]
        shares: Array = survey.AGE_SHARES[contacts][of] * within
        return shares
    return table.population
