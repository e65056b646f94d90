"""How far each lever may move before more than a little of the objective is lost, as the posterior has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize
from threadpoolctl import threadpool_limits

from optimizer.acquisition.acquisition import PosteriorMean
from optimizer.acquisition.search import posterior_means
from optimizer.agents.recommending import best_predicted
from optimizer.composition.linear import Composition
from optimizer.posterior.decomposed_gp import DecomposedGP
from scenarios.errors import UserError
from scenarios.questions.framing import restricted
from scenarios.questions.question import Question
from scenarios.reporting.judging import Point
from scenarios.reporting.known import Believed
from scenarios.study.facts import Facts
from scenarios.study.study import Study
from simulators.contract.levers import OneOf, Real, Whole

LOSS = 0.01
"""Share of the objective that may be lost."""
STEP = 1e-4
"""Of the unit box, for differences."""
STEPS, LEAST_STEPS = 300, 15
"""Of a maximisation, in all levers and at least: what it has reached by then is given."""
SEARCHES = 60
"""In all, where levers are of several kinds."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reach:
    """How far one lever may move.

    Attributes
    ----------
    label, unit : str
    chosen : float
        As it is stored.
    low, high : float
        Of a number; of a category both are the chosen one.
    within : pair of float
        What the lever may be at all.
    names : tuple of str
        Of a category: those that lose no more.
    """

    label: str
    unit: str
    chosen: float
    low: float
    high: float
    within: tuple[float, float]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reaches:
    """How far the levers may move.

    Attributes
    ----------
    each : list of Reach
    allowed : float
        What may be lost, in the objective's unit.
    candidates : int or None
        How many candidates lose no more, in a finite space.
    """

    each: list[Reach]
    allowed: float
    candidates: int | None


class _Near:
    """Which policies lose no more than is allowed against the chosen one, and keep the limits as surely."""

    def __init__(self, believed: Believed, point: Point) -> None:
        agent = believed.agent
        self.model, self.limits = agent.belief.at(None), agent.settings.limits
        at = np.asarray([point.travels])
        best = float(posterior_means(self.model, at)[0])
        self.allowed = LOSS * abs(best)
        self.least = best - self.allowed
        self.level = 0.0
        if self.limits is not None:
            self.level = min(believed.question.probability, float(self._chance(at)[0])) - 1e-3

    def spare(self, policies: Any) -> Array:
        """What is left of the allowance (n,), as a share of it; below zero too much is lost."""
        left: Array = (posterior_means(self.model, policies) - self.least) / max(self.allowed, 1e-300)
        if self.limits is not None:
            left = np.minimum(left, 10 * (self._chance(policies) - self.level))
        return left

    def slope(self, policies: Any) -> Array | None:
        """The gradient of `spare` in the policy (n, d); None where limits have a part in it."""
        if self.limits is not None:
            return None
        if isinstance(self.model, DecomposedGP) and isinstance(self.model.composition, Composition):
            change: Array = self.model.mean_with_gradient(policies)[1] / max(self.allowed, 1e-300)
            return change
        mean = PosteriorMean()
        posterior, pullback = self.model.posterior_and_pullback(policies)
        gradient: Array = pullback(mean.slopes(posterior)) / max(self.allowed, 1e-300)
        return gradient

    def _chance(self, policies: Any) -> Array:
        assert self.limits is not None
        return self.limits.probability(*self.model.predict_groups(policies))


def reaches(study: Study, believed: Believed, point: Point) -> Reaches:
    """How far each lever may move at a loss of `LOSS` or less, while all others are chosen anew.

    The loss is of the posterior mean, against the policy at `point`; budget and bounds are kept. Every end
    that is given is attained by a policy; where the objective has several valleys, one may reach further.
    """
    near, facts = _Near(believed, point), study.environment
    with threadpool_limits(1):
        if facts.finite:
            return _of_candidates(believed, near, facts, point)
        if all(isinstance(lever, Real) for lever in facts.kinds):
            each = list(_of_numbers(believed, near, facts, point))
        else:
            each = list(_one_by_one(study, believed, near, point))
    return Reaches(each, near.allowed, None)


def _of_candidates(believed: Believed, near: _Near, facts: Facts, point: Point) -> Reaches:
    space = believed.agent.space
    rows = np.arange(len((facts.space or {})["candidates"]))
    good = space.resolve(rows[near.spare(rows) >= 0])
    values, at = space.resolve(rows), space.resolve(np.asarray([point.travels]))[0]
    each = [
        Reach(
            label,
            unit,
            at[i],
            min(good[:, i].min(), at[i]),
            max(good[:, i].max(), at[i]),
            _ends(values[:, i]),
        )
        for i, (label, unit) in enumerate(zip(facts.labels, facts.units, strict=True))
    ]
    return Reaches(each, near.allowed, len(good))


