"""The solved cross-covariance rows V = L^-1 k(X_T, C) over all n candidates C, and how they are stored.

Appending an observation reads every kept row once, so at 100,000 candidates the time of a round is the time
to move these bytes. `RowStorage` says how many there are: rows in float64 (exact), rows in float32 (half the
bytes, seven digits), or a pivoted Cholesky factor F of the kernel matrix, k(C, C) = F F^T + E with E below a
tolerance: then V = U F^T with U (T, r), and a round moves n r numbers however many observations there are.
"""

import copy
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.kernel_gradients import BoundKernel, bind
from optimizer.pivots import safe_pivot

Array = NDArray[np.float64]

BLOCK_BYTES = 8_000_000
"""Kept rows are allocated in blocks of about this size, so that growing never copies them."""


@dataclass(frozen=True)
class RowStorage:
    """How the kept rows of a `CandidatePosterior` are stored.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Of exact rows. float32 halves time and memory. Its rounding, 1e-7 of the prior variance, reaches the
        posterior mean multiplied by the signal-to-noise ratio: not for noise far below the signal.
    rank_tolerance : float, optional
        Store a pivoted Cholesky factor of the kernel matrix instead, stopped where the largest variance that
        it misses is below this share of the largest prior variance. For smooth kernels 1e-10 takes a few
        dozen columns.
    max_bytes : int, optional
        Limit of the kept rows' memory, all groups together. Exact rows refuse the observation that would pass
        it; a low-rank factor stops there.
    """

    dtype: Literal["float64", "float32"] = "float64"
    rank_tolerance: float | None = None
    max_bytes: int | None = None


