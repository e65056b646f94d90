"""What every agent is: it asks for a policy, is told what happened, and recommends one in the end."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from optimizer.agents.surprises import Surprise
from optimizer.arrays import Array, Policies
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.prior.learned import Learned
from optimizer.space.search_space import SearchSpace

Feedback = Literal["decomposed", "aggregate"]

AGENT_VERSION = 7
"""Raised whenever an agent asks for another policy than before after the same observations."""

CREDIBLE = 1.959963984540054
"""Half width of a 95 % credible interval, in posterior standard deviations."""


class Query(NamedTuple):
    """What an agent asks for that also picks which groups are to be observed.

    Attributes
    ----------
    policies : ndarray of shape (n, d) or (n,)
    groups : list of n lists of int
        Of each policy, which groups; the others may be left out.
    """

    policies: Policies
    groups: list[list[int]]


@dataclass(frozen=True)
class Recommendation:
    """The policy that an agent would choose now.

    Attributes
    ----------
    policy : ndarray of shape (d,), or int
        The policy, or its candidate row in a finite space.
    mean, low, high : float
        Predicted objective in its own unit and sign, with a 95 % credible interval of its noise-free value;
        nan where unknown.
    group_means, group_low, group_high : ndarray of shape (J,), or None
        The same a group; None without a group model.
    tried : int
        How many rounds observed the policy; 0: it is a prediction, and nobody has tried it.
    best_observed : ndarray of shape (d,), int or None
        The policy of the best single observation, for comparison: with noise it is often a lucky one.
    best_observed_value : float
        Its observed objective, nan if there is none.
    """

    policy: Any
    mean: float
    low: float
    high: float
    group_means: Array | None = None
    group_low: Array | None = None
    group_high: Array | None = None
    tried: int = 0
    best_observed: Any = None
    best_observed_value: float = float("nan")


class Agent(ABC):
    """An agent picks policies from a search space, one `ask` and one `tell` a round.

    Agents hold no random state: what `ask` draws depends on the seed and the number of observations told. So
    an agent that is told the same observations again, in the same order, goes on as the first one did.

    Attributes
    ----------
    name : str
        As known to `make_agent`.
    feedback : {"decomposed", "aggregate"}
        Whether `tell` takes every group's outcome (n, J), or the composed value (n,).
    beside : OutcomeLimits or None
        Limits whose values an agent with aggregate feedback is told beside the composed value, (n, 1 + K).
    objectives : int
        How many composed values an agent with aggregate feedback is told: several where it explores the
        frontier of as many objectives.
    """

    name: str
    feedback: Feedback = "aggregate"
    beside: OutcomeLimits | None = None
    objectives: int = 1

    def __init__(self, name: str, space: SearchSpace, sign: float, seed: int) -> None:
        self.name = name
        self.space = space
        self.seed = seed
        self.rounds = 0
        self._sign = sign
        self._best: tuple[Any, float] = (None, float("nan"))

    @abstractmethod
    def ask(self, n: int = 1, context: Any = None) -> Policies | Query:
        """The next policies to try: (n, d), or (n,) candidate rows in a finite space.

        A `Query` of them where the agent picks which groups are to be observed as well.

        Parameters
        ----------
        n : int, default=1
            How many policies, to be run side by side.
        context : float, optional
            Time, in an environment that lives on while it is asked: given to an agent that was made for it.
        """

    @abstractmethod
    def tell(
        self,
        policies: ArrayLike,
        observations: ArrayLike,
        noise_variance: ArrayLike | None = None,
        context: Any = None,
    ) -> None:
        """Learn from what happened.

        Parameters
        ----------
        policies : array_like of shape (n, d) or (n,)
            Policies, or candidate rows.
        observations : array_like of shape (n,) or (n, J)
            Composed values, or every group's outcome, by `feedback`. nan teaches nothing: a round whose
            observations are all nan counts as a round, and no more.
        noise_variance : array_like of the same shape, optional
            Variance of each observation; the agent's own unless given, and where it is nan.
        context : float, optional
            As for `ask`: the time of these observations.
        """

    @abstractmethod
    def recommend(self, context: Any = None) -> Recommendation:
        """The best policy now, with its predicted objective and a 95 % credible interval.

        Parameters
        ----------
        context : float, optional
            As for `ask`: the time that it is for; the last one heard of unless given.
        """

    def lose(
        self, policies: ArrayLike, observations: ArrayLike, context: Any = None, *, partly: bool = False
    ) -> None:
        """Hear of rounds that say nothing of their policies: stopped at a limit, or their process was killed.

        An agent that makes no difference is told of them as of all others.

        Parameters
        ----------
        policies, observations, context
            As for `tell`; all observations are nan.
        partly : bool, default False
            Whether the step worked, but a group is missing of what an agent with aggregate feedback is told.
        """
        if context is None:
            self.tell(policies, observations)
        else:
            self.tell(policies, observations, context=context)

    @property
    def learned(self) -> Learned | None:
        """What it has learned last of its priors from its own rounds; None where it does not, or not yet."""
        return None

    @property
    def surprises(self) -> Sequence[Surprise]:
        """What it was told last and had predicted otherwise; none where it has no model."""
        return ()

    def postpone(self) -> None:  # noqa: B027 - most agents have nothing to postpone
        """Only remember what is told from here on, until `recall` says what was learned of it."""

    def recall(self, learned: Learned) -> None:  # noqa: B027
        """Go on as if it had just learned, from all that it was told, what another agent like it has learned.

        What its `learned` was then; ValueError where that cannot be of an agent like this one.
        """

    def rng(self, pending: int = 0) -> np.random.Generator:
        """Randomness of the coming round, from the seed, the rounds told, and the policies not told yet."""
        key = (self.rounds, pending) if pending else (self.rounds,)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def as_policies(self, policies: ArrayLike) -> Policies:
        """Policies as (n, d) floats or (n,) rows; see `SearchSpace.as_policies`."""
        return self.space.as_policies(policies)

    def note_observed(self, policies: Policies, objective: Array) -> None:
        """Remember the best observed objective (n,), in its own sign; nan is never best."""
        for policy, value in zip(policies, objective, strict=True):
            if np.isfinite(value) and not self._sign * value <= self._sign * self._best[1]:
                self._best = (policy, float(value))
