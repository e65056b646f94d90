"""Algorithm 1 on a finite candidate set, where a round costs O(T n) a group instead of a refit.

Notation: V = L^-1 k(X_T, C) holds a solved cross-covariance row for every observation, over all n candidates
C. A new observation at candidate i appends one row, v = (k(x_i, C) - V[:, i]^T V) / pivot, and updates mean
and variance of every candidate: mean += v a, variance -= v^2. No triangular system is ever solved again.

Groups with the same kernel, noise and observed rows have the same V, which is then kept once.
"""

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.composition import Composition
from optimizer.decomposed_gp import as_observations, prior_mean_at, spread_means
from optimizer.gaussian_process import PriorMean, as_points, as_variances
from optimizer.kernel_gradients import bind
from optimizer.pivots import safe_pivot

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

BLOCK_BYTES = 8_000_000
"""Kept rows are allocated in blocks of about this size, so that growing never copies them."""


class KeptRows:
    """The rows V of the groups that share a kernel, their noise and their observed candidates.

    Parameters
    ----------
    kernel : Kernel
        The shared kernel.
    features : ndarray of shape (n, p)
        What the kernel sees of the candidates.
    groups : list of int
        Which groups share it.
    """

    def __init__(self, kernel: Kernel, features: Array, groups: list[int]) -> None:
        self.kernel = kernel
        self.features = features
        self.groups = groups
        self.variance: Array = kernel.diag(features)
        self.a = np.empty((0, len(groups)))
        self.jitter: list[float] = []
        self._prior_variance = self.variance
        self._kernel_rows = bind(kernel, features)
        self._block_rows = int(np.clip(BLOCK_BYTES // (8 * len(features)), 16, 256))
        self._blocks: list[Array] = []

    def __len__(self) -> int:
        return len(self.jitter)

    def split(self, groups: list[int]) -> "KeptRows":
        """Rows of their own for `groups`, which from now on observe something else than the others."""
        other = copy.copy(self)
        other.groups = groups
        other.a = self.a[:, [self.groups.index(j) for j in groups]].copy()
        other.jitter = list(self.jitter)
        other._blocks = self._blocks[:-1] + [block.copy() for block in self._blocks[-1:]]
        return other

    def append(self, i: int, residuals: Array, noise: float) -> tuple[Array, Array]:
        """Observe candidate i: returns the new row v (n,) and the new a of each group (len(groups),).

        `residuals` are y_j minus the *posterior* mean at i; a = residual / pivot.
        """
        row = self._kernel_rows.value(self.features[i : i + 1])[0]
        done = 0
        squared = self._prior_variance[i] + noise
        for block in self._blocks:
            kept = block[: min(self._block_rows, len(self) - done)]
            column = kept[:, i]
            squared -= column @ column
            row -= column @ kept
            done += len(kept)
        pivot, jitter = safe_pivot(float(squared), float(self._prior_variance[i] + noise))
        row /= pivot
        if len(self) == self._block_rows * len(self._blocks):
            self._blocks.append(np.empty((self._block_rows, len(self.features))))
        self._blocks[-1][len(self) % self._block_rows] = row
        self.jitter.append(jitter)
        a = residuals / pivot
        self.a = np.vstack([self.a, a])
        self.variance = np.maximum(self.variance - row * row, 0.0)
        return row, a


class CandidatePosterior:
    """Decomposed GP regression over a finite candidate set, updated in O(T n) a group and observation.

    Parameters
    ----------
    kernels, noise_variances, composition, prior_means
        As in `DecomposedGP`. Functions in `composition` and `prior_means` are given candidate rows (n,).
    features : ndarray of shape (n, p)
        What the kernels see of the candidates.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        noise_variances: ArrayLike,
        composition: Composition,
        prior_means: PriorMean | Sequence[PriorMean] = 0.0,
        *,
        features: ArrayLike,
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
        self._shared: list[KeptRows] = []
        for j, kernel in enumerate(kernels):
            twin = next(
                (
                    kept
                    for kept in self._shared
                    if kept.kernel == kernel
                    and self.noise_variances[kept.groups[0]] == self.noise_variances[j]
                ),
                None,
            )
            if twin is None:
                self._shared.append(KeptRows(kernel, features, [j]))
            else:
                twin.groups.append(j)
                twin.a = np.empty((0, len(twin.groups)))

    @property
    def size(self) -> int:
        """n, the number of candidates."""
        return len(self._rows)

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
            for kept in self._divide(y, variances):
                groups = kept.groups
                v, a = kept.append(
                    int(row), y[groups] - self._means[groups, row], float(variances[groups[0]])
                )
                for j, a_j in zip(groups, a, strict=True):
                    self._means[j] += v * a_j
        return self

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
        variances = np.empty((len(chosen), self.composition.groups))
        for kept in self._shared:
            variances[:, kept.groups] = kept.variance[chosen, None]
        return self._means.T[chosen], variances

    def predict(self, rows: ArrayLike | None = None) -> tuple[Array, Array]:
        """Posterior mean and variance of the signed objective at rows (all unless given), each (n,)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        means, variances = self.predict_groups(chosen)
        return self.composition.compose(means, chosen), self.composition.variance(variances, chosen)
