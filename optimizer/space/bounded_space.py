"""A space of real numbers: a box that linear constraints may cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optimizer.arrays import Array, Policies
from optimizer.space.local_search import Value, ValueAndGradient, search
from optimizer.space.polytope import Polytope
from optimizer.space.search_space import SearchSpace


class BoundedSpace(SearchSpace, kind="bounded"):
    """A box cut by linear constraints; policies are (n, d) floats.

    Attributes
    ----------
    polytope : Polytope
        The feasible set.
    """

    finite = False

    def _limit(self, candidates: ArrayLike | None) -> None:
        if self.bounds is None:
            raise ValueError("a search space needs bounds or candidates")
        self.polytope: Polytope = Polytope(self.bounds, self.constraints)
        self.d: int = self.polytope.d
        self.lower: Array
        self.upper: Array
        self.lower, self.upper = self.polytope.lower, self.polytope.upper

    def resolve(self, policies: ArrayLike) -> Array:
        """The policies themselves, as (n, d)."""
        x = np.atleast_2d(np.asarray(policies, dtype=np.float64))
        if x.ndim != 2 or x.shape[1] != self.d:
            raise ValueError(f"policies must have {self.d} entries, got shape {x.shape}")
        return x

    def as_policies(self, policies: ArrayLike) -> Policies:
        """Policies (n, d), each finite."""
        points = np.atleast_2d(np.asarray(policies, dtype=float))
        if points.ndim != 2 or points.shape[1] != self.d:
            raise ValueError(f"policies must have shape (n, {self.d}), not {points.shape}")
        if not np.isfinite(points).all():
            raise ValueError("policies must be finite, but hold nan or inf")
        return points

    def features(self, policies: Policies) -> Array:
        """The features (n, p) that kernels see."""
        x = self.resolve(policies)
        return x if self.embed is None else np.asarray(self.embed(x), dtype=np.float64)

    def contains(self, policies: Policies) -> NDArray[np.bool_]:
        """Whether policies (n, d) are feasible, (n,)."""
        return self.polytope.contains(self.resolve(policies))

    def sample(self, n: int, rng: np.random.Generator) -> Policies:
        """N policies, uniform over the feasible set."""
        return self.polytope.lift(self.polytope.sample(n, rng))

    def sobol(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> Policies:
        """N feasible policies: a sequence over the entries that equality rows leave independent.

        Infeasible points are passed over (`Polytope.sobol`).
        """
        return self.polytope.lift(self.polytope.sobol(n, np.random.default_rng(seed)))

    def from_unit(self, u: Array) -> Policies:
        """The policies (n, d) of unit coordinates."""
        x: Array = np.where(self.upper > self.lower, self.lower + np.atleast_2d(u) * self._span, self.lower)
        return x

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
        """The best of many starts; see `SearchSpace.maximise`."""
        if rng is None:
            raise ValueError("the search of a bounded space draws its starts: give rng")
        if extra is not None:
            extra = self.resolve(extra)[self.contains(extra)]
        return search(self.polytope, value, value_and_gradient, rng, points, starts, extra)
