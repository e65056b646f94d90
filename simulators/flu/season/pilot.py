"""How much a single season varies: a pilot of a few seasons under a few policies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulators.arrays import Array
from simulators.contract.policy_space import BoundedPolicySpace

POLICIES, SEASONS = 4, 4
"""So many policies, spread over the space, and so many seasons of each."""

SEED = 20
"""Of the pilot, which belongs to the world and does not change with the noise."""


def pilot_variance(
    space: BoundedPolicySpace, sick_days: Callable[[Array, int], Array], say: Callable[[str], None]
) -> Array:
    """The variance of one season's sick days by group (J,), pooled over the policies.

    Parameters
    ----------
    space : BoundedPolicySpace
    sick_days : function of a policy (d,) and a seed
        Simulates a season, and returns (J,).
    say : function of a text
        Hears how many seasons are done.
    """
    rng = np.random.default_rng(SEED)
    variances = []
    for i, raw in enumerate(rng.uniform(space.bounds.lb, space.bounds.ub, (POLICIES, space.d))):
        say(f"{i * SEASONS} of {POLICIES * SEASONS} pilot seasons done")
        x, seeds = space.project(raw), rng.integers(2**63, size=SEASONS)
        variances.append(np.var([sick_days(x, int(seed)) for seed in seeds], axis=0, ddof=1))
    pooled: Array = np.mean(variances, axis=0)
    return pooled
