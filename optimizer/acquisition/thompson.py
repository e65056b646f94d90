"""Thompson sampling of every group: a draw from each group's posterior, composed by g, shows where to go."""

from typing import Any, ClassVar, Self

import numpy as np

from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.draws import joint_draw
from optimizer.acquisition.search import Search
from optimizer.arrays import Array, Policies
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.mixed_space import MixedSpace

POINTS = 500
"""How many random policies of a bounded space are drawn together."""


class ThompsonSampling(Acquisition):
    """Where one draw of every group, composed, is best."""

    random: ClassVar[bool] = True

    @classmethod
    def of(cls, search: Search) -> Self:
        """Needs nothing."""
        return cls()

    def choose(self, search: Search) -> Any:
        """The best candidate of the draw, or the best of some hundred policies."""
        rng = search.rng()
        space = search.open or search.space
        if search.draws is not None and isinstance(space, FiniteSpace):
            policies: Policies = space.rows
            drawn = search.draws.draw(rng)[policies]
        elif search.draws is not None and isinstance(space, MixedSpace) and space.listed is not None:
            policies, drawn = space.listed, search.draws.draw(rng)
        else:
            policies = _policies(search, rng)
            drawn = joint_draw(search.model, policies, rng)
        values = search.restricted(lambda at: composed(search, drawn, at))(policies)
        return policies[np.argmax(np.where(np.isnan(values), -np.inf, values))]


def composed(search: Search, drawn: Array, policies: Policies) -> Array:
    """The signed objective of drawn outcomes (n, J); with limits, that of draws that keep them.

    Where none does, the one that breaks them least, each measured by its spread (SCBO, Eriksson & Poloczek
    2021).
    """
    values: Array = search.model.composition.compose(drawn, policies)
    if search.limits is None:
        return values
    excess = search.limits.limits.excess(drawn)
    if (excess == 0).all(axis=1).any():
        return np.where((excess == 0).all(axis=1), values, -np.inf).astype(float)
    spread = np.std(search.limits.limits.values(drawn), axis=0)
    broken: Array = (excess / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    return -broken


def _policies(search: Search, rng: np.random.Generator) -> Policies:
    """Where a joint draw looks: all feasible candidates if they are few, else random ones and the leaders."""
    space = search.open or search.space
    if isinstance(space, FiniteSpace):
        few = len(space.rows) <= 2 * POINTS
        return space.rows if few else rng.choice(space.rows, 2 * POINTS, replace=False)
    leaders = search.leaders()
    points = space.sample(POINTS, rng)
    return points if leaders is None else np.concatenate([points, leaders[space.contains(leaders)]])
