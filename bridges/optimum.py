"""The true optimum x* behind the regret, from the noise-free outcomes of an environment that knows them."""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridges.composing import known_outcomes, nan_where_it_fails
from bridges.feedback import search_space
from optimizer.arrays import Array
from optimizer.space.bounded_space import BoundedSpace
from optimizer.space.feasible_gradient import feasible_differences
from simulators.contract.environment import Environment
from simulators.contract.process_state import kept_process_state, seeded_globals

log = logging.getLogger("policyloop")

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
        None where `expected` is unknown, or what earlier policies did has a part in it: then there is no
        regret.
    """
    if environment.has_memory and not environment.lives:
        return None
    with kept_process_state(), seeded_globals(0):
        return _search(environment, seed)


def _search(environment: Environment, seed: int) -> Optimum | None:
    sign = environment.sign
    space = search_space(environment)

    def value(policies: Any) -> Array:
        outcomes = known_outcomes(environment, policies)
        return sign * nan_where_it_fails(environment.compose, (len(policies),), outcomes, policies)

    try:
        known_outcomes(environment, space.sample(1, np.random.default_rng(seed)))
    except NotImplementedError:
        return None
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
    at = np.asarray([policy])
    return Optimum(
        policy=space.resolve(at)[0],
        row=int(policy) if space.finite else None,
        value=sign * float(best),
        outcomes=known_outcomes(environment, at)[0],
    )
