"""Where sensors tell most of all other places: greedy mutual information (Krause, Singh & Guestrin 2008).

Notation: V are the candidates, A those observed or chosen, y one that is neither. Each step adds the y with
the largest gain MI(A + y) - MI(A) = H(y | A) - H(y | V - A - y), summed over the groups, which are
independent: sum_j log(var_j(y | A) / var_j(y | V - A - y)) / 2, of what a sensor there would read, noise
included. The choice does not depend on what is observed.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.agents.belief import hallucinate
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.settings import AgentSettings
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.prior.prior import Prior
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.search_space import SearchSpace

MOST = 5000
"""Candidates, at most: an inverse of all of them is kept, 200 MB a group at 5,000."""


class MutualInformationAgent(GPAgent):
    """Observes where the groups' processes tell most of each other, and recommends the best posterior mean.

    Where observations cost something it takes the gain for the cost, within what a batch may cost.

    Raises
    ------
    ValueError
        If the space is no list of candidates, or one of more than 5,000; if time is an input.
    """

    def __init__(
        self, name: str, space: SearchSpace, composition: BaseComposition, settings: AgentSettings
    ) -> None:
        super().__init__(name, space, composition, settings, feedback="decomposed", acquisition="ucb")
        if not isinstance(space, FiniteSpace) or len(space.rows) > MOST:
            raise ValueError(f"{name} needs a list of candidates, of at most {MOST}")
        if settings.context:
            raise ValueError(f"{name} knows no time, which goes on in this world")
        self.spending = settings.spending(space, False)
        self._rows = space.rows
        self._unobserved: tuple[Prior, set[int], Array] | None = None

    def ask(self, n: int = 1, context: Any = None, pending: ArrayLike | None = None) -> Policies:
        """The candidates that add most, one after the other."""
        if self.belief.model is None:
            return np.asarray(super().ask(n, context, pending))
        waiting = [] if pending is None or not np.size(pending) else self.as_policies(pending).tolist()
        model = copy.deepcopy(self.belief.model)
        for policy in waiting:
            hallucinate(model, policy)
        purse = None if self.spending is None else self.spending.purse(n)
        told = self.belief.history.policies.tolist()
        chosen: list[int] = []
        for _ in range(n):
            space = self.space if purse is None else purse.narrowed(self.space, [*waiting, *chosen])
            assert isinstance(space, FiniteSpace)
            chosen.append(self._next(model, space.rows, [*told, *waiting, *chosen]))
            hallucinate(model, chosen[-1])
            if purse is not None:
                purse.pay(chosen[-1])
        return np.asarray(chosen)

    def _next(self, model: Any, rows: Policies, taken: Sequence[int]) -> int:
        """The row that adds most, for its cost; all over again once all are taken."""
        left = np.setdiff1d(rows, taken)
        rows = left if len(left) else rows
        gains = self.gains(model, rows, taken)
        if self.spending is not None and gains.max() > 0:
            gains = gains / np.maximum(self.spending.of(rows).sum(axis=1), 1e-300)
        return int(rows[np.argmax(gains)])

    def gains(self, model: Any, rows: Policies, taken: Sequence[int]) -> Array:
        """MI(A + y) - MI(A) of rows y (n,), by a posterior that has observed A, the rows `taken`."""
        assert self.belief.prior is not None
        noise = self.belief.prior.noise_variances
        given_taken = model.predict_groups(rows)[1] + noise
        diagonals = np.diagonal(self._precisions(taken), axis1=1, axis2=2).T  # 1 / var_j(y | V - A - y)
        at = np.searchsorted(self._rows, rows)
        total: Array = 0.5 * np.log(np.maximum(given_taken * diagonals[at], 1e-300)).sum(axis=1)
        return total

    def _precisions(self, taken: Sequence[int]) -> Array:
        """The inverse covariance (J, n, n) of what sensors at V - A would read; zero at those of A.

        One that leaves is conditioned away: P - P_i P_i^T / P_ii.
        """
        prior, gone = self.belief.prior, set(taken)
        assert prior is not None
        kept = self._unobserved
        if kept is None or kept[0] is not prior or not kept[1] <= gone:
            features = self.belief.features(self._rows, None)
            noise = np.maximum(
                prior.noise_variances, 1e-10 * np.array([k.diag(features[:1])[0] for k in prior.kernels])
            )
            whole = [
                k(features) + s * np.eye(len(features)) for k, s in zip(prior.kernels, noise, strict=True)
            ]
            kept = prior, set(), np.linalg.inv(np.stack(whole))
        precisions = kept[2]
        for i in np.searchsorted(self._rows, sorted(gone - kept[1])):
            column = precisions[:, :, i].copy()
            precisions -= column[:, :, None] * (column / column[:, [i]])[:, None, :]
            precisions[:, i, :] = precisions[:, :, i] = 0.0
        self._unobserved = prior, gone, precisions
        return precisions
