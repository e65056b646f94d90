"""A search space as others' optimizers know spaces: a box, the unit box, every point of which is a policy."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies
from optimizer.space.search_space import BoundedSpace, SearchSpace

SAME = 1e-9
"""Two points of the unit box that differ by no more are the same one, up to rounding."""


class UnitBox:
    """The unit box over a search space.

    In a bounded space its entries are those that equality constraints leave independent, and a point outside
    the other constraints stands for a feasible policy near it (`optimizer.space.polytope.Polytope.project`:
    the nearest, under one constraint). In a finite space a point stands for the nearest feasible candidate.

    Its points have `d` entries; 0 where one policy alone is feasible.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.d = space.polytope.k if isinstance(space, BoundedSpace) else space.d

    def policy(self, point: ArrayLike) -> tuple[Any, bool]:
        """The policy (d,) or candidate row of a point (d,), and whether the point had to be moved for it."""
        u = np.atleast_2d(np.asarray(point, dtype=float))
        if isinstance(self.space, BoundedSpace):
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
