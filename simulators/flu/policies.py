"""What may be decided of a season: shares of groups or levers, or whole packs of doses, within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulators.arrays import Array
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.flu.budget import Asked, treatment_space, vaccination_space
from simulators.flu.doses import Packs, packs_of
from simulators.flu.levers import Levers
from simulators.flu.people import People


@dataclass(frozen=True, eq=False)
class Policies:
    """The policies of a season, and today's among them.

    Attributes
    ----------
    shares : BoundedPolicySpace
        Of shares vaccinated, or of removal rates.
    packs : Packs or None
        What makes shares of packs; None where policies are shares.
    space : BoundedPolicySpace
        What a policy is; `shares` itself where there are no packs.
    current : (d,) array or None
        Today's practice, where it is known, within the budget, and a coverage.
    """

    shares: BoundedPolicySpace
    packs: Packs | None
    space: BoundedPolicySpace
    current: Array | None

    @classmethod
    def of(cls, asked: Asked, levers: Levers, people: People, vaccinates: bool, pack: Any) -> Policies:
        """Those that options ask for.

        Parameters
        ----------
        asked : Asked
            The budget and the bounds.
        levers : Levers
        people : People
        vaccinates : bool
            Whether policies are coverages, and not rates of treatment.
        pack : int or None
            Doses in a pack.
        """
        shares = (
            vaccination_space(asked, levers, people.coverage)
            if vaccinates
            else treatment_space(asked, levers.groups, people.treatment_weights)
        )
        packs = packs_of(pack, vaccinates, levers.persons, not levers.named)
        space = shares if packs is None else packs.space(shares)
        if not vaccinates or people.coverage is None:
            return cls(shares, packs, space, None)
        today = levers.policy_of(people.coverage)
        today = today if packs is None else packs.most(today)
        return cls(shares, packs, space, today if space.contains(today[None])[0] else None)

    def columns(self, policies: Array) -> Array:
        """The shares, or the rates, of (n, d) policies, one policy a column (d, n)."""
        shares = policies if self.packs is None else self.packs.shares(policies)
        return np.ascontiguousarray(shares.T)
