"""The probability that policies keep the limits on outcomes, by the posterior of the groups.

Expected improvement is multiplied with it (constrained EI, Gardner et al. 2014), and so are the probability
of improvement and what an upper confidence bound promises beyond the best policy known to keep limits; a
recommendation is restricted to policies that keep them with the probability that is asked for.
"""

from typing import Any

import numpy as np

from optimizer.acquisition.feasibility import Feasibility
from optimizer.arrays import Array, Policies
from optimizer.composition.objective import GroupSlopes
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.posterior.decomposed_gp import DecomposedGP


class LimitChance(Feasibility):
    """Whether policies keep limits, as a posterior sees it.

    Parameters
    ----------
    model : DecomposedGP, CandidatePosterior or like them
        The posterior of the groups.
    limits : OutcomeLimits
    """

    def __init__(self, model: Any, limits: OutcomeLimits) -> None:
        self.model: Any = model
        self.limits: OutcomeLimits = limits
        self._model, self._told = model, limits
        which = np.flatnonzero(limits.A.any(axis=0)).tolist()
        if limits.independent and len(which) < limits.groups and isinstance(model, DecomposedGP):
            # Variances are what a prediction costs, and those of other groups say nothing of the limits.
            self._model, self._told = model.of_groups(which), limits.of_groups(which)

    def log(self, policies: Policies) -> Array:
        """Logarithm of the probability at policies, (n,)."""
        return self._told.chance(*self._model.predict_groups(policies)).log

    def log_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The same at policies (n, d) of a bounded space, and its gradient (n, d)."""
        groups = self._model.predict_groups_with_gradients(X)
        chance = self._told.chance(groups.means, groups.variances)
        slopes = GroupSlopes(chance.in_means, chance.in_variances, np.zeros_like(X))
        return chance.log, groups.chain(slopes)

    def probability(self, policies: Policies) -> Array:
        """P(all limits are kept) at policies, (n,)."""
        return np.exp(self.log(policies))

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The same at policies (n, d) of a bounded space, and its gradient (n, d)."""
        log, gradient = self.log_with_gradient(X)
        probability = np.exp(log)
        return probability, probability[:, None] * gradient
