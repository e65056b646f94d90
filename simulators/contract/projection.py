"""Euclidean projection onto a box cut by linear constraints."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp, nnls

from simulators.arrays import Array

ROUNDING = 1e-12
"""Relative width that is added to the limits of many rows, well within what counts as feasible."""

WHOLE_NUMBERS = {"presolve": False, "mip_rel_gap": 0.01}
"""Options of `milp`. With its presolve, HiGHS (of SciPy 1.17) ends with an error where there is a policy; and
to prove that none is nearer by a billionth takes minutes where dozens of entries are whole."""


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


def project_on_steps(
    point: Array, lower: Array, upper: Array, A: Array, row_lower: Array, row_upper: Array, steps: Array
) -> Array:
    """The same where entries with a step (d,), not 0, lie on `lower + step * k`.

    Nearest, within one percent, in the sum of the entries' distances, each relative to its range: a
    mixed-integer linear program.
    The real entries then go to the point nearest to theirs that the others leave.
    """
    d, whole = len(point), steps > 0
    unit = np.where(whole, steps, 1.0)
    weight = unit / np.where(upper > lower, upper - lower, 1.0)
    at, shift, eye = (point - lower) / unit, A @ lower, np.eye(len(point))
    answer = milp(  # entries k in steps from the lower bound, and their distances from the point
        np.concatenate([np.zeros(d), weight]),
        integrality=np.concatenate([whole, np.zeros(d)]),
        bounds=Bounds(0, np.concatenate([(upper - lower) / unit, np.full(d, np.inf)])),
        constraints=[
            LinearConstraint(np.hstack([A * unit, np.zeros_like(A)]), row_lower - shift, row_upper - shift),
            LinearConstraint(np.hstack([eye, -eye]), -np.inf, at),
            LinearConstraint(np.hstack([-eye, -eye]), -np.inf, -at),
        ],
        options=WHOLE_NUMBERS,
    )
    if answer.x is None:
        raise ValueError(f"no policy within the limits could be found: {answer.message}")
    fixed = lower + unit * np.rint(answer.x[:d])
    low, high = np.where(whole, fixed, lower), np.where(whole, fixed, upper)
    return project(np.where(whole, fixed, point), low, high, A, row_lower, row_upper)


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
    A, lb, ub, scale = A[keep], lb[keep], ub[keep], scale[keep]
    # An equation that rounding has made impossible, as where other entries are fixed, has no residual.
    lb, ub = (limit + side * ROUNDING * np.maximum(1.0, np.abs(limit)) for limit, side in ((lb, -1), (ub, 1)))
    A, lb, ub = A / scale[:, None], lb / scale, ub / scale
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
