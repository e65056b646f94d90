"""Which groups go together beyond what their means say: the correlation of their whitened residuals.

Of an intrinsic model of coregionalisation, Cov(f_j(x), f_k(x')) = B_jk k(x, x'), where all groups are
observed at every policy, the posterior means and variances are those of independent groups (autokrigeability;
Wackernagel 2003, Multivariate Geostatistics), and groups have at every policy the posterior correlation
B_jk / sqrt(B_jj B_kk). It is also taken for groups whose kernels differ, as an approximation.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular

from optimizer.arrays import Array
from optimizer.posterior.inputs import as_observations, as_points, prior_mean_at
from optimizer.prior.prior import Prior

DOUBT = 20.0
"""Samples of independent groups that the estimate is mixed with."""


def residual_correlation(prior: Prior, X: ArrayLike, Y: ArrayLike) -> Array:
    """The correlation (J, J) of groups, of samples from which their kernels were learned.

    Each group's residuals are whitened, L_j^-1 (y_j - mu_j) with K_j + sigma_j^2 I = L_j L_j^T, so that they
    are independent standard normal within the group, if its prior holds.

    Parameters
    ----------
    prior : Prior
    X : array_like of shape (n, p)
        Features.
    Y : array_like of shape (n, J)
        Outcomes; samples of which some are missing are left out.

    Returns
    -------
    ndarray of shape (J, J)
        Positive definite, shrunk towards independence by `DOUBT` samples.
    """
    X = as_points(X)
    Y = as_observations(Y, len(X), len(prior.kernels))
    whole = np.isfinite(Y).all(axis=1)
    X, Y = X[whole], Y[whole]
    white = np.empty_like(Y)
    for j, kernel in enumerate(prior.kernels):
        K = kernel(X)
        K[np.diag_indices_from(K)] += prior.noise_variances[j] + 1e-8 * kernel.diag(X)
        residual = Y[:, j] - prior_mean_at(prior.means[j], X)
        white[:, j] = solve_triangular(cholesky(K, lower=True), residual, lower=True)
    moments = white.T @ white
    scale = np.sqrt(np.diag(moments))
    scale[scale == 0] = 1.0
    shared = len(X) / (len(X) + DOUBT) * moments / np.outer(scale, scale)
    np.fill_diagonal(shared, 1.0)
    return np.asarray(shared)
