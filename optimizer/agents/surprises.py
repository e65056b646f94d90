"""Observations that lie far from what was predicted of them when they came."""

from typing import NamedTuple

import numpy as np

from optimizer.arrays import Array

SURPRISE = 4.0
"""Predictive standard deviations, noise included, beyond which an observation is a surprise."""


class Surprise(NamedTuple):
    """One of them.

    Attributes
    ----------
    group : int
        j of what is modelled.
    value : float
        What was observed.
    predicted, deviation : float
        What was predicted of it, with its standard deviation, noise included.
    """

    group: int
    value: float
    predicted: float
    deviation: float


def surprises(Y: Array, means: Array, variances: Array, noise: Array) -> list[Surprise]:
    """Those among observations (n, J), by predictions without noise (n, J) and noise variances (n, J)."""
    spread = variances + noise
    with np.errstate(invalid="ignore"):
        far = (Y - means) ** 2 > SURPRISE**2 * spread
    return [
        Surprise(int(j), float(Y[i, j]), float(means[i, j]), float(np.sqrt(spread[i, j])))
        for i, j in np.argwhere(far)
    ]
