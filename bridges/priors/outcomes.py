"""One environment's outcomes as the prior means of another: agents then learn the discrepancy alone.

A cheap model of the same world (an ODE of the same epidemic) knows the shape of what an expensive one (the
epidemic person by person) returns. With mu_{j,0} (Algorithm 2) its outcome of group j, the kernels describe
what it gets wrong, group by group.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.optimize import LinearConstraint

import simulators
from bridges.feedback import search_space
from optimizer.arrays import Array
from optimizer.prior.prior import Prior
from optimizer.regression.base import ShiftedMean
from optimizer.space.finite_space import FiniteSpace
from optimizer.space.mixed_space import MixedSpace
from simulators.contract.environment import Environment
from simulators.contract.levers import OneOf
from simulators.contract.policy_space import PolicySpace

Mean = Callable[[Any], Array]

SAMPLES = 1024
"""Outcomes of a bounded policy space between which a prior mean is interpolated."""

SEED = 0
"""Of the policies of these."""

REMEMBERED = 64
"""Sets of policies whose means are kept: the groups are asked one after another for the same ones."""


class PriorOutcomes:
    """The noise-free outcomes of one environment, as prior means for the agents of another.

    In a bounded space they are interpolated by quintic radial basis functions between a Sobol design of
    policies: an agent asks for them at thousands of policies a round, where the environment would be too
    slow. For `flu-ode` the interpolation is wrong by 0.0003 sick days a person (root mean square). Between
    categories there is nothing to interpolate: there the environment itself is asked, policy by policy.

    Parameters
    ----------
    source : Environment
        Whose `expected` they are.
    environment : Environment
        For whose agents; of the same groups and policies.

    Raises
    ------
    ValueError
        If groups, units or policies differ, `expected` is unknown, or either world lives.
    """

    def __init__(self, source: Environment, environment: Environment) -> None:
        _check(source, environment)
        self._compose = environment.compose
        space = search_space(source)
        try:
            if isinstance(space, FiniteSpace):
                self._at: Mean = np.asarray(source.expected(np.arange(space.size)), dtype=float).take
                self._at = partial(self._at, axis=0)
            elif isinstance(space, MixedSpace) and (space.listed is not None or space.categories.any()):
                self._at = _on_grid(source, space)
            else:
                self._at = _interpolated(source, space.sobol(SAMPLES, SEED))
        except NotImplementedError:
            raise ValueError(f"{source.name} does not know its noise-free outcomes") from None
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._evaluate)
        J = len(environment.groups)
        self.groups: list[Mean] = [partial(self._group, j) for j in range(J)]

    def __call__(self, policies: Any) -> Array:
        """Outcomes of policies (n, d) or rows (n,): shape (n, J)."""
        rows = np.ascontiguousarray(policies)
        return self._remembered(rows.tobytes(), rows.dtype.str, rows.shape)

    def composed(self, policies: Any) -> Array:
        """Their objective, shape (n,)."""
        return np.asarray(self._compose(self(policies), policies), dtype=float)

    def above(self, discrepancy: Prior, *, own: bool = False) -> Prior:
        """The prior that a prior of the discrepancy makes: these outcomes are added to its means.

        Parameters
        ----------
        discrepancy : Prior
            Of every group's outcome less the one here (`learn_prior(..., mean_from=)`); its means are
            constants.
        own : bool, default=False
            It is one of the composed values.
        """
        below = [self.composed] if own else self.groups
        means = [ShiftedMean(mean, float(c)) for mean, c in zip(below, discrepancy.means, strict=True)]  # type: ignore[arg-type]
        return Prior(discrepancy.kernels, discrepancy.noise_variances, means, discrepancy.correlation)

    def _group(self, j: int, policies: Any) -> Array:
        return self(policies)[:, j]

    def _evaluate(self, data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
        values = np.asarray(self._at(np.frombuffer(data, dtype=dtype).reshape(shape)), dtype=float)
        values.flags.writeable = False
        return values


def _interpolated(source: Environment, design: Array) -> Mean:
    """The outcomes between those of a design (n, d); entries count by their part of their range.

    So thousands of packs and shares of one are alike; and an entry that is fixed counts nothing.
    """
    bounds = source.policy_space.bounds
    assert bounds is not None
    low, width = bounds.lb, bounds.ub - bounds.lb
    free = width > 0

    def unit(policies: Array) -> Array:
        part: Array = ((policies - low) / np.where(free, width, 1.0))[:, free]
        return part

    _, first = np.unique(design, axis=0, return_index=True)  # whole numbers are drawn more than once
    design = design[np.sort(first)]
    p = int(free.sum())
    terms = (p + 1) * (p + 2) // 2  # of the polynomial that goes with a quintic
    kernel = "quintic" if len(design) >= 2 * terms else "linear"
    between = RBFInterpolator(unit(design), np.asarray(source.expected(design)), kernel=kernel)
    return lambda policies: np.asarray(between(unit(policies)))


def _on_grid(source: Environment, space: MixedSpace) -> Mean:
    """The outcomes of policies, which are brought to their steps first: looked up where they are a list."""
    if space.listed is None:
        return lambda policies: source.expected(space.snap(policies))
    table = np.asarray(source.expected(space.listed), dtype=float)
    return lambda policies: np.asarray(table[space.rows_of(space.snap(policies))])


def prior_outcomes(
    environment: Environment, name: str, options: Mapping[str, Any] | None = None
) -> PriorOutcomes:
    """Outcomes of an environment by its name, which describes the world of another as well as it can.

    Parameters
    ----------
    environment : Environment
        For whose agents. Where it offers `counterpart(name)`, that gives the options under which the other
        describes the same world.
    name : str
        One of `simulators.names()`.
    options : mapping, optional
        In place of those.

    Raises
    ------
    ValueError
        If the name or an option is wrong, or the two do not fit (see `PriorOutcomes`).
    """
    counterpart = getattr(environment, "counterpart", None)
    matching = {} if counterpart is None else counterpart(name)
    return PriorOutcomes(simulators.make(name, **{**matching, **(options or {})}), environment)


def _check(source: Environment, environment: Environment) -> None:
    """Find what keeps the outcomes of one from being prior means of the other."""
    pair = f"{source.name} cannot be the prior mean of {environment.name}: "
    if source.lives or environment.lives:
        raise ValueError(f"{pair}a world that lives has no outcomes of its own")
    for what in ("groups", "group_units"):
        theirs, ours = getattr(source, what), getattr(environment, what)
        if tuple(theirs) != tuple(ours):
            raise ValueError(f"{pair}its {what} are {', '.join(theirs)}, not {', '.join(ours)}")
    theirs, ours = source.policy_space, environment.policy_space
    if theirs.labels != ours.labels:
        raise ValueError(f"{pair}its policies are {', '.join(theirs.labels)}, not {', '.join(ours.labels)}")
    names = [[lever.names for lever in space.levers if isinstance(lever, OneOf)] for space in (theirs, ours)]
    if names[0] != names[1]:
        raise ValueError(f"{pair}its policies have other categories")
    for what, limits in _limits(theirs).items():
        if not _same(limits, _limits(ours)[what]):
            raise ValueError(f"{pair}its policies have another {what}")


def _limits(space: PolicySpace) -> dict[str, list[Any] | None]:
    """What limits policies, by its name."""
    box, budget, rows = space.bounds, space.constraint, space.candidates
    assert budget is None or isinstance(budget, LinearConstraint)
    return {
        "set of candidates": None if rows is None else [rows],
        "set of levers": [space.steps],
        "pair of bounds": None if box is None else [box.lb, box.ub],
        "budget": None if budget is None else [np.atleast_2d(budget.A), budget.lb, budget.ub],
    }


def _same(a: list[Any] | None, b: list[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return all(
        np.shape(one) == np.shape(other) and np.allclose(one, other) for one, other in zip(a, b, strict=True)
    )
