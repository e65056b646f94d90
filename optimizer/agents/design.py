"""The policies of the first rounds, before there is a prior: a Sobol design, the same for all agents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from optimizer.agents.spending import Spending
from optimizer.arrays import Policies
from optimizer.space.search_space import SearchSpace


def first_policies(
    space: SearchSpace, seed: int, t: int, n: int, known: Sequence[Any], spending: Spending | None
) -> Policies:
    """The n policies of a Sobol design from the t-th on, or before, that are not `known`.

    Parameters
    ----------
    space : SearchSpace
    seed : int
        Of the design.
    t, n : int
        How many policies are told or waiting, and how many are asked for.
    known : sequence of policies
        Those that are told or waiting.
    spending : Spending, optional
        What whole policies cost: with a budget, the first that it pays for.
    """
    design = space.sobol(2 * (t + n), seed)
    new = [
        one
        for one in [*design[t : t + n], *design[:t], *design[t + n :]]
        if not any(np.array_equal(one, other) for other in known)
    ]
    order = np.asarray([*new, *design[t : t + n]])
    if spending is None or spending.budget is None:
        return order[:n]
    return spending.afforded(np.concatenate([order, space.sobol(len(spending.least), seed)]), n)
