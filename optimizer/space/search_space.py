"""Where an agent may look for its next policy: rows of a candidate list, or a box with linear constraints.

A box some of whose entries are whole numbers or categories is in `optimizer.space.mixed_space`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint
from scipy.stats import qmc

from optimizer.arrays import Array, Policies
from optimizer.space.local_search import Value, ValueAndGradient, highest, search
from optimizer.space.polytope import Polytope, check_sides, stack_rows, within


class SearchSpace:
    """The feasible policies, and the search for the best of them.

    With `candidates` it is a `FiniteSpace`, whose policies are rows of them, integer arrays (n,). Else
    policies are float arrays (n, d): of a `BoundedSpace`, or of a `MixedSpace` where entries have steps.
    `resolve` gives the coordinates of any.

    Parameters
    ----------
    bounds : scipy.optimize.Bounds, optional
        Lower and upper bounds, d entries each; needed, and finite, unless `candidates` are given. Equal
        bounds fix an entry.
    constraint : scipy.optimize.LinearConstraint or a sequence of them, optional
        Rows with equal sides are equalities.
    candidates : (n, d) array, optional
        The policies of a finite space. Those outside bounds or constraint are never proposed.
    embed : callable, optional
        Takes policies to the features (n, p) that kernels see; by default their coordinates, and of a
        category one column for each, 1 where it is meant, else 0.
    steps : (d,) array, optional
        Entries are `lower + step * k` with a whole k, up to the upper bound; real where the step is 0.
    categories : (d,) array of bool, optional
        Entries with the step 1 that number categories, which have no order and no part in constraints.

    Attributes
    ----------
    bounds, constraints, embed
        As given; `constraints` always a list.
    finite : bool
        Whether policies are rows of `candidates`.
    d : int
        Entries of a policy.
    lower, upper : (d,) arrays
        The bounds, or the smallest box around the feasible candidates: what `to_unit` scales by.

    Raises
    ------
    ValueError
        Neither bounds nor candidates, bounds upside down, or no feasible policy.

    Notes
    -----
    `simulators.PolicySpace` says the same of an environment: simulator and optimizer know nothing of each
    other, and a bridge carries one to the other.
    """

    finite: bool
    d: int
    lower: Array
    upper: Array
    steps: Any
    categories: Any
    _kinds: ClassVar[dict[str, type[SearchSpace]]] = {}

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:
        """Let `SearchSpace(..)` make spaces of this class, where they are of this kind."""
        super().__init_subclass__(**options)
        if kind:
            SearchSpace._kinds[kind] = cls

    def __new__(
        cls,
        bounds: Bounds | None = None,
        constraint: LinearConstraint | Sequence[LinearConstraint] | None = None,
        candidates: ArrayLike | None = None,
        embed: Callable[[Policies], Array] | None = None,
        steps: ArrayLike | None = None,
        categories: ArrayLike | None = None,
    ) -> SearchSpace:
        """A space of the kind that is asked for."""
        kind = "finite" if candidates is not None else "mixed" if np.any(steps) else "bounded"
        return object.__new__(cls._kinds[kind] if cls is SearchSpace else cls)

    @property
    def discrete(self) -> bool:
        """Whether no entry is real, so that policies are separate from one another."""
        return self.finite

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        """For copies, which are of the same kind."""
        return (), {}

    def __init__(
        self,
        bounds: Bounds | None = None,
        constraint: LinearConstraint | Sequence[LinearConstraint] | None = None,
        candidates: ArrayLike | None = None,
        embed: Callable[[Policies], Array] | None = None,
        steps: ArrayLike | None = None,
        categories: ArrayLike | None = None,
    ) -> None:
        self.steps, self.categories = steps, categories
        self.bounds = bounds
        self.constraints = (
            [constraint] if isinstance(constraint, LinearConstraint) else list(constraint or ())
        )
        self.embed = embed
        self._limit(candidates)
        # Entries that cannot move have no unit: they are 0 in the unit box.
        self._span = np.where(self.upper > self.lower, self.upper - self.lower, 1.0)

    def _limit(self, candidates: ArrayLike | None) -> None:
        """Set what is feasible, and the box around it."""
        raise NotImplementedError

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates (n, d) of policies; one policy, (d,) or one row, gives (1, d)."""
        raise NotImplementedError

    def as_policies(self, policies: ArrayLike) -> Policies:
        """Policies as an agent is told of them, as (n, d) floats or (n,) rows; feasible or not.

        Raises
        ------
        ValueError
            Another shape, an entry that is not finite, or a row that is no candidate.
        """
        raise NotImplementedError

    def features(self, policies: Policies) -> Array:
        """The features (n, p) that kernels see."""
        raise NotImplementedError

    def contains(self, policies: Policies) -> NDArray[np.bool_]:
        """Whether policies are feasible, (n,): no side exceeded by more than 1e-9 max(1, |side|)."""
        raise NotImplementedError

    def sample(self, n: int, rng: np.random.Generator) -> Policies:
        """N policies, uniform over the feasible set (rows, with replacement, in a finite space)."""
        raise NotImplementedError

    def sobol(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> Policies:
        """N feasible policies of a scrambled Sobol design."""
        raise NotImplementedError

    def from_unit(self, u: Array) -> Policies:
        """The policies of unit coordinates (n, d); the nearest feasible rows in a finite space."""
        raise NotImplementedError

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
        """The best feasible policy found and its value; the result depends on the functions and rng alone.

        Parameters
        ----------
        value : callable
            Takes policies to the values (n,) to be maximised. A nan is never chosen.
        value_and_gradient : callable, optional
            Takes policies (m, d) to values (m,) and gradients by the coordinates (m, d). Without it, or where
            it ends with an error or nan, the best of the evaluated points is taken. Like what follows, unused
            in a finite space.
        rng : numpy.random.Generator, optional
            Draws the random points of a bounded space, which needs it.
        points, starts : int
            How many points to evaluate, and from how many of them to climb at most.
        extra : policies, optional
            Further points to evaluate, such as the incumbent; infeasible ones are left out.

        Returns
        -------
        policy : (d,) array or int
            Feasible to 1e-9, see `contains`; a candidate's row in a finite space.
        value : float
            The value there.

        Raises
        ------
        ValueError
            Every value is nan, or a bounded space has no rng.
        """
        raise NotImplementedError

    def constraint_rows(self) -> list[tuple[Array, float, float]]:
        """Every row of the constraints as its weights (d,), lower side and upper side."""
        matrix, lower, upper = stack_rows(self.constraints, self.d)
        return [(row, float(low), float(high)) for row, low, high in zip(matrix, lower, upper, strict=True)]

    def to_unit(self, policies: Policies) -> Array:
        """The coordinates (n, d) scaled to the unit box; an entry fixed by equal bounds is 0."""
        unit: Array = (self.resolve(policies) - self.lower) / self._span
        return unit


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
        self.candidates = np.ascontiguousarray(candidates, dtype=np.float64)
        if self.candidates.ndim != 2 or not self.candidates.size:
            raise ValueError(f"candidates must be an (n, d) array, got shape {self.candidates.shape}")
        self.size, self.d = self.candidates.shape
        self.feasible = _meets(self.candidates, self.bounds, self.constraints)
        self.rows = np.flatnonzero(self.feasible)
        if not len(self.rows):
            raise ValueError(f"none of the {self.size} candidates meets the bounds and constraints")
        self.lower = self.candidates[self.rows].min(axis=0)
        self.upper = self.candidates[self.rows].max(axis=0)

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
        self.polytope = Polytope(self.bounds, self.constraints)
        self.d = self.polytope.d
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
