"""Where an agent may look for its next policy: what is feasible, how it is sampled, where the best is.

Its kinds are in `finite_space` (candidates), `bounded_space` (real numbers) and `mixed_space` (also whole
numbers and categories).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint

from optimizer.arrays import Array, Policies
from optimizer.space.local_search import Value, ValueAndGradient
from optimizer.space.polytope import stack_rows


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
        self.constraints: list[LinearConstraint] = (
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
