"""What posteriors are given, as arrays of one form: points, observations, noise variances and prior means."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from optimizer.arrays import Array, Policies

PriorMean = float | Callable[[Array], Array]

LEAST_NOISE = 1e-10
"""Noise variance that an observation has at least, as a share of its prior variance: far more than rounding
makes of it. So repeats that are said to be free of noise count equally, in whatever order they come."""


def as_points(X: ArrayLike) -> Array:
    """Points as a float array (n, p); one-dimensional input is one point a number."""
    points = np.ascontiguousarray(X, dtype=float)
    if points.ndim < 2:
        points = points.reshape(-1, 1)
    if points.ndim != 2:
        raise ValueError(f"points must have shape (n, p), not {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("points must be finite, but hold nan or inf")
    return points


def as_variances(noise_variance: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Noise variances broadcast to `shape`; ValueError if one is negative or not finite."""
    variances = np.broadcast_to(np.asarray(noise_variance, dtype=float), shape)
    if not (variances >= 0).all() or np.isinf(variances).any():
        raise ValueError(f"a noise variance must be finite and not negative, not {variances.min()}")
    return variances


def stated_or_own(stated: ArrayLike | None, own: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Noise variances of observations of this shape: as stated, and one's own where none is (None, or nan).

    ValueError if one is negative or infinite.
    """
    own = as_variances(own, np.broadcast_shapes(np.shape(own), shape))
    if stated is None:
        return own
    given = np.broadcast_to(np.asarray(stated, dtype=float), shape)
    return as_variances(np.where(np.isnan(given), own, given), own.shape)


def with_least(noise: Array, prior_variances: Array, least: float = LEAST_NOISE) -> Array:
    """Noise variances, of no observation below the `least` share of its prior variance."""
    noise = np.maximum(noise, least * prior_variances)
    return noise


def as_observations(Y: ArrayLike, n: int, groups: int) -> Array:
    """Observations as a float array (n, J), nan where a group is missing."""
    Y = np.asarray(Y, dtype=float)
    if groups == 1 and Y.ndim < 2:
        Y = Y.reshape(-1, 1)
    if Y.shape != (n, groups):
        raise ValueError(f"observations must have shape {(n, groups)}, one column a group, not {Y.shape}")
    if np.isinf(Y).any():
        raise ValueError("an observation is infinite")
    return Y


def spread_means(prior_means: PriorMean | Sequence[PriorMean], groups: int) -> tuple[PriorMean, ...]:
    """One prior mean a group; ValueError if their number is another."""
    if isinstance(prior_means, (int, float)) or callable(prior_means):
        return (prior_means,) * groups
    if len(prior_means) != groups:
        raise ValueError(f"{len(prior_means)} prior means, but the composition has {groups} groups")
    return tuple(prior_means)


def prior_mean_at(mean: PriorMean, policies: Policies) -> Array:
    """mu_{j,0} at policies, shape (n,)."""
    if callable(mean):
        return np.asarray(mean(policies), dtype=float)
    return np.full(len(policies), float(mean))
