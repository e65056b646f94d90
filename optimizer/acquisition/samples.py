"""Acquisitions read from samples of the objective, where its posterior is not Gaussian.

Notation: g_s are S samples of the signed objective at a policy, m and s their mean and standard deviation.
Samples have shape (S, n), one column a policy, and come from `optimizer.composition.propagation.Sampled`.

Few samples say nothing of what is less probable than 1/S: EI and the probability of improvement would be
exactly zero for most policies late in a search. So their score reads the samples as a density: a mixture of S
normals of standard deviation h = SMOOTHING s around the samples, which are drawn to their mean by as much as
keeps the variance (West 1993). `__call__` is the plain average.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import log_ndtr, ndtr

from optimizer.acquisition.moments import LOG_SQRT_2PI, deviation, log_improvement
from optimizer.arrays import Array

SMOOTHING = 0.1
"""h as a share of s. Less than Silverman's rule asks for (0.5 at 32 samples): a wide mixture hopes for what a
bounded g cannot reach, see docs/propagation.md."""
KEPT = float(np.sqrt(1 - SMOOTHING**2))
"""How much of its distance from the mean a sample keeps."""
UNDERFLOW = 1e-200
"""Averages below this are replaced by their largest part, which logarithms still hold."""
FARTHEST = -1e5
"""Slopes further out are those here: a difference of larger logarithms holds rounding errors only."""


class SampledAcquisition(ABC):
    """An acquisition of samples of the composed posterior."""

    @abstractmethod
    def __call__(self, samples: Array) -> Array:
        """Acquisition value (n,), from samples (S, n) of the signed objective."""

    @abstractmethod
    def score(self, samples: Array) -> Array:
        """What the search maximises, shape (n,)."""

    @abstractmethod
    def partials(self, samples: Array) -> Array:
        """Partial derivatives of the score in every sample, shape (S, n)."""


class SampledMean(SampledAcquisition):
    """The posterior mean of the objective, which `recommend` maximises."""

    def __call__(self, samples: Array) -> Array:
        """Mean, in the objective's unit."""
        mean: Array = samples.mean(axis=0)
        return mean

    def score(self, samples: Array) -> Array:
        """The mean itself."""
        return self(samples)

    def partials(self, samples: Array) -> Array:
        """1/S."""
        return np.full_like(samples, 1 / len(samples))


class SampledUCB(SampledAcquisition):
    """Upper confidence bound: the sample quantile at the level Phi(sqrt(beta)), of a normal m + sqrt(beta) s.

    Between two samples it is interpolated (Hazen's rule); beyond the largest of them it is that one. Unlike m
    + sqrt(beta) s, or E[m + sqrt(beta pi / 2) |g - m|] (Wilson et al. 2017), it never exceeds what g can
    reach, so that nothing is tried in the hope of more than the best that there can be.

    Parameters
    ----------
    beta : float
        beta_t, not negative. Zero gives the median.
    """

    def __init__(self, beta: float) -> None:
        self.level = float(ndtr(np.sqrt(beta)))

    def __call__(self, samples: Array) -> Array:
        """Quantile, in the objective's unit."""
        quantile: Array = np.quantile(samples, self.level, axis=0, method="hazen")
        return quantile

    def score(self, samples: Array) -> Array:
        """The quantile itself."""
        return self(samples)

    def partials(self, samples: Array) -> Array:
        """The shares of the two samples between which the quantile lies."""
        S = len(samples)
        position = float(np.clip(self.level * S - 0.5, 0, S - 1))
        lower = min(int(position), S - 2)
        order = np.argsort(samples, axis=0, kind="stable")
        columns, partials = np.arange(samples.shape[1]), np.zeros_like(samples)
        partials[order[lower], columns] = 1 - (position - lower)
        partials[order[lower + 1], columns] = position - lower
        return partials


