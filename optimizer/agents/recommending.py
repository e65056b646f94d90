"""Which policy an agent recommends: the best that it predicts, unless one that was tried is as good a choice.

The maximum of a posterior mean over a whole space is the maximum of what is predicted, and where kernels do
not fit, predictions far from all that was tried err most. So the best policy that is predicted is checked
against the best that was tried, by the posterior of both together, and the posterior against its own data,
each observation against what all others say of it (Rasmussen & Williams 2006, section 5.4.2).
"""

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import ndtr

from optimizer.acquisition.acquisition import PosteriorMean
from optimizer.acquisition.caution import RECOMMENDED
from optimizer.acquisition.search import Search, posterior_means
from optimizer.agents.agent import CREDIBLE
from optimizer.agents.belief import Belief
from optimizer.arrays import Array, Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.propagation import credible_interval, standard_normal_points
from optimizer.posterior.cholesky import safe_cholesky
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.gaussian_process import GaussianProcess
from optimizer.posterior.inputs import prior_mean_at, stated_or_own, with_least

SURE = 0.75
"""An untried policy that is better than the best tried one with less probability is recommended only where
the bad end of its interval is no worse."""
CONTRADICTED = 2.0
"""Root mean square of standardised leave-one-out errors above which no prediction is recommended."""
ENOUGH, LATEST = 5, 500
"""Observations of a group below which it is not looked at, and how many of the latest are."""
SLACK = 1e-3
"""How much less than the probability asked for is still it: a search ends within its own tolerance."""
TRIES = 3
"""Searches that aim above the probability asked for, where one ended below it."""
HOPELESS = 0.05
"""Where no policy keeps the limits with more than this, the one that is predicted to break them least is
recommended: the most probable one would be one of which little is known."""
SAMPLES = 1024
"""Of two policies' outcomes together, where g is general."""
HEAVY = 200_000_000
"""Bytes above which a posterior is not copied: two policies are then taken to err in opposite directions."""


def recommended(belief: Belief, time: float | None, search: Search) -> Any:
    """The policy (d,), or the candidate's row, to recommend.

    Parameters
    ----------
    belief : Belief
        What is believed; it has a model.
    time : float or None
        For which it is, in a world that lives.
    search : Search
        On the posterior, among policies that probably work; with limits, and the probability asked for.
    """
    tried, _ = belief.history.tried()
    tried = tried[search.space.contains(tried)] if len(tried) else tried
    if not len(tried):
        return best_predicted(search)
    model, works = search.model, None if time is not None else belief.caution(None, RECOMMENDED)
    means = np.nan_to_num(posterior_means(model, tried), nan=-np.inf)
    if works is not None:
        probability = works.feasibility.probability(tried)
        if probability.max() < RECOMMENDED:
            return tried[np.lexsort((means, probability))[-1]]
        means = np.where(probability >= RECOMMENDED, means, -np.inf)
    if search.limits is not None:
        return keeping_limits(search, tried, means, contradicted(belief))
    leader = tried[np.argmax(means)]
    if contradicted(belief):
        return leader
    found = best_predicted(search)
    if works is not None and works.feasibility.probability(np.asarray([found]))[0] < RECOMMENDED - 1e-3:
        return leader
    return preferred(model, found, leader)


def best_predicted(search: Search) -> Any:
    """The policy with the best posterior mean; with limits, among those that keep them with the level asked.

    Where none was found with it, the search begins anew at the one that keeps them most probably, which is
    the answer where that does not reach it either. A price on what is missing lets a search end a little
    below the level: it then aims so much above.
    """
    limits, level = search.limits, search.level
    found = PosteriorMean().choose(search)
    if limits is None or level is None:
        return found
    aim, surest = level, None
    for _ in range(TRIES):
        lacking = level - float(limits.probability(np.asarray([found]))[0])
        if lacking <= SLACK:
            return found
        if surest is None:
            surest = search.most_certain()
            if limits.probability(np.asarray([surest]))[0] < level:
                return surest
        aim = min(aim + 2 * lacking, (aim + 1) / 2)
        starts = partial(np.asarray, [surest, found])
        found = PosteriorMean().choose(replace(search, level=aim, history=starts))
    return found if limits.probability(np.asarray([found]))[0] >= level - SLACK else surest


