"""Algorithm 1 on a finite candidate set, where a round costs O(T n) a group instead of a refit.

Notation: V = L^-1 k(X_T, C) holds a solved cross-covariance row for every observation, over all n candidates
C. A new observation at candidate i appends one row, v = (k(x_i, C) - V[:, i]^T V) / pivot, and updates mean
and variance of every candidate: mean += v a, variance -= v^2. No triangular system is ever solved again.

Groups with the same kernel, noise and observed rows have the same V, which is then kept once: below, d counts
these D distinct kernels, and j the groups.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.composition.linear import BaseComposition
from optimizer.composition.objective import Moments, Posterior
from optimizer.posterior.cholesky import safe_pivot
from optimizer.posterior.inputs import (
    LEAST_NOISE,
    PriorMean,
    as_observations,
    as_points,
    as_variances,
    prior_mean_at,
    spread_means,
    stated_or_own,
    with_least,
)
from optimizer.posterior.solved_rows import RowStorage, keep_rows

Rows = NDArray[np.int64]

LEAST_NOISE_OF_FLOAT32 = 1e-5
"""`LEAST_NOISE` where rows are kept in float32, whose rounding is that much coarser."""


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
        composition: BaseComposition,
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
        self.noise_variances: Array = as_variances(noise_variances, (J,))
        self._rows = np.arange(len(features))
        self._means = np.stack(
            [prior_mean_at(mean, self._rows) for mean in spread_means(prior_means, J)], axis=0
        )
        distinct: list[int] = []  # the first group of each d
        self._kernel = np.zeros(J, dtype=np.int64)  # d of every group
        for j, kernel in enumerate(kernels):
            for d, first in enumerate(distinct):
                if kernels[first] == kernel and self.noise_variances[first] == self.noise_variances[j]:
                    self._kernel[j] = d
                    break
            else:
                self._kernel[j] = len(distinct)
                distinct.append(j)
        self._order = self._as_index()
        storage = storage or RowStorage()
        self._kept = keep_rows([kernels[j] for j in distinct], features, storage)
        single = storage.dtype == "float32" and storage.rank_tolerance is None
        self._least_noise = LEAST_NOISE_OF_FLOAT32 if single else LEAST_NOISE
        self._prior_variances = np.stack([kernels[j].diag(features) for j in distinct])
        self._variances = self._prior_variances.copy()
        self._zeros = np.zeros(len(features))  # NumPy compares with an array four times faster than with 0.0
        self._jitter = np.zeros(len(distinct))
        self._observed = np.zeros(J, dtype=np.int64)

    @property
    def size(self) -> int:
        """n, the number of candidates."""
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the kept rows of all groups."""
        return self._kept.nbytes

    @property
    def jitter(self) -> Array:
        """Largest jitter that an observation needed, a group, shape (J,)."""
        return self._jitter[self._kernel]

    @property
    def observed(self) -> NDArray[np.int64]:
        """Number of observations of each group, shape (J,)."""
        return self._observed.copy()

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
        noise = stated_or_own(noise_variance, self.noise_variances, Y.shape)
        for i, y, variances in zip(rows, Y, noise, strict=True):
            self._extend(int(i), y, variances)
        return self

    def _extend(self, i: int, y: Array, noise: Array) -> None:
        present = np.isfinite(y)
        if not present.any():
            return
        noise = with_least(noise, self._prior_variances[self._kernel, i], self._least_noise)
        self._part(np.where(present, noise, np.inf))
        scale = np.full(len(self._variances), np.inf)
        scale[self._kernel[present]] = self._prior_variances[self._kernel[present], i] + noise[present]
        column = self._kept.column(i)
        pivots = np.full(len(scale), np.inf)  # of kernels that are not observed: their new rows are zero
        jitters = np.zeros(len(scale))
        for d in np.flatnonzero(scale < np.inf):
            pivots[d], jitters[d] = safe_pivot(float(scale[d] - column[d] @ column[d]), float(scale[d]))
        steps = np.where(present, y - self._means[:, i], 0.0) / pivots[self._kernel]
        for tile, rows in self._kept.extend(i, column, pivots):
            self._means[:, tile] += steps[:, None] * rows[self._order]
            left = np.subtract(self._variances[:, tile], np.square(rows, out=rows), out=rows)
            self._variances[:, tile] = np.maximum(left, self._zeros[tile], out=left)
        self._jitter = np.maximum(self._jitter, jitters)
        self._observed += present

    def _part(self, noise: Array) -> None:
        """Part the groups of a kernel that stop being alike: observed with another noise, or not at all."""
        if len(self._variances) == len(self._kernel):
            return
        first: dict[int, float] = {}
        parted: dict[tuple[int, float], int] = {}
        for j, d in enumerate(self._kernel.tolist()):
            if first.setdefault(d, noise[j]) == noise[j]:
                continue
            if (d, noise[j]) not in parted:
                parted[d, noise[j]] = len(self._variances)
                self._kept.split(d)
                self._prior_variances = _with_another(self._prior_variances, d)
                self._variances = _with_another(self._variances, d)
                self._jitter = _with_another(self._jitter, d)
            self._kernel[j] = parted[d, noise[j]]
        self._order = self._as_index()

    def _as_index(self) -> slice | NDArray[np.int64]:
        """Takes values (D, n) of the kernels to those (J, n) of the groups, without a copy where D = J."""
        in_order = np.array_equal(self._kernel, np.arange(self._kernel.max() + 1))
        return slice(None) if in_order else self._kernel

    def predict_groups(self, rows: ArrayLike | None = None) -> tuple[Array, Array]:
        """Posterior means and variances of the groups at candidate rows (all unless given), each (n, J)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        return self._means[:, chosen].T, self._variances[self._order][:, chosen].T

    def _groups(self, rows: Rows) -> tuple[Array, Array]:
        """The same without a copy where all rows are asked for, to be used up before the next observation."""
        if len(rows) == self.size and np.array_equal(rows, self._rows):
            return self._means.T, self._variances[self._order].T
        return self.predict_groups(rows)

    def predict(self, rows: ArrayLike | None = None) -> Moments:
        """Posterior mean and variance of the signed objective at rows (all unless given), each (n,)."""
        chosen = self._rows if rows is None else np.asarray(rows)
        return self.composition.moments(*self._groups(chosen), chosen)

    def posterior(self, rows: ArrayLike) -> Posterior:
        """Posterior of the signed objective at candidate rows, as acquisitions read it."""
        chosen = np.asarray(rows)
        return self.composition.posterior(*self._groups(chosen), chosen)


def _with_another(values: Array, d: int) -> Array:
    """Values of D kernels, and those of kernel d again, for one that parts from it."""
    return np.concatenate([values, values[[d]]])
