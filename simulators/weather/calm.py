"""Calm as part of a latent wind: winds below 0 are calm.

A sixth of the stations of a morning report no wind at all, which no normal distribution has. The wind is
taken for a latent one, of which only what is above 0 blows (Tobin 1958). A Gaussian process is told winds
that blow as they are; of a calm it is told the mean of the normal's part below 0, with the variance of that
part as noise. What it predicts below 0 is calm: compositions count a wind below 0 as 0.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.stats import norm

from simulators.arrays import Array


class Calm(NamedTuple):
    """What a calm is told as.

    Attributes
    ----------
    value : float
        The mean of winds below 0, m/s: 0 for a calm that is told as it is.
    variance : float
        Theirs, (m/s)^2: 0 as well.
    """

    value: float
    variance: float

    @classmethod
    def of(cls, wind: Array) -> Self:
        """Of the normal that has the calm share of some winds below 0, and their mean above it.

        Where none or all is calm there is nothing to learn from: a calm is told as 0.
        """
        share = float(np.mean(wind == 0.0))
        if share in (0.0, 1.0):
            return cls(0.0, 0.0)
        end = float(norm.ppf(share))  # 0 m/s, in standard deviations from the mean
        above, below = norm.pdf(end) / (1.0 - share), -norm.pdf(end) / share
        deviation = float(np.mean(wind[wind > 0.0])) / (above - end)
        variance = 1.0 + end * below - below**2
        return cls(float((below - end) * deviation), float(variance * deviation**2))

    def told(self, wind: Array) -> Array:
        """Winds (n,) as a process is told them."""
        return np.where(wind == 0.0, self.value, wind)
