"""Samples outside the trial, to learn priors from: set aside, of a pilot run, or at random policies."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bridges.composing import known_outcomes
from bridges.feedback import search_space
from bridges.seeds import as_int, child
from bridges.steps import OneByOne, Steps, observe
from optimizer.arrays import Array
from policyloop.messages import on_one_line
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.process_state import kept_process_state, seeded_globals

NOISE_SAMPLES = 16
"""Steps that tell the noise variance where noise-free outcomes are known."""

PILOT = 96
"""Steps of the pilot run of a living world, at most: four days of hours, more than a daily cycle."""


PATIENCE = 20
"""Samples that may fail before any succeeds."""

log: logging.Logger = logging.getLogger("policyloop")


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


def sample(
    environment: Environment, n: int, seed: int | np.random.SeedSequence, steps: Steps | None = None
) -> Samples:
    """N samples of an environment, which is reset; fewer where it has set aside fewer measurements.

    Parameters
    ----------
    environment : Environment
    n : int
    seed : int or SeedSequence
        Of policies and noise.
    steps : Steps, optional
        Who takes the steps; default: the environment itself. Those of a pilot run are always its own.

    Raises
    ------
    SimulationError
        If the first samples all fail (`PATIENCE`), or fewer than two succeed. Other failures are left out.
    """
    steps = steps or OneByOne(environment)
    measured = environment.set_aside
    if measured is None and environment.lives:
        return _pilot(environment, n, seed)
    space = search_space(environment)
    policies = space.sample(n, np.random.default_rng(child(seed, 0)))
    if measured is not None:
        observed = _steps(environment, policies[:NOISE_SAMPLES], seed, steps)
        features, values = (np.asarray(part, dtype=float) for part in measured)
        rows = np.random.default_rng(child(seed, 0)).permutation(len(features))[:n]
        return Samples(features[rows], policies[: len(rows)], values[rows], mean_noise(observed.values()))
    try:
        with kept_process_state(), seeded_globals(0):
            values = known_outcomes(environment, policies)
    except NotImplementedError:
        observed = _steps(environment, policies, seed, steps)
        there = list(observed)
        values = np.array([outcomes.values for outcomes in observed.values()])
    else:
        observed = _steps(environment, policies[:NOISE_SAMPLES], seed, steps)
        there = np.flatnonzero(~np.isnan(values).all(axis=1)).tolist()
        values = values[there]
    if len(there) < 2:
        raise SimulationError(f"only {len(there)} of {n} samples succeeded: too few to learn from")
    policies = policies[there]
    return Samples(space.features(policies), policies, values, mean_noise(observed.values()))


def _pilot(environment: Environment, n: int, seed: int | np.random.SeedSequence) -> Samples:
    """Run a living world that has set nothing aside, and sample its noise-free outcomes at each step.

    NotImplementedError where these are unknown.
    """
    space = search_space(environment)
    policies = space.sample(n, np.random.default_rng(child(seed, 0)))
    environment.reset(as_int(child(seed, 1)))
    features, values = [], []
    steps, observed = OneByOne(environment), list[Outcomes]()
    for now in np.array_split(policies, min(n, PILOT)):
        features.append(np.column_stack([space.features(now), np.full(len(now), environment.context)]))
        values.append(np.asarray(environment.expected(now), dtype=float))
        with suppress(SimulationError):  # that something fails to answer belongs to a living world
            observed.append(observe(environment, now[0], steps=steps))
    return Samples(np.concatenate(features), policies, np.concatenate(values), mean_noise(observed))


def _steps(
    environment: Environment,
    policies: NDArray[np.generic],
    seed: int | np.random.SeedSequence,
    steps: Steps,
) -> dict[int, Outcomes]:
    """Observe policies, one after the other: by index, without those that failed.

    The noise runs on from step to step. After a failure it begins anew: a step that was stopped may have left
    it anywhere.
    """
    observed: dict[int, Outcomes] = {}
    last: SimulationError | None = None
    begin: int | None
    begin = begun = as_int(child(seed, 1))
    for i, policy in enumerate(policies):
        try:
            observed[i] = observe(environment, policy, begin, steps)
            begin = None
        except SimulationError as failure:
            last = failure
            if not observed and i + 1 == min(PATIENCE, len(policies)):
                raise SimulationError(
                    f"none of the first {i + 1} samples succeeded, from which kernels are to be learned; "
                    f"the last: {on_one_line(failure)}",
                    policy=policy,
                    seed=begun,
                ) from failure
            if not environment.lives:
                begin = begun = as_int(child(seed, 1, i + 1))
    if last is not None and not environment.lives:
        log.warning(
            "%d of %d samples failed and are left out; the last: %s",
            len(policies) - len(observed),
            len(policies),
            on_one_line(last),
        )
    return observed


def mean_noise(observed: Iterable[Outcomes]) -> Array | None:
    """Mean noise variance of what was observed of each group (J,); None where some of it states none."""
    stated, known = [], []
    for outcomes in observed:
        if outcomes.noise_variance is None:
            return None
        noise = np.asarray(outcomes.noise_variance, dtype=float)
        stated.append(noise if noise.ndim == 1 else np.diag(noise))
        known.append(~np.isnan(outcomes.values))
    if not stated or np.isnan(np.array(stated)[np.array(known)]).any() or not np.any(known, axis=0).all():
        return None
    mean: Array = np.nanmean(np.where(known, stated, np.nan), axis=0)
    return mean
