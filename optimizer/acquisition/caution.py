"""Where policies fail, a search keeps to those that probably work, whatever its score is.

The score itself is left as it is: it may be in the objective's unit, a logarithm or a draw, and what is
expected of a policy if it works does not depend on whether it does. So the search is restricted (chance
constraints, Gelbart et al. 2014), and only among policies that probably work does the score decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optimizer.acquisition.feasibility import Feasibility
from optimizer.arrays import Array, Policies
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.search_space import SearchSpace

ASKED, RECOMMENDED = 0.8, 0.9
"""The least probability of working of a policy that is asked for, and of one that is recommended."""
SHARE = 0.9
"""Where nothing reaches that: this share of the highest probability that was found."""
POINTS = 256
"""Random policies of a bounded space at which probabilities and scores are looked at."""
SAME = 1e-6
"""Policies that differ by no more, as a share of every entry's range, are the same."""
LOWEST = -1e300
"""The value of what is chosen last."""
STEEP, SMOOTH = 10.0, 0.05
"""What is missing to the least probability costs so many times the range of the scores; up to here
quadratically."""


@dataclass(frozen=True)
class Caution:
    """What a search avoids.

    Attributes
    ----------
    space : SearchSpace
    feasibility : Feasibility
        Whether policies work.
    worked, failed : policies
        What was tried; none of `failed` is chosen again while others are left.
    least : float
        The least probability of working.
    """

    space: SearchSpace
    feasibility: Feasibility
    worked: Policies
    failed: Policies
    least: float = ASKED

    @cached_property
    def _seen(self) -> Policies:
        """Policies that stand for the space."""
        if isinstance(self.space, FiniteSpace):
            return self.space.rows
        random = self.space.sample(POINTS, np.random.default_rng(0))
        return np.concatenate([random, self.worked]) if len(self.worked) else random

    @cached_property
    def level(self) -> float:
        """The probability that is asked for: the least, or where none was found with it, most of what was."""
        highest = float(self.feasibility.probability(self._seen).max())
        return self.least if highest >= self.least else SHARE * highest

    def repeats(self, policies: Policies) -> NDArray[np.bool_]:
        """Which policies have failed, (n,)."""
        found = np.zeros(len(policies), dtype=bool)
        U = self.space.to_unit(policies)
        for failed in self.space.to_unit(self.failed) if len(self.failed) else ():
            found |= (np.abs(U - failed) <= SAME).all(axis=1)
        return found

    def restricted(self, value: Callable[[Policies], Array]) -> Callable[[Policies], Array]:
        """A value over separate policies, below all others where one probably fails."""

        def of(policies: Policies) -> Array:
            values = np.maximum(value(policies), LOWEST)  # nan stays
            tried = self.repeats(policies)
            avoided = tried | (self.feasibility.probability(policies) < self.level)
            if avoided.all():
                avoided = tried
            return values if avoided.all() else np.where(avoided, -np.inf, values)

        return of

    def priced(
        self, value: Callable[[Policies], Array], value_and_gradient: Callable[[Array], tuple[Array, Array]]
    ) -> tuple[Callable[[Policies], Array], Callable[[Array], tuple[Array, Array]]]:
        """A value and its gradient, with a price on what is missing to the least probability."""
        values = value(self._seen)
        known = values[np.isfinite(values)]
        price = STEEP * (float(np.ptp(known)) or 1.0 if len(known) else 1.0)

        def cost(probability: Array) -> tuple[Array, Array]:
            lacking = np.maximum(1 - probability / self.level, 0.0)
            near = lacking < SMOOTH
            total = np.where(near, lacking**2 / (2 * SMOOTH), lacking - SMOOTH / 2)
            return price * total, -price * np.minimum(lacking / SMOOTH, 1.0) / self.level

        def of(policies: Policies) -> Array:
            priced = value(policies) - cost(self.feasibility.probability(policies))[0]
            return np.where(self.repeats(policies), LOWEST, priced)

        def with_gradient(X: Array) -> tuple[Array, Array]:
            values, gradients = value_and_gradient(X)
            probability, change = self.feasibility.with_gradient(X)
            total, slope = cost(probability)
            return values - total, gradients - slope[:, None] * change

        return of, with_gradient