class _Rows(Protocol):
    """Rows V over the candidates, of which the next one can be prepared and kept."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""

    def kernel_row(self, i: int) -> Array:
        """k(x_i, C), shape (n,), or room for it."""

    def project(self, i: int, row: Array) -> float:
        """Take V[:, i]^T V off the kernel row, in place; returns the squared length of V[:, i]."""

    def keep(self, row: Array, pivot: float) -> None:
        """Keep the prepared row, already divided by its pivot."""

    def copy(self) -> Self:
        """Rows that may go on on their own."""


class _ExactRows:
    """V itself, in blocks that are never copied."""

    def __init__(self, kernel: BoundKernel, features: Array, dtype: str, max_bytes: float) -> None:
        self._kernel = kernel
        self._features = features
        self._dtype = np.dtype(dtype)
        self._max_bytes = max_bytes
        row_bytes = self._dtype.itemsize * len(features)
        self._block_rows = int(np.clip(BLOCK_BYTES // row_bytes, 16, 256))
        self._block_bytes = self._block_rows * row_bytes
        self._blocks: list[NDArray[np.floating]] = []
        self._rows = 0

    @property
    def nbytes(self) -> int:
        return self._block_bytes * len(self._blocks)

    def kernel_row(self, i: int) -> Array:
        row: Array = self._kernel.value(self._features[i : i + 1])[0]
        return row

    def project(self, i: int, row: Array) -> float:
        length = 0.0
        for b, block in enumerate(self._blocks):
            kept = block[: min(self._block_rows, self._rows - b * self._block_rows)]
            column = kept[:, i].copy()
            length += float(column @ column)
            row -= column @ kept
        return length

    def keep(self, row: Array, pivot: float) -> None:
        if self._rows == self._block_rows * len(self._blocks):
            if self.nbytes + self._block_bytes > self._max_bytes:
                raise MemoryError(
                    f"{self._rows + 1} kept rows over {len(self._features)} candidates pass the limit of "
                    f"{self._max_bytes:.3g} bytes a kernel: raise max_bytes, or set rank_tolerance"
                )
            self._blocks.append(np.empty((self._block_rows, len(self._features)), dtype=self._dtype))
        self._blocks[-1][self._rows % self._block_rows] = row
        self._rows += 1

    def copy(self) -> "_ExactRows":
        other = copy.copy(self)
        other._blocks = self._blocks[:-1] + [block.copy() for block in self._blocks[-1:]]
        return other


class _LowRankRows:
    """V = U F^T: the factor F (n, r) of the kernel matrix is shared, a row of U (T, r) is kept."""

    def __init__(self, factor: Array) -> None:
        self._factor = factor
        self._U = np.empty((0, factor.shape[1]))
        self._next = np.empty(factor.shape[1])

    @property
    def nbytes(self) -> int:
        return self._factor.nbytes + self._U.nbytes

    def kernel_row(self, i: int) -> Array:
        return np.empty(len(self._factor))

    def project(self, i: int, row: Array) -> float:
        column = self._U @ self._factor[i]
        self._next = self._factor[i] - column @ self._U
        np.dot(self._factor, self._next, out=row)
        return float(column @ column)

    def keep(self, row: Array, pivot: float) -> None:
        self._U = np.vstack([self._U, self._next / pivot])

    def copy(self) -> "_LowRankRows":
        return copy.copy(self)


def pivoted_cholesky(kernel: Kernel, features: Array, tolerance: float, max_rank: int) -> Array:
    """Factor F (n, r) with k(C, C) = F F^T + E, E positive semi-definite with a small diagonal.

    The column of the largest remaining variance is taken next (Harbrecht, Peters & Schneider 2012), until
    that variance is below `tolerance` times the largest prior variance, or `max_rank` columns are there.
    Costs O(n r^2), without ever forming the kernel matrix.
    """
    remaining: Array = kernel.diag(features).copy()
    stop = tolerance * float(remaining.max())
    rows = bind(kernel, features)
    columns = np.empty((min(max_rank, 64), len(features)))
    rank = 0
    while rank < min(max_rank, len(features)):
        i = int(remaining.argmax())
        if remaining[i] <= stop:
            break
        if rank == len(columns):
            columns = np.vstack([columns, np.empty_like(columns)])
        done = columns[:rank]
        column = rows.value(features[i : i + 1])[0] - done[:, i] @ done
        column /= np.sqrt(remaining[i])
        columns[rank] = column
        remaining = np.maximum(remaining - column * column, 0.0)
        remaining[i] = 0.0
        rank += 1
    return np.ascontiguousarray(columns[:rank].T)


class KeptRows:
    """The rows of the groups that share a kernel, their noise and their observed candidates.

    Parameters
    ----------
    kernel : Kernel
        The shared kernel.
    features : ndarray of shape (n, p)
        What the kernel sees of the candidates.
    groups : list of int
        Which groups share it.
    storage : RowStorage
        How the rows are stored.
    max_bytes : float
        This kernel's share of the storage's limit.
    """

    def __init__(
        self, kernel: Kernel, features: Array, groups: list[int], storage: RowStorage, max_bytes: float
    ) -> None:
        self.kernel = kernel
        self.groups = groups
        self.prior_variance: Array = kernel.diag(features)
        self.variance = self.prior_variance.copy()
        self.jitter: list[float] = []
        self._rows: _Rows
        if storage.rank_tolerance is None:
            self._rows = _ExactRows(bind(kernel, features), features, storage.dtype, max_bytes)
        else:
            max_rank = int(min(max_bytes / (8 * len(features)), len(features)))
            self._rows = _LowRankRows(
                pivoted_cholesky(kernel, features, storage.rank_tolerance, max(max_rank, 1))
            )

    def __len__(self) -> int:
        """Number of observations."""
        return len(self.jitter)

    @property
    def nbytes(self) -> int:
        """Bytes of the kept rows."""
        return self._rows.nbytes

    def split(self, groups: list[int]) -> "KeptRows":
        """Rows of their own for `groups`, which from now on observe something else than the others."""
        other = copy.copy(self)
        other.groups = groups
        other.variance = self.variance.copy()
        other.jitter = list(self.jitter)
        other._rows = self._rows.copy()
        return other

    def kernel_row(self, i: int) -> Array:
        """k(x_i, C), shape (n,), from which `project` makes the new row."""
        return self._rows.kernel_row(i)

    def project(self, i: int, row: Array, noise: float) -> tuple[float, float]:
        """Make the kernel row of i, in place, the new row v times its pivot; returns pivot and jitter."""
        scale = float(self.prior_variance[i]) + noise
        return safe_pivot(scale - self._rows.project(i, row), scale)

    def keep(self, row: Array, pivot: float, jitter: float) -> None:
        """Keep the new row v, which the projection has left multiplied by its pivot."""
        row /= pivot
        self._rows.keep(row, pivot)
        self.jitter.append(jitter)
        self.variance -= row * row
        np.maximum(self.variance, 0.0, out=self.variance)
