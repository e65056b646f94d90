"""The solved cross-covariance rows V_d = L_d^-1 k_d(X_T, C) of D kernels over all n candidates C.

Appending an observation reads every kept row once, so at 100,000 candidates the time of a round is the time
to move these bytes. `RowStorage` says how many there are: rows in float64 (exact), rows in float32 (half the
bytes, seven digits), or a pivoted Cholesky factor F of the kernel matrix, k(C, C) = F F^T + E with E below a
tolerance: then V = U F^T with U (T, r), and a round moves n r numbers however many observations there are.

Candidates are worked off in tiles, so that everything but V itself stays in the processor's cache.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.kernels.stack import KernelStack
from optimizer.posterior.cholesky import pivoted_cholesky

TILE = 30_000
"""Numbers of one row of all kernels over one tile of candidates: 240 kB."""
BLOCK_BYTES = 16_000_000
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
        it; low-rank factors stop at an equal share each.
    """

    dtype: Literal["float64", "float32"] = "float64"
    rank_tolerance: float | None = None
    max_bytes: int | None = None


class KeptRows(ABC):
    """V_d of D kernels, each with T rows over the n candidates."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def column(self, i: int) -> Array:
        """V_d[:, i] of every kernel, shape (D, T)."""

    @abstractmethod
    def extend(self, i: int, column: Array, pivots: Array) -> Iterator[tuple[slice, Array]]:
        """Keep the rows v_d = (k_d(x_i, C) - V_d[:, i]^T V_d) / pivot_d of an observation at candidate i.

        An infinite pivot keeps a row of zeros: that kernel's groups were not observed.

        Yields
        ------
        slice, ndarray of shape (D, m)
            A tile of candidates, and the new rows over it, to be used up. All are to be taken.
        """

    @abstractmethod
    def split(self, d: int) -> None:
        """Append a kernel D + 1 with the rows of kernel d, to go on on its own."""


def keep_rows(kernels: Sequence[Kernel], features: Array, storage: RowStorage) -> KeptRows:
    """No rows yet of these kernels over candidates with features (n, p), to be stored as `storage` says."""
    if storage.rank_tolerance is None:
        return ExactRows(kernels, features, storage)
    share = np.inf if storage.max_bytes is None else storage.max_bytes / len(kernels)
    max_rank = max(int(min(share / (8 * len(features)), len(features))), 1)
    return LowRankRows([pivoted_cholesky(k, features, storage.rank_tolerance, max_rank) for k in kernels])


def _tiles(n: int, kernels: int) -> list[slice]:
    width = max(TILE // kernels, 1)
    return [slice(start, min(start + width, n)) for start in range(0, n, width)]


class ExactRows(KeptRows):
    """V itself, in blocks (D, rows, m) a tile that are never copied."""

    def __init__(self, kernels: Sequence[Kernel], features: Array, storage: RowStorage) -> None:
        self._kernels = list(kernels)
        self._features = features
        self._dtype = np.dtype(storage.dtype)
        self._max_bytes = storage.max_bytes
        self._T = 0
        self._block_rows = int(np.clip(BLOCK_BYTES // self._row_bytes, 32, 256))
        self._tiles = _tiles(len(features), len(kernels))
        self._blocks: list[list[NDArray[np.floating]]] = [[] for _ in self._tiles]
        self._bind()

    def _bind(self) -> None:
        self._stacks = [KernelStack(self._kernels, self._features[tile]) for tile in self._tiles]

    @property
    def _row_bytes(self) -> int:
        return self._dtype.itemsize * len(self._kernels) * len(self._features)

    @property
    def nbytes(self) -> int:
        """Bytes held, with the room for rows to come."""
        return self._row_bytes * self._block_rows * len(self._blocks[0])

    def column(self, i: int) -> Array:
        """V_d[:, i] of every kernel, shape (D, T)."""
        tile, within = divmod(i, self._tiles[0].stop)
        column = np.empty((len(self._kernels), self._T))
        for block, (start, stop) in zip(self._blocks[tile], self._spans(), strict=True):
            column[:, start:stop] = block[:, : stop - start, within]
        return column

    def extend(self, i: int, column: Array, pivots: Array) -> Iterator[tuple[slice, Array]]:
        """Keep one more row of every kernel; see `KeptRows.extend`."""
        spans = self._spans()
        parts = [column[:, None, start:stop].astype(self._dtype) for start, stop in spans]
        if self._block_rows * len(spans) == self._T:
            self._allocate()
        x = self._features[i : i + 1]
        scale = 1.0 / pivots[:, None]
        for tile, stack, blocks in zip(self._tiles, self._stacks, self._blocks, strict=True):
            rows = stack.row(x)
            for part, block in zip(parts, blocks, strict=False):
                rows -= (part @ block[:, : part.shape[2]])[:, 0]
            rows *= scale
            blocks[-1][:, self._T % self._block_rows] = rows
            yield tile, rows
        self._T += 1

    def _spans(self) -> list[tuple[int, int]]:
        """First and last row of every block."""
        starts = range(0, self._block_rows * len(self._blocks[0]), self._block_rows)
        return [(start, min(start + self._block_rows, self._T)) for start in starts]

    def _allocate(self) -> None:
        block_bytes = self._block_rows * self._row_bytes
        if self._max_bytes is not None and self.nbytes + block_bytes > self._max_bytes:
            raise MemoryError(
                f"{self._T + 1} rows of {len(self._kernels)} kernels over {len(self._features)} candidates "
                f"pass the limit of {self._max_bytes:.3g} bytes: raise max_bytes or set rank_tolerance"
            )
        # One allocation for all tiles: NumPy asks for large pages above 4 MB, read up to a third faster.
        height = len(self._kernels) * self._block_rows
        buffer = np.empty(height * len(self._features), dtype=self._dtype)
        for tile, blocks in zip(self._tiles, self._blocks, strict=True):
            part = buffer[height * tile.start : height * tile.stop]
            blocks.append(part.reshape(len(self._kernels), self._block_rows, -1))

    def split(self, d: int) -> None:
        """Append a kernel with the rows of kernel d."""
        self._kernels.append(self._kernels[d])
        for blocks in self._blocks:
            for b, block in enumerate(blocks):
                blocks[b] = np.concatenate([block, block[[d]]])
        self._bind()


class LowRankRows(KeptRows):
    """V_d = U_d F_d^T: the factor F_d (n, r) of a kernel matrix, and a row of U_d (T, r) an observation."""

    def __init__(self, factors: list[Array]) -> None:
        self._factors = factors
        self._U = [np.empty((0, factor.shape[1])) for factor in factors]
        self._tiles = _tiles(len(factors[0]), len(factors))

    @property
    def nbytes(self) -> int:
        """Bytes held; a factor that two kernels share counts once."""
        factors = {id(factor): factor for factor in self._factors}
        return sum(part.nbytes for part in [*factors.values(), *self._U])

    def column(self, i: int) -> Array:
        """V_d[:, i] of every kernel, shape (D, T)."""
        return np.stack([U @ factor[i] for U, factor in zip(self._U, self._factors, strict=True)])

    def extend(self, i: int, column: Array, pivots: Array) -> Iterator[tuple[slice, Array]]:
        """Keep one more row of every kernel; see `KeptRows.extend`."""
        new = []
        for d, (U, factor) in enumerate(zip(self._U, self._factors, strict=True)):
            new.append((factor[i] - column[d] @ U) / pivots[d])
            self._U[d] = np.vstack([U, new[d]])
        for tile in self._tiles:
            yield tile, np.stack([factor[tile] @ u for factor, u in zip(self._factors, new, strict=True)])

    def split(self, d: int) -> None:
        """Append a kernel with the rows of kernel d; the factor is shared."""
        self._factors.append(self._factors[d])
        self._U.append(self._U[d])
