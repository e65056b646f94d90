"""Agents that do not learn: what a learning agent has to beat."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.agents.agent import CREDIBLE, Agent, Recommendation
from optimizer.agents.spending import Spending
from optimizer.arrays import Array, Policies
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace


class ObservingAgent(Agent):
    """Base of agents without a model of the objective: they recommend the best policy observed, or better."""

    def __init__(self, name: str, space: SearchSpace, sign: float, seed: int) -> None:
        super().__init__(name, space, sign, seed)
        self._observed: list[Any] = []

    def tell(
        self,
        policies: ArrayLike,
        observations: ArrayLike,
        noise_variance: ArrayLike | None = None,
        context: Any = None,
    ) -> None:
        """Count the round, remember the best observation, and `note` what was told."""
        told = self.as_policies(policies)
        values = np.asarray(observations, dtype=float).reshape(len(told))
        self.rounds += len(told)
        self.note_observed(told, values)
        self._observed += list(told[np.isfinite(values)])
        self.note(told, values)

    def tried(self, policy: Any) -> int:
        """How often a policy was observed."""
        return sum(np.array_equal(policy, one) for one in self._observed)

    def note(self, policies: Policies, values: Array) -> None:
        """Keep policies (n,) or (n, d) and their composed values (n,), nan where the round failed."""

    def recommend(self, context: Any = None) -> Recommendation:
        """The best policy observed, with its observed value and no interval."""
        policy, value = self._best
        if policy is None:
            policy = self.space.sample(1, self.rng())[0]
        nan = float("nan")
        best = None if self._best[0] is None else policy
        return Recommendation(
            policy, value, nan, nan, tried=self.tried(policy), best_observed=best, best_observed_value=value
        )


class RandomAgent(ObservingAgent):
    """Uniformly random feasible policies; recommends the best one observed.

    Parameters
    ----------
    name, space, sign, seed
        As for every agent.
    spending : Spending, optional
        What policies cost. Where a batch has a budget, its policies are different ones that it pays for.
    """

    def __init__(
        self, name: str, space: SearchSpace, sign: float, seed: int, spending: Spending | None = None
    ) -> None:
        super().__init__(name, space, sign, seed)
        self.spending = spending

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """Uniform draws from the feasible policies."""
        if self.spending is None or self.spending.budget is None:
            return self.space.sample(n, self.rng())
        assert isinstance(self.space, FiniteSpace)
        return self.spending.afforded(self.rng().permutation(self.space.rows), n)


class FixedAgent(ObservingAgent):
    """The same policy every round, such as today's practice.

    Parameters
    ----------
    name, space, sign, seed
        As for every agent.
    policy : ndarray of shape (d,), or int
        The policy.

    Raises
    ------
    ValueError
        If the policy is not feasible.
    """

    def __init__(self, name: str, space: SearchSpace, sign: float, seed: int, policy: Any) -> None:
        super().__init__(name, space, sign, seed)
        self.policy: Policies = self.as_policies(np.asarray([policy]))
        if not space.contains(self.policy).all():
            raise ValueError(f"the policy of agent {name!r} is not feasible: {policy}")
        self._values: list[float] = []

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """The fixed policy, n times."""
        return np.repeat(self.policy, n, axis=0)

    def note(self, policies: Policies, values: Array) -> None:
        """Keep the observed values of the fixed policy."""
        same = (policies == self.policy).reshape(len(policies), -1).all(axis=1)
        self._values += values[same & np.isfinite(values)].tolist()

    def recommend(self, context: Any = None) -> Recommendation:
        """The fixed policy, with the mean of its observations and a 95 % normal interval of that mean."""
        n = len(self._values)
        mean = float(np.mean(self._values)) if n else float("nan")
        half = CREDIBLE * float(np.std(self._values, ddof=1)) / np.sqrt(n) if n > 1 else float("nan")
        best, value = self._best
        return Recommendation(
            self.policy[0],
            mean,
            mean - half,
            mean + half,
            tried=n,
            best_observed=best,
            best_observed_value=value,
        )


def uniform_policy(space: SearchSpace) -> Array:
    """The largest feasible policy that gives every entry the same share of its range.

    With ranges 0..1 and a budget, the same coverage for every group, as high as the budget allows; on an
    equality budget, the one share that meets it.
    """
    if space.finite:
        raise ValueError("a uniform policy needs a bounded policy space, not a set of candidates")
    if isinstance(space, MixedSpace) and space.categories.any():
        raise ValueError("a uniform policy needs entries with a range, but some are categories")
    lower, upper = space.lower, space.upper
    low, high = 0.0, 1.0
    for A, least, most in space.constraint_rows():
        start, slope = float(A @ lower), float(A @ (upper - lower))
        if slope == 0.0:
            continue
        ends = sorted(((least - start) / slope, (most - start) / slope))
        low, high = max(low, ends[0]), min(high, ends[1])
    policy: Array = lower + min(max(high, low), 1.0) * (upper - lower)
    if isinstance(space, MixedSpace):  # what lies between steps is left out
        policy = np.where(
            space.steps > 0,
            space.lower
            + space.steps * np.floor((policy - lower + 1e-9) / np.where(space.steps > 0, space.steps, 1.0)),
            policy,
        )
    if high < low - 1e-12 or not space.contains(policy[None]).all():
        raise ValueError("no policy gives every entry the same share within the constraints")
    return policy
