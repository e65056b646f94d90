"""Noise that stays where it is: the bias of a sensor, which repeated readings do not average out.

The noise variance v of an observation has a part that its place keeps, as a sensor its drift: of two
observations i and k at one place it makes the noises covary by share sqrt(v_i v_k) exp(-|t_i - t_k| / hours).
What is predicted is the process without it.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.arrays import Array


@dataclass(frozen=True)
class KeptNoise:
    """Which part of the noise a place keeps, and for how long.

    Attributes
    ----------
    share : float
        Of the variance, 0..1.
    hours : float
        After which 37 % of it is left; the time is the last feature.
    """

    share: float
    hours: float

    def correlation(self, X: Array, Y: Array) -> Array:
        """Of the noise at points (n, p) and others (m, p): (n, m)."""
        same = (X[:, None, :-1] == Y[None, :, :-1]).all(axis=2)
        apart = np.abs(X[:, None, -1] - Y[None, :, -1])
        found: Array = np.where(same, self.share * np.exp(-apart / self.hours), 0.0)
        return found

    def across(self, X: Array, Y: Array, noise: Array, others: Array) -> Array:
        """The noises' covariance (.., n, m) at X and at Y, of variances (.., n) and (.., m)."""
        covariance: Array = self.correlation(X, Y) * np.sqrt(noise[..., :, None] * others[..., None, :])
        return covariance

    def within(self, X: Array, noise: Array) -> Array:
        """The noises' covariance (.., n, n) at X but for its diagonal, which is zero."""
        covariance = self.across(X, X, noise, noise)
        covariance[..., np.arange(len(X)), np.arange(len(X))] = 0.0
        return covariance
