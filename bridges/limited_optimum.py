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
from optimizer.space.search_space import SearchSpace

POINTS, STARTS = 4096, 12
STEEP = 10.0
HALVINGS = 60
NONE_KEPT = -1e300

Value = Callable[[Policies], Array]


def best_within(
    space: SearchSpace, value: Value, outcomes: Value, limits: OutcomeLimits, seed: int
) -> Any | None:
    """The policy (d,), or the row, with the highest value among those that keep the limits.

    Parameters
    ----------
    space : SearchSpace
    value : callable
        Of policies, (n,), to be maximised.
    outcomes : callable
        Noise-free outcomes (n, J) of policies.
    limits : OutcomeLimits
    seed : int
        Of the random starts.

    Returns
    -------
    policy, or None
        None where none was found that keeps them.
    """
    rng = np.random.default_rng(seed)
    if space.finite:

        def of_those(policies: Policies) -> Array:
            values: Array = np.where(limits.kept(outcomes(policies)), value(policies), NONE_KEPT)
            return values

        row, best = space.maximise(of_those)
        return None if best <= NONE_KEPT else row
    seen = space.sample(POINTS, rng)
    values, reached = value(seen), outcomes(seen)
    known = np.isfinite(values) & np.isfinite(reached).all(axis=1)
    if not known.any():
        return None
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
    return at[keeps][np.nanargmax(value(at[keeps]))] if keeps.any() else None


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

    def room(x: Array) -> Array:
        v = limits.values(outcomes(x[None]))[0]
        sides = np.concatenate([(limits.high - v) / scale, (v - limits.low) / scale])
        finite: Array = sides[np.isfinite(np.concatenate([limits.high, limits.low]))]
        return finite

    rows = space.constraint_rows()
    linear = []
    if rows:
        matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
        linear = [LinearConstraint(matrix, low, high)]
    with np.errstate(all="ignore"):
        end = minimize(
            lambda x: -float(value(x[None])[0]) / unit,
            start,
            method="SLSQP",
            bounds=Bounds(space.lower, space.upper),
            constraints=[{"type": "ineq", "fun": room}, *linear],
            options={"maxiter": 200, "ftol": 1e-12},
        ).x
    found: Array = np.clip(end, space.lower, space.upper)
    return found if np.isfinite(found).all() and space.contains(found[None])[0] else start


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
