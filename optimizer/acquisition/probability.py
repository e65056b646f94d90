"""The probability of improvement on the incumbent by a margin (Kushner 1964), called MPI.

Notation: m and s are the posterior mean and standard deviation of the objective, z = (m - target) / s, Phi
and phi the standard normal distribution and density; u and h are those of `smoothing`.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_ndtr, ndtr

from optimizer.acquisition.acquisition import ScoredAcquisition
from optimizer.acquisition.gaussian import LOG_SQRT_2PI, density, deviation
from optimizer.acquisition.search import Search
from optimizer.acquisition.smoothing import UNDERFLOW, Mixture
from optimizer.arrays import Array

MARGIN = 0.01
"""By how much MPI wants to improve, in prior standard deviations of the objective: the customary value."""


class ProbabilityOfImprovement(ScoredAcquisition):
    """The most probable improvement, Phi(z); a step from 0 to 1 where s = 0. Its score is z.

    Of samples it is that of their mixture; the score is its logarithm.

    Parameters
    ----------
    incumbent : float
        Value to improve on, as for `ExpectedImprovement`.
    margin : float, default=0.0
        By how much to improve on it (Kushner's epsilon), in the objective's unit. Without a margin, a policy
        next to the incumbent is always more probable to improve than one further away: the search never
        leaves the first policy that was better than expected.
    """

    def __init__(self, incumbent: float, margin: float = 0.0) -> None:
        self.target: float = incumbent + margin

    @classmethod
    def of(cls, search: Search) -> Self:
        """Improving on the search's incumbent by the customary margin."""
        return cls(search.incumbent, MARGIN * search.prior_deviation)

    def choose(self, search: Search) -> Any:
        """The best candidate; while none is known to keep the limits, the one that most probably does."""
        if search.limits is not None and np.isnan(self.target):
            return search.most_certain()
        if search.limits is not None and not self.logarithmic:
            return LogProbabilityOfImprovement.of(search).choose(search)
        return super().choose(search)

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """z, of which the probability is a monotone function; without spread, plus or minus infinity."""
        gain = mean - self.target
        certain = np.where(gain > 0, np.inf, -np.inf)
        return np.where(variance > 0, gain / deviation(variance), certain)

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """1 / s and -z / (2 s^2)."""
        s = deviation(variance)
        return 1 / s, -(mean - self.target) / (2 * s**3)

    def score_samples(self, samples: Array) -> Array:
        """Logarithm of the mixture's probability."""
        mixture = Mixture.of(samples, self.target)
        return mixture.log_average(ndtr(mixture.u), log_ndtr(mixture.u.max(axis=0)))

    def slopes_in_samples(self, samples: Array) -> Array:
        """phi(u) / (h S) in a drawn-in sample, minus the mean of u phi(u) / h in h, over the probability."""
        mixture = Mixture.of(samples, self.target)
        u, h, highest = mixture.u, mixture.h, mixture.highest
        phi = density(u)
        average = ndtr(u).mean(axis=0)
        probability = np.maximum(average, UNDERFLOW) * h
        slope = np.exp(-0.5 * highest**2 - LOG_SQRT_2PI - log_ndtr(highest)) / h
        tail = average <= UNDERFLOW
        in_kept = np.where(tail, slope * (u == highest), phi / len(u) / probability)
        in_h = np.where(tail, -slope * highest, -(u * phi).mean(axis=0) / probability)
        return mixture.slopes_in_samples(in_kept, in_h)


class LogProbabilityOfImprovement(ProbabilityOfImprovement):
    """The same by its logarithm, which limits can weigh: the probability of improving and of keeping them."""

    logarithmic: ClassVar[bool] = True

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """Log Phi(z)."""
        found: Array = log_ndtr(super().score_moments(mean, variance))
        return found

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Those of z, times phi(z) / Phi(z)."""
        z = np.clip(super().score_moments(mean, variance), -1e8, 1e8)
        slope = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_ndtr(z))
        in_mean, in_variance = super().slopes_in_moments(mean, variance)
        return slope * in_mean, slope * in_variance
