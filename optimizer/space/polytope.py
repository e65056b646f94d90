"""The feasible set of a bounded policy space: a box cut by linear constraints.

Notation: a policy is `x` (d,). Entries fixed by equal bounds are constants; equality rows are solved for as
many entries as they have rank (the dependent ones, those the rows can move most). What is left, the
independent entries scaled to their bounds, are the coordinates `v` in [0, 1]^k, with `x = origin + map v`
and `G v <= h`. The map is linear, so uniform in `v` is uniform in `x`, and every `v` meets the
equalities exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import Bounds, LinearConstraint, linprog
from scipy.sparse import issparse
from scipy.stats import qmc

from optimizer.arrays import Array

#: Feasible means: no bound or constraint is exceeded by more than this times max(1, |bound|).
TOLERANCE = 1e-9
# Below this share of its draws accepted, sampling by rejection gives way to hit-and-run.
_LEAST_ACCEPTANCE = 0.02
_POOL = 4096


class Polytope:
    """Policies within bounds and linear constraints.

    Parameters
    ----------
    bounds : scipy.optimize.Bounds
        Finite lower and upper bounds, d entries each; equal bounds fix an entry.
    constraints : sequence of scipy.optimize.LinearConstraint
        Rows with equal sides are equalities.

    Attributes
    ----------
    d, k : int
        Entries of a policy, and independent coordinates.
    lower, upper : (d,) arrays
        The bounds.
    matrix, row_lower, row_upper : (q, d), (q,), (q,) arrays
        The constraints' rows and sides.
    origin, map : (d,) and (d, k) arrays
        `x = origin + map v`.
    independent, span : (k,) arrays
        The entries of a policy that are coordinates, and the width of their bounds.
    G, h : (r, k) and (r,) arrays
        The inequalities on `v` besides 0 <= v <= 1, rows of unit length.
    centre : (k,) array
        The centre of a largest ball inside.

    Raises
    ------
    ValueError
        The bounds are not finite or upside down, a constraint has another number of columns, or nothing is
        feasible.
    """

    def __init__(self, bounds: Bounds, constraints: Sequence[LinearConstraint] = ()) -> None:
        lower, upper = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        self.lower: Array = lower.astype(np.float64)
        self.upper: Array = upper.astype(np.float64)
        self.d: int = len(self.lower)
        self.matrix: Array
        self.row_lower: Array
        self.row_upper: Array
        self.matrix, self.row_lower, self.row_upper = stack_rows(constraints, self.d)
        check_sides(self.lower, self.upper, "entry")
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise ValueError("a bounded search space needs a finite lower and upper bound for every entry")
        self._reduce(self.lower, self.upper, self.row_lower, self.row_upper)
        centre, radius = self._largest_ball()
        if radius <= TOLERANCE and self.k:
            # The inequalities leave no interior: those that can only be met with equality become equalities.
            self._reduce(*self._tightened())
            centre, _ = self._largest_ball()
        self.centre = centre
        if not self.contains(self.lift(centre[None]))[0]:
            raise ValueError("no policy meets the constraints within the bounds")
        self._acceptance: float | None = None
        self._pool: Array | None = None

    def contains(self, policies: Array) -> NDArray[np.bool_]:
        """Whether policies (n, d) meet bounds and constraints, (n,); see `TOLERANCE`."""
        inside = within(policies, self.lower, self.upper)
        if len(self.matrix):
            inside &= within(policies @ self.matrix.T, self.row_lower, self.row_upper)
        return inside

    def lift(self, v: Array) -> Array:
        """The policies (n, d) of coordinates (n, k), within the bounds to the last digit."""
        x: Array = np.clip(self.origin + v @ self.map.T, self.lower, self.upper)
        return x

    def drop(self, policies: Array) -> Array:
        """The coordinates (n, k) of policies (n, d): the inverse of `lift`."""
        coordinates: Array = np.clip((policies - self.origin)[:, self.independent] / self.span, 0.0, 1.0)
        return coordinates

    def repair(self, v: Array) -> Array:
        """Coordinates (n, k) moved toward the centre by as little as makes them feasible."""
        v = np.clip(v, 0.0, 1.0)
        if not len(self.G):
            return v
        step = v - self.centre
        rate, slack = step @ self.G.T, np.maximum(self.h - self.G @ self.centre, 0.0)
        share = np.min(
            np.where(rate > slack, slack / np.where(rate > 0, rate, 1.0), 1.0), axis=1, initial=1.0
        )
        repaired: Array = self.centre + step * share[:, None]
        return repaired

    def project(self, v: Array) -> Array:
        """Coordinates (n, k) projected on the feasible set.

        The nearest feasible point where G has one row at most; with more rows, a feasible one near it (three
        rounds of projection on the box and one row after the other, then `repair`).
        """
        nearest = np.clip(v, 0.0, 1.0)
        for _ in range(3 if len(self.G) > 1 else len(self.G)):
            for row, side in zip(self.G, self.h, strict=True):
                over = nearest @ row > side
                if over.any():
                    nearest[over] = _project_on_row(v[over] if len(self.G) == 1 else nearest[over], row, side)
        return self.repair(nearest)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """N coordinates (n, k), uniform over the feasible set.

        Independent draws by rejection from the unit box of `v`; where too few of those are feasible, the
        ends of separate `hit_and_run` chains.
        """
        if not len(self.G) or not self.k:
            return rng.random((n, self.k))
        if self.share_accepted() < _LEAST_ACCEPTANCE:
            return self.hit_and_run(n, rng)
        kept, count = [], 0
        while count < n:
            v = rng.random((int(1.1 * (n - count) / self.share_accepted()) + 16, self.k))
            kept.append(v[self._meets(v)])
            count += len(kept[-1])
        return np.concatenate(kept)[:n]

    def share_accepted(self) -> float:
        """The feasible share of the unit box of `v`, estimated once by a stream of its own."""
        if not len(self.G) or not self.k:
            return 1.0
        if self._acceptance is None:
            draws = np.random.default_rng(0).random((4000, self.k))
            self._acceptance = float(self._meets(draws).mean())
        return self._acceptance

    def scatter(self, n: int, rng: np.random.Generator) -> Array:
        """N coordinates (n, k) to begin a search from: `sample`, but quick where it is slow.

        Where that needs hit-and-run, they come from one pool of 4,096, made once by a stream of its own.
        """
        if not len(self.G) or n > _POOL or self.share_accepted() >= _LEAST_ACCEPTANCE:
            return self.sample(n, rng)
        if self._pool is None:
            self._pool = self.hit_and_run(_POOL, np.random.default_rng(0))
        return self._pool[rng.choice(_POOL, size=n, replace=False)]

    def hit_and_run(self, n: int, rng: np.random.Generator) -> Array:
        """The ends (n, k) of n hit-and-run chains (Smith 1984) from the centre, run side by side.

        A first run with directions of no preference measures the shape of the set; the second, from where the
        first ended, draws its directions by that shape, so that a thin set is crossed as fast as a round one.
        """
        chains = max(n, 20 * self.k)
        v = np.repeat(self.centre[None], chains, axis=0)
        A = np.concatenate((np.eye(self.k), -np.eye(self.k), self.G))
        b = np.concatenate((np.ones(self.k), np.zeros(self.k), self.h))
        shape: Array = np.eye(self.k)
        for steps in (10 + 10 * self.k, 20 + 10 * self.k):
            for _ in range(steps):
                direction = rng.standard_normal((chains, self.k)) @ shape.T
                first, last = _chord(v, direction, A, b)
                v = v + direction * (first + (last - first) * rng.random(chains))[:, None]
            spread = np.atleast_2d(np.cov(v.T)) + 1e-18 * np.eye(self.k)
            shape = np.asarray(np.linalg.cholesky(spread), dtype=np.float64)
        return self.repair(v[:n])

    def sobol(self, n: int, rng: np.random.Generator) -> Array:
        """N feasible coordinates (n, k) of a scrambled Sobol sequence.

        The sequence fills the unit box of `v`, the independent entries; its feasible points are kept, in
        order. Where fewer than n of the first 2^16 are, the rest is a uniform sample. Up to 1024 points, a
        longer design with the same rng begins with a shorter one.
        """
        if not self.k or n < 1:
            return np.zeros((n, self.k))
        sequence = qmc.Sobol(self.k, scramble=True, seed=rng)
        power = int(n - 1).bit_length()
        found = np.empty((0, self.k))
        drawn = 0
        while len(found) < n and drawn < max(2**16, n):
            block = sequence.random_base2(power)
            found = np.concatenate((found, block[self._meets(block)]))
            drawn += len(block)
            power = drawn.bit_length() - 1  # the sequence so far, doubled, keeps the balance of its points
        if len(found) < n:
            found = np.concatenate((found, self.sample(max(n, 1024), rng)))
        return found[:n]

    def _meets(self, v: Array) -> NDArray[np.bool_]:
        meets: NDArray[np.bool_] = (v @ self.G.T <= self.h).all(axis=1)
        return meets

    def _reduce(self, lower: Array, upper: Array, row_lower: Array, row_upper: Array) -> None:
        """Set origin, map, G and h: fixed entries and equalities are eliminated."""
        span = upper - lower
        free = np.flatnonzero(span > 0)
        # Rows on the free entries, scaled to [0, 1], with the constants on the other side.
        B, shift = self.matrix[:, free] * span[free], self.matrix @ lower
        size = np.abs(B).max(axis=1, initial=0.0)
        below, above = row_lower - shift, row_upper - shift
        equal = row_lower == row_upper
        moved = size > 1e-12 * np.maximum(1.0, np.abs(self.matrix).max(axis=1, initial=0.0))
        # A row that no free entry moves holds or does not, whatever the policy; `contains(centre)` tells.
        solve = equal & moved
        dependent, M, offset = _eliminate(B[solve] / size[solve, None], below[solve] / size[solve])
        independent = np.setdiff1d(np.arange(len(free)), dependent)
        self.k: int = len(independent)
        unit_map, unit_origin = np.zeros((len(free), self.k)), np.zeros(len(free))
        unit_map[independent, np.arange(self.k)] = 1.0
        unit_map[dependent], unit_origin[dependent] = M, offset
        self.span: Array
        self.independent: NDArray[np.intp]
        self.independent, self.span = free[independent], span[free[independent]]
        self.origin: Array
        self.map: Array
        self.map, self.origin = np.zeros((self.d, self.k)), lower.copy()
        self.map[free] = unit_map * span[free, None]
        self.origin[free] += unit_origin * span[free]
        rows = [M, -M]
        sides = [1.0 - offset, offset]
        for sign, side in ((1.0, above), (-1.0, -below)):
            use = moved & ~equal & np.isfinite(side)
            rows.append(sign * B[use] @ unit_map)
            sides.append(side[use] - sign * B[use] @ unit_origin)
        G, h = np.concatenate(rows), np.concatenate(sides)
        length = np.linalg.norm(G, axis=1)
        kept = length > 1e-12
        # A row that cannot be exceeded inside the unit box only costs time.
        kept &= np.maximum(G, 0.0).sum(axis=1) > h
        self.G, self.h = G[kept] / length[kept, None], h[kept] / length[kept]

    def _largest_ball(self) -> tuple[Array, float]:
        """The centre (k,) and the radius of a largest ball inside (a Chebyshev centre)."""
        if not self.k:
            return np.zeros(0), 0.0
        eye, one = np.eye(self.k), np.ones((self.k, 1))
        A = np.block([[self.G, np.ones((len(self.G), 1))], [eye, one], [-eye, one]])
        b = np.concatenate((self.h, np.ones(self.k), np.zeros(self.k)))
        cost = np.append(np.zeros(self.k), -1.0)
        best = _minimise(cost, A, b)
        return best[:-1], float(best[-1])

    def _tightened(self) -> tuple[Array, Array, Array, Array]:
        """Bounds and sides with those made equal that the others leave no slack."""
        lower, upper = self.lower.copy(), self.upper.copy()
        row_lower, row_upper = self.row_lower.copy(), self.row_upper.copy()
        for i in range(self.d):
            least, most = self._range(np.eye(self.d)[i])
            if most - least <= 10 * TOLERANCE * (upper[i] - lower[i]):
                lower[i] = upper[i] = np.clip((least + most) / 2, lower[i], upper[i])
        for i, row in enumerate(self.matrix):
            least, most = self._range(row)
            tolerance = 10 * TOLERANCE * float(np.abs(row * (self.upper - self.lower)).max())
            if most <= row_lower[i] + tolerance:
                row_upper[i] = row_lower[i]
            elif least >= row_upper[i] - tolerance:
                row_lower[i] = row_upper[i]
        return lower, upper, row_lower, row_upper

    def _range(self, row: Array) -> tuple[float, float]:
        """The least and the most that `row @ x` can be."""
        cost, sides = row @ self.map, []
        for sign in (1.0, -1.0):
            sides.append(float(row @ self.origin + cost @ _minimise(sign * cost, self.G, self.h)))
        return sides[0], sides[1]


def _minimise(cost: Array, A: Array, b: Array) -> Array:
    """The v in the unit box with `A v <= b` at which `cost v` is least (SciPy's HiGHS)."""
    found = linprog(
        cost,
        A,
        b,
        bounds=(0.0, 1.0),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        raise ValueError("no policy meets the constraints within the bounds")
    return np.asarray(found.x, dtype=np.float64)


def stack_rows(constraints: Sequence[LinearConstraint], d: int) -> tuple[Array, Array, Array]:
    """The rows (q, d) of linear constraints and their lower and upper sides (q,)."""
    matrix, lower, upper = [np.empty((0, d))], [np.empty(0)], [np.empty(0)]
    for constraint in constraints:
        A = constraint.A.toarray() if issparse(constraint.A) else constraint.A
        A = np.atleast_2d(np.asarray(A, dtype=np.float64))
        if A.shape[1] != d:
            raise ValueError(f"a constraint has {A.shape[1]} columns, the policies have {d} entries")
        if not np.isfinite(A).all():
            raise ValueError("a constraint has a weight that is not finite")
        matrix.append(A)
        lower.append(np.broadcast_to(np.asarray(constraint.lb, dtype=np.float64), len(A)))
        upper.append(np.broadcast_to(np.asarray(constraint.ub, dtype=np.float64), len(A)))
    sides = np.concatenate(lower), np.concatenate(upper)
    check_sides(*sides, "constraint")
    return np.concatenate(matrix), *sides


def check_sides(lower: Array, upper: Array, what: str) -> None:
    """Raise ValueError, naming the first, where a lower side is above the upper one or either is nan."""
    for i in np.flatnonzero(~(lower <= upper)):
        raise ValueError(f"{what} {i}: the lower bound {lower[i]:g} is above the upper bound {upper[i]:g}")


def within(values: Array, lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Whether all of a row's values (n, q) lie between the sides (q,), (n,); see `TOLERANCE`."""
    least = lower - TOLERANCE * np.maximum(1.0, np.abs(lower))
    most = upper + TOLERANCE * np.maximum(1.0, np.abs(upper))
    return np.asarray(((values >= least) & (values <= most)).all(axis=1))


def _eliminate(B: Array, b: Array) -> tuple[NDArray[np.intp], Array, Array]:
    """Solve `B u = b` for as many entries of u as its rank: `u[dependent] = offset + M u[others]`."""
    if not B.size:
        return np.empty(0, dtype=np.intp), np.empty((0, B.shape[1])), np.empty(0)
    Q, R, order = qr(B, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int((sizes > 1e-10 * sizes[0]).sum())
    others = np.argsort(order[rank:])
    solved = np.linalg.solve(R[:rank, :rank], np.column_stack((R[:rank, rank:][:, others], (Q.T @ b)[:rank])))
    return order[:rank].astype(np.intp), -solved[:, :-1], solved[:, -1]


def _chord(v: Array, direction: Array, A: Array, b: Array) -> tuple[Array, Array]:
    """The steps (n,) back and ahead at which the lines `v + s direction` leave `A v <= b`."""
    rate, slack = direction @ A.T, np.maximum(b - v @ A.T, 0.0)
    steps = slack / np.where(rate == 0.0, np.inf, rate)
    ahead = np.where(rate > 0, steps, np.inf).min(axis=1)
    back = np.where(rate < 0, steps, -np.inf).max(axis=1)
    return back, ahead


def _project_on_row(v: Array, row: Array, side: float) -> Array:
    """The projections of points (n, k) on the part of the unit box where `row v = side`.

    They are `clip(v - s row, 0, 1)`, whose product with the row falls with s, linearly between the values
    of s at which an entry meets its bound: it is read off between the two of those that enclose `side`.
    """
    moved = row[np.abs(row) > 1e-12]
    corners = v[:, np.abs(row) > 1e-12]
    s = np.concatenate((np.zeros((len(v), 1)), corners / moved, (corners - 1.0) / moved), axis=1)
    s = np.sort(np.maximum(s, 0.0), axis=1)
    product = np.clip(v[:, None, :] - s[:, :, None] * row, 0.0, 1.0) @ row
    i = np.arange(len(v))
    j = np.clip((product >= side).sum(axis=1) - 1, 0, s.shape[1] - 2)
    fall = product[i, j] - product[i, j + 1]
    share = np.where(fall > 0, (product[i, j] - side) / np.where(fall > 0, fall, 1.0), 0.0)
    at = s[i, j] + np.clip(share, 0.0, 1.0) * (s[i, j + 1] - s[i, j])
    nearest: Array = np.clip(v - at[:, None] * row, 0.0, 1.0)
    return nearest
