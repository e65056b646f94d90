"""The policies of a town: those of its ODE, in packs of the town's doses, and the closure of its schools."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint

from simulators.arrays import Array
from simulators.contract.levers import Real
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.flu.doses import Packs


class TownPolicies(NamedTuple):
    """What may be decided in a town.

    Attributes
    ----------
    space : BoundedPolicySpace
        One entry a group, and last the days of closure where schools may close.
    packs : Packs or None
        What makes shares of packs; None where policies are shares.
    longest_closure : float
        Days; 0 where schools never close.
    current : (d,) array or None
        Today's practice, where it is known and within the space.
    """

    space: BoundedPolicySpace
    packs: Packs | None
    longest_closure: float
    current: Array | None

    @classmethod
    def of(
        cls, shares: BoundedPolicySpace, current: Array | None, packs: Packs | None, longest_closure: float
    ) -> TownPolicies:
        """Those of a space of shares, or of rates, and today's shares."""
        space = shares
        if packs is not None:
            space = packs.space(shares)
            if current is not None:
                today = packs.most(current)
                current = today if space.contains(today[None])[0] else None
        if not longest_closure:
            return cls(space, packs, 0.0, current)
        limits = space.constraint
        space = BoundedPolicySpace(
            (*space.labels, "school closure"),
            (*space.units, "days"),
            levers=(*space.levers, Real(0.0, longest_closure)),
            constraint=limits and LinearConstraint(np.hstack([limits.A, [[0.0]]]), limits.lb, limits.ub),
        )
        return cls(space, packs, longest_closure, None if current is None else np.append(current, 0.0))

    def apart(self, policy: Array) -> tuple[Array, float]:
        """The shares or rates of the groups (J,), and the days of closure, of a policy (d,)."""
        groups = policy[:-1] if self.longest_closure else policy
        shares = groups if self.packs is None else self.packs.shares(groups)
        return shares, float(policy[-1]) if self.longest_closure else 0.0
