"""Algorithm 1 on a finite candidate set, where a round costs O(T n) a group instead of a refit.

Notation: V = L^-1 k(X_T, C) holds a solved cross-covariance row for every observation, over all n candidates
C. A new observation at candidate i appends one row, v = (k(x_i, C) - V[:, i]^T V) / pivot, and updates mean
and variance of every candidate: mean += v a, variance -= v^2. No triangular system is ever solved again.

Groups with the same kernel, noise and observed rows have the same V, which is then kept once.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.composition import Composition
from optimizer.decomposed_gp import as_observations, prior_mean_at, spread_means
from optimizer.gaussian_process import PriorMean, as_points, as_variances
from optimizer.kept_rows import KeptRows, RowStorage

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class CandidatePosterior:
    """Decomposed GP regression over a finite candidate set, updated in O(T n) a group and observation.

    Parameters
    ----------
    kernels, noise_variances, composition, prior_means
        As in `DecomposedGP`. Functions in `composition` and `prior_means` are given candidate rows (n,).
    features : ndarray of shape (n, p)
        What the kernels see of the candidates.
    storage : RowStorage, optional
        How the kept rows are stored: exact unless given.

    Attributes
    ----------
    nbytes : int
        Memory of the kept rows: 8 bytes a candidate, observation and distinct kernel where they are exact.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        noise_variances: ArrayLike,
        composition: Composition,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        *,
        features: ArrayLike,
        storage: RowStorage | None = None,
    ) -> None:
        J = composition.groups
        if len(kernels) != J:
            raise ValueError(f"{len(kernels)} kernels, but the composition has {J} groups")
        features = as_points(features)
        self.composition = composition
        self.noise_variances = as_variances(noise_variances, (J,))
        self._rows = np.arange(len(features))
        self._means = np.stack(
            [prior_mean_at(mean, self._rows) for mean in spread_means(prior_means, J)], axis=0
        )
        sharing: list[list[int]] = []
        for j, kernel in enumerate(kernels):
            for groups in sharing:
                first = groups[0]
                if kernels[first] == kernel and self.noise_variances[first] == self.noise_variances[j]:
                    groups.append(j)
                    break
            else:
                sharing.append([j])
        storage = storage or RowStorage()
        share = np.inf if storage.max_bytes is None else storage.max_bytes / len(sharing)
        self._shared = [KeptRows(kernels[groups[0]], features, groups, storage, share) for groups in sharing]

    @property
    def size(self) -> int:
        """n, the number of candidates."""
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the kept rows of all groups."""
        return sum(kept.nbytes for kept in self._shared)

    @property
    def jitter(self) -> Array:
        """Largest jitter that an observation needed, a group, shape (J,)."""
        jitter = np.zeros(self.composition.groups)
        for kept in self._shared:
            jitter[kept.groups] = max(kept.jitter, default=0.0)
        return jitter

    @property
    def observed(self) -> NDArray[np.int64]:
        """Number of observations of each group, shape (J,)."""
        counts = np.zeros(self.composition.groups, dtype=np.int64)
        for kept in self._shared:
            counts[kept.groups] = len(kept)
        return counts

    def observe(self, rows: ArrayLike, Y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations (n, J) at candidate rows (n,); nan skips that group's update only.

        Raises
        ------
        ValueError
            If a row is not a candidate, shapes differ, a value is infinite or a variance negative.
        """
        rows = np.asarray(rows).reshape(-1)
        if rows.dtype.kind not in "iu" or (len(rows) and not (0 <= rows.min() <= rows.max() < self.size)):
            raise ValueError(f"candidates are observed by their row, an integer of 0..{self.size - 1}")
        Y = as_observations(Y, len(rows), self.composition.groups)
        noise = as_variances(self.noise_variances if noise_variance is None else noise_variance, Y.shape)
        for row, y, variances in zip(rows, Y, noise, strict=True):
            self._extend(self._divide(y, variances), int(row), y, variances)
        return self

    def _extend(self, told: list[KeptRows], i: int, y: Array, noise: Array) -> None:
        """Observe candidate i in three passes: the products over kept rows push all else out of the cache."""
        rows = [kept.kernel_row(i) for kept in told]
        pivots = [
            kept.project(i, row, float(noise[kept.groups[0]])) for kept, row in zip(told, rows, strict=True)
        ]
        for kept, row, (pivot, jitter) in zip(told, rows, pivots, strict=True):
            kept.keep(row, pivot, jitter)
            for j in kept.groups:
                self._means[j] += row * ((y[j] - self._means[j, i]) / pivot)

    def _divide(self, y: Array, noise: Array) -> list[KeptRows]:
        """The rows to extend, after parting groups that stop being alike with this observation."""
        told: list[KeptRows] = []
        for kept in list(self._shared):
            alike: dict[float | None, list[int]] = {}
            for j in kept.groups:
                alike.setdefault(None if np.isnan(y[j]) else float(noise[j]), []).append(j)
            parts = [kept] if len(alike) == 1 else [kept.split(groups) for groups in alike.values()]
            if len(parts) > 1:
                self._shared.remove(kept)
                self._shared.extend(parts)
            told += [part for part, variance in zip(parts, alike, strict=True) if variance is not None]
        return told

    def predict_groups(self, rows: ArrayLike | None = None) -> tuple[Array, Array]:
        """Posterior means and variances of the groups at candidate rows (all unless given), each (n, J)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        return self._means[:, chosen].T, self._variances()[:, chosen].T

    def prior_variance(self, rows: ArrayLike) -> Array:
        """Variance of the objective before any observation at candidate rows, each (n,)."""
        chosen = np.asarray(rows)
        variances = np.empty((len(chosen), self.composition.groups))
        for kept in self._shared:
            variances[:, kept.groups] = kept.prior_variance[chosen, None]
        return self.composition.variance(variances, chosen)

    def _variances(self) -> Array:
        variances = np.empty_like(self._means)
        for kept in self._shared:
            variances[kept.groups] = kept.variance
        return variances

    def predict(self, rows: ArrayLike | None = None) -> tuple[Array, Array]:
        """Posterior mean and variance of the signed objective at rows (all unless given), each (n,)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        if len(chosen) == self.size and np.array_equal(chosen, self._rows):
            means, variances = self._means.T, self._variances().T  # the copies would cost more than the sums
        else:
            means, variances = self.predict_groups(chosen)
        return self.composition.compose(means, chosen), self.composition.variance(variances, chosen)
