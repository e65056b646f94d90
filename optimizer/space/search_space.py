"""Where an agent may look for its next policy: rows of a candidate list, or a box with linear constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from optimizer.arrays import Array
from optimizer.space.local_search import refine
from optimizer.space.polytope import Polytope, check_sides, stack_rows, within

#: Policies (n, d) of float64 in a bounded space, candidate rows (n,) of integers in a finite one.
Policies = NDArray[Any]
Value = Callable[[Policies], Array]
ValueAndGradient = Callable[[Array], tuple[Array, Array]]


class SearchSpace:
    """The feasible policies, finite or bounded, and the search for the best of them.

    In a finite space policies are rows of `candidates`, integer arrays (n,); in a bounded one they are
    float arrays (n, d). `resolve` gives the coordinates of either.

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
        Takes policies to the features (n, p) that kernels see; by default their coordinates.

    Attributes
    ----------
    bounds, constraints, embed
        As given; `constraints` always a list.
    finite : bool
        Whether policies are rows of `candidates`.
    d : int
        Entries of a policy.
    size : int or None
        Number of candidates, None in a bounded space.
    candidates : (size, d) array or None
        As given.
    feasible : (size,) array of bool, or None
        Which candidates meet bounds and constraint.
    polytope : Polytope
        The feasible set of a bounded space; a finite one has none.
    lower, upper : (d,) arrays
        The bounds, or the smallest box around the feasible candidates: what `to_unit` scales by.

    Raises
    ------
    ValueError
        Neither bounds nor candidates, bounds upside down, or no feasible policy.
    """

    def __init__(
        self,
        bounds: Bounds | None = None,
        constraint: LinearConstraint | Sequence[LinearConstraint] | None = None,
        candidates: ArrayLike | None = None,
        embed: Callable[[Policies], Array] | None = None,
    ) -> None:
        constraints = [constraint] if isinstance(constraint, LinearConstraint) else list(constraint or ())
        self.bounds = bounds
        self.constraints = constraints
        self.embed = embed
        self._candidate_features: Array | None = None
        self.candidates: Array | None = None
        self.feasible: NDArray[np.bool_] | None = None
        self.size: int | None = None
        self.finite = candidates is not None
        if candidates is not None:
            self.candidates = np.ascontiguousarray(candidates, dtype=np.float64)
            if self.candidates.ndim != 2 or not self.candidates.size:
                raise ValueError(f"candidates must be an (n, d) array, got shape {self.candidates.shape}")
            self.size, self.d = self.candidates.shape
            self.feasible = _meets(self.candidates, bounds, constraints)
            self._rows = np.flatnonzero(self.feasible)
            if not len(self._rows):
                raise ValueError(f"none of the {self.size} candidates meets the bounds and constraints")
            self.lower = self.candidates[self._rows].min(axis=0)
            self.upper = self.candidates[self._rows].max(axis=0)
        elif bounds is not None:
            self.polytope = Polytope(bounds, constraints)
            self.d = self.polytope.d
            self.lower, self.upper = self.polytope.lower, self.polytope.upper
        else:
            raise ValueError("a search space needs bounds or candidates")
        # Entries that cannot move have no unit: they are 0 in the unit box.
        self._span = np.where(self.upper > self.lower, self.upper - self.lower, 1.0)

    def resolve(self, policies: ArrayLike) -> Array:
        """The coordinates (n, d) of policies; one policy, (d,) or one row, gives (1, d)."""
        if self.candidates is not None:
            rows = np.atleast_1d(np.asarray(policies))
            if rows.dtype.kind not in "iu":
                raise ValueError("policies of a finite space are integer rows of its candidates")
            chosen: Array = self.candidates[rows]
            return chosen
        x = np.atleast_2d(np.asarray(policies, dtype=np.float64))
        if x.ndim != 2 or x.shape[1] != self.d:
            raise ValueError(f"policies must have {self.d} entries, got shape {x.shape}")
        return x

    def features(self, policies: Policies) -> Array:
        """The features (n, p) that kernels see; those of candidates are computed once."""
        if self.embed is None:
            return self.resolve(policies)
        if self.size is None:
            return np.asarray(self.embed(self.resolve(policies)), dtype=np.float64)
        if self._candidate_features is None:
            self._candidate_features = np.asarray(self.embed(np.arange(self.size)), dtype=np.float64)
        features: Array = self._candidate_features[np.atleast_1d(policies)]
        return features

    def contains(self, policies: Policies) -> NDArray[np.bool_]:
        """Whether policies are feasible, (n,): no side exceeded by more than 1e-9 max(1, |side|)."""
        if self.feasible is None:
            return self.polytope.contains(self.resolve(policies))
        rows = np.atleast_1d(np.asarray(policies))
        known = (rows >= 0) & (rows < len(self.feasible))
        feasible: NDArray[np.bool_] = known & self.feasible[np.where(known, rows, 0)]
        return feasible

    def constraint_rows(self) -> list[tuple[Array, float, float]]:
        """Every row of the constraints as its weights (d,), lower side and upper side."""
        matrix, lower, upper = stack_rows(self.constraints, self.d)
        return [(row, float(low), float(high)) for row, low, high in zip(matrix, lower, upper, strict=True)]

    def sample(self, n: int, rng: np.random.Generator) -> Policies:
        """N policies, uniform over the feasible set (rows, with replacement, in a finite space)."""
        if self.finite:
            return rng.choice(self._rows, size=n)
        return self.polytope.lift(self.polytope.sample(n, rng))

    def sobol(self, n: int, seed: int | np.random.SeedSequence | np.random.Generator) -> Policies:
        """N feasible policies of a scrambled Sobol design.

        In a bounded space the sequence runs over the entries that equality rows leave independent, and
        infeasible points are passed over (`Polytope.sobol`). In a finite one every point of a Sobol design of
        the candidates' box takes the nearest feasible candidate not taken yet; all are used before one is
        used again.
        """
        rng = np.random.default_rng(seed)
        if self.candidates is None:
            return self.polytope.lift(self.polytope.sobol(n, rng))
        if n < 1:
            return np.empty(0, dtype=np.intp)
        points = qmc.Sobol(self.d, scramble=True, seed=rng).random_base2(int(n - 1).bit_length())[:n]
        candidates, taken = self.to_unit(self._rows), np.zeros(len(self._rows), dtype=bool)
        chosen = np.empty(n, dtype=np.intp)
        for i, point in enumerate(points):
            distance = ((candidates - point) ** 2).sum(axis=1)
            chosen[i] = np.where(taken, np.inf, distance).argmin()
            taken[chosen[i]] = True
            if taken.all():
                taken[:] = False
        return self._rows[chosen]

    def to_unit(self, policies: Policies) -> Array:
        """The coordinates (n, d) scaled to the unit box; an entry fixed by equal bounds is 0."""
        unit: Array = (self.resolve(policies) - self.lower) / self._span
        return unit

    def from_unit(self, u: Array) -> Policies:
        """The policies of unit coordinates (n, d); the nearest feasible rows in a finite space."""
        u = np.atleast_2d(u)
        if not self.finite:
            x: Array = np.where(self.upper > self.lower, self.lower + u * self._span, self.lower)
            return x
        candidates = self.to_unit(self._rows)
        nearest = [((candidates - point) ** 2).sum(axis=1).argmin() for point in u]
        return self._rows[np.array(nearest, dtype=np.intp)]

    def maximise(
        self,
        value: Value,
        value_and_gradient: ValueAndGradient | None,
        rng: np.random.Generator | None,
        *,
        points: int = 512,
        starts: int = 30,
        extra: Policies | None = None,
    ) -> tuple[Policies, float]:
        """The best feasible policy found and its value.

        In a finite space the best of all feasible candidates, the lowest row among equals. In a bounded one
        `points` random policies (and `extra`) are evaluated together, the best few that lie apart climb a
        few steps together, SciPy's SLSQP with gradients finishes the best of those
        (`optimizer.space.local_search`), and the best of all that was evaluated is returned. The result
        depends on the functions and on rng alone.

        Parameters
        ----------
        value : callable
            Takes policies to the values (n,) to be maximised. A nan is never chosen.
        value_and_gradient : callable or None
            Takes policies (m, d) to values (m,) and gradients by the coordinates (m, d). None, or an error or
            nan in it, leaves the best of the evaluated points.
        rng : numpy.random.Generator or None
            Draws the random points; None in a finite space, where there are none.
        points, starts : int
            How many points to evaluate, and from how many of them to climb at most.
        extra : policies, optional
            Further points to evaluate, such as the incumbent; infeasible ones are left out. Unused in a
            finite space.

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
        if self.finite:
            values = np.asarray(value(self._rows), dtype=np.float64)
            best = _argmax(values)
            return self._rows[best], float(values[best])
        if rng is None:
            raise ValueError("the search of a bounded space draws its starts: give rng")
        v = self.polytope.scatter(points if self.polytope.k else 1, rng)
        x = self.polytope.lift(v)
        if extra is not None:
            extra = self.resolve(extra)[self.contains(extra)]
            x, v = np.concatenate((x, extra)), np.concatenate((v, self.polytope.drop(extra)))
        values = np.asarray(value(x), dtype=np.float64)
        best = _argmax(values)
        policy, highest = x[best], float(values[best])
        if value_and_gradient is None or not self.polytope.k or starts < 1:
            return policy, highest
        ends = refine(self.polytope, value_and_gradient, v[_apart(v, values, starts)], _spread(values))
        x = self.polytope.lift(ends)
        x = x[self.polytope.contains(x)]
        if len(x):
            values = np.asarray(value(x), dtype=np.float64)
            best = int(np.where(np.isnan(values), -np.inf, values).argmax())
            if values[best] > highest:
                policy, highest = x[best], float(values[best])
        return policy, highest


