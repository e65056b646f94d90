"""A search space as others' optimizers know spaces: a box, the unit box, every point of which is a policy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies
from optimizer.space.bounded_space import BoundedSpace
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace
from simulators.contract.projection import project_on_steps

SAME = 1e-9
"""Two points of the unit box that differ by no more are the same one, up to rounding."""


class UnitBox:
    """The unit box over a search space.

    In a bounded space of real numbers its entries are those that equality constraints leave independent, and
    a point outside the other constraints stands for a feasible policy near it
    (`optimizer.space.polytope.Polytope.project`: the nearest, under one constraint). Where entries have steps
    it has all entries, and a point stands for the policy on the nearest steps, or the nearest one that is
    feasible (`simulators.PolicySpace.project` says how). In a finite space a point stands for the nearest
    feasible candidate.

    Its points have `d` entries; 0 where one policy alone is feasible.

    Attributes
    ----------
    counts : (d,) array of int
        How many steps an entry's range has; 0 of a real number.
    stepped, categories : (d,) arrays of bool
        Which entries have steps; which of them are categories.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.d: int = space.polytope.k if isinstance(space, BoundedSpace) else space.d
        self.counts = np.zeros(self.d, dtype=int)
        self.stepped = self.categories = np.zeros(self.d, dtype=bool)
        if isinstance(space, MixedSpace):
            self.counts, self.stepped, self.categories = space.levels - 1, space.steps > 0, space.categories

    def refuse_categories(self, who: str) -> None:
        """Raise ValueError where a policy has categories, which somebody cannot search."""
        for i in np.flatnonzero(self.categories):
            raise ValueError(
                f"{who} searches numbers, but entry {i + 1} of a policy is one of {self.counts[i] + 1} "
                "categories; accepted: real and whole numbers"
            )

    def policy(self, point: ArrayLike) -> tuple[Any, bool]:
        """The policy (d,) or candidate row of a point (d,), and whether the point had to be moved for it."""
        u = np.atleast_2d(np.asarray(point, dtype=float))
        if isinstance(self.space, MixedSpace):
            policies = _on_steps(self.space, u[0])[None]
        elif isinstance(self.space, BoundedSpace):
            policies = self.space.polytope.lift(self.space.polytope.project(u))
        else:
            policies = self.space.from_unit(u)
        moved = bool(np.abs(self.points(policies) - u).max(initial=0.0) > SAME)
        return policies[0], moved

    def points(self, policies: Policies) -> Array:
        """The points (n, d) of policies."""
        if isinstance(self.space, BoundedSpace):
            return self.space.polytope.drop(self.space.resolve(policies))
        return self.space.to_unit(policies)


def _on_steps(space: MixedSpace, u: Array) -> Array:
    """The policy nearest to a point (d,) of the unit box."""
    x: Array = space.from_unit(np.clip(u, 0.0, 1.0))[0]
    if space.contains(x[None])[0]:
        return x
    rows = space.matrix, space.row_lower, space.row_upper
    return space.snap(project_on_steps(x, space.lower, space.upper, *rows, space.steps))
