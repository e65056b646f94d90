"""The upper confidence bound (Algorithm 2, line 5; GP-UCB of Srinivas et al. 2010), and that under limits."""

import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from optimizer.acquisition.acquisition import ScoredAcquisition
from optimizer.acquisition.gaussian import deviation
from optimizer.acquisition.search import Search, posterior_means
from optimizer.arrays import Array
from optimizer.composition.general import GeneralComposition
from optimizer.composition.propagation import Sampled

LEAST_GAIN = 1e-3
"""Share of a prior standard deviation below which the logarithm of a gain goes on as a line."""


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
        self.root: float = float(np.sqrt(beta))
        self.level: float = float(ndtr(self.root))

    @classmethod
    def of(cls, search: Search) -> Self:
        """With the beta_t of the round."""
        return cls(search.beta)

    def choose(self, search: Search) -> Any:
        """The policy with the highest bound, of samples that reach as far as it; see `KeptUCB` for limits."""
        if search.limits is not None and not self.logarithmic:
            return KeptUCB.of(search).choose(search)
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


class KeptUCB(UCB):
    """The bound under limits: what it promises beyond c, times the probability that the limits are kept.

    Here c is the best posterior mean at an observed policy that probably keeps the limits, as in constrained
    expected improvement (Gardner et al. 2014); before there is one, the worst at an observed policy, which is
    what a round that breaks a limit is charged. The score is log(m + sqrt(beta) s - c), to which the search
    adds the logarithm of the probability. So a policy just within a limit that is well known is worth more
    than one just beyond it, and where a limit is not known, the bound is high as well. A bound on the limits
    themselves (Xu et al. 2023, CONFIG) keeps the sum of what is exceeded small, yet breaks them by a little
    in nearly every round where the best policy lies on one.

    Parameters
    ----------
    beta : float
        beta_t, not negative.
    least : float
        c, in the unit of the signed objective.
    scale : float
        The objective's, positive: below `LEAST_GAIN` of it the logarithm goes on as a line, since bounds may
        lie below c.
    """

    logarithmic: ClassVar[bool] = True

    def __init__(self, beta: float, least: float, scale: float) -> None:
        super().__init__(beta)
        self.least: float
        self.smallest: float
        self.least, self.smallest = least, LEAST_GAIN * scale

    @classmethod
    def of(cls, search: Search) -> Self:
        """With the search's incumbent as c."""
        least = search.incumbent
        if np.isnan(least):
            least = float(np.nanmin(posterior_means(search.model, search.known)))
        return cls(search.beta, least, max(search.prior_deviation, 1e-300))

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """Logarithm of the bound's promise beyond c."""
        return self._logarithm(super().score_moments(mean, variance))

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Those of the bound, over what it promises."""
        in_mean, in_variance = super().slopes_in_moments(mean, variance)
        slope = self._slope(super().score_moments(mean, variance))
        return slope * in_mean, slope * in_variance

    def score_samples(self, samples: Array) -> Array:
        """Logarithm of the quantile's promise beyond c."""
        return self._logarithm(super().score_samples(samples))

    def slopes_in_samples(self, samples: Array) -> Array:
        """Those of the quantile, over what it promises."""
        found: Array = self._slope(super().score_samples(samples)) * super().slopes_in_samples(samples)
        return found

    def _logarithm(self, bound: Array) -> Array:
        gain = bound - self.least
        line = np.minimum(gain / self.smallest - 1, 0.0)
        found: Array = np.log(np.maximum(gain, self.smallest)) + line
        return found

    def _slope(self, bound: Array) -> Array:
        found: Array = 1 / np.maximum(bound - self.least, self.smallest)
        return found
