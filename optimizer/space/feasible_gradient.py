"""Gradients of a function that is known at feasible policies only, such as `expected`."""

from collections.abc import Callable

import numpy as np

from optimizer.arrays import Array
from optimizer.space.polytope import Polytope

SHRINK = 1e-5
"""Differences are taken this far on the way to the centre, inside a ball of feasible policies."""


def feasible_differences(
    polytope: Polytope, value: Callable[[Array], Array]
) -> Callable[[Array], tuple[Array, Array]]:
    """Values and gradients by central differences that never leave the feasible set.

    The feasible set is convex and holds a ball around its centre. Moving a point by the share `SHRINK` toward
    the centre leaves a ball of that share of the radius around it, in which the differences are taken; the
    gradient is off by that share of its change over the set. All policies of all differences are evaluated in
    one call.

    Parameters
    ----------
    polytope : Polytope
        The feasible set that is kept to.
    value : callable
        From feasible policies (n, d) to values (n,).

    Returns
    -------
    callable
        From policies (m, d) to values (m,) and gradients (m, d), for `SearchSpace.maximise`. Where equalities
        leave directions out, the gradient is the one along the feasible set.
    """
    if not polytope.k:  # a single feasible policy has no direction to differ in
        return lambda X: (value(X), np.zeros_like(X))
    slack = np.concatenate([polytope.centre, 1 - polytope.centre, polytope.h - polytope.G @ polytope.centre])
    h = 0.5 * SHRINK * float(slack.min())
    back = np.linalg.pinv(polytope.map)

    def value_and_gradient(X: Array) -> tuple[Array, Array]:
        m, k = len(X), polytope.k
        v = polytope.drop(X)
        v = v + SHRINK * (polytope.centre - v)
        steps = (h * np.eye(k))[None]
        shifted = np.concatenate([v[:, None] + steps, v[:, None] - steps], axis=1)
        values = value(np.concatenate([X, polytope.lift(shifted.reshape(-1, k))]))
        ahead, behind = np.split(values[m:].reshape(m, 2 * k), 2, axis=1)
        return values[:m], (ahead - behind) / (2 * h) @ back

    return value_and_gradient
