"""Priors of an environment's groups: learned from samples outside the trial, or named by the environment.

Learned priors are frozen (paper, sections 8.2.2 and 8.2.3); a world that was drawn names what it was drawn
from (section 8.2.1). The samples are, by what the environment offers: measurements that it has set aside; a
pilot run, where the world lives; or random policies.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bridges.composing import nan_where_it_fails
from bridges.feedback import composed_noise
from bridges.priors.outcomes import PriorOutcomes
from bridges.priors.samples import sample
from bridges.seeds import as_int, child
from bridges.steps import Steps
from optimizer.prior.correlation import residual_correlation
from optimizer.prior.learning import ON_GRAPH
from optimizer.prior.learning import learn_prior as learn_from_samples
from optimizer.prior.prior import Prior
from simulators.contract.environment import Environment, SimulationError


def learn_prior(
    environment: Environment,
    *,
    family: str = "rbf",
    samples: int = 1000,
    restarts: int = 2,
    seed: int | np.random.SeedSequence = 0,
    own: bool = False,
    correlated: bool = False,
    jobs: int = 1,
    on_group: Callable[[int], None] | None = None,
    mean_from: PriorOutcomes | None = None,
    steps: Steps | None = None,
) -> Prior:
    """Prior of every group, or of the composed value, from samples outside the trial.

    Measurements that the environment has set aside (`Environment.set_aside`) are the samples, and a few steps
    tell the noise variance. Otherwise random feasible policies are sampled. Where the environment knows its
    noise-free outcomes, those are the samples, many policies at once, and a few steps tell the noise
    variance; elsewhere every sample is a step.

    In a world that lives, the kernel is one of the family over places times a Matern kernel over time, whose
    length scale tells how fast old observations fade. It is learned from a pilot run: the measurements set
    aside have the time as last feature. Where nothing is set aside, the world itself is run, and sampled at
    some random policies at each of its steps.

    Parameters
    ----------
    environment : Environment
        Sampled at policies drawn uniformly, unless it has measurements set aside.
    family : str, default="rbf"
        Kernel family, see `optimizer.learn_prior`. "diffusion" takes the environment's `graph`. A target
        names one of your own, as `optimizer.register_family` takes it.
    samples : int, default=1000
        Number of samples; of measurements set aside, at most so many, drawn at random.
    restarts : int, default=2
        More random starts of the marginal likelihood.
    seed : int or SeedSequence, default=0
        Of policies, noise and starts.
    own : bool, default=False
        Learn one kernel of the composed values instead, for aggregate agents with `kernel="own"`.
    correlated : bool, default=False
        Learn as well how groups go together (`optimizer.prior.correlation`); without meaning for `own`.
    jobs : int, default=1
        Processes that learn groups side by side; the result does not depend on it.
    on_group : callable, optional
        Called with j after each group, to show progress.
    mean_from : PriorOutcomes, optional
        Another environment's outcomes. The prior is then one of the discrepancy, the outcomes less those;
        `mean_from.above(prior)` makes it one of the outcomes.
    steps : Steps, optional
        Who takes the steps; default: the environment itself. The prior must not depend on it.

    Raises
    ------
    ValueError
        If the family is unknown or `samples` is below 2; if there is a `mean_from`, but the samples are
        measurements set aside, which have no policies.
    SimulationError
        If a step fails.
    """
    if samples < 2:
        raise ValueError(f"samples must be at least 2, not {samples}")
    if mean_from is not None and environment.set_aside is not None:
        raise ValueError(f"{environment.name} learns from measurements set aside: its prior means are theirs")
    features, policies, values, noise = sample(environment, samples, seed, steps)
    if own:
        if noise is not None:
            spread = np.broadcast_to(noise, values.shape)
            known = composed_noise(environment, values, spread, policies)
            known = known[np.isfinite(known)]
            noise = known.mean(keepdims=True) if known.size else None
        values = nan_where_it_fails(environment.compose, (len(values),), values, policies)[:, None]
        if np.isnan(values).all():
            raise SimulationError(f"compose fails at all of {len(values)} samples, or gives no finite number")
    if mean_from is not None:
        values = values - (mean_from.composed(policies)[:, None] if own else mean_from(policies))
    prior = learn_from_samples(
        family,
        features,
        values,
        graph=getattr(environment, "graph", None) if family == ON_GRAPH else None,
        time=environment.lives,
        noise_variances=noise,
        restarts=restarts,
        seed=as_int(child(seed, 2)),
        jobs=jobs,
        on_group=on_group,
    )
    if not correlated or own:
        return prior
    return replace(prior, correlation=residual_correlation(prior, features, values))


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
