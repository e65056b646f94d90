"""A space whose policies are the rows of a list of candidates."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint
from scipy.stats import qmc

from optimizer.arrays import Array, Policies, Rows
from optimizer.space.local_search import Value, ValueAndGradient, highest
from optimizer.space.polytope import check_sides, stack_rows, within
from optimizer.space.search_space import SearchSpace


class FiniteSpace(SearchSpace, kind="finite"):
    """A list of candidates; policies are its rows.

    Attributes
    ----------
    candidates : (size, d) array
        All of them.
    feasible : (size,) array of bool
        Which meet bounds and constraint.
    rows : (m,) array of int
        The feasible ones.
    """

    finite = True

    def _limit(self, candidates: ArrayLike | None) -> None:
        self.candidates: Array = np.ascontiguousarray(candidates, dtype=np.float64)
        if self.candidates.ndim != 2 or not self.candidates.size:
            raise ValueError(f"candidates must be an (n, d) array, got shape {self.candidates.shape}")
        self.size: int = self.candidates.shape[0]
        self.d: int = self.candidates.shape[1]
        self.feasible: NDArray[Any] = _meets(self.candidates, self.bounds, self.constraints)
        self.rows: Rows = np.flatnonzero(self.feasible)
        if not len(self.rows):
            raise ValueError(f"none of the {self.size} candidates meets the bounds and constraints")
        self.lower: Array = self.candidates[self.rows].min(axis=0)
        self.upper: Array = self.candidates[self.rows].max(axis=0)

    def only(self, mask: NDArray[np.bool_]) -> FiniteSpace:
        """The same candidates, of which those of the mask (size,) are feasible, as far as they were."""
        other = copy.copy(self)
        other.feasible = self.feasible & mask
        other.rows = np.flatnonzero(other.feasible)
        return other

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates (n, d) of candidate rows."""
        rows = np.atleast_1d(np.asarray(policies))
        if rows.dtype.kind not in "iu":
            raise ValueError("policies of a finite space are integer rows of its candidates")
        chosen: Array = self.candidates[rows]
        return chosen

    def as_policies(self, policies: ArrayLike) -> Policies:
        """Candidate rows (n,), each known."""
        rows = np.atleast_1d(np.asarray(policies))
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows < 0).any() or (rows >= self.size).any():
            raise ValueError(f"candidates are told by their row, an integer of 0..{self.size - 1}")
        return rows.astype(np.int64)

    def features(self, policies: Policies) -> Array:
        """The features (n, p) that kernels see, computed once for all candidates."""
        if self.embed is None:
            return self.resolve(policies)
        features: Array = self._all_features[np.atleast_1d(policies)]
        return features

    @cached_property
    def _all_features(self) -> Array:
        assert self.embed is not None
        return np.asarray(self.embed(np.arange(self.size)), dtype=np.float64)

    def contains(self, policies: Policies) -> NDArray[np.bool_]:
        """Whether rows are feasible candidates, (n,)."""
        rows = np.atleast_1d(np.asarray(policies))
        known = (rows >= 0) & (rows < self.size)
        feasible: NDArray[np.bool_] = known & self.feasible[np.where(known, rows, 0)]
        return feasible

    def sample(self, n: int, rng: np.random.Generator) -> Policies:
        """N feasible rows, uniform, with replacement."""
        return rng.choice(self.rows, size=n)

    def sobol(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> Policies:
        """N feasible rows: every point of a Sobol design of the candidates' box takes the nearest one left.

        All are used before one is used again.
        """
        rng = np.random.default_rng(seed)
        if n < 1:
            return np.empty(0, dtype=np.intp)
        points = qmc.Sobol(self.d, scramble=True, seed=rng).random_base2(int(n - 1).bit_length())[:n]
        candidates, taken = self.to_unit(self.rows), np.zeros(len(self.rows), dtype=bool)
        chosen = np.empty(n, dtype=np.intp)
        for i, point in enumerate(points):
            distance = ((candidates - point) ** 2).sum(axis=1)
            chosen[i] = np.where(taken, np.inf, distance).argmin()
            taken[chosen[i]] = True
            if taken.all():
                taken[:] = False
        return self.rows[chosen]

    def from_unit(self, u: Array) -> Policies:
        """The nearest feasible rows (n,)."""
        candidates = self.to_unit(self.rows)
        nearest = [((candidates - point) ** 2).sum(axis=1).argmin() for point in np.atleast_2d(u)]
        return self.rows[np.array(nearest, dtype=np.intp)]

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
        """The best of all feasible candidates, the lowest row among equals; see `SearchSpace.maximise`."""
        values = np.asarray(value(self.rows), dtype=np.float64)
        best = highest(values)
        return self.rows[best], float(values[best])


def _meets(policies: Array, bounds: Bounds | None, constraints: list[LinearConstraint]) -> NDArray[np.bool_]:
    d = policies.shape[1]
    inside: NDArray[np.bool_] = np.asarray(np.isfinite(policies).all(axis=1))
    if bounds is not None:
        lower = np.broadcast_to(np.asarray(bounds.lb, dtype=np.float64), d)
        upper = np.broadcast_to(np.asarray(bounds.ub, dtype=np.float64), d)
        check_sides(lower, upper, "entry")
        inside &= within(policies, lower, upper)
    matrix, row_lower, row_upper = stack_rows(constraints, d)
    if len(matrix):
        inside &= within(policies @ matrix.T, row_lower, row_upper)
    return inside