def keeping_limits(search: Search, tried: Policies, means: Array, doubtful: bool) -> Any:
    """The same as `recommended` under limits, of policies tried with these posterior means.

    Keeping the limits with the probability asked for comes first, then the objective; where no policy does,
    the one that does so most probably. Predictions that are `doubtful` are left out where a policy tried
    keeps the limits.
    """
    limits, level = search.limits, search.level
    assert limits is not None and level is not None
    # By logarithms: where none comes near, the probabilities may all be zero to the last digit.
    keeps = np.where(np.isfinite(means), limits.log(tried), -np.inf)  # else they probably fail
    leader = tried[np.argmax(np.where(keeps >= np.log(level), means, -np.inf))]
    if keeps.max() >= np.log(level) and doubtful:
        return leader
    found = best_predicted(search)
    chance = float(limits.log(np.asarray([found]))[0])
    if max(keeps.max(), chance) < np.log(HOPELESS):
        return least_broken(search, np.concatenate([tried[np.isfinite(means)], np.asarray([found])]))
    if keeps.max() < np.log(level):
        return found if chance > keeps.max() else tried[np.argmax(keeps)]
    return preferred(search.model, found, leader) if chance >= np.log(level - SLACK) else leader


def least_broken(search: Search, policies: Policies) -> Any:
    """Of policies that hardly keep the limits, the one whose predicted outcomes break them least.

    By the sum over limits of what is exceeded, each measured by its spread over these policies.
    """
    assert search.limits is not None
    means, _ = search.model.predict_groups(policies)
    limits = search.limits.limits
    spread = np.std(limits.values(means), axis=0)
    broken = limits.excess(means) / np.where(spread > 0, spread, 1.0)
    return policies[np.argmin(broken.sum(axis=1))]


def preferred(model: Any, found: Any, leader: Any) -> Any:
    """Of the best predicted policy and the best tried one, the former only where it is as good a choice."""
    if no_riskier(model, found, leader) or probably_better(model, found, leader) >= SURE:
        return found
    return leader


def no_riskier(model: Any, policy: Any, other: Any) -> bool:
    """Whether the bad end of a policy's 95 % credible interval is no worse than another's."""
    ends = []
    for one in (policy, other):
        mean, variance = model.predict(np.asarray([one]))
        ends.append(float(mean[0] - CREDIBLE * np.sqrt(variance[0])))
    return ends[0] >= ends[1]


def probably_better(model: Any, policy: Any, other: Any) -> float:
    """The probability that a policy's signed objective is higher than another's, by their joint posterior."""
    at, against = np.asarray([policy]), np.asarray([other])
    if np.array_equal(at, against):
        return 0.0
    (mean, variance), (mean_other, variance_other) = (model.predict_groups(x) for x in (at, against))
    bound = np.sqrt(variance * variance_other)
    covariance = np.clip(_covariances(model, at, against, bound), -bound, bound)
    composition: BaseComposition = model.composition
    if isinstance(composition, Composition):
        here, there = composition.weights(at), composition.weights(against)
        gain = float((composition.compose(mean, at) - composition.compose(mean_other, against))[0])
        spread = here**2 * variance + there**2 * variance_other - 2 * here * there * covariance
        deviation_of_gain = float(np.sqrt(max(spread.sum(), 0.0)))
        return float(ndtr(gain / deviation_of_gain)) if deviation_of_gain > 0 else float(gain > 0)
    J = composition.groups
    z = standard_normal_points(SAMPLES, 2 * J, 0)[:, None, :]
    share = np.divide(covariance, variance_other, out=np.zeros_like(covariance), where=variance_other > 0)
    rest = np.sqrt(np.maximum(variance - share * covariance, 0.0))
    beside = np.sqrt(variance_other) * z[..., :J]
    values = composition.compose(mean + share * beside + rest * z[..., J:], at)
    others = composition.compose(mean_other + beside, against)
    return float(np.mean(values > others))


