"""The upper confidence bound (Algorithm 2, line 5; GP-UCB of Srinivas et al. 2010)."""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri

from optimizer.acquisition.acquisition import ScoredAcquisition
from optimizer.acquisition.gaussian import deviation
from optimizer.acquisition.search import Search
from optimizer.arrays import Array
from optimizer.composition.general import GeneralComposition
from optimizer.composition.propagation import Sampled


class UCB(ScoredAcquisition):
    """Upper confidence bound m + sqrt(beta) s, of posterior mean m and standard deviation s.

    Of samples it is their quantile at the level Phi(sqrt(beta)) of a normal m + sqrt(beta) s: between two of
    them interpolated (Hazen's rule). A level beyond the largest, which is the quantile at Phi(a), is reached
    by samples of groups that are spread sqrt(beta) / a times as far, again as their largest: in proportion to
    sqrt(beta) where the objective is normal. Unlike m + sqrt(beta) s, or E[m + sqrt(beta pi / 2) |g - m|]
    (Wilson et al. 2017), it never exceeds what g can reach, so that nothing is tried in the hope of more than
    the best that there can be.

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

    def choose(self, search: Search) -> Any:
        """The policy with the highest bound, of samples that reach as far as it."""
        return super().choose(replace(search, model=self.reaching(search.model)))

    def reaching(self, model: Any) -> Any:
        """The posterior, its samples spread as far as the quantile needs; the same where it needs nothing."""
        composition = model.composition
        if not isinstance(composition, GeneralComposition) or not isinstance(
            composition.propagation, Sampled
        ):
            return model
        share = self.root / float(ndtri(1 - 0.5 / len(composition.propagation.z)))
        if share <= 1:
            return model
        other = copy.copy(model)
        other.composition = composition.propagated(composition.propagation.spread(share))
        return other

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
