"""How the posterior of the groups is carried through a general g (Algorithm 3, line 4, and two others).

Notation: mu_j and var_j are the posterior mean and variance of a group, independent of the others; means and
variances have shape (n, J). Every propagation gives the mean and the variance of the signed objective:

- "bound", as the paper writes Algorithm 3: g(mu), and J sum_j B_j^2 var_j. The only one that Theorem 3 speaks
  of, and a conservative one.
- "delta", of first order: g(mu), and sum_j (dg/df_j)^2 var_j with the slopes at mu.
- "sampled": the moments of samples g(mu + sd z), where the S standard normal z (S, J) are the same for every
  policy and round. Acquisitions then read the samples themselves (their `score_samples`).

Where g is linear and B_j its weights, "delta" and "sampled" are exact, and "bound" is J times too wide.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri
from scipy.stats import qmc

from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.composition.objective import GroupSlopes, Moments, Posterior, Samples
from optimizer.differences import central_differences

PropagationName = Literal["default", "bound", "delta", "sampled"]

PROPAGATIONS = ("bound", "delta", "sampled")
DEFAULT_PROPAGATION: PropagationName = "sampled"
"""What won on the seeds that it was chosen from: see docs/propagation.md."""

SAMPLES = 32
"""S, a power of two; more where there are many groups."""
INTERVAL_SAMPLES = 1024
"""Samples for a credible interval at one policy."""
CURVATURE_SHARE = 1e-4
"""Half step of differences of slopes, as a share of the posterior standard deviation or the mean."""


class Propagation(ABC):
    """The posterior of the objective from the moments of the groups.

    Attributes
    ----------
    correlation : ndarray of shape (J, J), or None
        Of the groups at a policy, given all observations; None where they are independent. What "bound" says
        holds for any.
    """

    correlation: Array | None = None

    def check(self, composition: BaseComposition) -> None:  # noqa: B027 - most ask for nothing
        """Raise ValueError if the composition lacks what this propagation needs."""

    @abstractmethod
    def moments(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Moments:
        """Mean and variance (n,) of the signed objective."""

    def posterior(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Posterior:
        """What acquisitions read: the moments, unless a propagation knows more."""
        return self.moments(composition, means, variances, policies)

    @abstractmethod
    def gradient(
        self,
        composition: BaseComposition,
        means: Array,
        variances: Array,
        policies: Array,
        slopes: Any,
        chain: Callable[[GroupSlopes], Array],
    ) -> Array:
        """Gradient (n, d) of a value, from its slopes in `posterior`; `chain` leads through the groups."""


class _ByMoments(Propagation):
    """Acquisitions read moments: a gradient leads through the slopes of both."""

    @abstractmethod
    def moment_slopes(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Array
    ) -> tuple[GroupSlopes, GroupSlopes]:
        """Slopes of the mean and of the variance."""

    def gradient(
        self,
        composition: BaseComposition,
        means: Array,
        variances: Array,
        policies: Array,
        slopes: Moments,
        chain: Callable[[GroupSlopes], Array],
    ) -> Array:
        """Through the mean and the variance."""
        mean, variance = self.moment_slopes(composition, means, variances, policies)
        return slopes.mean[:, None] * chain(mean) + slopes.variance[:, None] * chain(variance)


class _AtTheMean(_ByMoments):
    """The mean of the objective is g at the groups' means: what "bound" and "delta" share."""

    def _mean_slopes(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Array
    ) -> GroupSlopes:
        slopes = composition.sign * composition.slopes(means, policies, np.sqrt(variances))
        in_policies = central_differences(lambda X: composition.compose(means, X), policies)
        return GroupSlopes(slopes, np.zeros_like(means), in_policies)


