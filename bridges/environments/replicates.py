"""Several runs of a model as one observation: their mean, and the noise that is left in it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optimizer.arrays import Array
from simulators.contract.environment import SimulationError


class Run(NamedTuple):
    """One run of a model.

    Attributes
    ----------
    seed : int
    values : (J,) array
        Its outcomes, nan where a group is missing; all nan of a run that failed.
    error : SimulationError or None
        Why it failed.
    """

    seed: int
    values: Array
    error: SimulationError | None = None


def of_all(runs: Sequence[Array], noise_variance: Array | None) -> tuple[Array, Array | None]:
    """Mean outcomes (J,) of runs, and the noise variances of these means.

    Parameters
    ----------
    runs : sequence of (J,) array
        One or more; nan where a group is missing, which the others make up for.
    noise_variance : (J,) or (J, J) array, or None
        Of one run, where it is known: the mean's is that over the number of runs. Otherwise it follows from
        the spread of the runs, as the unbiased sample variance over their number; nan of a group that only
        one run has.
    """
    values = np.array(runs)
    seen = ~np.isnan(values)
    count = seen.sum(axis=0)
    total = np.where(seen, values, 0.0).sum(axis=0)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    if noise_variance is not None:
        if noise_variance.ndim == 1:
            return means, noise_variance / np.maximum(count, 1)
        # Of two groups, the runs that have both share their noise: n_ij / (n_i n_j).
        shared = seen.T.astype(float) @ seen.astype(float)
        return means, noise_variance * shared / np.maximum(np.outer(count, count), 1)
    squares = np.where(seen, (values - means) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1) / np.maximum(count, 1)
    return means, np.where(count > 1, variance, np.nan)
