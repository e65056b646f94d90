"""Euclidean projection onto a box cut by linear constraints."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from simulators.arrays import Array


def project(point: Array, lower: Array, upper: Array, A: Array, row_lower: Array, row_upper: Array) -> Array:
    """The nearest x (d,) to a point with `lower <= x <= upper` and `row_lower <= A x <= row_upper`.

    The box is finite, the limits of the m rows may be infinite, the set must not be empty. The answer
    satisfies every limit to rounding.
    """
    nearest: Array = np.clip(point, lower, upper)
    value = A @ nearest
    if ((value >= row_lower) & (value <= row_upper)).all():
        return nearest
    if len(A) == 1:
        return _one_row(point, lower, upper, A[0], row_lower[0], row_upper[0])
    return _many_rows(point, lower, upper, A, row_lower, row_upper)


def _one_row(point: Array, lower: Array, upper: Array, a: Array, lb: float, ub: float) -> Array:
    """Project onto a box cut by one row.

    The answer is `clip(point - m a)` for the one multiplier m at which the row meets its nearer limit. The
    row's value never rises with m and is linear between the multipliers at which an entry meets a bound, so m
    is read off exactly.
    """
    start = float(np.dot(a, np.clip(point, lower, upper)))
    target = ub if start > ub else lb
    moving = a != 0
    m = np.sort(np.concatenate([(point - lower)[moving] / a[moving], (point - upper)[moving] / a[moving]]))
    value = np.clip(point - m[:, None] * a, lower, upper) @ a
    nearest: Array = np.clip(point - np.interp(target, value[::-1], m[::-1]) * a, lower, upper)
    return nearest


def _many_rows(point: Array, lower: Array, upper: Array, A: Array, lb: Array, ub: Array) -> Array:
    """Project onto a box cut by many rows: least distance programming by non-negative least squares.

    Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23: the least u with `G u >= h` follows
    from the residual r of `min_{y >= 0} |[G'; h'] y - e|` as `u = -r[:-1] / r[-1]`.
    """
    scale = np.linalg.norm(A, axis=1)
    keep = scale > 0
    A, lb, ub = A[keep] / scale[keep, None], lb[keep] / scale[keep], ub[keep] / scale[keep]
    eye = np.eye(len(point))
    G = np.vstack([eye, -eye, A[np.isfinite(lb)], -A[np.isfinite(ub)]])
    limit = np.concatenate([lower, -upper, lb[np.isfinite(lb)], -ub[np.isfinite(ub)]])
    target = np.append(np.zeros(len(point)), 1.0)
    for _ in range(3):  # the second pass removes what rounding left of a far point's violation
        h = limit - G @ point
        far = float(h.max())
        if far <= 1e-13:
            break
        E = np.vstack([G.T, h / far])
        y, _ = nnls(E, target)
        r = E @ y - target
        point = point - far * r[:-1] / r[-1]
    return np.asarray(np.clip(point, lower, upper), dtype=float)
