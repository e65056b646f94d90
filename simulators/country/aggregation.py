"""Contacts of other bands of ages: finer ones put together, or where asked coarser ones split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulators.arrays import Array, Rows
from simulators.country.bands import OPEN, Band

OLDEST = 85
"""Years. Where persons of an open band, as 65+, are spread over its years, it ends here (at the earliest five
years after it begins)."""


@dataclass(frozen=True)
class Ages:
    """Persons by age: as a table has them, and in between evenly by year.

    Attributes
    ----------
    bands : tuple of Band
        In ascending order, without gaps.
    persons : (K,) array
    """

    bands: tuple[Band, ...]
    persons: Array

    def within(self, band: Band) -> float:
        """Persons of the ages of a band."""
        total = 0.0
        for own, persons in zip(self.bands, self.persons, strict=True):
            low, high = max(own.low, band.low), min(own.high, band.high)
            if low <= high:
                share = _years(own, low, high) / _years(own, own.low, own.high)
                total += persons * share
        return total

    def knows(self, band: Band) -> bool:
        """Whether the persons of a band are a sum of the table's, and not a part by years."""
        return all(own.high < band.low or band.high < own.low or band.holds(own) for own in self.bands)


def _years(own: Band, low: int, high: int) -> float:
    """How many years of a band lie between two ages; an open band ends at `OLDEST`."""
    end = max(OLDEST, own.low + 5) - 1 if own.is_open else own.high
    return max(min(high, end) - low + 1, 0.0)


def aggregated(contacts: Array, persons: Array, place: Rows) -> Array:
    """Contacts of coarser groups, C_AB = sum_{i in A} N_i sum_{j in B} C_ij / sum_{i in A} N_i.

    Parameters
    ----------
    contacts : (J, J) array
        Contacts a day of one person of the row's group with persons of the column's.
    persons : (J,) array
        N.
    place : (J,) array of int
        The coarser group to which each belongs, 0 to K - 1.

    Returns
    -------
    (K, K) array
        There are as many contacts as before, and they are reciprocal where those were.
    """
    members = np.zeros((int(place.max()) + 1, len(place)))
    members[place, np.arange(len(place))] = 1.0
    total = members @ (contacts * persons[:, None]) @ members.T
    return np.ascontiguousarray(total / (members @ persons)[:, None])


def split(contacts: Array, persons: Array, place: Rows) -> Array:
    """Contacts of finer groups, which mix as those they are part of: C_ab = C_AB N_b / N_B.

    Parameters
    ----------
    contacts : (J, J) array
    persons : (K,) array
        Of the finer groups.
    place : (K,) array of int
        The group of which each is a part.
    """
    whole = np.bincount(place, weights=persons, minlength=len(contacts))
    return np.ascontiguousarray(contacts[np.ix_(place, place)] * (persons / whole[place])[None, :])


def atoms(*divisions: Sequence[Band]) -> list[Band]:
    """The coarsest bands of which all bands of all divisions are made."""
    lows = sorted({band.low for bands in divisions for band in bands})
    ends = {band.high + 1 for bands in divisions for band in bands}
    edges = sorted({*lows, *ends})
    return [Band(low, min(high - 1, OPEN)) for low, high in zip(edges, edges[1:], strict=False)]


def place_of(band: Band, bands: Sequence[Band]) -> int | None:
    """Which of some bands holds a band; None where none does."""
    return next((index for index, one in enumerate(bands) if one.holds(band)), None)


def both_open(one: Sequence[Band], other: Sequence[Band]) -> bool:
    """Whether one division ends openly and the other where that may mean the same, as 75+ and 75-84."""
    closed = min(max(one), max(other), key=lambda band: band.high)
    last = max(max(one), max(other), key=lambda band: band.high)
    return last.is_open and not closed.is_open and closed.high + 1 >= last.low


def opened(bands: Sequence[Band]) -> list[Band]:
    """The bands with the oldest open at its end."""
    oldest = max(bands)
    return [Band(band.low, OPEN) if band == oldest else band for band in bands]
