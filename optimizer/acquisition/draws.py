"""Draws of functions from the posterior of every group, for Thompson sampling.

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
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array, Policies, Rows
from optimizer.posterior.cholesky import pivoted_cholesky, safe_cholesky
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.gaussian_process import GaussianProcess
from optimizer.posterior.inputs import prior_mean_at, stated_or_own
from optimizer.prior.prior import Prior

TOLERANCE = 1e-10
"""Variance that the factor of a kernel may miss, as a share of the largest."""
DENSE = 4096
"""Up to so many candidates the whole kernel matrix is factorised; of more, its largest `DENSE` columns."""


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
        self.means: Array = np.stack([prior_mean_at(mean, rows) for mean in prior.means], axis=1)
        self.factors: list[Array] = _factors(prior.kernels, features)
        self.noise_variances: Array = prior.noise_variances
        self._groups = [_Observed(GaussianProcess(kernel, 0.0)) for kernel in prior.kernels]

    def observe(self, rows: Rows, Y: Array, noise: Array | None = None) -> None:
        """Add observations (T, J) at candidates (T,), nan where missing; noise is nan where unstated."""
        noise = stated_or_own(noise, self.noise_variances, Y.shape)
        for j, group in enumerate(self._groups):
            known = np.isfinite(Y[:, j])
            at, y, variances = rows[known], Y[known, j], noise[known, j]
            group.process.observe(self.features[at], y, variances)
            group.rows = np.concatenate([group.rows, at])
            group.residuals = np.concatenate([group.residuals, y - self.means[at, j]])
            group.deviations = np.concatenate([group.deviations, np.sqrt(variances)])

    def draw(self, rng: np.random.Generator) -> Array:
        """One draw of every group at all candidates, shape (n, J)."""
        drawn = self.means.copy()
        for j, (factor, group) in enumerate(zip(self.factors, self._groups, strict=True)):
            w = rng.standard_normal(factor.shape[1])
            if len(group.rows):
                F = factor[group.rows]
                errors = group.deviations * rng.standard_normal(len(F))
                w += F.T @ cho_solve((group.process.factor, True), group.residuals - F @ w - errors)
            drawn[:, j] += factor @ w
        return drawn


@dataclass
class _Observed:
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
    """One draw of every group, jointly at policies (n, d) or rows (n,): shape (n, J).

    Of a group whose hyperparameters are uncertain, first one component of its mixture is drawn.
    """
    features = model.features(policies)
    drawn = np.stack([prior_mean_at(mean, policies) for mean in model.prior_means], axis=1)
    for j, process in enumerate(model.groups):
        group = process.drawn(rng)
        mean, covariance = group.predict_covariance(features)
        # Rounding leaves negative pivots where policies are close: far below the variance before observing.
        floor = TOLERANCE * float(group.kernel.diag(features).max(initial=0.0))
        L, _ = safe_cholesky(covariance + floor * np.eye(len(mean)), np.full(len(mean), floor / TOLERANCE))
        drawn[:, j] += mean + L @ rng.standard_normal(len(mean))
    return drawn
