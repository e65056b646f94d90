"""The worst-off group by what each of its own persons has, where outcomes are told per person of all."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from optimizer.arrays import Array
from optimizer.composition.ready import WorstGroup


@dataclass(frozen=True)
class WorstRate(WorstGroup):
    """The outcome of the worst group per person of it, b max_j b s_j f_j.

    Parameters
    ----------
    scales : tuple of J floats
        s_j, all persons by those of the group: what turns an outcome per person of all into one of the group.
    """

    scales: tuple[float, ...] = ()
    name = "worst-rate"

    def __call__(self, outcomes: Array) -> Array:
        """The worst rate."""
        return super().__call__(outcomes * np.array(self.scales))

    def slopes(self, outcomes: Array) -> Array:
        """s_j of the worst group, 0 of all others."""
        scales = np.array(self.scales)
        slopes: Array = super().slopes(outcomes * scales) * scales
        return slopes

    def bounds(self, groups: int) -> Array:
        """The scales."""
        return np.array(self.scales)

    def moments(self, means: Array, variances: Array) -> Any:
        """Those of the worst of the scaled groups."""
        scales = np.array(self.scales)
        return super().moments(means * scales, variances * scales**2)
