"""Samples outside the trial, to learn priors from: set aside, of a pilot run, or at random policies."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bridges.feedback import search_space
from bridges.seeds import as_int, child
from simulators.environment import Environment, Outcomes, SimulationError

Array = NDArray[np.float64]

NOISE_SAMPLES = 16
"""Steps that tell the noise variance where noise-free outcomes are known."""

PILOT = 96
"""Steps of the pilot run of a living world, at most: four days of hours, more than a daily cycle."""


class Samples(NamedTuple):
    """What was measured where.

    Attributes
    ----------
    features : ndarray of shape (n, p)
        As kernels see them; in a living world with the time as last column.
    policies : ndarray of shape (n, d) or (n,)
        Their policies; any, where measurements were set aside, which have none.
    values : ndarray of shape (n, J)
        Outcomes, noise-free where the environment knows them.
    noise : ndarray of shape (J,) or None
        Mean noise variance of each group, None where a step states none.
    """

    features: Array
    policies: NDArray[Any]
    values: Array
    noise: Array | None


def sample(environment: Environment, n: int, seed: int | np.random.SeedSequence) -> Samples:
    """Return n samples of an environment, fewer where it has set aside fewer measurements.

    Parameters
    ----------
    environment : Environment
        Is reset.
    n : int
        How many.
    seed : int or SeedSequence
        Of policies and noise.

    Raises
    ------
    SimulationError
        If a step fails; in a living world, if all do.
    """
    measured = environment.set_aside
    if measured is None and environment.lives:
        return _pilot(environment, n, seed)
    space = search_space(environment)
    policies = space.sample(n, np.random.default_rng(child(seed, 0)))
    environment.reset(as_int(child(seed, 1)))
    if measured is not None:
        observed = _steps(environment, policies[:NOISE_SAMPLES])
        features, values = (np.asarray(part, dtype=float) for part in measured)
        rows = np.random.default_rng(child(seed, 0)).permutation(len(features))[:n]
        return Samples(features[rows], policies[: len(rows)], values[rows], mean_noise(observed))
    try:
        values = np.asarray(environment.expected(policies), dtype=float)
    except NotImplementedError:
        observed = _steps(environment, policies)
        values = np.array([outcomes.values for outcomes in observed], dtype=float)
    else:
        observed = _steps(environment, policies[:NOISE_SAMPLES])
    return Samples(space.features(policies), policies, values, mean_noise(observed))


def _pilot(environment: Environment, n: int, seed: int | np.random.SeedSequence) -> Samples:
    """Run a living world that has set nothing aside, and sample its noise-free outcomes at each step.

    Raises
    ------
    NotImplementedError
        If they are unknown.
    """
    space = search_space(environment)
    policies = space.sample(n, np.random.default_rng(child(seed, 0)))
    environment.reset(as_int(child(seed, 1)))
    features, values, observed = [], [], []
    for now in np.array_split(policies, min(n, PILOT)):
        features.append(np.column_stack([space.features(now), np.full(len(now), environment.context)]))
        values.append(np.asarray(environment.expected(now), dtype=float))
        observed += _steps(environment, now[:1], needed=0)
    return Samples(np.concatenate(features), policies, np.concatenate(values), mean_noise(observed))


def _steps(environment: Environment, policies: NDArray[np.generic], needed: int = 1) -> list[Outcomes]:
    """Observe policies; that something fails to answer belongs to a living world, as long as not all do."""
    observed: list[Outcomes] = []
    for i, policy in enumerate(policies):
        try:
            observed.append(environment.step(policy))
        except SimulationError:
            if not environment.lives or len(observed) + len(policies) - i - 1 < needed:
                raise
    return observed


def mean_noise(observed: Sequence[Outcomes]) -> Array | None:
    """Mean noise variance of each group (J,), or None where a step states none."""
    stated = [outcomes.noise_variance for outcomes in observed]
    if not stated or not all(noise is not None for noise in stated):
        return None
    mean: Array = np.nanmean(np.array(stated, dtype=float), axis=0)
    return mean
