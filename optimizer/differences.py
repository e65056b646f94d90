"""Derivatives of functions that come without one, by central differences.

Half steps are shares of what is differentiated. A function of policies is asked for all its shifted policies
at once (`jacobian`); any other array is shifted one entry at a time (`central_differences`).
"""

from collections.abc import Callable, Iterator

import numpy as np

from optimizer.arrays import Array

STEP = 1e-6
"""Half step in a policy or a feature, as a share of its entry, which counts as 1 at least."""


def half_steps(X: Array) -> Array:
    """The half step of every entry of policies or features."""
    steps: Array = STEP * np.maximum(1.0, np.abs(X))
    return steps


def sides(X: Array, steps: Array) -> Iterator[tuple[Array, Array, Array]]:
    """For each entry of the last axis: X a step ahead, X a step behind, and the distance between the two."""
    for i in range(X.shape[-1]):
        ahead, behind = X.copy(), X.copy()
        ahead[..., i] += steps[..., i]
        behind[..., i] -= steps[..., i]
        yield ahead, behind, ahead[..., i] - behind[..., i]


def central_differences(value: Callable[[Array], Array], X: Array, steps: Array | None = None) -> Array:
    """Slopes of a function from arrays (.., q) to values (..), in every entry of X: of X's shape."""
    slopes = np.empty_like(X)
    for i, (ahead, behind, distance) in enumerate(sides(X, half_steps(X) if steps is None else steps)):
        slopes[..., i] = (value(ahead) - value(behind)) / distance
    return slopes


def jacobian(function: Callable[[Array], Array], X: Array) -> Array:
    """Slopes of a function of policies (n, d) to (n,) or (n, q), in their entries: (n, d) or (n, d, q)."""
    n, d = X.shape
    steps = half_steps(X)
    shifts = steps[:, None, :] * np.eye(d)
    ahead = function((X[:, None, :] + shifts).reshape(n * d, d))
    behind = function((X[:, None, :] - shifts).reshape(n * d, d))
    change: Array = (ahead - behind).reshape(n, d, *np.shape(ahead)[1:])
    return change / (2 * steps).reshape(n, d, *(1,) * (change.ndim - 2))
