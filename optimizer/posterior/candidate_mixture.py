"""Algorithm 1 on a finite candidate set, where every group is a mixture over draws of its hyperparameters.

`CandidatePosterior` for mixtures: the solved cross-covariance rows V = L^-1 k(X_T, C) of every component are
kept, so that an observation costs O(T n) a component, and the moments of all candidates are ready.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.composition.linear import BaseComposition
from optimizer.composition.objective import Moments, Posterior
from optimizer.kernels.batch import BoundKernels
from optimizer.posterior.inputs import (
    PriorMean,
    as_observations,
    as_points,
    as_variances,
    prior_mean_at,
    spread_means,
    stated_or_own,
    with_least,
)
from optimizer.posterior.process_mixture import mixed
from optimizer.posterior.safe_inverse import inverse_factors


class CandidateMixture:
    """Decomposed GP regression over a finite candidate set, with mixtures as groups.

    Parameters
    ----------
    groups : sequence of J (kernels, noise variances, weights)
        S kernels, and (S,) of each of the others, a group.
    composition, prior_means
        As in `DecomposedGP`. Functions in them are given candidate rows (n,).
    features : ndarray of shape (n, p)
        What the kernels see of the candidates.
    """

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Kernel], ArrayLike, ArrayLike]],
        composition: BaseComposition,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        *,
        features: ArrayLike,
    ) -> None:
        points = as_points(features)
        self.composition = composition
        self._rows = np.arange(len(points))
        self._means = np.stack(
            [prior_mean_at(mean, self._rows) for mean in spread_means(prior_means, len(groups))], axis=1
        )
        self._groups = [_Group(*group, points) for group in groups]

    @property
    def size(self) -> int:
        """n, the number of candidates."""
        return len(self._rows)

    def observe(self, rows: ArrayLike, Y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations (n, J) at candidate rows (n,); nan skips that group's update only."""
        rows = np.asarray(rows).reshape(-1)
        if rows.dtype.kind not in "iu" or (len(rows) and not (0 <= rows.min() <= rows.max() < self.size)):
            raise ValueError(f"candidates are observed by their row, an integer of 0..{self.size - 1}")
        Y = as_observations(Y, len(rows), len(self._groups))
        noise = np.full(Y.shape, np.nan)
        if noise_variance is not None:
            noise[:] = noise_variance
        for j, group in enumerate(self._groups):
            known = np.isfinite(Y[:, j])
            if known.any():
                at = rows[known]
                group.observe(at, Y[known, j] - self._means[at, j], noise[known, j])
        return self

    def predict_groups(self, rows: ArrayLike | None = None) -> tuple[Array, Array]:
        """Posterior means and variances of the groups at candidate rows (all unless given), each (n, J)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        parts = [mixed(g.means[:, chosen], g.variances[:, chosen], g.weights) for g in self._groups]
        means = np.stack([part.mean for part in parts], axis=1) + self._means[chosen]
        return means, np.stack([part.variance for part in parts], axis=1)

    def predict(self, rows: ArrayLike | None = None) -> Moments:
        """Posterior mean and variance of the signed objective at rows (all unless given), each (n,)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        return self.composition.moments(*self.predict_groups(chosen), chosen)

    def posterior(self, rows: ArrayLike) -> Posterior:
        """Posterior of the signed objective at candidate rows, as acquisitions read it."""
        chosen = np.asarray(rows)
        return self.composition.posterior(*self.predict_groups(chosen), chosen)


class _Group:
    """Moments (S, n) of a group's components over the candidates, and the rows V (S, T, n) behind them."""

    def __init__(self, kernels: Sequence[Kernel], noise: ArrayLike, weights: ArrayLike, C: Array) -> None:
        S = len(kernels)
        self.weights = np.broadcast_to(np.asarray(weights, dtype=float), (S,))
        self._prior = np.stack([kernel.diag(C) for kernel in kernels])
        self.variances = self._prior.copy()
        self.means = np.zeros(self.variances.shape)
        self._noise = as_variances(noise, (S,))[:, None]
        self._features = C
        self._kernels = BoundKernels(kernels, C)
        self._V = np.empty((S, 0, len(C)))
        self._T = 0

    def observe(self, rows: NDArray[np.int64], y: Array, noise: Array) -> None:
        """Extend V by W = C^-1 (k(X_new, C) - V_new^T V), with C C^T the new rows' covariance left."""
        V = self._V[:, : self._T]
        K = self._kernels.value(self._features[rows])
        K -= np.matmul(V[:, :, rows].transpose(0, 2, 1), V)
        n = len(rows)
        variances = with_least(stated_or_own(noise, self._noise, (n,)), self._prior[:, rows])
        left = K[:, :, rows]
        left[:, np.arange(n), np.arange(n)] += variances
        inverse = inverse_factors(left, self._prior[:, rows] + variances)
        W = np.matmul(inverse, K)
        a = np.matmul(inverse, (y - self.means[:, rows])[:, :, None])
        self.means += np.einsum("sn,snc->sc", a[:, :, 0], W)
        self.variances = np.maximum(self.variances - np.einsum("snc,snc->sc", W, W), 0.0)
        self._keep(W)

    def _keep(self, W: Array) -> None:
        T, n = self._T, W.shape[1]
        if not T:
            self._V, self._T = W, n
            return
        if T + n > self._V.shape[1]:
            roomy = np.empty((len(W), T + n + 8, W.shape[2]))
            roomy[:, :T] = self._V[:, :T]
            self._V = roomy
        self._V[:, T : T + n] = W
        self._T = T + n
