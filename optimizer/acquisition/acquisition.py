"""What an acquisition is: a way to choose the next policy from what is believed of it.

Most have a score, which is read from the posterior of the signed objective (more is better), and choose the
policy where it is highest. The posterior is either the mean and variance of a Gaussian, or samples g_s (S, n)
where a general g is propagated by them; a score may read samples in its own way.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from optimizer.acquisition.search import Search, posterior_means
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import Composition
from optimizer.composition.objective import Moments, Posterior, Samples
from optimizer.posterior.decomposed_gp import DecomposedGP


class Acquisition(ABC):
    """A way to choose the next policy; `optimizer.acquisition.names` has the table of all.

    Attributes
    ----------
    random : bool
        Whether choices differ by themselves, so that those of a batch need not know of one another.
    """

    random: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of(cls, search: Search) -> Self:
        """The acquisition of one round: what it needs to know, it asks of the search."""

    @abstractmethod
    def choose(self, search: Search) -> Any:
        """The policy (d,), or the candidate's row, to try next."""


class ScoredAcquisition(Acquisition):
    """An acquisition that chooses the policy with the highest score.

    The score orders policies as the acquisition does, but need not be in its unit: far from the incumbent,
    where many acquisitions underflow, it may say more (the logarithm of EI, Ament et al. 2023).

    Attributes
    ----------
    logarithmic : bool
        Whether the score is a logarithm, so that limits can weigh it by the probability that they are kept.
    """

    logarithmic: ClassVar[bool] = False

    def choose(self, search: Search) -> Any:
        """The best candidate, or the end of a search from many starts."""

        def value(policies: Policies) -> Array:
            return self.score(search.model.posterior(policies))

        def value_and_gradient(X: Array) -> tuple[Array, Array]:
            posterior, pullback = search.model.posterior_and_pullback(X)
            return self.score(posterior), pullback(self.slopes(posterior))

        return search.maximise(value, value_and_gradient, logarithmic=self.logarithmic)

    def score(self, posterior: Posterior) -> Array:
        """What is maximised, shape (n,)."""
        if isinstance(posterior, Samples):
            return self.score_samples(posterior.values)
        return self.score_moments(*posterior)

    def slopes(self, posterior: Posterior) -> Posterior:
        """Slopes of the score in the posterior, in its own form."""
        if isinstance(posterior, Samples):
            return Samples(self.slopes_in_samples(posterior.values))
        return Moments(*self.slopes_in_moments(*posterior))

    @abstractmethod
    def score_moments(self, mean: Array, variance: Array) -> Array:
        """Score (n,) of Gaussian posteriors."""

    @abstractmethod
    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Partial derivatives of the score in the mean and in the variance, each (n,)."""

    def score_samples(self, samples: Array) -> Array:
        """Score (n,) of samples (S, n): by their moments, unless an acquisition reads more from them."""
        return self.score_moments(samples.mean(axis=0), samples.var(axis=0))

    def slopes_in_samples(self, samples: Array) -> Array:
        """Partial derivatives of the score in every sample, shape (S, n)."""
        mean = samples.mean(axis=0)
        in_mean, in_variance = self.slopes_in_moments(mean, samples.var(axis=0))
        return np.asarray((in_mean + 2 * in_variance * (samples - mean)) / len(samples))


class PosteriorMean(ScoredAcquisition):
    """The posterior mean, which `recommend` maximises."""

    @classmethod
    def of(cls, search: Search) -> Self:
        """Needs nothing."""
        return cls()

    def choose(self, search: Search) -> Any:
        """As other scores are, but of a linear objective without the variances, which cost most."""
        model = search.model
        if not (isinstance(model, DecomposedGP) and isinstance(model.composition, Composition)):
            return super().choose(search)
        return search.maximise(lambda policies: posterior_means(model, policies), model.mean_with_gradient)

    def score_moments(self, mean: Array, variance: Array) -> Array:
        """The mean itself."""
        return mean

    def slopes_in_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """1 and 0."""
        return np.ones_like(mean), np.zeros_like(mean)

    def score_samples(self, samples: Array) -> Array:
        """The mean of the samples."""
        mean: Array = samples.mean(axis=0)
        return mean

    def slopes_in_samples(self, samples: Array) -> Array:
        """1/S."""
        return np.full_like(samples, 1 / len(samples))
