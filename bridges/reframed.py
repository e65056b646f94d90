"""The same simulator, asked another question: with other weights, another objective, limits on outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.ready import ReadyComposition
from simulators.contract.environment import Environment, Outcomes
from simulators.contract.outcome_limit import Limit
from simulators.contract.validation import expected_ranges

NO_SUM = "weights can be changed of a linear composition only, and this one is none"


class Reweighing(NamedTuple):
    """Changes of a linear composition's weights, by group.

    Attributes
    ----------
    factors : ndarray of shape (J,)
        What today's weights are multiplied by.
    fixed : ndarray of shape (J,)
        Weights in their place; nan where today's are multiplied.
    """

    factors: Array
    fixed: Array

    def of(self, weights: Array) -> Array:
        """The weights (..., J) that today's become."""
        return np.where(np.isnan(self.fixed), weights * self.factors, self.fixed)


class ReframedEnvironment(Environment):
    """An environment whose objective or limits are others than its own; its steps are its own.

    Parameters
    ----------
    environment : Environment
        Who is stepped.
    objective : Reweighing, ReadyComposition or callable, optional
        In place of its composition: other weights of a linear one, a ready-made one, or a function from
        outcomes (..., J) and policies (..., d) to values (...,).
    limits : sequence of Limit, optional
        Besides those that it has.
    unit : str, optional
        Of the objective; the environment's unless given.
    sense : {"minimize", "maximize"}, optional
        The environment's unless given, or what a ready-made objective is.
    objectives : sequence of ReframedEnvironment
        Where there are several objectives: the same environment with each of them, this one's own first.

    Raises
    ------
    ValueError
        If weights are to change where the composition is not linear, or a limit names an unknown group.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        objective: Reweighing | ReadyComposition | Callable[..., Any] | None = None,
        limits: Sequence[Limit] = (),
        unit: str | None = None,
        sense: Literal["minimize", "maximize"] | None = None,
        objectives: Sequence[ReframedEnvironment] = (),
    ) -> None:
        self.inner: Environment
        self.objectives: tuple[ReframedEnvironment, ...]
        self.inner, self.objective, self.objectives = environment, objective, tuple(objectives)
        self.name: str = environment.name
        self.groups: tuple[str, ...]
        self.group_units: tuple[str, ...]
        self.groups, self.group_units = environment.groups, environment.group_units
        self.policy_space = environment.policy_space
        self.objective_unit: str = environment.objective_unit if unit is None else unit
        self.sense = sense or environment.sense
        if isinstance(objective, ReadyComposition):
            self.sense = objective.own_sense
            self.ready = objective
        self.has_memory: bool
        self.lives: bool
        self.has_memory, self.lives = environment.has_memory, environment.lives
        self.steps_at_once: int = environment.steps_at_once
        self.outcome_range: Any = environment.outcome_range
        self.expected_range: Any = environment.expected_range
        self.current_policy: Array | None = environment.current_policy
        self.current_policy_label: str = environment.current_policy_label
        self.info_units = environment.info_units
        self.findings: Sequence[str] = environment.findings
        self.group_persons: Array | None = environment.group_persons
        self.limits: tuple[Limit, ...] = (*environment.limits, *limits)
        for limit in self.limits:
            limit.row(self.groups)
        if isinstance(objective, Reweighing) and _is_no_sum(environment):
            raise ValueError(NO_SUM)

    def __getattr__(self, name: str) -> Any:
        """What else the environment offers, but not its composition's parts where that is another one."""
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        if name == "bounds" and isinstance(self.objective, ReadyComposition):
            return self.objective.bounds(len(self.groups))
        if name == "gradient" and isinstance(self.objective, ReadyComposition):
            return lambda outcomes, policies: self.objective.slopes(outcomes)
        if name in ("gradient", "bounds", "ready") and self.objective is not None:
            return getattr(self.objective, name) if callable(self.objective) else None
        return getattr(self.inner, name)

    @property
    def group_sense(self) -> Literal["minimize", "maximize"]:
        """What is to be done with the groups' outcomes, whatever the objective is."""
        inner = self.inner
        return inner.group_sense if isinstance(inner, ReframedEnvironment) else inner.sense

    @property
    def context(self) -> float | None:
        """The environment's."""
        return self.inner.context

    @property
    def set_aside(self) -> tuple[Array, Array] | None:
        """The environment's."""
        return self.inner.set_aside

    def reset(self, seed: Any = None) -> None:
        """Restart the environment's noise and memory."""
        self.inner.reset(seed)

    def prepare(self, say: Callable[[str], None] = lambda detail: None) -> None:
        """Let the environment do its long work."""
        self.inner.prepare(say)

    def step(self, policy: Any) -> Outcomes:
        """A step of the environment."""
        return self.inner.step(policy)

    def expected(self, policies: ArrayLike) -> Array:
        """The environment's noise-free outcomes."""
        return self.inner.expected(policies)

    def get_state(self) -> Any:
        """The environment's memory."""
        return self.inner.get_state()

    def set_state(self, state: Any) -> None:
        """Restore it."""
        self.inner.set_state(state)

    def weights(self, policies: ArrayLike) -> Array | None:
        """Weights of a linear composition; None of any other."""
        if self.objective is None:
            return self.inner.weights(policies)
        if not isinstance(self.objective, Reweighing):
            return None
        today = self.inner.weights(policies)
        if today is None:
            raise ValueError(NO_SUM)
        return self.objective.of(np.asarray(today, dtype=float))

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The objective that is asked for."""
        values = np.asarray(outcomes, dtype=float)
        if self.objective is None:
            return self.inner.compose(values, policies)
        if isinstance(self.objective, ReadyComposition):
            return self.objective(values)
        if not isinstance(self.objective, Reweighing):
            return np.asarray(self.objective(values, policies), dtype=float)
        shape = values.shape[:-1]
        rows = np.reshape(policies, (-1,) if self.policy_space.finite else (-1, self.policy_space.d))
        flat = np.ascontiguousarray(values.reshape(len(rows), -1))
        weights = self.weights(rows)
        offset = self.inner.compose(np.zeros_like(flat), rows)
        total: Array = (flat * weights).sum(axis=1) + offset
        return total.reshape(shape)


def _is_no_sum(environment: Environment) -> bool:
    """Whether an environment says at some policy that it has no weights."""
    space = environment.policy_space
    some = np.zeros(1, dtype=np.int64) if space.finite else np.zeros((1, space.d))
    try:
        return environment.weights(some) is None
    except Exception:  # it has some, if not for all policies
        return False


def several(environment: Environment) -> tuple[ReframedEnvironment, ...]:
    """The environment with each of its objectives, its own first; empty where it has one only."""
    return environment.objectives if isinstance(environment, ReframedEnvironment) else ()


def outcome_limits(environment: Environment) -> OutcomeLimits | None:
    """The limits of an environment as the optimizer's; None where it has none."""
    limits, groups = environment.limits, environment.groups
    if not limits:
        return None
    return OutcomeLimits(
        [limit.row(groups) for limit in limits],
        [limit.at_least for limit in limits],
        [limit.at_most for limit in limits],
        [limit.function for limit in limits],
        [limit.text for limit in limits],
        expected_ranges(environment),
    )
