"""The search of a mixed space: by moves from the best of many policies, and by gradients of what is real.

Whole numbers and categories move on their own grid, so that every policy that is looked at is feasible. A
search of real numbers whose end is rounded breaks constraints, and asks for the same policy again and again
(Garrido-Merchan & Hernandez-Lobato 2020, Neurocomputing 380, 20).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optimizer.arrays import Array
from optimizer.space.feasible_gradient import feasible_differences
from optimizer.space.local_search import Value, ValueAndGradient, apart, highest, refine, spread

if TYPE_CHECKING:
    from optimizer.space.mixed_space import MixedSpace

CLIMBERS, KEPT = 6, 3
"""Policies that move at first, and after the first move."""
MOVES, ROUGH = 12, 3
"""Moves at most; and where real entries follow by gradients."""
FINISHED = 2
"""Choices of all that is not real for which the real entries are searched by gradients."""


def search_mixed(
    space: MixedSpace,
    value: Value,
    value_and_gradient: ValueAndGradient | None,
    tried: Array,
    starts: int,
) -> tuple[Array, float]:
    """The best policy (d,) found from policies to begin with (n, d), and its value."""
    values = np.asarray(value(tried), dtype=np.float64)
    best = highest(values)
    policy, reached = tried[best], float(values[best])
    if starts < 1:
        return policy, reached
    begin = apart(space.to_unit(tried), values, min(starts, CLIMBERS))
    x, f = _climb(space, value, tried[begin], values[begin])
    if space.real.any():
        x, f = _finish(space, value, value_and_gradient, x, f, tried, values)
    best = highest(f)
    return (x[best], float(f[best])) if f[best] > reached else (policy, reached)


def _climb(space: MixedSpace, value: Value, x: Array, f: Array) -> tuple[Array, Array]:
    """Let policies (n, d) move to their best neighbour, all together, while that is better."""
    ends, heights = [], []
    for move in range(ROUGH if space.real.any() else MOVES):
        if move == 1:
            kept = np.sort(np.argsort(-f, kind="stable")[:KEPT])
            x, f = x[kept], f[kept]
        owner, near = space.neighbours(x)
        if not len(near):
            break
        values = np.asarray(value(near), dtype=np.float64)
        values = np.where(np.isnan(values), -np.inf, values)
        order = np.lexsort((np.arange(len(near)), -values, owner))
        first = order[np.unique(owner[order], return_index=True)[1]]  # the best neighbour of each
        better = values[first] > f[owner[first]]
        risen = owner[first][better]
        rest = np.setdiff1d(np.arange(len(x)), risen)
        ends.append(x[rest])
        heights.append(f[rest])
        x, f = near[first][better], values[first][better]
        if not len(x):
            break
    return np.concatenate([*ends, x]), np.concatenate([*heights, f])


def _finish(
    space: MixedSpace,
    value: Value,
    value_and_gradient: ValueAndGradient | None,
    x: Array,
    f: Array,
    tried: Array,
    values: Array,
) -> tuple[Array, Array]:
    """Policies (n, d) that have climbed, and ends of searches of real entries for the best of the rest."""
    order = np.argsort(-f, kind="stable")
    parts = x[order][:, ~space.real]
    _, first = np.unique(parts, axis=0, return_index=True)
    width = spread(values)
    ends, heights = [x], [f]
    for at in order[np.sort(first)[:FINISHED]]:
        polytope = space.around(x[at])
        alike = (tried[:, ~space.real] == x[at][~space.real]).all(axis=1)
        same = (x[:, ~space.real] == x[at][~space.real]).all(axis=1)
        begin = np.concatenate([x[same], tried[alike][np.argsort(-values[alike], kind="stable")[:KEPT]]])
        gradient = value_and_gradient or feasible_differences(polytope, value)
        found = polytope.lift(refine(polytope, gradient, polytope.drop(begin), width))
        found = found[space.contains(found)]
        if len(found):
            ends.append(found)
            heights.append(np.asarray(value(found), dtype=np.float64))
    return np.concatenate(ends), np.concatenate(heights)
