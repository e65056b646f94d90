"""An environment as a study knows it, for readers: nothing that the study's file names is imported or run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint

import bridges
from bridges.members import ensemble_of
from bridges.reframed import ReframedEnvironment
from optimizer.composition.ready import ReadyComposition, ready
from scenarios.study.facts import Facts
from simulators import Environment, Outcomes, PolicySpace, SimulationError
from simulators.contract.outcome_limit import Limit
from simulators.contract.process_state import kept_process_state
from simulators.contract.validation import expected_ranges

SAMPLES = 32
"""Policies of a space of numbers at which weights are compared, to see that they are the same everywhere."""

Array = NDArray[np.float64]


def facts_of(environment: Environment) -> Facts:
    """All that readers of a study must know of an environment."""
    try:
        with kept_process_state():
            composition = stored_composition(environment)
    except Exception:  # a composition that fails is the rounds' failure
        composition = None
    ranges = expected_ranges(environment)
    return Facts.of(environment)._replace(
        space=stored_space(environment.policy_space),
        composition=composition,
        outcome_range=None if ranges is None else [_ends(ends, 2) for ends in ranges],
        limits=[_limit(one) for one in environment.limits],
    )


def _limit(limit: Limit) -> dict[str, Any]:
    """A limit on outcomes as plain data, without the sides that it has not."""
    low, high = _ends([limit.at_least, limit.at_most], 2)
    what = {"weights": dict(limit.weights)} if limit.function is None else {"function": limit.name}
    return what | {key: end for key, end in (("at_least", low), ("at_most", high)) if end is not None}


def stored_space(space: PolicySpace) -> dict[str, Any]:
    """What is to be known of a policy space besides its labels, units and levers, as plain data."""
    found: dict[str, Any] = {"candidates": None, "features": None, "bounds": None, "constraint": None}
    if space.candidates is not None:
        features = space.embed(np.arange(len(space.candidates)))
        found["candidates"] = space.candidates.tolist()
        if not np.array_equal(features, space.candidates):
            found["features"] = features.tolist()
        if space.bounds is not None:
            found["bounds"] = [_ends(end, space.d) for end in (space.bounds.lb, space.bounds.ub)]
    if space.constraint is not None:
        A = space.constraint.A
        matrix = np.atleast_2d(A.toarray() if hasattr(A, "toarray") else A)
        ends = [_ends(end, len(matrix)) for end in (space.constraint.lb, space.constraint.ub)]
        found["constraint"] = [matrix.tolist(), *ends]
    return found


def _ends(ends: ArrayLike, count: int) -> list[float | None]:
    """Lower or upper ends, None where there is none: JSON has no infinity."""
    found = np.broadcast_to(np.asarray(ends, dtype=float), count).tolist()
    return [end if np.isfinite(end) else None for end in found]


def read_space(facts: Facts) -> PolicySpace:
    """The policy space of a study's environment; ValueError where the study is from before it was stored."""
    if facts.space is None:
        raise ValueError("the study is from before policy spaces were stored")
    stored, limits = facts.space, facts.space["constraint"]
    constraint = None
    if limits is not None:
        matrix, low, high = limits
        constraint = LinearConstraint(np.array(matrix), *_limits(low, high))
    if stored["candidates"] is None:
        return PolicySpace(facts.labels, facts.units, levers=facts.kinds, constraint=constraint)
    bounds = None if stored["bounds"] is None else Bounds(*_limits(*stored["bounds"]))
    return PolicySpace(
        facts.labels,
        facts.units,
        candidates=stored["candidates"],
        features=stored["features"],
        bounds=bounds,
        constraint=constraint,
    )


def _limits(low: Sequence[float | None], high: Sequence[float | None]) -> tuple[Array, Array]:
    lower = np.array([-np.inf if end is None else end for end in low])
    return lower, np.array([np.inf if end is None else end for end in high])


def stored_composition(environment: Environment) -> dict[str, Any] | None:
    """A composition as plain data: weights and offset of a linear one, or of each member of an ensemble.

    Of one policy each in a finite space, else the same for all. An ensemble of the worst, or of a share of
    the worst, has a row for each member, and says by `over` what is made of them. None where weights vary
    over a space that is not finite, or the composition is another one. Where the scenario names an objective
    in its place, it is that of the environment itself.
    """
    if isinstance(environment, ReframedEnvironment) and isinstance(environment.objective, ReadyComposition):
        environment = environment.inner
    ensemble = ensemble_of(environment)
    if ensemble is not None and ensemble.over is not None:
        return _of_members(ensemble)
    if bridges.is_general(environment):
        return None
    candidates = environment.policy_space.candidates
    policies: Any = (
        bridges.search_space(environment).sample(SAMPLES, np.random.default_rng(0))
        if candidates is None
        else np.arange(len(candidates))
    )
    J = len(environment.groups)
    offset = np.asarray(environment.compose(np.zeros((len(policies), J)), policies), dtype=float)
    # Each weight by itself: an environment that inherits the sum names none.
    one = np.ones((len(policies), 1))
    weights = np.stack([environment.compose(unit * one, policies) - offset for unit in np.eye(J)], axis=1)
    if np.allclose(weights, weights[0], rtol=1e-12) and np.allclose(offset, offset[0], rtol=1e-12):
        return {"weights": weights[0].tolist(), "offset": float(offset[0])}
    if candidates is not None:
        return {"weights": weights.tolist(), "offset": offset.tolist()}
    return None


