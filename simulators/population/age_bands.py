"""The age groups of a town: the 5 or 9 of the US tables, or bands of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.contract.validation import choice
from simulators.population import survey
from simulators.population.tables import FIRST_AGES, OLDEST

MOST_BANDS = 20
"""Bands of a town, at most."""


@dataclass(frozen=True)
class AgeBands:
    """Groups of ages without a gap, youngest first.

    Attributes
    ----------
    names : tuple of str
    first : tuple of int
        First year of each; the last band has no end.
    own : bool
        Whether they are somebody's own.
    """

    names: tuple[str, ...]
    first: tuple[int, ...]
    own: bool = False

    def __len__(self) -> int:
        return len(self.names)

    @property
    def of_age(self) -> NDArray[np.int8]:
        """The index of the band of each year of age, (95,)."""
        return np.searchsorted(self.first, np.arange(OLDEST), side="right").astype(np.int8) - np.int8(1)


def usual_bands(groups: int) -> AgeBands:
    """The 5 or 9 groups of the US tables."""
    return AgeBands(survey.AGES[groups].groups, FIRST_AGES[groups])


def age_bands(groups: Any) -> AgeBands:
    """The bands that `groups` says: 5, 9, or names such as "0-4", "5-17", "65+".

    Raises
    ------
    ValueError
        Names without ages, bands that overlap, leave ages out, do not begin at 0 or are not ascending, or
        whose last has an end; fewer than 2 or more than 20.
    """
    if isinstance(groups, str) or not isinstance(groups, Sequence):
        return usual_bands(choice("groups", groups, tuple(survey.AGES)))
    from simulators.country.bands import bands_of, check_bands  # brings what reads files: slow to import

    names = tuple(groups)
    if not 2 <= len(names) <= MOST_BANDS:
        raise ValueError(f"groups: there are {len(names)}; accepted among persons: 2 to {MOST_BANDS}")
    for name in names:
        if not isinstance(name, str) or bands_of([name]) is None:
            raise ValueError(f"groups: {name!r} says no ages; accepted among persons: '0-4', '65+'")
    check_bands(names, "groups")
    found = bands_of(names) or ()
    first = tuple(one.low for one in found)
    if first[0] != 0 or list(first) != sorted(first):
        raise ValueError(f"groups={list(names)} must ascend from age 0")
    if first[-1] >= OLDEST:
        raise ValueError(f"groups: {names[-1]!r} begins after the oldest age of a town, {OLDEST - 1}")
    if found[-1].high < OLDEST - 1:
        raise ValueError(f"groups: {names[-1]!r} is the last and must have no end, as {first[-1]}+")
    return AgeBands(names, first, own=True)
