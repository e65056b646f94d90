"""The contract of every simulator: a policy goes in, one outcome a group comes out.

Notation, used without exception: `x` is a policy of `d` entries, `j` one of `J` groups, `f_j(x)`
the noise-free outcome of a group, `y_j = f_j(x) + noise` an observation, `g` the known composition of the
outcomes into the objective (Definitions 1 and 2 of the paper), `n` a number of policies evaluated together.
"""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array

if TYPE_CHECKING:
    from simulators.contract.outcome_limit import Limit
    from simulators.contract.policy_space import PolicySpace


Seed = int | np.random.SeedSequence | None


class SimulationError(RuntimeError):
    """A simulation that failed, with what is needed to repeat it.

    Parameters
    ----------
    message : str
        The cause, in one line.
    policy : array-like or int, optional
        The policy whose step failed: `(d,)` coordinates, or a candidate row. None when unknown.
    seed : int or numpy.random.SeedSequence, optional
        The seed of the failed step. None when unknown.
    """

    def __init__(self, message: str, policy: Any = None, seed: Seed = None) -> None:
        super().__init__(message)
        self.policy = policy
        self.seed = seed

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions pickle their positional arguments only; a worker's failure must arrive with policy and
        # seed.
        return (type(self), (str(self), self.policy, self.seed))


class StepLost(SimulationError):
    """A step that was lost: stopped at a limit of time or memory, or its process was killed.

    Its round has failed, but says nothing of the policy. What a model itself raises is a `SimulationError`.
    """


class SeedIgnored(UserWarning):
    """A model was given a seed and uses another; `check_environment` makes a finding of it."""


_KILLS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGALRM", "SIGXCPU")
"""Signals by which others end a process; of the rest, such as SIGSEGV, it dies of itself."""


def failure_kind(cause: Exception | int) -> type[SimulationError]:
    """What a step's failure is to be raised as, `StepLost` or `SimulationError`.

    Parameters
    ----------
    cause : Exception, or int
        What was raised, or the exit code of a process: minus a signal's number where one ended it.
    """
    if isinstance(cause, int):
        lost = cause < 0 and signal.Signals(-cause).name in _KILLS
    else:
        lost = isinstance(cause, StepLost | MemoryError)
    return StepLost if lost else SimulationError


