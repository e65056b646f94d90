"""Expected improvement on the incumbent (Mockus 1975), and composite EI under a general g.

Notation: m and s are the posterior mean and standard deviation of the objective, z = (m - incumbent) / s, Phi
and phi the standard normal distribution and density; u and h are those of `smoothing`.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_ndtr, ndtr

from optimizer.acquisition.acquisition import ScoredAcquisition
from optimizer.acquisition.gaussian import LOG_SQRT_2PI, density, deviation, log_improvement
from optimizer.acquisition.search import Search
from optimizer.acquisition.smoothing import UNDERFLOW, Mixture
from optimizer.arrays import Array


class ExpectedImprovement(ScoredAcquisition):
    """EI = (m - incumbent) Phi(z) + s phi(z); max(m - incumbent, 0) where s = 0. Its score is its logarithm.

    Of samples it is that of their mixture, E max(g - incumbent, 0) (composite EI, Astudillo & Frazier 2019).

    Parameters
    ----------
    incumbent : float
        Value to improve on. Agents take the best posterior mean at an observed policy: the best noisy
        observation would stall the search.
    """

    logarithmic: ClassVar[bool] = True

    def __init__(self, incumbent: float) -> None:
        self.incumbent = incumbent

    @classmethod
    def of(cls, search: Search) -> Self:
        """Improving on the search's incumbent."""
        return cls(search.incumbent)

    def choose(self, search: Search) -> Any:
        """The best candidate; while none is known to keep the limits, the one that most probably does."""
        if search.limits is not None and np.isnan(self.incumbent):
            return search.most_certain()
        return super().choose(search)

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """Logarithm of EI, without underflow; -inf where EI is exactly zero."""
        gain = mean - self.incumbent
        s = deviation(variance)
        with np.errstate(divide="ignore"):
            certain = np.log(np.maximum(gain, 0.0))
        return np.where(variance > 0, np.log(s) + log_improvement(gain / s), certain)

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Phi(z) / EI and phi(z) / (2 s EI), computed by logarithms."""
        s = deviation(variance)
        z = np.clip((mean - self.incumbent) / s, -1e8, 1e8)
        log_ei = np.log(s) + log_improvement(z)
        in_mean = np.exp(log_ndtr(z) - log_ei)
        in_deviation = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_ei)
        return in_mean, in_deviation / (2 * s)

    def score_samples(self, samples: Array) -> Array:
        """Logarithm of the mixture's EI."""
        mixture = Mixture.of(samples, self.incumbent)
        u = mixture.u
        improvement = mixture.log_average(density(u) + u * ndtr(u), log_improvement(u.max(axis=0)))
        score: Array = np.log(mixture.h) + improvement
        return score

    def slopes_in_samples(self, samples: Array) -> Array:
        """Phi(u) / S in a drawn-in sample and phi(u) / S in h, over EI."""
        mixture = Mixture.of(samples, self.incumbent)
        u, h, highest = mixture.u, mixture.h, mixture.highest
        below, phi = ndtr(u), density(u)
        average = (phi + u * below).mean(axis=0)
        improvement = np.maximum(average, UNDERFLOW) * h
        slope = np.exp(log_ndtr(highest) - log_improvement(highest)) / h
        tail = average <= UNDERFLOW
        in_kept = np.where(tail, slope * (u == highest), below / len(u) / improvement)
        in_h = np.where(tail, 1 / h - slope * highest, phi.mean(axis=0) / improvement)
        return mixture.slopes_in_samples(in_kept, in_h)
