"""Reciprocity: a contact of a child with an adult is one of an adult with a child, C_ij N_i = C_ji N_j."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simulators.arrays import Array


class Failure(NamedTuple):
    """By how much contacts fail reciprocity, at the pair of groups where it is the most."""

    factor: float  # 1 where they keep it, inf where one of the two has none
    row: int
    column: int


def largest_failure(contacts: Array, persons: Array) -> Failure:
    """The pair of groups whose contacts a day, counted from either side, differ by the largest factor.

    Pairs that make less than a millionth of all contacts are left out: they are rounding.

    Parameters
    ----------
    contacts : (J, J) array
        A day, of one person of the row's group with persons of the column's.
    persons : (J,) array
    """
    total = contacts * persons[:, None]
    low, high = np.minimum(total, total.T), np.maximum(total, total.T)
    counted = high > 1e-6 * max(total.sum(), np.finfo(float).tiny)
    factor = np.where(counted, high / np.where(low > 0, low, 1.0), 1.0)
    factor = np.where(counted & (low <= 0), np.inf, factor)
    i, j = np.unravel_index(int(np.argmax(factor)), factor.shape)
    return Failure(float(factor[i, j]), int(i), int(j))


def imbalance(contacts: Array, persons: Array) -> float:
    """Which share of all contacts is counted from one side alone, 0 (reciprocal) to 1.

    sum_ij |T_ij - T_ji| / sum_ij (T_ij + T_ji) with T_ij = C_ij N_i.
    """
    total = contacts * persons[:, None]
    return float(np.abs(total - total.T).sum() / max(2.0 * total.sum(), np.finfo(float).tiny))


def mended(contacts: Array, persons: Array) -> Array:
    """Reciprocal contacts, the mean of what both sides count: C'_ij = (C_ij N_i + C_ji N_j) / (2 N_i)."""
    total = contacts * persons[:, None]
    return np.ascontiguousarray((total + total.T) / (2.0 * persons[:, None]))


CLEARLY = 2.0
"""How many times as unbalanced contacts are the wrong way round, where that is told from reciprocity."""

UNBALANCED = 0.02
"""Up to this imbalance contacts are taken as they are, whatever the other way round would give."""


def fits_the_other_way(contacts: Array, persons: Array) -> tuple[float, float] | None:
    """The imbalance of contacts as they are and transposed, where the latter is clearly less; else None."""
    here, there = imbalance(contacts, persons), imbalance(contacts.T, persons)
    return (here, there) if here > UNBALANCED and here > CLEARLY * there else None