def _ends(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _of_numbers(believed: Believed, near: _Near, facts: Facts, point: Point) -> Iterator[Reach]:
    """By constrained maximisation of each lever up and down, from the chosen policy, in the unit box."""
    space = believed.agent.space
    lower, width = space.lower, space.upper - space.lower
    free = width > 0
    start = np.where(free, (np.array(point.policy) - lower) / np.where(free, width, 1.0), 0.0)
    rows = [(a * width, low - a @ lower, high - a @ lower) for a, low, high in space.constraint_rows()]

    def spare(U: Array) -> Array:
        return near.spare(lower + np.clip(U, 0.0, 1.0) * width)

    def slope(u: Array) -> Array:
        known = near.slope((lower + np.clip(u, 0.0, 1.0) * width)[None])
        if known is not None:
            moved: Array = known[0] * width
            return moved
        steps = STEP * np.eye(len(u))
        values = spare(np.concatenate([u + steps, u - steps]))
        ahead, behind = np.clip(u + STEP, 0, 1), np.clip(u - STEP, 0, 1)
        found: Array = (values[: len(u)] - values[len(u) :]) / (ahead - behind)
        return found

    constraints: list[Any] = [NonlinearConstraint(lambda u: spare(u[None])[0], 0.0, np.inf, jac=slope)]
    if rows:
        matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
        constraints.append(LinearConstraint(matrix, low, high))

    def kept(u: Array) -> bool:
        return bool(spare(u[None])[0] >= -1e-6) and bool(space.contains((lower + u * width)[None])[0])

    known = [np.array(one) for one in believed.agent.belief.history.tried()[0]]
    good = [(x - lower) / np.where(free, width, 1.0) for x in known]
    good = [u for u in good if kept(u)]
    for i, (label, unit) in enumerate(zip(facts.labels, facts.units, strict=True)):
        ends = []
        for sign in (-1.0, 1.0):
            gradient = -sign * np.eye(len(start))[i]
            found = minimize(
                lambda u, g=gradient: float(g @ u), start, jac=lambda u, g=gradient: g, method="SLSQP",
                bounds=Bounds(np.zeros_like(start), np.ones_like(start)), constraints=constraints,
                options={"maxiter": max(LEAST_STEPS, STEPS // len(start)), "ftol": 1e-5},
            )  # fmt: skip
            end = _pulled_back(np.clip(np.nan_to_num(found.x, nan=0.5), 0.0, 1.0), start, kept)[i]
            ends.append(max([sign * end, sign * start[i], *(sign * u[i] for u in good)]) * sign)
        low_, high_ = (float(lower[i] + end * width[i]) for end in ends)
        yield Reach(label, unit, point.policy[i], low_, high_, (float(lower[i]), float(space.upper[i])))


def _pulled_back(u: Array, start: Array, kept: Callable[[Array], bool]) -> Array:
    """The point furthest on the way to u that is kept: a search ends within its own tolerance."""
    if kept(u):
        return u
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(start + middle * (u - start)) else (low, middle)
    return start + low * (u - start)


def _one_by_one(study: Study, believed: Believed, near: _Near, point: Point) -> Iterator[Reach]:
    """By searches in which one lever is held, where levers are of several kinds."""
    facts = study.environment
    halvings = max(2, SEARCHES // (2 * len(facts.labels)))

    def attained(label: str, value: object) -> bool:
        question = Question(fix=(f"{label}={value}",))
        try:
            within = restricted(believed.bound.environment, question, facts)
        except UserError:  # the budget leaves no policy with it
            return False
        search = believed.agent.search()
        if search.limits is not None:
            search = replace(search, level=believed.question.probability)
        assert within is not None
        found = best_predicted(replace(search, space=within))
        return bool(near.spare(np.asarray([found]))[0] >= -1e-6)

    named = zip(facts.labels, facts.units, facts.kinds, point.policy, strict=True)
    for label, unit, lever, chosen in named:
        if isinstance(lever, OneOf):
            own = lever.value(chosen)
            names = tuple(name for name in lever.names if name == own or attained(label, name))
            yield Reach(label, unit, chosen, chosen, chosen, (0.0, len(lever.names) - 1.0), names)
            continue
        step = (lever.high - lever.low) / 2**halvings
        if isinstance(lever, Whole):
            step = float(lever.step * max(1, round(step / lever.step)))
        ends = []
        for bound in (lever.low, lever.high):
            sign = 1.0 if bound >= chosen else -1.0
            steps, beyond = 0, int(abs(bound - chosen) / step + 1e-9) + 1
            while beyond - steps > 1:
                middle = (steps + beyond) // 2
                if attained(label, _text(chosen + sign * middle * step, lever)):
                    steps = middle
                else:
                    beyond = middle
            ends.append(chosen + sign * steps * step)
        yield Reach(label, unit, chosen, min(ends), max(ends), (float(lever.low), float(lever.high)))


def _text(value: float, lever: Any) -> str:
    return str(round(value)) if isinstance(lever, Whole) else repr(value)
