"""Who starts a season infected, and other whole numbers made of shares."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array, Integers
from simulators.contract.validation import per_group
from simulators.flu import tables
from simulators.population import survey

LEAST_INFECTED = 50
"""Persons infected at the start, at least: with fewer, whether there is an epidemic at all is chance."""


def whole_numbers(values: Array) -> Integers:
    """Whole numbers next to the values, not negative, whose sum is the rounded sum (largest remainders)."""
    lower = np.floor(values + 1e-9).astype(np.int64)
    missing = int(np.floor(values.sum() + 0.5)) - int(lower.sum())
    remainders = lower - values
    lower[np.argsort(remainders, kind="stable")[: max(missing, 0)]] += 1
    return lower


def initially_infected(groups: tuple[str, ...], sizes: Integers) -> Integers:
    """How many persons of each group are infected on day 0 unless told otherwise, (J,).

    The shares of the ODE's vaccination season, 0.34 % of all, or 0.1 % of groups of one's own;
    but 50 persons at least, or everybody where there are fewer.
    """
    table = survey.AGES.get(len(groups))
    if table is None or table.groups != groups:
        return at_least_a_few(np.full(len(groups), tables.OWN_SEEDING), sizes)
    return at_least_a_few(tables.SEASON_SEEDING * table.initial_infected / table.population, sizes)


def at_least_a_few(shares: Array, sizes: Integers) -> Integers:
    """Shares of groups as whole persons (J,): of all together 50 at least, or everybody; none of none."""
    expected: Array = shares * sizes
    least = min(LEAST_INFECTED, int(sizes.sum()))
    if 0 < expected.sum() < least:
        expected *= least / expected.sum()
    return np.minimum(whole_numbers(expected), sizes)


def numbers_infected(
    given: ArrayLike | None, groups: tuple[str, ...], sizes: Integers, immune: Integers
) -> Integers:
    """How many persons of each group are infected on day 0, (J,): as given, if they are not immune.

    By default `initially_infected` of those who are not immune, with a warning where they are more than a
    tenth of all.
    """
    susceptible = sizes - immune
    if given is None:
        usual = initially_infected(groups, susceptible)
        if usual.sum() > sizes.sum() / 10:
            warnings.warn(
                f"{usual.sum()} of {sizes.sum()} persons are infected on day 0, more than a tenth of all: "
                f"{LEAST_INFECTED} are in a small town unless initial_infected says otherwise",
                stacklevel=4,  # whoever makes the model
            )
        return usual
    numbers = per_group("initial_infected", given, groups, least=0)
    for name, n, most in zip(groups, numbers, susceptible, strict=True):
        if n > most:
            raise ValueError(
                f"initial_infected of group {name!r} is {n:g}; it must be at most the susceptible, {most}"
            )
    return whole_numbers(numbers)
