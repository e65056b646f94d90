"""Exact draws of a stationary Gaussian process on a regular grid of [0, 1]^d.

A draw is `L z` with `K = L L^T` and standard normal `z`. The kernel matrix K of a smooth kernel has a
small numerical rank r, so L keeps r columns: a pivoted Cholesky factor, stopped where no point's variance is
left above a trillionth. It costs O(n r^2), never holds the (n, n) matrix, and adds no jitter.

Two things make equal seeds give equal worlds even where rounding differs between machines. The pivots are not
the largest variances left, among which mirrored points tie, but in a fixed order (coarse grids first) all
that are left with more than a threshold, which then falls. And every grid point has an entry of z of its own,
which it keeps whenever it becomes a pivot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg.blas import dtrsm
from sklearn.gaussian_process.kernels import RBF, Kernel

from simulators.arrays import Array, Rows

TOLERANCE = 1e-12
"""No entry of K - L L^T is larger than this times the kernel's variance (and rounding errors)."""

THRESHOLD_STEP = 100.0
"""How fast the threshold of the pivots falls: the errors of a column grow by no more than its root."""

BLOCK = 32, 64
"""Least and greatest number of candidates for pivots that are examined together."""

MOST_BYTES = 2**30
"""Memory that a factor may take."""


def grid_points(shape: Sequence[int]) -> Array:
    """The points (n, d) of a regular grid that includes the corners of [0, 1]^d, the last entry fastest."""
    axes = np.meshgrid(*(np.linspace(0.0, 1.0, m) for m in shape), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def draw(kernel: Kernel, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """The values (n,) at `grid_points(shape)` of a function drawn from a zero-mean Gaussian process.

    The kernel is stationary, and the same when an axis is turned round. A squared-exponential one is a
    product over the axes, and so is its factor (van Loan 2000, "The ubiquitous Kronecker product"): then d
    small factors do. One normal number is drawn a grid point.
    """
    values = rng.standard_normal(tuple(shape))
    if type(kernel) is not RBF:
        L, pivots = factor(kernel_table(kernel, shape))
        drawn: Array = L @ values.ravel()[pivots]
        return drawn
    table = kernel_table(kernel, shape)
    for axis in range(len(shape)):
        L, pivots = factor(np.moveaxis(table, axis, 0).reshape(shape[axis], -1)[:, 0])
        values = np.moveaxis(np.tensordot(L, values.take(pivots, axis), (1, axis)), 0, axis)
    return np.ascontiguousarray(values).ravel()


def kernel_table(kernel: Kernel, shape: Sequence[int]) -> Array:
    """K between the grid's first point and every point: all that a stationary kernel has to say.

    It has the grid's shape; entry (a, b, ..) is k of two points that lie a, b, .. steps apart along the axes.
    """
    points = grid_points(shape)
    return np.asarray(kernel(points[:1], points), dtype=float).reshape(tuple(shape))


def factor(table: Array) -> tuple[Array, Rows]:
    """A factor L (n, r) of the kernel matrix of a grid, K = L L^T up to a trillionth of the variance.

    The grid points (r,) of its columns, the pivots, come with it. `table` is that of `kernel_table`. Where L
    does not fit in 1 GiB, a ValueError says so.
    """
    n, variance = table.size, float(table.flat[0])
    kernel_rows = _kernel_rows(table)
    order = _coarse_to_fine(table.shape)
    L, r = np.zeros((n, min(n, BLOCK[1]))), 0
    pivots = np.empty(0, dtype=np.intp)
    left = np.full(n, variance)  # what the columns so far leave of each point's variance
    waits = np.ones(n, dtype=bool)  # not a pivot yet; a pivot's row of L is complete
    threshold = variance
    while threshold > TOLERANCE * variance:
        threshold = max(threshold / THRESHOLD_STEP, TOLERANCE * variance)
        waiting = order[left[order] > threshold]
        while len(waiting):
            block, waiting = np.split(waiting, [np.clip(r, *BLOCK)])
            K = kernel_rows(block)
            corner, chosen = _corner(K[:, block] - L[block, :r] @ L[block, :r].T, threshold)
            if not chosen:
                continue
            new, q = block[chosen], len(chosen)
            left[new], waits[new] = 0.0, False
            L = _make_room(L, r + q)
            rest = np.flatnonzero(waits)
            columns = K[chosen].T[rest] - L[rest, :r] @ L[new, :r].T
            columns = dtrsm(1.0, corner.T, columns.T, trans_a=1).T
            L[new, r : r + q] = corner
            L[rest, r : r + q] = columns
            left[rest] = np.maximum(left[rest] - np.einsum("ij,ij->i", columns, columns), 0.0)
            pivots, r = np.append(pivots, new), r + q
            waiting = waiting[left[waiting] > threshold]
    return L[:, :r], pivots


def _kernel_rows(table: Array) -> Callable[[Rows], Array]:
    """What gives rows (m, n) of the kernel matrix: each is a window of the mirrored table."""
    mirrored = np.pad(table, [(m - 1, 0) for m in table.shape], mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(mirrored, table.shape)
    last = np.array(table.shape)[:, None] - 1

    def rows(points: Rows) -> Array:
        at = last - np.array(np.unravel_index(points, table.shape))
        entries: Array = windows[tuple(at)].reshape(len(points), table.size)
        return entries

    return rows


def _coarse_to_fine(shape: tuple[int, ...]) -> Rows:
    """The grid points, those of coarse grids first: multiples of the greatest power of two."""
    steps = np.indices(shape).reshape(len(shape), -1)
    power = np.where(steps == 0, np.iinfo(steps.dtype).max, steps & -steps).min(axis=0)
    return np.argsort(-power, kind="stable")


def _corner(S: Array, threshold: float) -> tuple[Array, list[int]]:
    """The Cholesky factor (q, q) of the rows and columns whose pivots pass, and which they are."""
    C = np.zeros_like(S)
    chosen: list[int] = []
    for i in range(len(S)):
        q = len(chosen)
        row = C[i, :q]
        pivot = S[i, i] - row @ row
        if pivot > threshold:
            C[i:, q] = (S[i:, i] - C[i:, :q] @ row) / np.sqrt(pivot)
            chosen.append(i)
    return np.ascontiguousarray(C[chosen, : len(chosen)]), chosen


def _make_room(L: Array, columns: int) -> Array:
    n, room = L.shape
    if columns <= room:
        return L
    room = min(n, max(2 * room, columns))
    if 8 * n * room > MOST_BYTES:
        raise ValueError(
            f"a function of so little smoothness on {n} points needs a factor of more than "
            f"{MOST_BYTES / 2**30:g} GiB; choose fewer points, longer length scales or the family 'rbf'"
        )
    wider = np.zeros((n, room))
    wider[:, : L.shape[1]] = L
    return wider
