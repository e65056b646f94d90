"""The age groups of a town: the 5 or 9 of the US tables, or bands of one's own."""

from __future__ import annotations

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
    """The bands that `groups` says: 5, 9, or bands of one's own, as they are."""
    if isinstance(groups, AgeBands):
        return groups
    return usual_bands(choice("groups", groups, tuple(survey.AGES)))
