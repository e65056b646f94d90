"""What observations cost, and what the policies of one batch may cost together.

An observation of a policy x and of groups S costs c_0(x) + sum_{j in S} c_j(x): sending any of it, then each
group. Where groups can be observed by themselves, an agent that models them picks those that tell most of the
objective for their cost; and where a batch has a budget, each of its policies leaves enough for the others.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optimizer.arrays import Array, Policies, Rows
from optimizer.composition.propagation import Sampled
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.search_space import SearchSpace

Costs = Callable[[Policies], ArrayLike]
Block = tuple[Sequence[int] | Rows, float]
"""Groups that are observed together, and what that costs."""

LEAST = 1e-300
"""Costs and variances are above it, so that what is free is worth most."""


ROUNDING = 1e-9
"""Share of a budget by which sums of costs may seem to exceed it."""


class Spending:
    """What an agent may spend.

    Parameters
    ----------
    costs : callable
        From policies to (n, 1 + J): of observing a policy at all, then of each group.
    budget : float or None
        What the policies of one `ask` may cost together; None for any sum. Needs a finite space.
    parts : bool
        Whether groups are observed by themselves: the agent picks them. Else a policy costs all its groups.
    space : SearchSpace

    Raises
    ------
    ValueError
        If there is a budget, but the space is not finite.
    """

    def __init__(self, costs: Costs, budget: float | None, parts: bool, space: SearchSpace) -> None:
        if budget is not None and not isinstance(space, FiniteSpace):
            raise ValueError(f"a budget of {budget:g} a batch needs candidates, and not a space of ranges")
        self.costs: Costs = costs
        self.budget: float | None = budget
        self.parts: bool = parts
        self.space: SearchSpace = space
        self._least: Array | None = None

    def of(self, policies: Policies) -> Array:
        """Costs (n, 1 + J)."""
        return np.asarray(self.costs(policies), dtype=float)

    @property
    def least(self) -> Array:
        """What the cheapest observation of each candidate costs (size,)."""
        assert isinstance(self.space, FiniteSpace)
        if self._least is None:
            each = self.of(np.arange(self.space.size))
            groups = each[:, 1:]
            self._least = each[:, 0] + (groups.min(axis=1) if self.parts else groups.sum(axis=1))
        return self._least

    def afforded(self, order: Policies, n: int, taken: Sequence[Any] = ()) -> Policies:
        """The first n of candidates in an order that the budget pays for, each of them once."""
        purse = self.purse(n)
        chosen: list[int] = []
        for _ in range(n):
            fits = purse.affordable([*taken, *chosen])
            chosen.append(next(int(row) for row in order if fits is None or fits[row]))
            purse.pay(chosen[-1])
        return np.asarray(chosen)

    def purse(self, n: int) -> "Purse":
        """What may be spent on n policies."""
        return Purse(self, n)


class Purse:
    """What is left of a batch's budget.

    Attributes
    ----------
    left : float
        Of the budget; infinite without one.
    to_come : int
        Policies that are not chosen yet.
    """

    def __init__(self, spending: Spending, n: int) -> None:
        self._spending = spending
        self.left: float = np.inf if spending.budget is None else spending.budget
        self.to_come: int = n

    @property
    def _most(self) -> float:
        """What is left, and what rounding may have taken of it."""
        return (
            self.left if self.left == np.inf else self.left + ROUNDING * float(self._spending.budget or 0.0)
        )

    def affordable(self, taken: Sequence[Any]) -> "NDArray[np.bool_] | None":
        """Which candidates can be chosen next, such that other ones can follow; None: all of them.

        ValueError where none can.
        """
        if self.left == np.inf:
            return None
        space, least = self._spending.space, self._spending.least
        assert isinstance(space, FiniteSpace)
        open_ = space.feasible.copy()
        if len(taken) < len(space.rows):
            open_[np.asarray(taken, dtype=np.intp)] = False
        rows = np.flatnonzero(open_)
        rows = rows[np.argsort(least[rows], kind="stable")]
        k = min(self.to_come - 1, len(rows) - 1)  # as many follow
        # After one of the k cheapest the next cheapest follows in its place; after another these k do.
        fits = np.full(len(rows), least[rows[: k + 1]].sum() <= self._most)
        fits[k:] = least[rows[:k]].sum() + least[rows[k:]] <= self._most
        if not fits.any():
            raise ValueError(
                f"a budget of {self.left:g} does not pay for {self.to_come} policies: the cheapest cost "
                f"{least[rows[: k + 1]].sum():g}"
            )
        found = np.zeros(len(open_), dtype=bool)
        found[rows[fits]] = True
        return found

    def narrowed(self, space: SearchSpace, taken: Sequence[Any]) -> SearchSpace:
        """The part of a space whose policies can be chosen next."""
        mask = self.affordable(taken)
        return space if mask is None or not isinstance(space, FiniteSpace) else space.only(mask)

    def blocks(self, policy: Any, taken: Sequence[Any]) -> list[Block]:
        """The groups that can be observed together at a policy, with their cost; none where all are."""
        if not self._spending.parts:
            return []
        sending, *each = self._spending.of(np.asarray([policy]))[0]
        most = self._most - self._reserve([*taken, policy])
        return [
            (groups, cost)
            for groups in subsets(len(each))
            if (cost := float(sending + sum(each[j] for j in groups))) <= most
        ]

    def pay(self, policy: Any, cost: float | None = None) -> None:
        """Take a policy's cost, by default that of all its groups."""
        if cost is None:
            cost = float(self._spending.of(np.asarray([policy])).sum())
        self.left -= cost
        self.to_come -= 1

    def _reserve(self, taken: Sequence[Any]) -> float:
        """What the cheapest of those that are still to come cost, but the one that is chosen now."""
        if self.left == np.inf or self.to_come == 1:
            return 0.0
        space = self._spending.space
        assert isinstance(space, FiniteSpace)
        rows = np.setdiff1d(space.rows, taken)
        rows = rows if len(rows) else space.rows
        return float(np.sort(self._spending.least[rows])[: self.to_come - 1].sum())


def subsets(J: int) -> list[list[int]]:
    """All sets of J groups but the empty one, small ones first; of more than 10, single ones and all."""
    if J > 10:
        return [*([j] for j in range(J)), list(range(J))]
    found = [[j for j in range(J) if bits >> j & 1] for bits in range(1, 2**J)]
    return sorted(found, key=len)


def most_telling(
    model: Any, policy: Any, noise_variances: Array, blocks: Sequence[Block]
) -> tuple[list[int], float]:
    """The block of groups whose observation at a policy tells most of the objective for its cost, and that.

    By how much it lowers the objective's variance there: sum_j s_j^2 var_j^2 / (var_j + noise_j), with
    s_j^2 the mean square of the slopes dg/df_j over the posterior.
    """
    at = np.asarray([policy])
    means, variances = model.predict_groups(at)
    drawn = Sampled(model.composition.groups).outcomes(means, variances)  # (S, 1, J)
    slopes = np.stack([model.composition.slopes(one, at, np.sqrt(variances))[0] for one in drawn])
    lowered = (slopes**2).mean(axis=0) * variances[0] ** 2 / np.maximum(variances[0] + noise_variances, LEAST)
    worth = [lowered[list(groups)].sum() / max(cost, LEAST) for groups, cost in blocks]
    groups, cost = blocks[int(np.argmax(worth))]
    return [int(j) for j in groups], cost
