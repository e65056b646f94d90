"""What environments around foreign models share: policies, groups and composition are declared, not coded."""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bridges.environments.answers import group_names, read_answer
from bridges.environments.levers import Entry, Levers, Policy, refuse_whole, shown
from bridges.environments.replicates import Run, of_all
from optimizer.arrays import Array
from policyloop.messages import failure, on_one_line
from simulators.contract.environment import Environment, Outcomes, SimulationError, StepLost, failure_kind
from simulators.contract.process_state import kept_process_state, seeded_globals
from simulators.contract.targets import load_target
from simulators.contract.validation import choice, noise_of_groups, outcome_ranges, per_group, whole

SEEDS = 2**31 - 1
"""Seeds that a model is given are below this: what R, NumPy and Python all take."""


class DeclaredEnvironment(Environment):
    """An environment whose step asks a foreign model: subclasses say how, in `simulate`.

    Where a function or a class is asked for, its target will do, a text that names it:
    `package.module:function` or `folder/file.py:function`.

    Parameters
    ----------
    policy : mapping, or PolicySpace
        `{label: lever}`, where a lever is `(low, high)`, a real number; `{"whole": (low, high)}`, a whole
        one, with `"step"` beside it if that is not 1; or `{"one_of": [names]}`, a category. Or a space with
        units, constraints or candidates. The model gets floats, ints and names. Where the same is decided
        for each group, `"name[*]"` stands for one lever a group, `name[a]`, `name[b]`, ..; `"name[a, b]"` is
        one lever for both, and the model gets its value as `name[a]` and as `name[b]`; `"name[*]"` beside it
        stands for the groups that are not named.
    groups : sequence of str
        The groups whose outcomes the model answers with.
    group_units : str or sequence of str, default=""
        Unit of all groups, or one a group.
    objective_unit : str, optional
        Unit of the composed value; the groups' own where they share one.
    sense : {"minimize", "maximize"}, default="minimize"
        What is to be done with the objective.
    budget : float, optional
        What the sum of the numbers that the model gets must not exceed: a lever for two groups counts twice,
        a category not at all. A `PolicySpace` has its own constraint.
    weights : sequence of float, optional
        Weight of each group in the objective (Definition 1); 1 unless given.
    compose : callable or target, optional
        The objective of outcomes (..., J) and policies (..., d), where it is not a weighted sum (Definition
        2); vectorised. Policies are numbers there, one a lever; a category's is its place among the names,
        from 0.
    noise_variance : float, or J of them, or J lists of J, optional
        Variance of the noise of all groups or of each, or its covariance, where it is known.
    outcome_range : pair of float, or J of them, optional
        What no observation lies below or above; see `Environment`.
    replicates : int, default=1
        Runs of the model a step, each with a seed of its own. Outcomes are then means over the runs that did
        not fail, and their noise variance follows from the spread of the runs, or is `noise_variance`, that
        of one run, over their number.

    Raises
    ------
    ValueError
        If a declaration is impossible: names it, its value and what is accepted.
    """

    def __init__(
        self,
        policy: Policy,
        groups: Sequence[str],
        *,
        group_units: str | Sequence[str] = "",
        objective_unit: str | None = None,
        sense: Literal["minimize", "maximize"] = "minimize",
        budget: float | None = None,
        weights: Sequence[float] | None = None,
        compose: Callable[[Array, Any], ArrayLike] | str | None = None,
        noise_variance: float | Sequence[float] | None = None,
        outcome_range: Sequence[Any] | None = None,
        replicates: int = 1,
        **other: Any,
    ) -> None:
        if "whole" in other:
            refuse_whole(other["whole"], policy)
        for name in other:
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {name!r}")
        self.groups: tuple[str, ...] = group_names(groups)
        J = len(self.groups)
        self.group_units: tuple[str, ...] = _units(group_units, J)
        shared = self.group_units[0] if len(set(self.group_units)) == 1 else ""
        self.objective_unit: str = shared if objective_unit is None else objective_unit
        if not isinstance(self.objective_unit, str):
            raise ValueError(f"objective_unit={objective_unit!r} must be a text")
        self.sense = choice("sense", sense, ("minimize", "maximize"))
        self.levers: Levers = Levers(policy, self.groups, budget)
        self.policy_space = self.levers.space
        if weights is not None and compose is not None:
            raise ValueError("weights and compose exclude each other: compose weighs the groups itself")
        self._weights = per_group("weights", 1.0 if weights is None else weights, self.groups)
        self._compose = None if compose is None else function(compose, "compose", "outcomes", "policies")
        self._noise = None
        if noise_variance is not None:
            covariance = isinstance(noise_variance, Sequence | np.ndarray) and any(
                np.ndim(row) for row in noise_variance
            )
            self._noise = (
                noise_of_groups("noise_variance", noise_variance, J)
                if covariance
                else per_group("noise_variance", noise_variance, self.groups, least=0.0)
            )
        self.replicates: int = whole("replicates", replicates)
        self.outcome_range: Any = outcome_ranges(outcome_range, self.groups)

    @abstractmethod
    def simulate(self, policy: dict[str, Entry], seed: int) -> Any:
        """The model's outcomes of a policy, by group or in order; nan or None where a group is missing.

        Parameters
        ----------
        policy : dict of str to float, int or str
            The policy's entries by label: real numbers, whole ones, and names of categories.
        seed : int
            Of all randomness of the model.
        """

    def step(self, policy: Any) -> Outcomes:
        """Ask the model; see `Environment.step`. The `info` tells with what it was asked.

        Of several replicates it holds, in place of the seed, `seeds` (r,), `replicates`, the outcomes of
        each that did not fail, and `failed`, the seed and cause of the others.
        """
        checked = self.policy_space.check(policy)
        seeds = [int(self.rng.integers(SEEDS)) for _ in range(self.replicates)]
        asked = self.levers.entries(checked)
        with kept_process_state():
            runs = [self._run(asked, seed) for seed in seeds]
        failures = [run for run in runs if run.error is not None]
        if len(failures) == len(runs):
            first = failures[0]
            lost = all(isinstance(run.error, StepLost) for run in failures)
            all_of = f"all {len(runs)} replicates failed; the first: " if len(runs) > 1 else ""
            raise (StepLost if lost else SimulationError)(
                f"{all_of}{on_one_line(first.error)}; the model was asked with {shown(asked, first.seed)}",
                checked,
                first.seed,
            ) from first.error
        if self.replicates == 1:
            return Outcomes(runs[0].values, self._noise, {"policy": dict(asked), "seed": seeds[0]})
        values, noise = of_all([run.values for run in runs if run.error is None], self._noise)
        info = {
            "policy": dict(asked),
            "seeds": seeds,
            "replicates": [run.values for run in runs if run.error is None],
            "failed": [{"seed": run.seed, "cause": on_one_line(run.error)} for run in failures],
        }
        return Outcomes(values, noise, info)

    def _run(self, asked: dict[str, Entry], seed: int) -> Run:
        """Ask the model once; what it changes is its own affair, and what it raises is its answer."""
        J = len(self.groups)
        try:
            with seeded_globals(seed):
                return Run(seed, read_answer(self.simulate(dict(asked), seed), self.groups))
        except KeyboardInterrupt:
            raise
        except SimulationError as error:
            failed = error
        except SystemExit as end:
            failed = SimulationError(f"the simulator asked to exit with code {on_one_line(end.code)}")
            failed.__cause__ = end
        except BaseException as error:
            kind = failure_kind(error) if isinstance(error, Exception) else SimulationError
            failed = kind(f"the model raised {failure(error)}")
            failed.__cause__ = error
        return Run(seed, np.full(J, np.nan), failed)

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The objective; see `Environment.compose`."""
        if self._compose is None:
            return super().compose(outcomes, policies)
        return np.asarray(self._compose(np.asarray(outcomes, dtype=float), np.asarray(policies)), dtype=float)

    def weights(self, policies: ArrayLike) -> Array | None:
        """The weights that were declared; see `Environment.weights`."""
        if self._compose is not None:
            return None
        return np.tile(self._weights, (len(np.asarray(policies)), 1))


def function(given: Any, what: str, *takes: str) -> Callable[..., Any]:
    """A callable, or what a target names, which must be one; `what` says in messages whose it is.

    It must be possible to call it with one argument for each name of `takes`.
    """
    found = load_target(given) if isinstance(given, str) else given
    if not callable(found):
        raise ValueError(f"{what}={given!r} must be a function, or a text that names one: file.py:function")
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):  # some that are written in C do not say
        signature = None
    if takes and signature is not None and not _binds(signature, takes):
        name = getattr(found, "__name__", repr(found))
        raise ValueError(f"{what}: {name}{signature} must take {' and '.join(takes)}, and need nothing else")
    called: Callable[..., Any] = found
    return called


def _binds(signature: inspect.Signature, takes: Sequence[str]) -> bool:
    """Whether a function can be called with these arguments, and with a `seed` or `rng` that it asks for."""
    asked = [name for name in ("seed", "rng") if name in signature.parameters]
    for named in (dict.fromkeys(asked), {}):
        try:
            signature.bind(*takes, **named)
        except TypeError:
            continue
        return True
    return False


def _units(given: Any, J: int) -> tuple[str, ...]:
    """One unit a group, from as many or one for all."""
    units = (given,) * J if isinstance(given, str) else given
    if not isinstance(units, Sequence) or len(units) != J or not all(isinstance(unit, str) for unit in units):
        raise ValueError(f"group_units={given!r} must be one unit, or {J}, one a group")
    return tuple(units)