class _Smoothed(SampledAcquisition):
    """The average of a function of u = (sample - target) / h over a smoothed mixture."""

    target: float

    def _mixture(self, samples: Array) -> tuple[Array, Array]:
        """The u of every sample, shape (S, n), and the h of every policy, shape (n,)."""
        mean = samples.mean(axis=0)
        centred = samples - mean
        h = SMOOTHING * deviation(np.einsum("sn,sn->n", centred, centred) / len(samples))
        return ((mean - self.target) + KEPT * centred) / h, h

    def _through_mixture(self, samples: Array, h: Array, in_sample: Array, in_h: Array) -> Array:
        """Slopes in the samples (S, n), from those in the drawn-in samples (S, n) and in h (n,)."""
        centred = samples - samples.mean(axis=0)
        S = len(samples)
        partials: Array = KEPT * in_sample + (1 - KEPT) * in_sample.mean(axis=0)
        partials += (SMOOTHING**2 / S) * in_h / h * centred
        return partials


class SampledImprovement(_Smoothed):
    """EI of the composed posterior, E max(g - incumbent, 0) (composite EI of Astudillo & Frazier 2019).

    Parameters
    ----------
    incumbent : float
        Value to improve on, as for `ExpectedImprovement`.
    """

    def __init__(self, incumbent: float) -> None:
        self.target = incumbent

    def __call__(self, samples: Array) -> Array:
        """Average improvement of the samples, in the objective's unit."""
        improvement: Array = np.maximum(samples - self.target, 0.0).mean(axis=0)
        return improvement

    def score(self, samples: Array) -> Array:
        """Logarithm of the smoothed EI; where that underflows, of its largest part."""
        u, h = self._mixture(samples)
        average = (_density(u) + u * ndtr(u)).mean(axis=0)
        with np.errstate(divide="ignore"):
            plain = np.log(average)
        tail = log_improvement(u.max(axis=0)) - np.log(len(u))
        logarithm: Array = np.log(h) + np.where(average > UNDERFLOW, plain, tail)
        return logarithm

    def partials(self, samples: Array) -> Array:
        """Phi(u) / S in a drawn-in sample and phi(u) / S in h, over EI."""
        u, h = self._mixture(samples)
        below, density = ndtr(u), _density(u)
        average = (density + u * below).mean(axis=0)
        improvement = np.maximum(average, UNDERFLOW) * h
        highest = np.maximum(u.max(axis=0), FARTHEST)
        slope = np.exp(log_ndtr(highest) - log_improvement(highest)) / h
        tail = average <= UNDERFLOW
        in_sample = np.where(tail, slope * (u == highest), below / len(u) / improvement)
        in_h = np.where(tail, 1 / h - slope * highest, density.mean(axis=0) / improvement)
        return self._through_mixture(samples, h, in_sample, in_h)


class SampledProbability(_Smoothed):
    """Probability that the composed value improves on the incumbent by a margin (Kushner 1964), by samples.

    Parameters
    ----------
    incumbent, margin : float
        As for `ProbabilityOfImprovement`.
    """

    def __init__(self, incumbent: float, margin: float = 0.0) -> None:
        self.target = incumbent + margin

    def __call__(self, samples: Array) -> Array:
        """Share of the samples that improve."""
        share: Array = (samples > self.target).mean(axis=0)
        return share

    def score(self, samples: Array) -> Array:
        """Logarithm of the smoothed probability; where that underflows, of its largest part."""
        u, _ = self._mixture(samples)
        average = ndtr(u).mean(axis=0)
        with np.errstate(divide="ignore"):
            plain = np.log(average)
        tail = log_ndtr(u.max(axis=0)) - np.log(len(u))
        logarithm: Array = np.where(average > UNDERFLOW, plain, tail)
        return logarithm

    def partials(self, samples: Array) -> Array:
        """phi(u) / (h S) in a drawn-in sample, minus the mean of u phi(u) / h in h, over the probability."""
        u, h = self._mixture(samples)
        density = _density(u)
        average = ndtr(u).mean(axis=0)
        probability = np.maximum(average, UNDERFLOW) * h
        highest = np.maximum(u.max(axis=0), FARTHEST)
        slope = np.exp(-0.5 * highest**2 - LOG_SQRT_2PI - log_ndtr(highest)) / h
        tail = average <= UNDERFLOW
        in_sample = np.where(tail, slope * (u == highest), density / len(u) / probability)
        in_h = np.where(tail, -slope * highest, -(u * density).mean(axis=0) / probability)
        return self._through_mixture(samples, h, in_sample, in_h)


def _density(u: Array) -> Array:
    """Standard normal density, flushed to zero far out."""
    density: Array = np.exp(-0.5 * np.minimum(u * u, 1e4) - LOG_SQRT_2PI)
    return density
