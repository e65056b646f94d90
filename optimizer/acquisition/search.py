"""The search for the policy that an acquisition likes best: a model, an acquisition and a space, joined.

An acquisition sees the composed posterior either as its mean and variance (`optimizer.acquisition.moments`),
or as samples (`optimizer.acquisition.samples`) where a general g is propagated by them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from optimizer.acquisition.moments import UCB, Acquisition, ExpectedImprovement, ProbabilityOfImprovement
from optimizer.acquisition.samples import (
    SampledAcquisition,
    SampledImprovement,
    SampledMean,
    SampledProbability,
    SampledUCB,
)
from optimizer.agents.history import History
from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition
from optimizer.composition.propagation import Sampled
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.space.search_space import SearchSpace

Model = DecomposedGP | CandidatePosterior


class Kinds(NamedTuple):
    """The acquisitions that fit a composition, by the names that agents know them by."""

    ucb: type[UCB] | type[SampledUCB]
    ei: type[ExpectedImprovement] | type[SampledImprovement]
    mpi: type[ProbabilityOfImprovement] | type[SampledProbability]
    mean: Acquisition | SampledAcquisition


def acquisition_kinds(composition: BaseComposition) -> Kinds:
    """Acquisitions of samples where the composition is propagated by samples, of moments elsewhere."""
    if isinstance(composition, GeneralComposition) and isinstance(composition.propagation, Sampled):
        return Kinds(SampledUCB, SampledImprovement, SampledProbability, SampledMean())
    return Kinds(UCB, ExpectedImprovement, ProbabilityOfImprovement, UCB(0.0))


def score(model: Model, acquisition: Acquisition | SampledAcquisition, policies: Policies) -> Array:
    """What the search maximises, at policies (n, d) or rows (n,): shape (n,)."""
    if isinstance(acquisition, SampledAcquisition):
        composition, propagation = _sampled(model)
        samples = propagation.samples(composition, *model.predict_groups(policies), policies)
        return acquisition.score(samples)
    return acquisition.score(*model.predict(policies))


def score_and_gradient(
    model: DecomposedGP, acquisition: Acquisition | SampledAcquisition, X: Array
) -> tuple[Array, Array]:
    """The same at policies (n, d), with its gradient (n, d): the chain rule through g and every group."""
    if isinstance(acquisition, SampledAcquisition):
        composition, propagation = _sampled(model)
        groups = model.predict_groups_with_gradients(X)
        samples = propagation.samples(composition, groups.means, groups.variances, X)
        (slopes,) = propagation.pullback(
            composition, groups.means, groups.variances, X, acquisition.partials(samples)
        )
        return acquisition.score(samples), groups.chain(slopes)
    mean, variance, mean_slope, variance_slope = model.predict_with_gradients(X)
    in_mean, in_variance = acquisition.partials(mean, variance)
    gradient = in_mean[:, None] * mean_slope + in_variance[:, None] * variance_slope
    return acquisition.score(mean, variance), gradient


def maximise(
    space: SearchSpace,
    model: Model,
    acquisition: Acquisition | SampledAcquisition,
    rng: Callable[[], np.random.Generator],
    history: History,
) -> Any:
    """The policy with the highest score: the best candidate, or the end of a search from many starts.

    Parameters
    ----------
    space, model, acquisition
        What is searched for what.
    rng : callable
        Gives the generator of the starts in a bounded space.
    history : History
        The best few policies observed so far are starts in a bounded space.

    Returns
    -------
    ndarray of shape (d,), or int
        A feasible policy, or a candidate's row.
    """

    def value(policies: Policies) -> Array:
        return score(model, acquisition, policies)

    if isinstance(model, CandidatePosterior) or space.finite:
        return space.maximise(value, None, None)[0]
    return space.maximise(
        value,
        lambda X: score_and_gradient(model, acquisition, X),
        rng(),
        extra=incumbents(model, history.observed),
    )[0]


def incumbents(model: DecomposedGP, observed: Policies) -> Array | None:
    """The few observed policies with the best posterior means: good starts once something is known."""
    if not len(observed):
        return None
    distinct = np.unique(np.asarray(observed, dtype=float), axis=0)
    return distinct[np.argsort(-model.predict(distinct)[0], kind="stable")[:3]]


def _sampled(model: Model) -> tuple[GeneralComposition, Sampled]:
    composition = model.composition
    assert isinstance(composition, GeneralComposition) and isinstance(composition.propagation, Sampled)
    return composition, composition.propagation
