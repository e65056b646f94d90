"""The true optimum x* behind the regret, from the noise-free outcomes of an environment that knows them."""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridges.composing import known_outcomes, nan_where_it_fails
from bridges.feedback import search_space
from bridges.limited_optimum import NoneKept, best_within
from bridges.reframed import outcome_limits
from optimizer.arrays import Array
from optimizer.space.bounded_space import BoundedSpace
from optimizer.space.feasible_gradient import feasible_differences
from optimizer.space.search_space import SearchSpace
from simulators.contract.environment import Environment
from simulators.contract.process_state import kept_process_state, seeded_globals

log: logging.Logger = logging.getLogger("policyloop")

POINTS, STARTS = 4096, 12
"""Random policies evaluated, and the best of them refined, in a bounded policy space."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best policy of a world, noise-free.

    Attributes
    ----------
    policy : ndarray of shape (d,)
        x*.
    row : int or None
        Its candidate row in a finite space.
    value : float
        f(x*), in the objective's unit.
    outcomes : ndarray of shape (J,)
        f_j(x*).
    """

    policy: Array
    row: int | None
    value: float
    outcomes: Array


def find_optimum(environment: Environment, seed: int = 0) -> Optimum | None:
    """Find x* by exhaustion of the candidates, or by a many-start search of the bounded policy space.

    Parameters
    ----------
    environment : Environment
        Its `expected` is searched. In a living world that is the coming step's, and so is the optimum.
    seed : int, default=0
        Of the random starts.

    Returns
    -------
    Optimum or None
        None where `expected` is unknown, or what earlier policies did has a part in it, or no policy keeps
        the environment's limits: then there is no regret.
    """
    if environment.has_memory and not environment.lives:
        return None
    with kept_process_state(), seeded_globals(0):
        return _search(environment, seed)


def find_worst(environment: Environment, seed: int = 0) -> float:
    """The objective of the worst policy within the limits, with which a policy that breaks one is charged.

    nan where the optimum is unknown, or there are no limits.
    """
    if outcome_limits(environment) is None or (environment.has_memory and not environment.lives):
        return float("nan")
    with kept_process_state(), seeded_globals(0):
        worst = _search(environment, seed, -1.0)
    return float("nan") if worst is None else worst.value


def regret(
    environment: Environment, optimum: Optimum, worst: float, expected: float, outcomes: Array | None
) -> float:
    """What a policy of this noise-free objective and these outcomes lacks to the optimum.

    One that breaks a limit lacks as much as the `worst` policy that keeps all.
    """
    limits = outcome_limits(environment)
    if limits is not None and not (outcomes is not None and limits.kept(outcomes)):
        expected = worst if outcomes is not None else float("nan")
    return environment.sign * (optimum.value - expected)


def _search(environment: Environment, seed: int, direction: float = 1.0) -> Optimum | None:
    """The best policy; the worst one in the direction -1."""
    sign = direction * environment.sign
    space = search_space(environment)
    limits = outcome_limits(environment)

    def value(policies: Any) -> Array:
        outcomes = known_outcomes(environment, policies)
        return sign * nan_where_it_fails(environment.compose, (len(policies),), outcomes, policies)

    try:
        known_outcomes(environment, space.sample(1, np.random.default_rng(seed)))
    except NotImplementedError:
        return None
    if limits is not None:
        try:
            policy = best_within(
                space,
                lambda outcomes, at: sign * nan_where_it_fails(environment.compose, (len(at),), outcomes, at),
                lambda at: known_outcomes(environment, at),
                limits,
                seed,
            )
        except NoneKept as error:
            nearest = np.asarray([error.nearest])
            entries = environment.policy_space.named(error.nearest)
            reached = limits.values(known_outcomes(environment, nearest)[0]).tolist()
            log.warning(
                "no best policy, and no regret: no policy was found that keeps %s; the nearest, %s, has %s",
                ", ".join(limits.names),
                ", ".join(f"{name} {x if isinstance(x, str) else f'{x:.3g}'}" for name, x in entries.items()),
                ", ".join(f"{value:.4g}" for value in reached),
            )
            return None
        return _as_optimum(environment, space, policy, sign * float(value(np.asarray([policy]))[0]))
    try:
        policy, best = space.maximise(
            value,
            feasible_differences(space.polytope, value) if isinstance(space, BoundedSpace) else None,
            np.random.default_rng(seed),
            points=POINTS,
            starts=STARTS,
        )
    except ValueError:
        if np.isfinite(value(space.sample(100, np.random.default_rng(seed)))).any():
            raise
        log.warning("no best policy, and no regret: expected or compose failed at every policy")
        return None
    return _as_optimum(environment, space, policy, sign * float(best))


def _as_optimum(environment: Environment, space: SearchSpace, policy: Any, value: float) -> Optimum:
    at = np.asarray([policy])
    return Optimum(
        policy=space.resolve(at)[0],
        row=int(policy) if space.finite else None,
        value=value,
        outcomes=known_outcomes(environment, at)[0],
    )