def _covariances(model: Any, at: Policies, against: Policies, bound: Array) -> Array:
    """Posterior covariances of the groups (1, J) between two policies, no further from 0 than `bound`.

    Of what is no single process they are read from a copy of the posterior to which an observation of the
    other policy is added: it moves the mean here by covariance times surprise over variance.
    """
    if isinstance(model, DecomposedGP):
        single = [group for group in model.groups if isinstance(group, GaussianProcess)]
        if len(single) == len(model.groups):
            pair = model.features(np.concatenate([at, against]))
            return np.array([[group.predict_covariance(pair)[1][0, 1] for group in single]])
    if getattr(model, "nbytes", 0) > HEAVY:
        return -bound
    (mean, _), (other, variance) = model.predict_groups(at), model.predict_groups(against)
    deviation = np.sqrt(variance)
    told = copy.deepcopy(model)
    told.observe(against, other + deviation, np.maximum(variance, 1e-300))
    return np.asarray(2 * deviation * (told.predict_groups(at)[0] - mean))


def contradicted(belief: Belief) -> bool:
    """Whether leave-one-out errors, in their standard deviations, are above `CONTRADICTED` in the mean.

    It is remembered for as long as nothing is told or learned: no question changes it.
    """
    told, known = len(belief.history.Y), belief.checked
    if known is not None and known[0] == told and known[1] is belief.prior:
        return known[2]
    errors = np.concatenate([*left_out_errors(belief), np.empty(0)])
    found = bool(len(errors) and np.sqrt(np.mean(errors**2)) > CONTRADICTED)
    belief.checked = told, belief.prior, found
    return found


def left_out_errors(belief: Belief) -> list[Array]:
    """Standardised leave-one-out errors of each group: [K^-1 r]_i / sqrt([K^-1]_ii), r = y - mu."""
    prior = belief.prior
    if prior is None:
        return []
    told = list(belief.history)
    features = np.concatenate([belief.features(one.policies, one.time) for one in told])
    policies: Policies = np.concatenate([one.policies for one in told])
    noise = np.concatenate([stated_or_own(one.noise, prior.noise_variances, one.Y.shape) for one in told])
    Y = np.concatenate([one.Y for one in told])
    errors = []
    for j, kernel in enumerate(prior.kernels):
        known = np.flatnonzero(np.isfinite(Y[:, j]))[-LATEST:]
        if len(known) < ENOUGH:
            continue
        K = kernel(features[known])
        K += np.diag(with_least(noise[known, j], np.diag(K)))
        L, _ = safe_cholesky(K, np.diag(K).copy())
        inverse = cho_solve((L, True), np.eye(len(K)))
        residual = Y[known, j] - prior_mean_at(prior.means[j], policies[known])
        errors.append(inverse @ residual / np.sqrt(np.diag(inverse)))
    return errors


def objective_interval(
    composition: BaseComposition,
    means: Array,
    variances: Array,
    policies: Policies,
    ranges: Array | None = None,
    of_groups: BaseComposition | None = None,
) -> tuple[float, float, float]:
    """Mean, low and high of the objective at one policy, in its own sign: 95 % credible.

    Of what a composition makes of means and variances (1, J). Where the groups have ranges
    (J, 2) the interval ends with what they let the objective be; `of_groups` composes them, if that is
    another one.
    """
    if isinstance(composition, GeneralComposition):
        return credible_interval(composition, means, variances, policies, ranges)
    if ranges is not None and means.shape[1] == len(ranges):
        means = np.clip(means, *ranges.T)  # so that the objective is what its groups, as told, make of it
    mean, variance = composition.moments(means, variances, policies)
    middle = composition.sign * float(mean[0])
    half_width = CREDIBLE * float(np.sqrt(variance[0]))
    low, high = middle - half_width, middle + half_width
    if ranges is None:
        return middle, low, high
    least, most = within(of_groups or composition, ranges, policies)
    middle, low, high = (float(np.clip(end, least, most)) for end in (middle, low, high))
    return middle, low, high


def within(composition: BaseComposition, ranges: Array, policies: Policies) -> tuple[float, float]:
    """The least and the most that a linear objective of one policy can be, of groups in ranges (J, 2).

    Of a general one nothing is known: minus infinity, and infinity.
    """
    if not isinstance(composition, Composition):
        return -np.inf, np.inf
    weights = composition.weights(policies)[0]
    with np.errstate(invalid="ignore"):  # 0 times infinity: a group that does not count
        ends = np.nan_to_num(weights[:, None] * ranges, nan=0.0, posinf=np.inf, neginf=-np.inf)
    offset = float(composition.offset(policies)[0])
    return float(ends.min(axis=1).sum()) + offset, float(ends.max(axis=1).sum()) + offset
