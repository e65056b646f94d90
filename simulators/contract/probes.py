"""Policies that an examiner of environments tries: some that must be accepted, and some that must not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import qmc

from simulators.contract.policy_space import BoundedPolicySpace, FinitePolicySpace

Space = BoundedPolicySpace | FinitePolicySpace


def feasible(space: Space, n: int) -> list[Any]:
    """N feasible policies, spread over the space."""
    rng = np.random.default_rng(20)
    if isinstance(space, FinitePolicySpace):
        rows = np.flatnonzero(space.contains(np.arange(space.size)))
        return [int(row) for row in rng.choice(rows, size=n)]
    # A Latin hypercube: every entry is tried low and high.
    spread = qmc.LatinHypercube(space.d, rng=rng).random(n)
    lower, upper = space.bounds.lb, space.bounds.ub
    return [space.project(lower + share * (upper - lower)) for share in spread]


def infeasible(space: Space) -> list[tuple[Any, str]]:
    """Policies outside the space, each with what is wrong with it."""
    if isinstance(space, FinitePolicySpace):
        cases: list[tuple[Any, str]] = [
            (space.size, "a candidate row beyond the last"),
            (-1, "a negative candidate row"),
        ]
        barred = np.flatnonzero(~space.contains(np.arange(space.size)))
        return cases + [(int(row), "a candidate outside the limits") for row in barred[:1]]
    inside, lower, upper = feasible(space, 1)[0], space.bounds.lb, space.bounds.ub
    above, missing = inside.copy(), inside.copy()
    above[-1], missing[0] = upper[-1] + 1 + abs(upper[-1]), np.nan
    cases = [
        (above, f"a policy whose entry {space.labels[-1]!r} is above its bound"),
        (missing, "a policy with a nan"),
        (np.append(inside, inside[-1]), "a policy with an entry too many"),
    ]
    if space.constraint is not None:
        sides = ((lower, upper), (upper, lower))
        corners = [np.where(row > 0, a, b) for row in space.constraint.A for a, b in sides]
        breaking = [corner for corner in corners if not space.contains(corner[None])[0]]
        cases += [
            (corner, "a policy within bounds that breaks the linear constraint") for corner in breaking[:1]
        ]
    return cases


def text(policy: Any) -> str:
    """A policy as a message shows it."""
    array = np.asarray(policy)
    return str(array) if array.ndim == 0 else "(" + ", ".join(f"{entry:.4g}" for entry in array) + ")"
