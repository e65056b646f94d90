"""Acquisitions: how promising a policy is, from the posterior of the signed objective (more is better).

Notation: m and s are the posterior mean and standard deviation of the objective, z = (m - incumbent) / s,
Phi and phi the standard normal distribution and density.

A search maximises `score`, a monotone transform of the acquisition that does not underflow far from the
incumbent (the logarithm of EI, as in LogEI of Ament et al. 2023); `__call__` gives the acquisition in its own
unit.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from optimizer.arrays import Array

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


class Acquisition(ABC):
    """An acquisition of the composed posterior."""

    @abstractmethod
    def __call__(self, mean: Array, variance: Array) -> Array:
        """Acquisition value, from posterior means and variances of the signed objective, each (n,)."""

    @abstractmethod
    def score(self, mean: Array, variance: Array) -> Array:
        """What the search maximises, shape (n,): the same order as the acquisition."""

    @abstractmethod
    def partials(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Partial derivatives of the score in the mean and in the variance, each (n,)."""


def deviation(variance: Array) -> Array:
    """Standard deviation, kept away from zero where it divides."""
    deviation: Array = np.sqrt(np.maximum(variance, 1e-60))
    return deviation


class UCB(Acquisition):
    """Upper confidence bound m + sqrt(beta) s (Algorithm 2, line 5; GP-UCB of Srinivas et al. 2010).

    Parameters
    ----------
    beta : float
        beta_t, not negative. Zero gives the posterior mean, which `recommend` maximises.
    """

    def __init__(self, beta: float) -> None:
        self.root = float(np.sqrt(beta))

    def __call__(self, mean: Array, variance: Array) -> Array:
        """Upper confidence bound, in the objective's unit."""
        bound: Array = mean + self.root * np.sqrt(variance)
        return bound

    def score(self, mean: Array, variance: Array) -> Array:
        """The bound itself."""
        return self(mean, variance)

    def partials(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """1 and sqrt(beta) / (2 s); at s = 0, where the root has no slope, 0."""
        slope = np.where(variance > 0, self.root / (2 * deviation(variance)), 0.0)
        return np.ones_like(mean), slope


class ExpectedImprovement(Acquisition):
    """EI = (m - incumbent) Phi(z) + s phi(z) (Mockus 1975); max(m - incumbent, 0) where s = 0.

    Parameters
    ----------
    incumbent : float
        Value to improve on. Agents take the best posterior mean at an observed policy: the best noisy
        observation would stall the search.
    """

    def __init__(self, incumbent: float) -> None:
        self.incumbent = incumbent

    def __call__(self, mean: Array, variance: Array) -> Array:
        """Expected improvement, in the objective's unit."""
        gain = mean - self.incumbent
        s = deviation(variance)
        z = gain / s
        density = np.exp(-0.5 * np.minimum(z * z, 1e4) - LOG_SQRT_2PI)
        return np.where(variance > 0, np.maximum(gain * ndtr(z) + s * density, 0.0), np.maximum(gain, 0.0))

    def score(self, mean: Array, variance: Array) -> Array:
        """Logarithm of EI, without underflow; -inf where EI is exactly zero."""
        gain = mean - self.incumbent
        s = deviation(variance)
        with np.errstate(divide="ignore"):
            certain = np.log(np.maximum(gain, 0.0))
        return np.where(variance > 0, np.log(s) + log_improvement(gain / s), certain)

    def partials(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Phi(z) / EI and phi(z) / (2 s EI), computed by logarithms."""
        s = deviation(variance)
        z = np.clip((mean - self.incumbent) / s, -1e8, 1e8)
        log_ei = np.log(s) + log_improvement(z)
        in_mean = np.exp(log_ndtr(z) - log_ei)
        in_deviation = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_ei)
        return in_mean, in_deviation / (2 * s)


class ProbabilityOfImprovement(Acquisition):
    """MPI: the most probable improvement, Phi(z) (Kushner 1964); a step from 0 to 1 where s = 0.

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
        self.incumbent = incumbent
        self.margin = margin

    def __call__(self, mean: Array, variance: Array) -> Array:
        """Probability of improving on the incumbent by the margin."""
        gain = self._gain(mean)
        return np.where(variance > 0, ndtr(gain / deviation(variance)), np.heaviside(gain, 0.0))

    def score(self, mean: Array, variance: Array) -> Array:
        """z, of which the probability is a monotone function; without spread, plus or minus infinity."""
        gain = self._gain(mean)
        certain = np.where(gain > 0, np.inf, -np.inf)
        return np.where(variance > 0, gain / deviation(variance), certain)

    def partials(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """1 / s and -z / (2 s^2)."""
        s = deviation(variance)
        return 1 / s, -self._gain(mean) / (2 * s**3)

    def _gain(self, mean: Array) -> Array:
        return mean - (self.incumbent + self.margin)


def log_improvement(z: Array) -> Array:
    """log(phi(z) + z Phi(z)) for any z, by the branches of Ament et al. 2023, equation 9."""
    z = np.asarray(z, dtype=float)
    near = np.maximum(z, -1.0)
    value = np.log(np.exp(-0.5 * near * near - LOG_SQRT_2PI) + near * ndtr(near))
    far = np.minimum(z, -1.0)
    tail = np.clip(far * np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2)), -1.0 + 1e-16, 0.0)
    # Beyond z = -1e6 the difference 1 - |z| Phi(z)/phi(z) is lost to rounding; its limit is 1 / z^2.
    shrink = np.where(far > -1e6, np.log1p(tail), -2 * np.log(-far))
    logarithm: Array = np.where(z > -1.0, value, -0.5 * far * far - LOG_SQRT_2PI + shrink)
    return logarithm