class KeptVariance(NamedTuple):
    """Which part of the noise stays with a policy, and for how long.

    Attributes
    ----------
    kept, whole : (J,) array
        Variances of the part, and of an observation's noise, of which it is a part.
    hours : float
        After which 37 % of the part is left.
    """

    kept: Array
    whole: Array
    hours: float


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What one step observed.

    Parameters
    ----------
    values : (J,) array of float
        One observation a group, in the group's own unit. `nan` means the group is missing.
    noise_variance : (J,) or (J, J) array of float, optional
        Variance of each observation's noise, in the squared unit of the group; or its covariance, where the
        noise of groups goes together (they share a season, a draw of persons). nan, or None: the agent's own.
    info : mapping, optional
        Anything else worth keeping (rates, curves). Agents never see it.
    """

    values: Array
    noise_variance: Array | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


class Environment(ABC):
    """A simulator with named groups, a policy space and a known composition.

    A subclass sets the attributes below, writes `step`, and overrides whatever else it knows better:
    `expected` when noise-free outcomes can be computed, `compose` and `weights` when the
    objective is not the plain sum. A general (nonlinear) composition may also offer `gradient(outcomes,
    policies) -> (..., J)`, the exact slopes `dg/df_j`, and `bounds -> (J,)`, the finite `B_j` of
    Definition 2; readers look for these two with `getattr`. `simulators.check_environment` tells in
    words what a subclass gets wrong.

    Where observations cost something, `query_costs(policies) -> (n, 1 + J)` says what: of observing a policy
    at all, then of each group, which add up; agents that model groups then choose them too (`step_groups`).
    `query_budget` is what the policies of a batch may cost together, None or absent for any sum; it needs a
    finite space. Each step then states its `info["cost"]`, in the unit `info_units["cost"]`. These are looked
    for with `getattr` as well.

    In a world that lives a policy's observations may share a part of their noise, as those of a sensor share
    its drift: `kept_noise` is then a `KeptVariance`, looked for with `getattr`.

    A world may live: it changes by itself from step to step, whatever the policies are. Then `expected`
    and the best policy are those of the coming step, whose time is `context`; `step` observes, then
    lets the time of one step pass. It passes even if the step fails.

    In a finite space policies are candidate rows: `(n,)` integers wherever `(n, d)` is written here.

    Attributes
    ----------
    groups : tuple of str
        The J names of the groups.
    group_units : tuple of str
        One unit a group.
    objective_unit : str
        Unit of the composed value.
    policy_space : PolicySpace
        Labels, units and limits of the policies.
    sense : {"minimize", "maximize"}
        What is to be done with the objective.
    has_memory : bool
        True when a step depends on earlier steps. Then `get_state` and `set_state` must be there.
    lives : bool
        True when the world changes by itself from step to step; `has_memory` is True then as well.
    steps_at_once : int
        With a memory, how many steps are taken at one moment, after which time passes: agents can be asked
        for as many together, or for parts of them.
    name : str
        The registry's name, or the class's.
    outcome_range : (float, float), J such pairs, or None
        What an observation of any group, or of each, cannot lie below or above, `inf` for no limit. It holds
        for observations as for noise-free outcomes, so that noise which may exceed a limit forbids it. A step
        that returns another value has failed; nothing is clipped.
    expected_range : (float, float), J such pairs, or None
        The same of noise-free outcomes alone, where observations carry noise that may exceed it: intervals of
        what is predicted end there. None: as `outcome_range`.
    current_policy : (d,) array or None
        Today's practice, the baseline of the agent `current`; None when there is none.
    current_policy_label : str
        What `current_policy` is, in words.
    info_units : mapping of str to str
        Units of what `Outcomes.info` holds, by the names of its entries, for figures.
    group_persons : (J,) array or None
        How many persons each group has, where groups are people; "per person" in a unit is then per person of
        all of them. Reports tell outcomes in persons by it.
    limits : sequence of Limit
        What the noise-free outcomes of a policy must keep; none unless set.
    findings : sequence of str
        What was read, assumed and fitted when it was made, one sentence each, for whoever runs it.
    """

    groups: tuple[str, ...]
    group_units: tuple[str, ...]
    objective_unit: str
    policy_space: PolicySpace
    sense: Literal["minimize", "maximize"]
    has_memory: bool = False
    lives: bool = False
    steps_at_once: int = 1
    name: str = ""
    outcome_range: Any = None
    expected_range: Any = None
    current_policy: Array | None = None
    current_policy_label: str = ""
    info_units: Mapping[str, str] = {}
    group_persons: Array | None = None
    limits: Sequence[Limit] = ()
    findings: Sequence[str] = ()

    _rng: np.random.Generator | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    @property
    def sign(self) -> float:
        """1.0 where the objective is to be maximised, -1.0 where minimised."""
        return 1.0 if self.sense == "maximize" else -1.0

    @property
    def rng(self) -> np.random.Generator:
        """The noise stream that `reset` restarts; unseeded until the first reset."""
        if self._rng is None:
            self._rng = np.random.default_rng()
        return self._rng

    def reset(self, seed: Seed = None) -> None:
        """Restart the noise, and the memory if there is any; the world itself stays as it was made.

        Parameters
        ----------
        seed : int, numpy.random.SeedSequence or None, default None
            The same seed gives the same noise. None draws fresh noise from the operating system.
        """
        try:
            self._rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise ValueError(
                f"seed={seed!r} must be a whole number >= 0, a numpy.random.SeedSequence or None"
            ) from None

    def prepare(self, say: Callable[[str], None] = lambda detail: None) -> None:  # noqa: B027
        """Do long work that otherwise the first step would do; nothing unless overridden.

        Parameters
        ----------
        say : callable, optional
            Is told in a few words how far it is.
        """

    @property
    def context(self) -> float | None:
        """Time of the coming step in hours, where the world lives; None elsewhere."""
        return None

    @property
    def set_aside(self) -> tuple[Array, Array] | None:
        """Measurements outside the candidates, from which kernels may be learned; None without any.

        Returns
        -------
        features : (m, p) array
            Where they were taken, as kernels see it: in a world that lives with the time as last column.
        outcomes : (m, J) array
            What was measured there, each in its group's unit; `nan` where missing.
        """
        return None

    @abstractmethod
    def step(self, policy: Any) -> Outcomes:
        """Try one policy.

        Parameters
        ----------
        policy : (d,) array-like, or int
            A policy, or a candidate row in a finite space. Never projected, never changed.

        Returns
        -------
        Outcomes
            One observation a group.

        Raises
        ------
        ValueError
            The policy is outside the space; names the entry, its value and its bound.
        SimulationError
            The simulation failed; carries the policy and the seed.
        """

    def step_groups(self, policy: Any, groups: Sequence[int]) -> Outcomes:
        """Try one policy, and observe some groups only: the others are nan.

        Unless overridden, a whole step of which the rest is left out, at the same cost.

        Parameters
        ----------
        policy : (d,) array-like, or int
            As for `step`.
        groups : sequence of int
            Which groups, counted from 0.
        """
        seen = self.step(policy)
        values = np.full(len(self.groups), np.nan)
        values[list(groups)] = np.asarray(seen.values, dtype=float)[list(groups)]
        return Outcomes(values, seen.noise_variance, seen.info)

    def expected(self, policies: ArrayLike) -> Array:
        """The noise-free outcomes `f_j(x)` of many policies.

        Parameters
        ----------
        policies : (n, d) array-like, or (n,) candidate rows
            The policies. They need not be feasible, so that derivatives can be taken by differences.

        Returns
        -------
        (n, J) array
            Each in its group's unit; a row must not depend on its neighbours.

        Raises
        ------
        NotImplementedError
            They are unknown (the default).
        ValueError
            A wrong shape, an entry that is not finite, or a row that does not exist.
        """
        raise NotImplementedError(f"{self.name}: the noise-free outcomes are unknown")

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The objective `g` of outcomes; the sum weighted by `weights` unless overridden.

        Parameters
        ----------
        outcomes : (..., J) array-like
            Outcomes, possibly predicted by a model, so possibly outside the physical range.
        policies : (..., d) array-like, or (...,) candidate rows
            The policies of these outcomes.

        Returns
        -------
        (...,) array
            The composed values, in `objective_unit`; `nan` where a group is missing.
        """
        # One memory layout, hence one order of summation: a row's value must not depend on its neighbours.
        values = np.ascontiguousarray(outcomes, dtype=float)
        if type(self).weights is not Environment.weights:
            J = values.shape[-1]
            rows = np.reshape(policies, (-1,) if self.policy_space.finite else (-1, self.policy_space.d))
            weights = np.asarray(self.weights(rows), dtype=float)
            if weights.shape != (len(rows), J):
                raise ValueError(f"weights must have shape {(len(rows), J)}; it has {weights.shape}")
            values = values * weights.reshape(*values.shape[:-1], J)
        total: Array = values.sum(axis=-1)
        return total

    def weights(self, policies: ArrayLike) -> Array | None:
        """The weights `g_j(x)` of a linear composition (Definition 1).

        Parameters
        ----------
        policies : (n, d) array-like, or (n,) candidate rows
            The policies.

        Returns
        -------
        (n, J) array or None
            Ones for the default composition; None where `compose` is overridden, unless this method is too.
        """
        if type(self).compose is not Environment.compose:
            return None
        return np.ones((len(np.asarray(policies)), len(self.groups)))

    def get_state(self) -> Any:
        """The memory as plain arrays, where there is one; else NotImplementedError."""
        raise self._no_state()

    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned."""
        raise self._no_state()

    def _no_state(self) -> NotImplementedError:
        if self.has_memory:
            why = "declares has_memory=True but does not offer get_state and set_state"
        else:
            why = "has no memory, so it has no state to save"
        return NotImplementedError(f"{self.name} {why}")