def _of_members(ensemble: bridges.EnsembleEnvironment) -> dict[str, Any] | None:
    """The linear compositions of an ensemble's members, and what is made of them."""
    each = [stored_composition(one) for one in ensemble.members]
    known = [one for one in each if one is not None and np.ndim(one["offset"]) == 0]
    if len(known) < len(each) or ensemble.over is None:
        return None
    level = getattr(ensemble.over, "level", None)
    return {
        "weights": [one["weights"] for one in known],
        "offset": [one["offset"] for one in known],
        "over": ensemble.over.name,
        "options": {} if level is None else {"level": level},
    }


class StoredEnvironment(Environment):
    """What a study tells of its environment, which cannot be stepped.

    Parameters
    ----------
    facts : Facts
    composed : bool, default True
        Whether its composition is needed, and not only its groups.
    composing : Environment, optional
        Who composes, where the study holds no composition: the environment itself, made anew.

    Raises
    ------
    ValueError
        The study is from before this was stored, or its composition is needed and not linear.
    """

    def __init__(self, facts: Facts, *, composed: bool = True, composing: Environment | None = None) -> None:
        self.name: str
        self.policy_space: PolicySpace
        self.name, self.policy_space = facts.name, read_space(facts)
        self.groups: tuple[str, ...]
        self.group_units: tuple[str, ...]
        self.groups, self.group_units = tuple(facts.groups), tuple(facts.group_units)
        self.objective_unit: str
        self.objective_unit, self.sense = facts.objective_unit, facts.sense
        if facts.outcome_range is not None:
            low, high = zip(*facts.outcome_range, strict=True)
            self.outcome_range: Any = np.stack(_limits(low, high), axis=1).tolist()
        if facts.current_policy is not None and not self.policy_space.finite:
            self.current_policy: Array = np.array(facts.current_policy)
            self.current_policy_label: str = facts.current_policy_label
        self._terms: tuple[Array, Array] | None = None
        self._over: ReadyComposition | None = None
        self._composing = composing
        if facts.composition is not None:
            if "over" in facts.composition:
                self._over = ready(facts.composition["over"], facts.sense, **facts.composition["options"])
            self._terms = (
                np.array(facts.composition["weights"], dtype=float),
                np.array(facts.composition["offset"], dtype=float),
            )
        elif composed and composing is None:
            self._composition()

    def _composition(self) -> tuple[Array, Array]:
        """Weights (J,) or (N, J), and offset () or (N,)."""
        if self._terms is None:
            raise ValueError("the study holds no linear composition")
        return self._terms

    @property
    def constant_terms(self) -> tuple[Array, float] | None:
        """The weights (J,) and the offset, where they are the same for all policies."""
        if self._terms is None or self._over is not None or self._terms[0].ndim > 1:
            return None
        return self._terms[0], float(self._terms[1])

    def step(self, policy: Any) -> Outcomes:
        """SimulationError: nothing is simulated here."""
        raise SimulationError("a study is read, and nothing of it is simulated")

    def weights(self, policies: Any) -> Array | None:
        """g_j(x) of policies, (n, J); None where the composition is not linear."""
        if self._over is not None or self._composing is not None:
            return None
        shape, (weights, _) = (len(policies), len(self.groups)), self._composition()
        found: Array = np.broadcast_to(weights if weights.ndim == 1 else weights[np.asarray(policies)], shape)
        return found

    def compose(self, outcomes: ArrayLike, policies: Any) -> Array:
        """The objective (...,) of outcomes (..., J)."""
        if self._composing is not None:
            return self._composing.compose(outcomes, policies)
        if self._over is not None:
            return self._over(self._by_member(np.asarray(outcomes, dtype=float)))
        weights, offset = self._composition()
        if weights.ndim > 1:
            rows = np.asarray(policies, dtype=int)
            weights, offset = weights[rows], offset[rows]
        found: Array = (np.asarray(outcomes, dtype=float) * weights).sum(axis=-1) + offset
        return found

    def _by_member(self, outcomes: Array) -> Array:
        """The objectives (..., M) of the members of an ensemble."""
        weights, offset = self._composition()  # (M, J) and (M,)
        parts = outcomes.reshape(*outcomes.shape[:-1], *weights.shape)
        found: Array = (parts * weights).sum(axis=-1) + offset
        return found

    @property
    def gradient(self) -> Any:
        """The slopes dg/df_j, where they are known."""
        if self._composing is not None:
            return getattr(self._composing, "gradient", None)
        return None if self._over is None else self._slopes

    def _slopes(self, outcomes: ArrayLike, policies: Any) -> Array:
        assert self._over is not None
        values = np.asarray(outcomes, dtype=float)
        outer = self._over.slopes(self._by_member(values))
        found: Array = (outer[..., None] * self._composition()[0]).reshape(values.shape)
        return found
