"""How many persons of each age a population has."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.arrays import Array
from simulators.contract.validation import per_group
from simulators.population import survey
from simulators.population.tables import FIRST_AGES, OLDEST, PERSONS_BY_AGE, group_of_age


def ages(persons: int, groups: int, shares: Array) -> NDArray[np.int8]:
    """The ages of a population, ascending.

    Parameters
    ----------
    persons : int
        How many, N.
    groups : {5, 9}
        Number J of age groups.
    shares : (J,) array
        Share of each group, in any unit: they are met to a person. Within a group the years are in the
        proportions of the US of 2012, also to a person.

    Returns
    -------
    (N,) int8 array
    """
    group = group_of_age(groups)
    counts = np.zeros(OLDEST, dtype=np.int64)
    for j, size in enumerate(apportion(persons, shares)):
        counts[group == j] = apportion(int(size), PERSONS_BY_AGE[group == j])
    return np.repeat(np.arange(OLDEST, dtype=np.int8), counts)


def apportion(total: int, shares: Array) -> NDArray[np.int64]:
    """Whole numbers in the proportions of the shares that add up to a total (largest remainders)."""
    exact: Array = total * shares / shares.sum()
    counts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def group_shares(groups: int, contacts: object, given: ArrayLike | None) -> Array:
    """The share of each age group.

    Parameters
    ----------
    groups : {5, 9}
        Number J of age groups.
    contacts : object
        The contacts asked: a name of `simulators.population.survey.AGE_SHARES` brings its own
        population, for nine groups divided as in the US of 2012.
    given : (J,) array-like, optional
        The user's.

    Returns
    -------
    (J,) array

    Raises
    ------
    ValueError
        A share that is not above zero, or a wrong number of them.
    """
    table = survey.AGES[groups]
    if given is not None:
        return per_group("age_shares", given, table.groups, above=0)
    if isinstance(contacts, str) and contacts in survey.AGE_SHARES:
        of = group_of_age(5)[list(FIRST_AGES[groups])]
        within = table.population / np.bincount(of, weights=table.population)[of]
        shares: Array = survey.AGE_SHARES[contacts][of] * within
        return shares
    return table.population
