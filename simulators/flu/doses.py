"""Vaccination in whole packs of doses, as it is delivered: a policy of packs instead of shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint

from simulators.arrays import Array
from simulators.contract.levers import Whole
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import whole

NEAR = 1e-9
"""Packs; what is so near to a whole number is one."""


class Packs:
    """Whole packs of doses for the groups of a population.

    Parameters
    ----------
    pack : int
        Doses in a pack.
    persons : (J,) array
        Of each group.

    Raises
    ------
    ValueError
        A pack that is no whole number from 1 on.
    """

    def __init__(self, pack: Any, persons: Array) -> None:
        self.size: int = whole("pack", pack)
        self.persons = np.asarray(persons, dtype=float)

    def shares(self, packs: Array) -> Array:
        """The shares of the groups that so many packs (.., J) vaccinate."""
        share: Array = packs * self.size / self.persons
        return share

    def least(self, shares: Array) -> Array:
        """The packs (J,) that vaccinate at least these shares."""
        packs: Array = np.ceil(shares * self.persons / self.size - NEAR)
        return packs

    def most(self, shares: Array) -> Array:
        """The packs (J,) that vaccinate at most these shares."""
        packs: Array = np.floor(shares * self.persons / self.size + NEAR)
        return packs

    def space(self, shares: BoundedPolicySpace) -> BoundedPolicySpace:
        """The policies of packs whose shares lie in a space of shares.

        Raises
        ------
        ValueError
            No number of packs keeps a group within its bounds, or all groups within the budget.
        """
        low, high = self.least(shares.bounds.lb), self.most(shares.bounds.ub)
        for group, least, most in zip(shares.labels, low, high, strict=True):
            if least > most:
                raise ValueError(
                    f"pack={self.size}: no whole number of packs lies within the bounds of group {group!r}"
                )
        return BoundedPolicySpace(
            shares.labels,
            (f"packs of {self.size:,} doses",) * len(low),
            levers=[Whole(int(a), int(b)) for a, b in zip(low, high, strict=True)],
            constraint=None if shares.constraint is None else self._budget(shares.constraint),
        )

    def _budget(self, shares: LinearConstraint) -> LinearConstraint:
        """The budget of shares as one of packs: exact where a dose costs the same in all groups."""
        cost = shares.A[0] * self.size / self.persons
        unit = float(cost.max()) or 1.0
        limit = float(shares.ub[0]) / unit
        if np.allclose(cost, unit, rtol=1e-12, atol=0):
            return LinearConstraint(np.ones((1, len(cost))), -np.inf, np.floor(limit + NEAR))
        return LinearConstraint(cost[None] / unit, -np.inf, limit)


def packs_of(pack: Any, vaccinates: bool, persons: Array | None, one_product: bool = True) -> Packs | None:
    """The packs of an option `pack`; None where there is none.

    Raises
    ------
    ValueError
        A pack that is no whole number from 1 on, or any where nobody is vaccinated, or with several products.
    """
    if pack is None:
        return None
    if not vaccinates:
        raise ValueError(f"pack={pack!r} has no meaning for intervention='treatment'; leave it out")
    if persons is None:
        raise ValueError(f"pack={pack!r} needs the persons of every group")
    if not one_product:
        raise ValueError(f"pack={pack!r} does not go with products; leave one of them out")
    return Packs(pack, persons)
