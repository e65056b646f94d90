"""Samples of the objective read as a density, for what is less probable than one sample in S.

Few samples say nothing of it: EI and the probability of improvement would be exactly zero for most policies
late in a search. So the samples of a policy are read as a mixture of S normals of standard deviation h =
SMOOTHING s around them, where s is their standard deviation; they are drawn to their mean by as much as keeps
the variance (West 1993). A score is the average of a function of u = (sample - target) / h over the mixture;
where that average underflows, its largest part stands for it, which logarithms still hold.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from optimizer.acquisition.gaussian import deviation
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


@dataclass(frozen=True)
class Mixture:
    """The mixtures of n policies.

    Attributes
    ----------
    u : ndarray of shape (S, n)
        Where the normals are, from the target, in units of h.
    h : ndarray of shape (n,)
        Their standard deviation.
    centred : ndarray of shape (S, n)
        The samples less their mean.
    """

    u: Array
    h: Array
    centred: Array

    @classmethod
    def of(cls, samples: Array, target: float) -> Self:
        """Of samples (S, n), about a target."""
        mean = samples.mean(axis=0)
        centred = samples - mean
        h = SMOOTHING * deviation(np.einsum("sn,sn->n", centred, centred) / len(samples))
        return cls(((mean - target) + KEPT * centred) / h, h, centred)

    @property
    def highest(self) -> Array:
        """The largest u of each policy (n,), as far out as slopes can be told."""
        highest: Array = np.maximum(self.u.max(axis=0), FARTHEST)
        return highest

    def log_average(self, values: Array, log_of_largest: Array) -> Array:
        """Logarithm (n,) of the average of values (S, n); where that underflows, of its largest part."""
        average = values.mean(axis=0)
        with np.errstate(divide="ignore"):
            plain = np.log(average)
        logarithm: Array = np.where(average > UNDERFLOW, plain, log_of_largest - np.log(len(values)))
        return logarithm

    def slopes_in_samples(self, in_kept: Array, in_h: Array) -> Array:
        """Slopes in the samples (S, n), from those in the drawn-in samples (S, n) and in h (n,)."""
        slopes: Array = KEPT * in_kept + (1 - KEPT) * in_kept.mean(axis=0)
        slopes += (SMOOTHING**2 / len(self.u)) * in_h / self.h * self.centred
        return slopes
