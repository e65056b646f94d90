"""The loop that joins one agent to one environment, a record a round."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bridges.feedback import observation
from bridges.optimum import Optimum
from bridges.seeds import as_int, child
from optimizer.agents import Agent
from optimizer.composition import Policies
from simulators.environment import Environment, Outcomes, SimulationError

Array = NDArray[np.float64]
Status = Literal["ok", "partial", "failed"]


@dataclass(frozen=True, eq=False)
class Round:
    """What happened in one round.

    Attributes
    ----------
    round : int
        From 1.
    policy : ndarray of shape (d,)
        The policy's entries.
    row : int or None
        Its candidate row in a finite policy space.
    outcomes : ndarray of shape (J,)
        Observed outcomes; nan where a group is missing, all nan if the round failed.
    noise_variance : ndarray of shape (J,) or None
        Variance of each observation, where the environment states it.
    objective : float
        Observed composed value; nan unless every group was observed.
    expected : float
        Noise-free composed value; nan where unknown.
    regret : float
        Instantaneous regret, noise-free, not negative at an optimum; nan where unknown.
    seconds : float
        Wall time of the agent's ask and tell.
    step_seconds : float
        Wall time of the environment's step.
    status : {"ok", "partial", "failed"}
        All groups observed, some, or none.
    error : str
        Why the round failed.
    """

    round: int
    policy: Array
    row: int | None
    outcomes: Array
    noise_variance: Array | None
    objective: float
    expected: float
    regret: float
    seconds: float
    step_seconds: float
    status: Status
    error: str = ""


class Loop:
    """One agent against one environment.

    Parameters
    ----------
    environment : Environment
        Asked for outcomes. Without memory, its noise is reset before every step from (seed, round), so that a
        round can be repeated alone.
    agent : Agent
        Asked for policies and told their outcomes.
    seed : int or SeedSequence
        Of the noise: the same for all agents of a trial.
    design : policies, optional
        The first policies of the trial, tried before the agent is asked; they count as rounds.
    optimum : Optimum, optional
        x*, against which regret is charged; without it regret is nan.
    """

    def __init__(
        self,
        environment: Environment,
        agent: Agent,
        seed: int | np.random.SeedSequence,
        *,
        design: Policies | None = None,
        optimum: Optimum | None = None,
    ) -> None:
        self.environment = environment
        self.agent = agent
        self.seed = seed
        self.design = design
        self.optimum = optimum
        self._sign = 1.0 if environment.sense == "maximize" else -1.0

    def run(self, rounds: int, history: Sequence[Round] = ()) -> Iterator[Round]:
        """Run up to round `rounds`, and yield each round as it ends.

        Parameters
        ----------
        rounds : int
            The last round's number.
        history : sequence of Round, optional
            Rounds 1, 2, .. that were run before: the agent is told them again, and goes on as if it had never
            stopped. An environment with memory takes their steps again.
        """
        if self.environment.has_memory:
            self.environment.reset(as_int(child(self.seed, 0)))
        for past in history:
            if self.environment.has_memory:
                self._step(past.round, past.policy if past.row is None else past.row)
            self._tell(
                past.policy if past.row is None else past.row, Outcomes(past.outcomes, past.noise_variance)
            )
        for t in range(len(history) + 1, rounds + 1):
            yield self._round(t)

    def _round(self, t: int) -> Round:
        start = perf_counter()
        policy = (
            self.design[t - 1] if self.design is not None and t <= len(self.design) else self.agent.ask()[0]
        )
        asked = perf_counter()
        outcomes, error = self._step(t, policy)
        stepped = perf_counter()
        values = outcomes.values
        self._tell(policy, outcomes)
        told = perf_counter()
        expected = self._expected(policy)
        missing = np.isnan(values)
        space = self.environment.policy_space
        return Round(
            round=t,
            policy=np.array(space.resolve(np.asarray([policy]))[0], dtype=float),
            row=int(policy) if space.finite else None,
            outcomes=values,
            noise_variance=outcomes.noise_variance,
            objective=self._compose(values, policy),
            expected=expected,
            regret=self._sign * (self.optimum.value - expected) if self.optimum is not None else float("nan"),
            seconds=told - stepped + asked - start,
            step_seconds=stepped - asked,
            status="failed" if missing.all() else "partial" if missing.any() else "ok",
            error=error,
        )

    def _step(self, t: int, policy: Any) -> tuple[Outcomes, str]:
        """One observation; a failure gives nan for every group, and says why."""
        J = len(self.environment.groups)
        nothing = Outcomes(np.full(J, np.nan))
        seed = as_int(child(self.seed, t))
        try:
            if not self.environment.has_memory:
                self.environment.reset(seed)
            outcomes = self.environment.step(policy)
            if not isinstance(outcomes, Outcomes):
                raise SimulationError(f"step must return Outcomes, not {type(outcomes).__name__}")
            values = np.array(outcomes.values, dtype=float)
            if values.shape != (J,):
                raise SimulationError(f"outcomes must have shape {(J,)}, one a group, not {values.shape}")
            if np.isinf(values).any():
                raise SimulationError(f"an outcome is infinite: {values.tolist()}")
            noise = outcomes.noise_variance
            if noise is not None:
                noise = np.array(noise, dtype=float)
                if noise.shape != (J,) or not (noise[~np.isnan(values)] >= 0).all():
                    raise SimulationError(
                        f"noise variances must be {J} numbers, not negative: {noise.tolist()}"
                    )
                noise[np.isnan(values)] = 0.0
        except Exception as failure:  # whatever a simulator raises is its round's failure, not the study's
            cause = " ".join(f"{type(failure).__name__}: {failure}".split())
            return nothing, f"{cause} (policy {_text(policy)}, seed {seed})"
        if np.isnan(values).all():
            return nothing, f"every outcome is nan (policy {_text(policy)}, seed {seed})"
        return Outcomes(values, noise, outcomes.info), ""

    def _tell(self, policy: Any, outcomes: Outcomes) -> None:
        values, noise = observation(self.agent, self.environment, outcomes, policy)
        self.agent.tell(np.asarray([policy]), values, noise)

    def _compose(self, values: Array, policy: Any) -> float:
        if np.isnan(values).any():
            return float("nan")
        return float(np.asarray(self.environment.compose(values[None], np.asarray([policy])))[0])

    def _expected(self, policy: Any) -> float:
        if self.environment.has_memory:
            return float("nan")
        try:
            outcomes = self.environment.expected(np.asarray([policy]))
        except NotImplementedError:
            return float("nan")
        return self._compose(np.asarray(outcomes, dtype=float)[0], policy)


def _text(policy: Any) -> str:
    return str(int(policy)) if np.ndim(policy) == 0 else "[" + ", ".join(f"{x:.6g}" for x in policy) + "]"
