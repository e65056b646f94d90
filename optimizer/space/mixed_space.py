"""A space of real numbers, numbers in steps and categories, cut by linear constraints.

Notation: an entry with a step is `lower + step * k` with a whole k in 0..levels - 1; the others are real.
What is not on these steps is no policy, and is never asked for. Kernels see an entry of categories as one
feature a category, 1 where it is meant and else 0: two are as far apart as the length scales of both say.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import qmc

from optimizer.arrays import Array, Policies
from optimizer.space.local_search import Value, ValueAndGradient, highest
from optimizer.space.mixed_search import search_mixed
from optimizer.space.polytope import TOLERANCE, Polytope, check_sides, stack_rows, within
from optimizer.space.search_space import SearchSpace

LISTED = 1024
"""Up to so many policies, where none has a real entry, are a list of candidates to models and searches."""
COUNTED = 2**18
"""Grids of so many points at most are counted out to find the feasible ones."""
POOL = 4096
"""Policies to draw from where few of the draws from the relaxation are feasible."""
REMEMBERED = 256
"""Choices of what is not real for which the space of the rest is kept: making one takes some milliseconds."""
LEAST_ACCEPTANCE = 0.02


class MixedSpace(SearchSpace, kind="mixed"):
    """Policies (n, d) of floats, some entries of which have steps. See `SearchSpace`.

    Attributes
    ----------
    steps : (d,) array
        0 where an entry is real.
    categories : (d,) array of bool
        Entries that number categories.
    levels : (d,) array of int
        Values of an entry with a step; 1 of a real one.
    parts : int
        Their product: how many choices there are of all that is not real, feasible or not.
    real : (d,) array of bool
        Entries that are real and not fixed.
    listed : (N, d) array or None
        All policies, where no entry is real and they are at most `LISTED`.
    """

    finite = False

    def _limit(self, candidates: ArrayLike | None) -> None:
        if self.bounds is None:
            raise ValueError("entries with steps or categories need bounds")
        sides = np.broadcast_arrays(np.atleast_1d(self.bounds.lb), np.atleast_1d(self.bounds.ub))
        self.lower: Array
        self.lower, upper = (np.array(side, dtype=float) for side in sides)
        self.d: int = len(self.lower)
        self.steps: Any = np.array(
            np.broadcast_to(0.0 if self.steps is None else self.steps, self.d), dtype=float
        )
        none = False if self.categories is None else self.categories
        self.categories: Any = np.array(np.broadcast_to(none, self.d), dtype=bool)
        check_sides(self.lower, upper, "entry")
        if not (np.isfinite(self.lower).all() and np.isfinite(upper).all() and (self.steps >= 0).all()):
            raise ValueError("a mixed search space needs finite bounds and steps of 0 or more")
        stepped = self.steps > 0
        self.levels: NDArray[Any] = np.ones(self.d, dtype=np.int64)
        width, step = (upper - self.lower)[stepped], self.steps[stepped]
        self.levels[stepped] = np.floor(width / step * (1 + 1e-12) + TOLERANCE).astype(np.int64) + 1
        self.upper: Array = np.where(stepped, self.lower + self.steps * (self.levels - 1), upper)
        self.parts: int = math.prod(self.levels.tolist())
        self.real: NDArray[np.bool_] = ~stepped & (self.upper > self.lower)
        self.matrix: Array
        self.row_lower: Array
        self.row_upper: Array
        self.matrix, self.row_lower, self.row_upper = stack_rows(self.constraints, self.d)
        if (self.matrix[:, self.categories] != 0).any():
            raise ValueError("a constraint weighs a category, which has no size; accepted: 0 there")
        if self.embed is None and self.categories.any():
            self.embed = self.one_hot
        if self.grid is None and len(self.matrix):
            self._some(1, np.random.default_rng(0))  # refuses what no policy meets
        few = self.grid is not None and len(self.grid) <= LISTED
        self.listed: Array | None = self.grid if few else None

    @property
    def discrete(self) -> bool:
        """Whether no entry is real."""
        return not self.real.any()

    @cached_property
    def grid(self) -> Array | None:
        """All feasible policies (N, d), where no entry is real and counting them out is quick."""
        if self.real.any() or self.parts > COUNTED:
            return None
        k = np.stack(np.unravel_index(np.arange(self.parts), self.levels), axis=1)
        points = self.lower + self.steps * k
        found: Array = points[self.contains(points)]
        if not len(found):
            raise ValueError("no policy meets the constraints within the bounds")
        return found

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """The places of the policies of the grid among all of its points, rising."""
        assert self.grid is not None
        return self._place(self.grid)

    def _place(self, policies: Array) -> NDArray[np.int64]:
        unit = np.where(self.steps > 0, self.steps, 1.0)
        k = np.rint((policies - self.lower) / unit).astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(k.T), tuple(self.levels)), dtype=np.int64)

    def rows_of(self, policies: Policies) -> NDArray[np.int64]:
        """The rows (n,) of policies (n, d) in `listed`; ValueError for one that is not there."""
        feasible = self.contains(policies)
        if not feasible.all():
            wrong = self.resolve(policies)[~feasible][0].tolist()
            raise ValueError(f"{wrong} is no policy of the space")
        return np.searchsorted(self._numbers, self._place(self.resolve(policies))).astype(np.int64)

    def one_hot(self, policies: Policies) -> Array:
        """Features (n, p) of policies (n, d): the entries, each category in as many columns as there are."""
        columns = []
        for i, x in enumerate(self.resolve(policies).T):
            known = np.arange(self.levels[i]) if self.categories[i] else None
            columns.append(x[:, None] if known is None else (np.rint(x)[:, None] == known).astype(float))
        return np.hstack(columns)

    def resolve(self, policies: ArrayLike) -> Array:
        """The policies themselves, as (n, d)."""
        x = np.atleast_2d(np.asarray(policies, dtype=np.float64))
        if x.ndim != 2 or x.shape[1] != self.d:
            raise ValueError(f"policies must have {self.d} entries, got shape {x.shape}")
        return x

    def as_policies(self, policies: ArrayLike) -> Policies:
        """Policies (n, d), each finite and on its steps."""
        x = self.resolve(policies)
        if not np.isfinite(x).all():
            raise ValueError("policies must be finite, but hold nan or inf")
        for i, j in np.argwhere(self._off_steps(x))[:1]:
            raise ValueError(f"entry {j} of a policy is {x[i, j]:g}, which is between its steps")
        return self.snap(x)

    def features(self, policies: Policies) -> Array:
        """The features (n, p) that kernels see."""
        x = self.resolve(policies)
        return x if self.embed is None else np.asarray(self.embed(x), dtype=np.float64)

    def contains(self, policies: Policies) -> NDArray[np.bool_]:
        """Whether policies (n, d) are feasible, and on their steps, (n,)."""
        x = self.resolve(policies)
        inside = within(x, self.lower, self.upper)
        if len(self.matrix):
            inside &= within(x @ self.matrix.T, self.row_lower, self.row_upper)
        return np.asarray(inside & ~self._off_steps(x).any(axis=1))

    def _off_steps(self, x: Array) -> NDArray[np.bool_]:
        """Which entries of points (n, d) lie between steps."""
        off: NDArray[np.bool_] = np.abs(x - self.snap(x)) > TOLERANCE * np.maximum(1.0, np.abs(x))
        return off

    def snap(self, x: Array) -> Array:
        """Points (n, d), every entry with a step on the nearest of its values."""
        unit = np.where(self.steps > 0, self.steps, 1.0)
        on: Array = np.where(self.steps > 0, self.lower + unit * np.rint((x - self.lower) / unit), x)
        return on

    def settle(self, x: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Points (n, d) on their steps, and which of them are feasible (n,).

        Real entries give way to violated constraints, by as little as that asks, relative to their ranges.
        """
        x = self.snap(np.clip(x, self.lower, self.upper))
        for _ in range(3 if self._yield is not None else 0):
            value = x @ self.matrix.T
            short = np.maximum(self.row_lower - value, 0.0) - np.maximum(value - self.row_upper, 0.0)
            if not short.any():
                break
            x = np.clip(x + short @ self._yield, self.lower, self.upper)
        return x, self.contains(x)

    @cached_property
    def _yield(self) -> Array | None:
        """What takes the shortfall of rows (n, q) to the least change of real entries (n, d)."""
        span = np.where(self.real, self.upper - self.lower, 0.0)
        weights = self.matrix * span
        return np.asarray(np.linalg.pinv(weights).T * span, dtype=float) if weights.any() else None

    @cached_property
    def _relaxed(self) -> Polytope:
        """The space without steps, wider by half of one: every policy has its whole cell.

        Equalities that real entries can settle stay as they are.
        """
        half = self.steps / 2
        slack = np.abs(self.matrix) @ half
        slack[(self.row_lower == self.row_upper) & (self.matrix[:, self.real] != 0).any(axis=1)] = 0.0
        rows = [LinearConstraint(self.matrix, self.row_lower - slack, self.row_upper + slack)]
        return Polytope(Bounds(self.lower - half, self.upper + half), rows if len(self.matrix) else ())

    @cached_property
    def _acceptance(self) -> float:
        return len(self._settled(2000, np.random.default_rng(0))) / 2000

    def sample(self, n: int, rng: np.random.Generator) -> Policies:
        """N policies, uniform over the feasible ones, but where equalities bind real entries to others.

        Cells of a relaxation by rejection; where too few are feasible, from one pool, which is made once.
        """
        if self.grid is not None:
            return self.grid[rng.integers(len(self.grid), size=n)]
        if not len(self.matrix):
            k = rng.integers(self.levels, size=(n, self.d))
            reals = self.lower + (self.upper - self.lower) * rng.random((n, self.d))
            return np.where(self.steps > 0, self.lower + self.steps * k, reals)
        return self._some(n, rng)

    def _some(self, n: int, rng: np.random.Generator) -> Array:
        if self._acceptance * self._relaxed.share_accepted() < LEAST_ACCEPTANCE:
            return self._pool[rng.integers(len(self._pool), size=n)]
        kept, count = [], 0
        while count < n:
            kept.append(self._settled(int(1.1 * (n - count) / self._acceptance) + 16, rng))
            count += len(kept[-1])
        return np.concatenate(kept)[:n]

    def _settled(self, n: int, rng: np.random.Generator) -> Array:
        """The policies that n draws from the relaxation lead to."""
        x, feasible = self.settle(self._relaxed.lift(self._relaxed.sample(n, rng)))
        return x[feasible]

    @cached_property
    def _pool(self) -> Array:
        """What draws from the relaxation lead to, made once; or found by linear programs and random moves."""
        rng = np.random.default_rng(0)
        if self._acceptance >= LEAST_ACCEPTANCE:
            return np.unique(self._settled(int(POOL / self._acceptance), rng), axis=0)
        found = np.concatenate([self._extreme(rng.standard_normal(self.d)) for _ in range(16)])
        x = np.repeat(found, POOL // len(found), axis=0)
        for _ in range(20 + 10 * self.d):
            moved, feasible = self.settle(
                self.moved(x, self._moves[rng.integers(len(self._moves), size=len(x))])
            )
            x = np.where(feasible[:, None], moved, x)
        return np.unique(x, axis=0)

    def _extreme(self, cost: Array) -> Array:
        """A policy (1, d) where a linear cost is least (SciPy's mixed-integer HiGHS)."""
        unit, shift = np.where(self.steps > 0, self.steps, 1.0), self.matrix @ self.lower
        answer = milp(
            cost * unit,
            integrality=self.steps > 0,
            bounds=Bounds(0, (self.upper - self.lower) / unit),
            constraints=LinearConstraint(self.matrix * unit, self.row_lower - shift, self.row_upper - shift),
        )
        if answer.x is not None:
            point, feasible = self.settle((self.lower + unit * answer.x)[None])
            if feasible[0]:
                return point
        raise ValueError("no policy meets the constraints within the bounds")

    def sobol(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> Policies:
        """N policies of a Sobol design: its feasible points, or of a list the nearest that are left."""
        if n < 1:
            return np.empty((0, self.d))
        if self.listed is not None:
            chosen: Array = self.listed[SearchSpace(candidates=self.listed).sobol(n, seed)]
            return chosen
        rng = np.random.default_rng(seed)
        if not len(self.matrix):
            u = qmc.Sobol(self.d, scramble=True, seed=rng).random_base2(int(n - 1).bit_length())[:n]
            k = np.minimum(np.floor(u * self.levels), self.levels - 1)
            reals = self.lower + u * (self.upper - self.lower)
            return np.asarray(np.where(self.steps > 0, self.lower + self.steps * k, reals))
        key = int(rng.integers(2**63))
        # As many for any n, so that a longer design begins with a shorter one.
        points = self._relaxed.lift(self._relaxed.sobol(1024, np.random.default_rng(key)))
        settled, feasible = self.settle(points)
        found = settled[feasible]
        if len(found) < n:
            found = np.concatenate([found, self._some(max(n, 1024), np.random.default_rng(key))])
        return found[:n]

    def from_unit(self, u: Array) -> Policies:
        """The policies (n, d) nearest to unit coordinates, constraints aside."""
        return self.snap(self.lower + np.atleast_2d(u) * (self.upper - self.lower))

    def around(self, policy: Array) -> Polytope:
        """The real entries, with the others as in a policy (d,); the last ones are remembered."""
        key = np.where(self.real, 0.0, policy).tobytes()
        if key not in self._slices:
            low, high = (np.where(self.real, side, policy) for side in (self.lower, self.upper))
            if len(self._slices) == REMEMBERED:
                del self._slices[next(iter(self._slices))]
            self._slices[key] = Polytope(Bounds(low, high), self.constraints)
        return self._slices[key]

    @cached_property
    def _slices(self) -> dict[bytes, Polytope]:
        return {}

    @cached_property
    def _moves(self) -> Array:
        """Single changes (m, d) of a policy, and such as another entry takes back under a constraint."""
        single, small = [], []
        for i in range(self.d):
            if self.categories[i]:
                changes = np.arange(1, self.levels[i])
            elif self.steps[i]:
                changes = self.steps[i] * np.array([1, -1, 3, -3])
            else:
                changes = (self.upper - self.lower)[i] * np.array([0.1, -0.1])
            single.append(np.outer(changes, np.eye(self.d)[i]))
            small.append(single[-1][:2])
        pairs = [
            np.outer(move[:, i], np.eye(self.d)[i] - row[i] / row[j] * np.eye(self.d)[j])
            for row in self.matrix
            for i, move in enumerate(small)
            for j in range(self.d)
            if i != j and row[i] and row[j]
        ]
        moves: Array = np.concatenate(single + pairs)
        return np.asarray(moves[np.abs(moves).max(axis=1) > 0])

    def moved(self, policies: Array, moves: Array) -> Array:
        """Policies (n, d) after moves (n, d): beyond the last category the first one follows."""
        moved = policies + moves
        count = self.levels[self.categories]
        moved[:, self.categories] = np.rint(moved[:, self.categories]) % count
        return moved

    def neighbours(self, policies: Array) -> tuple[NDArray[np.intp], Array]:
        """Policies (m, d) one move away from policies (n, d), and the row (m,) of that from which each is.

        One step of an entry, or three, to either side; another category; a tenth of the range of a real
        entry. Under a constraint also one such change that another entry takes back.
        """
        n, m = len(policies), len(self._moves)
        owner = np.repeat(np.arange(n), m)
        x, feasible = self.settle(self.moved(policies[owner], np.tile(self._moves, (n, 1))))
        feasible &= (x != policies[owner]).any(axis=1)
        return owner[feasible], x[feasible]

    def maximise(
        self,
        value: Value,
        value_and_gradient: ValueAndGradient | None = None,
        rng: np.random.Generator | None = None,
        *,
        points: int = 512,
        starts: int = 30,
        extra: Policies | None = None,
    ) -> tuple[Any, float]:
        """The best of a list, or of a search by moves and, of the real entries, by gradients.

        Where no gradient is given, differences of the value take its place. See `SearchSpace.maximise`.
        """
        if self.listed is not None:
            values = np.asarray(value(self.listed), dtype=np.float64)
            best = highest(values)
            return self.listed[best], float(values[best])
        if rng is None:
            raise ValueError("the search of a mixed space draws its starts: give rng")
        tried = self.sample(points, rng)
        if extra is not None:
            tried = np.concatenate([tried, self.resolve(extra)[self.contains(extra)]])
        return search_mixed(self, value, value_and_gradient, tried, starts)
