"""The upper confidence bound (Algorithm 2, line 5; GP-UCB of Srinivas et al. 2010)."""

from typing import Self

import numpy as np
from scipy.special import ndtr

from optimizer.acquisition.acquisition import ScoredAcquisition
from optimizer.acquisition.gaussian import deviation
from optimizer.acquisition.search import Search
from optimizer.arrays import Array


class UCB(ScoredAcquisition):
    """Upper confidence bound m + sqrt(beta) s, of posterior mean m and standard deviation s.

    Of samples it is their quantile at the level Phi(sqrt(beta)) of a normal m + sqrt(beta) s: between two of
    them interpolated (Hazen's rule), beyond the largest that one. Unlike m + sqrt(beta) s, or E[m + sqrt(beta
    pi / 2) |g - m|] (Wilson et al. 2017), it never exceeds what g can reach, so that nothing is tried in the
    hope of more than the best that there can be.

    Parameters
    ----------
    beta : float
        beta_t, not negative. Zero gives the posterior mean, and the median of samples.
    """

    def __init__(self, beta: float) -> None:
        self.root = float(np.sqrt(beta))
        self.level = float(ndtr(self.root))

    @classmethod
    def of(cls, search: Search) -> Self:
        """With the beta_t of the round."""
        return cls(search.beta)

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """The bound, in the objective's unit."""
        bound: Array = mean + self.root * np.sqrt(variance)
        return bound

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """1 and sqrt(beta) / (2 s); at s = 0, where the root has no slope, 0."""
        slope = np.where(variance > 0, self.root / (2 * deviation(variance)), 0.0)
        return np.ones_like(mean), slope

    def score_samples(self, samples: Array) -> Array:
        """The quantile, in the objective's unit."""
        quantile: Array = np.quantile(samples, self.level, axis=0, method="hazen")
        return quantile

    def slopes_in_samples(self, samples: Array) -> Array:
        """The shares of the two samples between which the quantile lies."""
        S = len(samples)
        position = float(np.clip(self.level * S - 0.5, 0, S - 1))
        lower = min(int(position), S - 2)
        order = np.argsort(samples, axis=0, kind="stable")
        columns, slopes = np.arange(samples.shape[1]), np.zeros_like(samples)
        slopes[order[lower], columns] = 1 - (position - lower)
        slopes[order[lower + 1], columns] = position - lower
        return slopes
