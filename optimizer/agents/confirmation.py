"""The last rounds of a trial try again what leads: which of a few policies is best, noise in mind.

What leads after many noisy rounds leads partly by luck. So an agent may be wrapped: near the end it repeats
its leading policies by sequential halving (Karnin, Koren & Somekh 2013). All of them are tried equally often,
the better half goes on, and so forth; they are compared by the means of these tries alone, since those before
decided who leads. The wrapped agent is told of them as of any round.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.agents.agent import CREDIBLE, Agent, Query, Recommendation
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.surprises import Surprise
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition


def field_size(tries: int) -> int:
    """How many policies so many tries compare: the largest m = 2^s, in s stages of m tries; else 1."""
    m, s = 1, 0
    while 2 * m * (s + 1) <= tries:
        m, s = 2 * m, s + 1
    return m


def stages(tries: int) -> list[int]:
    """How often each policy was tried where a stage ends, for all stages but the last, which takes the rest.

    Every stage has the same number of tries in all, so that half as many policies have twice as many each.
    """
    m = field_size(tries)
    s = m.bit_length() - 1
    each = [tries // s // (m >> stage) for stage in range(s - 1)]
    return [sum(each[: stage + 1]) for stage in range(s - 1)]


class Confirming(Agent):
    """An agent whose last rounds confirm.

    Parameters
    ----------
    agent : Agent
        Who asks until then, and whose leaders they are: what it recommends, then the best tried by its
        posterior mean, or by the mean observed where it has no model.
    composition : BaseComposition
        The known g of the groups, for an agent that is told every group.
    rounds, confirm : int
        Rounds of the trial, and how many of the last confirm: rounded up to whole batches.
    batch : int, default 1
        Rounds that are asked for at once.

    Attributes
    ----------
    first : int
        Rounds told before the first that confirms.
    leaders : list of policies
        Those that are still compared; empty until then.

    Raises
    ------
    ValueError
        If there are no rounds before those that confirm.
    """

    def __init__(
        self, agent: Agent, composition: BaseComposition, *, rounds: int, confirm: int, batch: int = 1
    ) -> None:
        super().__init__(agent.name, agent.space, composition.sign, agent.seed)
        self.agent = agent
        self.feedback = agent.feedback
        self.composition = composition
        self.first: int = (rounds - confirm) // batch * batch
        if confirm < 1 or self.first < 1:
            raise ValueError(
                f"confirm={confirm} of {rounds} rounds; accepted: 1 or more, and fewer than rounds"
            )
        self.leaders: list[Any] = []
        self._tries = rounds - self.first
        self._targets = stages(self._tries)
        # Policies and composed values: of what was observed before, and of the tries that confirm.
        self._told: list[tuple[Any, float]] = []
        self._since: list[tuple[Any, float]] = []

    def ask(self, n: int = 1, context: Any = None) -> Policies | Query:
        """What the agent asks for; from `first` on, of the leaders those that were tried least."""
        if self.rounds < self.first:
            return self.agent.ask(n, **_context(context))
        counts = [len(self._values(one)) for one in self.leaders]
        chosen = []
        for _ in range(n):
            least = int(np.argmin(counts))
            chosen.append(self.leaders[least])
            counts[least] += 1
        return np.asarray(chosen)

    def tell(
        self,
        policies: ArrayLike,
        observations: ArrayLike,
        noise_variance: ArrayLike | None = None,
        context: Any = None,
    ) -> None:
        """Tell the agent, and compare where it is time to."""
        self.agent.tell(policies, observations, noise_variance, **_context(context))
        self._note(policies, observations)

    def lose(
        self, policies: ArrayLike, observations: ArrayLike, context: Any = None, *, partly: bool = False
    ) -> None:
        """The round is gone, and the leader was tried as often as the others."""
        self.agent.lose(policies, observations, **_context(context), partly=partly)
        self._note(policies, observations)

    @property
    def surprises(self) -> Sequence[Surprise]:
        """Those of the agent."""
        return self.agent.surprises

    def _note(self, policies: ArrayLike, observations: ArrayLike) -> None:
        told = self.as_policies(policies)
        Y = np.asarray(observations, dtype=float)
        if self.feedback == "decomposed":
            Y = Y.reshape(len(told), -1)
            known, values = np.isfinite(Y).all(axis=1), np.full(len(told), np.nan)
            values[known] = self.composition.unsigned(Y[known], told[known])
        else:
            values = Y.reshape(len(told))
        for policy, value in zip(told, values, strict=True):
            self.rounds += 1
            self.note_observed(np.asarray([policy]), np.array([value]))
            if not self.leaders:
                self._told.append((policy, float(value)))
            else:
                self._since.append((policy, float(value)))
                self._compare()
            if self.rounds == self.first:
                self.leaders = self._lead(field_size(self._tries))

    def _lead(self, m: int) -> list[Any]:
        """The m policies that lead: what is recommended, then the best of those tried."""
        leaders = [self.agent.recommend().policy]
        by_policy: dict[bytes, tuple[Any, list[float]]] = {}
        for policy, value in self._told:
            if np.isfinite(value):
                by_policy.setdefault(np.asarray(policy).tobytes(), (policy, []))[1].append(value)
        tried = [policy for policy, _ in by_policy.values()]
        if tried:
            means = np.array([np.mean(values) for _, values in by_policy.values()])
            if isinstance(self.agent, GPAgent) and self.agent.belief.model is not None:
                means = self.agent.predict(np.asarray(tried))[0]
            for i in np.argsort(-self._sign * np.nan_to_num(means, nan=-self._sign * np.inf), kind="stable"):
                if len(leaders) < m and not any(np.array_equal(tried[i], one) for one in leaders):
                    leaders.append(tried[i])
        return leaders

    def _values(self, policy: Any) -> list[float]:
        """What the tries of a leader gave, nan where nothing."""
        return [value for one, value in self._since if np.array_equal(one, policy)]

    def _compare(self) -> None:
        """The better half of the leaders goes on where each has had its share of a stage."""
        if not self._targets or min(len(self._values(one)) for one in self.leaders) < self._targets[0]:
            return
        del self._targets[0]
        self.leaders = self._ranked()[: (len(self.leaders) + 1) // 2]

    def _ranked(self) -> list[Any]:
        """The leaders, the best mean of their tries first; one without any last."""

        def mean(policy: Any) -> float:
            known = [value for value in self._values(policy) if np.isfinite(value)]
            return self._sign * float(np.mean(known)) if known else -np.inf

        return sorted(self.leaders, key=mean, reverse=True)

    def recommend(self, context: Any = None) -> Recommendation:
        """Of the leaders the best by the tries that confirm, with what the agent predicts of it.

        For an agent without a model, with the mean of these tries and a 95 % normal interval of it.
        """
        if not self._since:
            return self.agent.recommend(**_context(context))
        winner = self._ranked()[0]
        if isinstance(self.agent, GPAgent) and self.agent.belief.model is not None:
            return self.agent.predicted(winner, context)
        values: Array = np.array([value for value in self._values(winner) if np.isfinite(value)])
        mean = float(values.mean()) if len(values) else float("nan")
        half = (
            CREDIBLE * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
        )
        before = sum(np.array_equal(winner, one) and bool(np.isfinite(value)) for one, value in self._told)
        best, value = self._best
        return Recommendation(
            winner,
            mean,
            mean - half,
            mean + half,
            tried=before + len(values),
            best_observed=best,
            best_observed_value=value,
        )


def _context(context: Any) -> dict[str, Any]:
    """The time as an argument; none where the world does not live: agents need not know of it."""
    return {} if context is None else {"context": context}
