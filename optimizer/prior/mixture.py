"""A prior whose hyperparameters are uncertain: a mixture, of which each component is a draw of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.posterior.inputs import PriorMean
from optimizer.prior.prior import Prior


@dataclass(frozen=True, eq=False)
class PriorMixture:
    """S priors of the same groups; every group is a mixture of its own, independent of the others'.

    Parameters
    ----------
    components : sequence of S Prior
        With the same means: what is uncertain of a constant mean is a constant kernel in every component.
    weights : ndarray of shape (S, J)
        Of a group's components; they add up to 1.
    most_probable : Prior
        The prior of the most probable hyperparameters.
    """

    components: Sequence[Prior]
    weights: Array
    most_probable: Prior

    @property
    def means(self) -> Sequence[PriorMean]:
        """mu_{j,0}, one a group."""
        return self.most_probable.means

    @property
    def groups(self) -> list[tuple[list[Kernel], Array, Array]]:
        """Kernels (S), noise variances (S,) and weights (S,) of each group."""
        return [
            (
                [prior.kernels[j] for prior in self.components],
                np.array([prior.noise_variances[j] for prior in self.components]),
                self.weights[:, j],
            )
            for j in range(self.weights.shape[1])
        ]