def _spread(values: Array) -> float:
    """How far the best value lies above the median, 1 where it does not: the scale of a search.

    The median and not the mean or deviation, which a score that falls without bound far from the best would
    swamp.
    """
    finite = values[np.isfinite(values)]
    spread = float(finite.max() - np.median(finite)) if len(finite) else 0.0
    return spread if spread > 0 else 1.0


def _apart(v: Array, values: Array, starts: int) -> NDArray[np.intp]:
    """The rows of the best points (n, k), best first, that lie apart.

    No two are closer than a tenth of the unit box's diagonal; in a set smaller than the unit box, accordingly
    less.
    """
    deviation = v.std(axis=0)
    scaled = v / np.where(deviation > 0, deviation, 1.0)
    nearest = 0.12 * v.shape[1]  # (0.1 / the uniform deviation sqrt(1/12))^2 an entry
    known = np.count_nonzero(~np.isnan(values))
    # Far more of the best than starts, so that some lie apart, but not all of them: that would cost as much
    # again.
    best = np.argsort(-values, kind="stable")[: min(8 * starts, known)]
    close = cdist(scaled[best], scaled[best], "sqeuclidean") <= nearest
    chosen: list[int] = []
    left = np.ones(len(best), dtype=bool)
    while len(chosen) < starts and left.any():
        chosen.append(int(left.argmax()))
        left &= ~close[chosen[-1]]
        left[chosen[-1]] = False
    return best[chosen]


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


def _argmax(values: Array) -> int:
    """The first index of the largest value, nan passed over."""
    best = int(values.argmax())
    if not np.isnan(values[best]):  # a nan anywhere would have been taken for the largest
        return best
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        raise ValueError("the value is nan at every policy")
    return int(known[values[known].argmax()])
