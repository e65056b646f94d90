"""Priors of an environment's groups: learned from samples outside the trial, or named by the environment.

Learned priors are frozen (paper, sections 8.2.2 and 8.2.3); a world that was drawn names what it was drawn
from (section 8.2.1).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bridges.feedback import composed_noise, search_space
from bridges.seeds import as_int, child
from optimizer.kernel_learning import learn_prior as learn_from_samples
from optimizer.prior import Prior
from simulators.environment import Environment, Outcomes

Array = NDArray[np.float64]

NOISE_SAMPLES = 16
"""Steps that tell the noise variance where noise-free outcomes are known."""


def learn_prior(
    environment: Environment,
    *,
    family: str = "rbf",
    samples: int = 1000,
    restarts: int = 2,
    seed: int | np.random.SeedSequence = 0,
    own: bool = False,
    jobs: int = 1,
    on_group: Callable[[int], None] | None = None,
) -> Prior:
    """Prior of every group, or of the composed value, from samples at random feasible policies.

    Where the environment knows its noise-free outcomes, those are the samples, many policies at once, and a
    few steps tell the noise variance; elsewhere every sample is a step.

    Parameters
    ----------
    environment : Environment
        Sampled at policies drawn uniformly.
    family : str, default="rbf"
        Kernel family, see `optimizer.learn_prior`.
    samples : int, default=1000
        Number of samples.
    restarts : int, default=2
        More random starts of the marginal likelihood.
    seed : int or SeedSequence, default=0
        Of policies, noise and starts.
    own : bool, default=False
        Learn one kernel of the composed values instead, for aggregate agents with `kernel="own"`.
    jobs : int, default=1
        Processes that learn groups side by side; the result does not depend on it.
    on_group : callable, optional
        Called with j after each group, to show progress.

    Raises
    ------
    ValueError
        If the family is unknown or `samples` is below 2.
    SimulationError
        If a step fails.
    """
    if samples < 2:
        raise ValueError(f"samples must be at least 2, not {samples}")
    space = search_space(environment)
    policies = space.sample(samples, np.random.default_rng(child(seed, 0)))
    environment.reset(as_int(child(seed, 1)))
    try:
        values = np.asarray(environment.expected(policies), dtype=float)
    except NotImplementedError:
        observed = [environment.step(policy) for policy in policies]
        values = np.array([outcomes.values for outcomes in observed], dtype=float)
    else:
        observed = [environment.step(policy) for policy in policies[:NOISE_SAMPLES]]
    noise = mean_noise(observed)
    if own:
        if noise is not None:
            composed = composed_noise(environment, values, np.broadcast_to(noise, values.shape), policies)
            noise = None if composed is None else composed.mean(keepdims=True)
        values = np.asarray(environment.compose(values, policies))[:, None]
    return learn_from_samples(
        family,
        space.features(policies),
        values,
        noise_variances=noise,
        restarts=restarts,
        seed=as_int(child(seed, 2)),
        jobs=jobs,
        on_group=on_group,
    )


def known_prior(environment: Environment) -> Prior:
    """The prior that an environment names: the Gaussian processes from which its functions were drawn.

    Parameters
    ----------
    environment : Environment
        With the attributes `kernels` (J kernels) and `noise_variances` (J,), as `simulators.Synthetic` has.

    Returns
    -------
    Prior
        Those, with means of zero.

    Raises
    ------
    ValueError
        If the environment does not have both, or not one of each a group.
    """
    kernels = getattr(environment, "kernels", None)
    noise = getattr(environment, "noise_variances", None)
    if kernels is None or noise is None:
        raise ValueError(
            f"{environment.name} names no prior (kernels and noise_variances): learn one from samples"
        )
    J = len(environment.groups)
    if len(kernels) != J:
        raise ValueError(f"{environment.name} names {len(kernels)} kernels for {J} groups")
    return Prior(list(kernels), np.array(noise, dtype=float), [0.0] * J)


def mean_noise(observed: Sequence[Outcomes]) -> Array | None:
    """Mean noise variance of each group (J,), or None where a step states none."""
    stated = [outcomes.noise_variance for outcomes in observed]
    if not all(noise is not None for noise in stated):
        return None
    mean: Array = np.array(stated, dtype=float).mean(axis=0)
    return mean
