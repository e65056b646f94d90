"""What environments around foreign models share: policies, groups and composition are declared, not coded."""

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bridges.environments.answers import group_names, read_answer
from bridges.environments.levers import Entry, Levers, Policy, refuse_whole, shown
from optimizer.arrays import Array
from policyloop.messages import failure
from simulators.contract.environment import Environment, Outcomes, SimulationError, failure_kind
from simulators.contract.targets import load_target
from simulators.contract.validation import choice, noise_of_groups, outcome_ranges, per_group

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
        **other: Any,
    ) -> None:
        if "whole" in other:
            refuse_whole(other["whole"], policy)
        for name in other:
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {name!r}")
        self.groups = group_names(groups)
        J = len(self.groups)
        self.group_units = (group_units,) * J if isinstance(group_units, str) else tuple(group_units)
        if len(self.group_units) != J:
            raise ValueError(f"group_units={group_units!r} must be one unit, or {J}, one a group")
        shared = self.group_units[0] if len(set(self.group_units)) == 1 else ""
        self.objective_unit = shared if objective_unit is None else objective_unit
        self.sense = choice("sense", sense, ("minimize", "maximize"))
        self.levers = Levers(policy, self.groups, budget)
        self.policy_space = self.levers.space
        if weights is not None and compose is not None:
            raise ValueError("weights and compose exclude each other: compose weighs the groups itself")
        self._weights = per_group("weights", 1.0 if weights is None else weights, self.groups)
        self._compose = function(compose, "compose") if compose is not None else None
        self._noise = None
        if noise_variance is not None:
            self._noise = (
                noise_of_groups("noise_variance", noise_variance, J)
                if np.ndim(noise_variance) == 2
                else per_group("noise_variance", noise_variance, self.groups, least=0.0)
            )
        self.outcome_range = outcome_ranges(outcome_range, self.groups)

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
        """Ask the model; see `Environment.step`. The `info` tells with what it was asked."""
        checked = self.policy_space.check(policy)
        seed = int(self.rng.integers(SEEDS))
        asked = self.levers.entries(checked)
        try:
            values = read_answer(self.simulate(asked, seed), self.groups)
        except Exception as error:
            cause = error if isinstance(error, SimulationError) else f"the model raised {failure(error)}"
            raise failure_kind(error)(
                f"{cause}; the model was asked with {shown(asked, seed)}", checked, seed
            ) from error
        return Outcomes(values, self._noise, {"policy": asked, "seed": seed})

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


def function(given: Any, what: str) -> Callable[..., Any]:
    """A callable, or what a target names, which must be one; `what` says in messages whose it is."""
    found = load_target(given) if isinstance(given, str) else given
    if not callable(found):
        raise ValueError(f"{what}={given!r} must be a function, or a text that names one: file.py:function")
    called: Callable[..., Any] = found
    return called


@contextmanager
def seeded_globals(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global random state (below 2**32), and put the former one back at the end.

    So a model that draws from them, as many do without knowing, repeats itself, and disturbs nobody.
    """
    python, old_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(old_numpy)  # noqa: NPY002
