"""Derivatives of functions that come without one, by central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optimizer.arrays import Array

DIFFERENCE_STEP = 1e-6
"""Half step of the central differences through functions without a known derivative (g_j, c, mu_j)."""


def differences(function: Callable[[Array], Array], X: Array) -> Array:
    """Central differences of a function of policies (n, d): (n,) or (n, q) -> (n, d) or (n, d, q)."""
    n, d = X.shape
    steps = DIFFERENCE_STEP * np.maximum(1.0, np.abs(X))
    shifts = steps[:, None, :] * np.eye(d)
    ahead = function((X[:, None, :] + shifts).reshape(n * d, d))
    behind = function((X[:, None, :] - shifts).reshape(n * d, d))
    change: Array = (ahead - behind).reshape(n, d, *np.shape(ahead)[1:])
    return change / (2 * steps).reshape(n, d, *(1,) * (change.ndim - 2))


POLICY_STEP = 1e-6
"""Half step of central differences in the policy, as a share of its entries."""


def policy_slopes(value: Callable[[Array], Array], policies: Array) -> Array:
    """Central differences of values (n,) in the entries of their policies (n, d), all else fixed: (n, d)."""
    slopes = np.empty_like(policies)
    for i in range(policies.shape[1]):
        step = POLICY_STEP * np.maximum(1.0, np.abs(policies[:, i]))
        ahead, behind = policies.copy(), policies.copy()
        ahead[:, i] += step
        behind[:, i] -= step
        slopes[:, i] = (value(ahead) - value(behind)) / (ahead[:, i] - behind[:, i])
    return slopes
