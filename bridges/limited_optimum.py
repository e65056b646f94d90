"""The best and the worst policy within limits on outcomes, from the noise-free outcomes.

Limits are seldom linear in the policy, so they cannot be part of a search space. Candidates are counted out.
Elsewhere a search of many starts, in which breaking a limit costs `STEEP` times the range of the objective,
finds where the best is, and SLSQP (Kraft 1988) goes on from there to the limits themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from optimizer.arrays import Array, Policies
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.space.bounded_space import BoundedSpace
from optimizer.space.feasible_gradient import feasible_differences
from optimizer.space.search_space import SearchSpace

POINTS, STARTS = 4096, 4
"""Random policies evaluated, and the best of them from which SLSQP starts."""
STEEP = 10.0
HALVINGS = 60
REMEMBERED = 3


class NoneKept(ValueError):
    """No policy was found that keeps the limits; `nearest` is the one that breaks them least."""

    def __init__(self, nearest: Any) -> None:
        super().__init__("no policy was found that keeps the limits")
        self.nearest = nearest


NONE_KEPT = -1e300

Value = Callable[[Policies], Array]


def best_within(
    space: SearchSpace,
    compose: Callable[[Array, Policies], Array],
    expected: Value,
    limits: OutcomeLimits,
    seed: int,
) -> Any:
    """The policy (d,), or the row, with the highest value among those that keep the limits.

    Parameters
    ----------
    space : SearchSpace
    compose : callable
        Values (n,), to be maximised, of outcomes (n, J) and policies.
    expected : callable
        Noise-free outcomes (n, J) of policies.
    limits : OutcomeLimits
    seed : int
        Of the random starts.

    Raises
    ------
    NoneKept
        None was found that keeps them.
    """
    rng, outcomes = np.random.default_rng(seed), remembered(expected)

    def value(policies: Policies) -> Array:
        return compose(outcomes(policies), policies)

    if space.finite:

        def of_those(policies: Policies) -> Array:
            values: Array = np.where(limits.kept(outcomes(policies)), value(policies), NONE_KEPT)
            return values

        row, best = space.maximise(of_those)
        if best <= NONE_KEPT:
            raise NoneKept(space.maximise(lambda rows: -limits.excess(outcomes(rows)).sum(axis=1))[0])
        return row
    seen = space.sample(POINTS, rng)
    values, reached = value(seen), outcomes(seen)
    known = np.isfinite(values) & np.isfinite(reached).all(axis=1)
    if not known.any():
        raise NoneKept(seen[0])
    spread = np.nan_to_num(limits.values(reached[known]).std(axis=0))
    scale = np.where(spread > 0, spread, 1.0)
    price = STEEP * (float(np.ptp(values[known])) or 1.0)

    def priced(policies: Policies) -> Array:
        excess = limits.excess(outcomes(policies)) / scale
        values: Array = value(policies) - price * excess.sum(axis=1)
        return values

    order = np.argsort(-np.where(known, priced(seen), -np.inf), kind="stable")[:STARTS]
    found, _ = space.maximise(priced, None, rng, points=POINTS, extra=seen[order])
    candidates = [*seen[order], found]
    if isinstance(space, BoundedSpace):
        ends = [_refined(space, start, value, outcomes, limits, scale, price / STEEP) for start in candidates]
        candidates += [_drawn_in(end, seen[order], outcomes, limits) for end in ends]
    at = np.array(candidates)
    at = at[space.contains(at)]
    keeps = limits.kept(outcomes(at))
    if not keeps.any():
        raise NoneKept(at[np.argmin((limits.excess(outcomes(at)) / scale).sum(axis=1))])
    return at[keeps][np.nanargmax(value(at[keeps]))]


def _refined(
    space: BoundedSpace,
    start: Array,
    value: Value,
    outcomes: Value,
    limits: OutcomeLimits,
    scale: Array,
    unit: float,
) -> Array:
    """Where SLSQP ends from a start."""
    every = range(len(limits))
    sides = [(k, 1.0, float(limits.high[k])) for k in every if np.isfinite(limits.high[k])]
    sides += [(k, -1.0, float(limits.low[k])) for k in every if np.isfinite(limits.low[k])]

    def room(k: int, sign: float, end: float) -> dict[str, Any]:
        """What is left to one side of a limit, with its gradient."""

        def left(X: Array) -> Array:
            return np.asarray(sign * (end - limits.values(outcomes(X))[:, k]) / scale[k])

        both = feasible_differences(space.polytope, left)
        return {
            "type": "ineq",
            "fun": lambda x: both(x[None])[0][0],
            "jac": lambda x: both(x[None])[1][0],
        }

    objective = feasible_differences(space.polytope, lambda X: -value(X) / unit)

    def objective_and_gradient(x: Array) -> tuple[float, Array]:
        values, gradients = objective(x[None])
        return float(values[0]), gradients[0]

    rows = space.constraint_rows()
    linear = []
    if rows:
        matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
        linear = [LinearConstraint(matrix, low, high)]
    with np.errstate(all="ignore"):
        end = minimize(
            objective_and_gradient,
            start,
            jac=True,
            method="SLSQP",
            bounds=Bounds(space.lower, space.upper),
            constraints=[*(room(*side) for side in sides), *linear],
            options={"maxiter": 50, "ftol": 1e-12},
        ).x
    found: Array = np.clip(end, space.lower, space.upper)
    return found if np.isfinite(found).all() and space.contains(found[None])[0] else start


def remembered(expected: Value) -> Value:
    """The same outcomes, without computing those of the last policies again: several ask for them."""
    last: dict[bytes, Array] = {}

    def outcomes(policies: Policies) -> Array:
        key = np.ascontiguousarray(policies).tobytes()
        if key not in last:
            while len(last) >= REMEMBERED:
                del last[next(iter(last))]
            last[key] = expected(policies)
        return last[key]

    return outcomes


def _drawn_in(end: Array, starts: Array, outcomes: Value, limits: OutcomeLimits) -> Array:
    """A policy that breaks a limit by a rounding error, drawn to the nearest start that keeps all."""
    if limits.kept(outcomes(end[None]))[0]:
        return end
    inside = starts[limits.kept(outcomes(starts))]
    if not len(inside):
        return end
    near = inside[np.argmin(((inside - end) ** 2).sum(axis=1))]
    low, high = 0.0, 1.0  # shares of the way to it: breaks, keeps
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if limits.kept(outcomes((end + middle * (near - end))[None]))[0]:
            high = middle
        else:
            low = middle
    return np.asarray(end + high * (near - end))
