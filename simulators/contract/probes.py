"""Policies that an examiner of environments tries: some that must be accepted, and some that must not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import qmc

from simulators.arrays import Array
from simulators.contract.levers import OneOf, Whole
from simulators.contract.policy_space import BoundedPolicySpace, FinitePolicySpace

Space = BoundedPolicySpace | FinitePolicySpace


def feasible(space: Space, n: int) -> list[Any]:
    """N feasible policies, spread over the space."""
    rng = np.random.default_rng(20)
    if isinstance(space, FinitePolicySpace):
        rows = np.flatnonzero(space.contains(np.arange(space.size)))
        return [int(row) for row in rng.choice(rows, size=n)]
    # A Latin hypercube: every entry is tried low and high, each of its steps as often as any other.
    spread = qmc.LatinHypercube(space.d, rng=rng).random(n)
    lower, upper, steps = space.bounds.lb, space.bounds.ub, space.steps
    points = np.where(
        steps > 0,
        lower + steps * np.floor(spread * ((upper - lower) / np.where(steps > 0, steps, 1.0) + 1)),
        lower + spread * (upper - lower),
    )
    return [space.project(point) for point in points]


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
        *_off_steps(space, inside),
    ]
    if space.constraint is not None:
        sides = ((lower, upper), (upper, lower))
        corners = [np.where(row > 0, a, b) for row in space.constraint.A for a, b in sides]
        breaking = [corner for corner in corners if not space.contains(corner[None])[0]]
        cases += [
            (corner, "a policy within bounds that breaks the linear constraint") for corner in breaking[:1]
        ]
    return cases


def _off_steps(space: BoundedPolicySpace, inside: Array) -> list[tuple[Any, str]]:
    """Policies with an entry that is no whole number or no category, one case a kind."""
    cases: dict[str, tuple[Any, str]] = {}

    def case(kind: str, j: int, entry: float | str, why: str) -> None:
        policy = [*inside[:j].tolist(), entry, *inside[j + 1 :].tolist()]
        cases.setdefault(kind, (policy if isinstance(entry, str) else np.array(policy), why))

    for j, (label, lever) in enumerate(zip(space.labels, space.levers, strict=True)):
        half = lever.low + 0.5  # above the limit of a lever that is fixed
        if isinstance(lever, Whole):
            case("half", j, half, f"a policy whose whole number {label!r} is {half:g}")
            if lever.step > 1 and lever.high > lever.low:
                off = lever.low + 1
                case("step", j, off, f"a policy whose {label!r} is {off}, between its steps of {lever.step}")
        elif isinstance(lever, OneOf):
            beyond = len(lever.names)
            case("beyond", j, beyond, f"a policy whose category {label!r} is {beyond}, beyond the last")
            case("between", j, half, f"a policy whose category {label!r} is {half:g}")
            name = "_".join(("no", *lever.names))
            case("name", j, name, f"a policy whose category {label!r} has a name that is none of its")
    return list(cases.values())


def text(policy: Any) -> str:
    """A policy as a message shows it."""
    if np.ndim(policy) == 0:
        return str(policy)
    return "(" + ", ".join(entry if isinstance(entry, str) else f"{entry:.4g}" for entry in policy) + ")"


@contextmanager
def own_seeds() -> Iterator[set[str]]:
    """Watch by which calls, such as `numpy.random.seed(3)`, code seeds random numbers itself.

    Those that look the functions up in their modules are seen.
    """
    seen: set[str] = set()

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for seed in (*args, *kwargs.values()):
                if isinstance(seed, int):
                    seen.add(f"{name}({seed})")
            return function(*args, **kwargs)

        return call

    with ExitStack() as patches:
        for module, name in ((random, "seed"), (np.random, "seed"), (np.random, "default_rng")):
            function = watched(f"{module.__name__}.{name}", getattr(module, name))
            patches.enter_context(patch.object(module, name, function))
        yield seen