class Bound(_AtTheMean):
    """Algorithm 3 as the paper writes it: mean g(mu), variance J sum_j B_j^2 var_j."""

    def check(self, composition: BaseComposition) -> None:
        """Raise ValueError if there are no bounds B_j."""
        if composition.bounds is None:
            raise ValueError(
                "propagation 'bound' needs the bounds B_j of Definition 2, one a group; "
                "'delta' and 'sampled' do not"
            )

    def _factors(self, composition: BaseComposition) -> Array:
        """J B_j^2, shape (J,)."""
        assert composition.bounds is not None
        factors: Array = composition.groups * composition.bounds**2
        return factors

    def moments(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Moments:
        """Line 4 of Algorithm 3."""
        return Moments(composition.compose(means, policies), variances @ self._factors(composition))

    def moment_slopes(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Array
    ) -> tuple[GroupSlopes, GroupSlopes]:
        """The variance is linear in the groups', and depends on nothing else."""
        factors = np.broadcast_to(self._factors(composition), means.shape)
        return (
            self._mean_slopes(composition, means, variances, policies),
            GroupSlopes(np.zeros_like(means), factors, np.zeros_like(policies)),
        )


class Delta(_AtTheMean):
    """First order: mean g(mu), variance sum_j (dg/df_j)^2 var_j with the slopes at mu.

    With a correlation R, sum_jk (dg/df_j) sd_j R_jk sd_k (dg/df_k).
    """

    def __init__(self, correlation: Array | None = None) -> None:
        self.correlation = correlation

    def moments(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Moments:
        """Exact where g is linear."""
        return Moments(
            composition.compose(means, policies), self._variance(composition, means, variances, policies)
        )

    def _variance(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Array:
        slopes = composition.slopes(means, policies, np.sqrt(variances))
        if self.correlation is None:
            variance: Array = (slopes**2 * variances).sum(axis=1)
            return variance
        spread = slopes * np.sqrt(variances)
        return np.asarray(np.einsum("nj,jk,nk->n", spread, self.correlation, spread))

    def moment_slopes(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Array
    ) -> tuple[GroupSlopes, GroupSlopes]:
        """The curvature of g, through which the variance depends on the means, by differences of slopes."""
        mean = self._mean_slopes(composition, means, variances, policies)
        steps = CURVATURE_SHARE * np.maximum(np.sqrt(variances), np.abs(means))
        steps = np.where(steps > 0, steps, CURVATURE_SHARE)
        in_means = central_differences(
            lambda mu: self._variance(composition, mu, variances, policies), means, steps
        )
        in_policies = central_differences(
            lambda X: self._variance(composition, means, variances, X), policies
        )
        if self.correlation is None:
            return mean, GroupSlopes(in_means, mean.means**2, in_policies)
        deviations = np.sqrt(variances)
        # Where a variance is zero the root has no slope; the group's own term has.
        ratio = np.divide(
            (mean.means * deviations) @ self.correlation,
            deviations,
            out=mean.means.copy(),
            where=deviations > 0,
        )
        return mean, GroupSlopes(in_means, mean.means * ratio, in_policies)


class Closed(_ByMoments):
    """The closed form of a ready-made g that jumps, whose samples have no slopes."""

    def moments(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Moments:
        """Those of the composition."""
        return composition.moments(means, variances, policies)

    def moment_slopes(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Array
    ) -> tuple[GroupSlopes, GroupSlopes]:
        """Those of the ready-made g, which does not depend on the policy."""
        mean, variance = composition.ready.moment_slopes(means, variances)  # type: ignore[attr-defined]
        sign, still = composition.sign, np.zeros_like(policies)
        return (
            GroupSlopes(sign * mean.mean, sign * mean.variance, still),
            GroupSlopes(variance.mean, variance.variance, still),
        )


class Sampled(Propagation):
    """Samples of the objective, from common random numbers: g(mu + sd z) with the same z everywhere.

    Parameters
    ----------
    groups : int
        J.
    seed : int, default=0
        Of z.
    samples : int, optional
        S, a power of two; 32 unless given, more from five groups on: at least 8 J.
    correlation : ndarray of shape (J, J), optional
        Of the groups; z then has it.
    """

    def __init__(
        self, groups: int, seed: int = 0, samples: int | None = None, correlation: Array | None = None
    ) -> None:
        self.z: Array = standard_normal_points(
            samples or max(SAMPLES, 1 << (8 * groups - 1).bit_length()), groups, seed
        )
        self.correlation = correlation
        if correlation is not None:
            self.z = np.ascontiguousarray(self.z @ np.linalg.cholesky(correlation).T)

    def spread(self, share: float) -> Sampled:
        """The same, its samples so many times as far from the mean."""
        other = copy.copy(self)
        other.z = share * self.z
        return other

    def outcomes(self, means: Array, variances: Array) -> Array:
        """Samples of the groups' outcomes, shape (S, n, J); each group's lie together in memory."""
        deviations = np.sqrt(variances.T)[:, None, :]
        sampled = self.z.T[:, :, None] * deviations
        sampled += means.T[:, None, :]
        return np.moveaxis(sampled, 0, -1)

    def samples(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Array:
        """Samples of the signed objective, shape (S, n)."""
        return composition.compose(self.outcomes(means, variances), policies)

    def moments(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Moments:
        """Mean and variance of the samples."""
        samples = self.samples(composition, means, variances, policies)
        return Moments(samples.mean(axis=0), samples.var(axis=0))

    def posterior(
        self, composition: BaseComposition, means: Array, variances: Array, policies: Policies
    ) -> Samples:
        """The samples themselves."""
        return Samples(self.samples(composition, means, variances, policies))

    def gradient(
        self,
        composition: BaseComposition,
        means: Array,
        variances: Array,
        policies: Array,
        slopes: Samples,
        chain: Callable[[GroupSlopes], Array],
    ) -> Array:
        """Through every sample of its policy."""
        outcomes, deviations = self.outcomes(means, variances), np.sqrt(variances)
        in_outcomes = composition.sign * composition.slopes(outcomes, policies, deviations)
        # Where a variance is zero the root has no slope; its samples are all alike.
        inverse = np.divide(0.5, deviations, out=np.zeros_like(deviations), where=deviations > 0)
        in_means = np.einsum("sn,snj->nj", slopes.values, in_outcomes)
        in_variances = np.einsum("sn,snj,sj->nj", slopes.values, in_outcomes, self.z) * inverse

        def value(X: Array) -> Array:
            total: Array = np.einsum("sn,sn->n", slopes.values, composition.compose(outcomes, X))
            return total

        return chain(GroupSlopes(in_means, in_variances, central_differences(value, policies)))


def credible_interval(
    composition: BaseComposition,
    means: Array,
    variances: Array,
    policies: Policies,
    ranges: Array | None = None,
) -> tuple[float, float, float]:
    """Mean, low and high of the objective at one policy, in its own sign, by any propagation.

    All three are of the same samples, many more than a search uses: their mean, and quantiles. Samples of a
    group outside its range (J, 2), if there is one, are taken to the end of it. Groups are correlated as the
    composition's propagation has them.
    """
    through = getattr(composition, "propagation", None)
    correlation = None if through is None else through.correlation
    sampled = Sampled(composition.groups, samples=INTERVAL_SAMPLES, correlation=correlation)
    outcomes = sampled.outcomes(means, variances)
    if ranges is not None:
        outcomes = np.clip(outcomes, ranges[:, 0], ranges[:, 1])
    values = composition.unsigned(outcomes, policies)[:, 0]
    low, high = np.quantile(values, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def standard_normal_points(samples: int, dimensions: int, seed: int) -> Array:
    """Standard normal points (S, J) of a scrambled Sobol sequence, with exact mean 0 and covariance I.

    Exact moments, so that what is linear in them is exact as well.
    """
    if samples < 2 or samples & (samples - 1):
        raise ValueError(f"samples must be a power of two, not {samples}")
    uniform = qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed)).random(samples)
    z = ndtri(np.clip(uniform, 1e-9, 1 - 1e-9))
    z -= z.mean(axis=0)
    factor = np.linalg.cholesky(z.T @ z / samples)
    white: Array = solve_triangular(factor, z.T, lower=True).T
    return np.ascontiguousarray(white)


def make_propagation(name: str, groups: int, seed: int, correlation: Array | None = None) -> Propagation:
    """Propagation by name, of groups that are correlated or not.

    "default" is the one that docs/propagation.md found best.
    """
    if name == "default":
        name = DEFAULT_PROPAGATION
    if name == "bound":
        return Bound()
    if name == "delta":
        return Delta(correlation)
    if name == "sampled":
        return Sampled(groups, seed, correlation=correlation)
    raise ValueError(f"propagation must be 'default', {', '.join(map(repr, PROPAGATIONS))}, not {name!r}")
