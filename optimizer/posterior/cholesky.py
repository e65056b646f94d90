"""A Cholesky factor that never fails: the smallest jitter that works, recorded.

A kernel that is not positive-definite makes a pivot that is zero up to rounding, or negative, and so does
the same policy observed twice, where nothing keeps noise variances above zero (posteriors do, see `inputs`).
Such a row, and only that row, gets jitter added to its noise variance.
"""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.kernels.gradients import bind

FLOOR = 1e-12
"""Squared pivots below this share of the row's own variance hold only rounding errors."""
FIRST_JITTER = 1e-10
"""The first jitter tried, as a share of the row's variance; then ten times more, until it works."""


def safe_pivot(squared: float, scale: float) -> tuple[float, float]:
    """Square root of a squared pivot, and the jitter that this needed.

    Parameters
    ----------
    squared : float
        k(x, x) + noise - l^T l, which rounding may have made zero or negative.
    scale : float
        k(x, x) + noise, the variance of the row's observation.

    Returns
    -------
    pivot, jitter : float
        `pivot ** 2 = squared + jitter`; jitter is 0 where none was needed.
    """
    scale = max(scale, np.finfo(float).tiny * 1e20)
    if squared > FLOOR * scale:
        return float(np.sqrt(squared)), 0.0
    jitter = FIRST_JITTER * scale
    while squared + jitter <= 0.5 * FIRST_JITTER * scale:
        jitter *= 10.0
    return float(np.sqrt(squared + jitter)), jitter


def safe_cholesky(matrix: Array, scale: Array) -> tuple[Array, Array]:
    """Lower Cholesky factor of a symmetric matrix, with jitter only in the rows that need it.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric; positive semi-definite up to rounding.
    scale : ndarray of shape (n,)
        Variance of each row's observation, against which a pivot counts as rounding error.

    Returns
    -------
    factor : ndarray of shape (n, n)
        Lower triangular.
    jitter : ndarray of shape (n,)
        What was added to the diagonal.
    """
    n = len(matrix)
    if n > 1:
        try:
            factor: Array = cholesky(matrix, lower=True, check_finite=False)
            if (np.diag(factor) ** 2 > FLOOR * scale).all():
                return factor, np.zeros(n)
        except LinAlgError:
            pass
    factor, jitter = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        row = solve_triangular(factor[:i, :i], matrix[:i, i], lower=True, check_finite=False) if i else []
        factor[i, :i] = row
        factor[i, i], jitter[i] = safe_pivot(float(matrix[i, i] - np.dot(row, row)), float(scale[i]))
    return factor, jitter


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
