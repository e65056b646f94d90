"""Thompson sampling of every group: a draw from each group's posterior, composed by g, shows where to go.

Over a finite set by Matheron's rule (Wilson et al. 2020): a draw f from the prior and the errors eps of the
observations become a draw from the posterior,

    f(x) + k(x, X_T) (K_T + noise)^-1 (y - f(X_T) - eps).

With k(C, C) = F F^T over the candidates C, where F (n, r) is computed once a kernel, f = F w with standard
normal w (r,); the correction passes through F as well, so that a draw costs O(n r + T^2) a group.

Elsewhere the draw is joint over some hundred policies, by the Cholesky factor of their posterior covariance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array, Policies
from optimizer.posterior.cholesky import pivoted_cholesky, safe_cholesky
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.gaussian_process import GaussianProcess
from optimizer.posterior.inputs import prior_mean_at
from optimizer.prior.prior import Prior
from optimizer.space.search_space import SearchSpace

Rows = NDArray[np.int64]

TOLERANCE = 1e-10
"""Variance that the factor of a kernel may miss, as a share of the largest."""
DENSE = 4096
"""Up to so many candidates the whole kernel matrix is factorised; of more, its largest `DENSE` columns."""
POINTS = 500
"""How many random policies of a bounded space are drawn together."""


class CandidateDraws:
    """Draws from the groups' posterior over a finite candidate set.

    Parameters
    ----------
    prior : Prior
        Of the groups; its means are given candidate rows.
    features : ndarray of shape (n, p)
        What the kernels see of the candidates.
    """

    def __init__(self, prior: Prior, features: Array) -> None:
        rows = np.arange(len(features))
        self.features = features
        self.means = np.stack([prior_mean_at(mean, rows) for mean in prior.means], axis=1)
        self.factors = _factors(prior.kernels, features)
        self.noise_variances = prior.noise_variances
        self._told = [_Told(GaussianProcess(kernel, 0.0)) for kernel in prior.kernels]

    def observe(self, rows: Rows, Y: Array, noise: Array | None = None) -> None:
        """Add observations (T, J) at candidates (T,), nan where missing, and their noise variances."""
        noise = np.broadcast_to(self.noise_variances, Y.shape) if noise is None else noise
        for j, told in enumerate(self._told):
            known = np.isfinite(Y[:, j])
            at, y, variances = rows[known], Y[known, j], noise[known, j]
            told.process.observe(self.features[at], y, variances)
            told.rows = np.concatenate([told.rows, at])
            told.residuals = np.concatenate([told.residuals, y - self.means[at, j]])
            told.deviations = np.concatenate([told.deviations, np.sqrt(variances)])

    def draw(self, rng: np.random.Generator) -> Array:
        """One draw of every group at all candidates, shape (n, J)."""
        drawn = self.means.copy()
        for j, (factor, told) in enumerate(zip(self.factors, self._told, strict=True)):
            w = rng.standard_normal(factor.shape[1])
            if len(told.rows):
                F = factor[told.rows]
                errors = told.deviations * rng.standard_normal(len(F))
                w += F.T @ cho_solve((told.process.factor, True), told.residuals - F @ w - errors)
            drawn[:, j] += factor @ w
        return drawn


@dataclass
class _Told:
    """A group's observations: where, how far from the prior mean, with what noise, and the factor of K_T."""

    process: GaussianProcess
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    residuals: Array = field(default_factory=lambda: np.empty(0))
    deviations: Array = field(default_factory=lambda: np.empty(0))


def _factors(kernels: Sequence[Kernel], features: Array) -> list[Array]:
    """F (n, r) of every kernel; equal kernels share it."""
    factors: list[Array] = []
    for j, kernel in enumerate(kernels):
        same = next((i for i in range(j) if kernels[i] == kernel), None)
        factors.append(factor(kernel, features) if same is None else factors[same])
    return factors


def factor(kernel: Kernel, features: Array) -> Array:
    """F (n, r) with k(C, C) = F F^T up to `TOLERANCE`."""
    if len(features) > DENSE:
        return pivoted_cholesky(kernel, features, TOLERANCE, DENSE)
    K = kernel(features)
    lower, order, rank, _ = dpstrf(K, tol=TOLERANCE * float(K.diagonal().max(initial=0.0)), lower=1)
    F = np.empty((len(K), rank))
    F[order - 1] = np.tril(lower)[:, :rank]
    return F


def joint_draw(model: DecomposedGP, policies: Policies, rng: np.random.Generator) -> Array:
    """One draw of every group, jointly at policies (n, d) or rows (n,): shape (n, J)."""
    features = model.features(policies)
    drawn = np.stack([prior_mean_at(mean, policies) for mean in model.prior_means], axis=1)
    for j, group in enumerate(model.groups):
        mean, covariance = group.predict_covariance(features)
        # Rounding leaves negative pivots where policies are close: far below the variance before observing.
        floor = TOLERANCE * float(group.kernel.diag(features).max(initial=0.0))
        L, _ = safe_cholesky(covariance + floor * np.eye(len(mean)), np.full(len(mean), floor / TOLERANCE))
        drawn[:, j] += mean + L @ rng.standard_normal(len(mean))
    return drawn


def feasible_rows(space: SearchSpace) -> Rows:
    """All feasible candidates of a finite space."""
    assert space.feasible is not None
    return np.flatnonzero(space.feasible)


def random_policies(space: SearchSpace, rng: np.random.Generator, extra: Policies | None) -> Policies:
    """Where a joint draw looks: all feasible candidates if they are few, else random ones and `extra`."""
    if space.finite:
        rows = feasible_rows(space)
        return rows if len(rows) <= 2 * POINTS else rng.choice(rows, 2 * POINTS, replace=False)
    points = space.sample(POINTS, rng)
    if extra is None:
        return points
    return np.concatenate([points, extra[space.contains(extra)]])
