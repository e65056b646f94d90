"""One Gaussian process as the scikit-learn estimators keep it, fitted once and predicted from often.

The factor is that of `GaussianProcess`; what follows it is computed in scikit-learn's order: equal to its
regressor to the last bits even where the kernel matrix is nearly singular, and a mean alone, which is what
scoring asks for, needs no triangular solve.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.posterior.gaussian_process import GaussianProcess


@dataclass(frozen=True)
class FittedProcess:
    """Posterior of a Gaussian process with prior mean zero.

    Attributes
    ----------
    kernel : Kernel
        k(x, x').
    X : ndarray of shape (T, p)
        Observed points; nan observations are left out.
    factor : ndarray of shape (T, T)
        L, the lower Cholesky factor of K_T.
    dual : ndarray of shape (T,)
        K_T^-1 y.
    jitter : float
        What was added to the diagonal of K_T; zero unless it is singular.
    """

    kernel: Kernel
    X: Array
    factor: Array
    dual: Array
    jitter: float

    @classmethod
    def fit(cls, kernel: Kernel, X: Array, y: Array, noise_variances: Array) -> Self:
        """Observe y (n,) at X (n, p), nan where missing, with noise variances (n,).

        Where a row needs jitter, every row gets it: then the order of the rows changes nothing, and repeats
        without noise count equally.
        """
        # scikit-learn takes hyperparameters through their logarithms and back, which may change the last bit,
        # and nearly singular matrices make much of a bit.
        with np.errstate(divide="ignore"):
            kernel = kernel.clone_with_theta(kernel.theta)
        gp = GaussianProcess(kernel, 0.0, least_noise=0.0).observe(X, y, noise_variances)
        jitter = float(gp.jitter.max(initial=0.0))
        if jitter:
            gp = GaussianProcess(kernel, 0.0, least_noise=0.0).observe(X, y, noise_variances + jitter)
            jitter += float(gp.jitter.max())
        dual = cho_solve((gp.factor, True), y[~np.isnan(y)]) if len(gp) else np.empty(0)
        return cls(kernel, gp.X, gp.factor.copy(), dual, jitter)

    def __len__(self) -> int:
        """T, the number of observations."""
        return len(self.X)

    def mean(self, X: Array) -> Array:
        """mu_T at points (n, p), shape (n,)."""
        return np.asarray(self.kernel(X, self.X) @ self.dual) if len(self) else np.zeros(len(X))

    def variance(self, X: Array) -> Array:
        """sigma_T^2 at points (n, p), shape (n,), never negative."""
        V = self._solved(X)
        variance: Array = np.maximum(self.kernel.diag(X) - np.einsum("ij,ji->i", V.T, V), 0.0)
        return variance

    def covariance(self, X: Array) -> Array:
        """k_T(x, x') between points (n, p), shape (n, n)."""
        V = self._solved(X)
        covariance: Array = self.kernel(X) - V.T @ V
        return covariance

    def _solved(self, X: Array) -> Array:
        """L^-1 k(X_T, X), shape (T, n)."""
        if not len(self):
            return np.zeros((0, len(X)))
        return np.asarray(solve_triangular(self.factor, self.kernel(X, self.X).T, lower=True))
