"""The exact posterior of one Gaussian process, extended by the rows that are observed (paper, eqs. 1 to 3).

Notation, used below without exception: T observations at X (T, p); K_T = k(X, X) + diag(noise variance) = L
L^T; a = L^-1 (y - mu(X)); V = L^-1 k(X, X*). Then the posterior mean at X* is mu(X*) + V^T a and its
covariance k(X*, X*) - V^T V. (Equation 1 of the paper prints k_T(x') where the observations belong.)
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dtrmm, dtrmv
from scipy.linalg.lapack import dtrtri, dtrtrs
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.kernels.gradients import BoundKernel, bind, diag_and_gradient
from optimizer.posterior.cholesky import safe_cholesky
from optimizer.posterior.inputs import (
    LEAST_NOISE,
    PriorMean,
    as_points,
    as_variances,
    stated_or_own,
    with_least,
)
from optimizer.posterior.kept_noise import KeptNoise

KEEPS_INVERSE = 256
"""From so many observations on L^-1 is extended with L: inverting it anew is dearer than all else."""


class Gradients(NamedTuple):
    """Posterior mean and variance (m,) with their gradients (m, p) in the features."""

    mean: Array
    variance: Array
    mean_gradient: Array
    variance_gradient: Array


class GaussianProcess:
    """Gaussian process regression with fixed hyperparameters, extended row by row.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        k(x, x').
    noise_variance : float
        Variance of an observation that states none of its own.
    prior_mean : float or callable, default=0.0
        mu(x), or a function from points (n, p) to values (n,).
    least_noise : float, default=1e-10
        Noise variance of an observation at least, as a share of its prior variance (see `inputs`).
    kept : KeptNoise, optional
        What of the noise repeated observations share; by default it is independent.

    Attributes
    ----------
    X : ndarray of shape (T, p)
        Observed points.
    jitter : ndarray of shape (T,)
        What near-singular rows had added to their noise variance; zero almost always.

    Raises
    ------
    ValueError
        If the noise variance is negative or not finite.
    """

    def __init__(
        self,
        kernel: Kernel,
        noise_variance: float,
        prior_mean: PriorMean = 0.0,
        *,
        least_noise: float = LEAST_NOISE,
        kept: KeptNoise | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise_variance: float = float(as_variances(noise_variance, ()))
        self.prior_mean = prior_mean
        self._least_noise = least_noise
        self._kept, self._noise = kept, np.empty(0)
        self.X = np.empty((0, 0))
        self.jitter: Array = np.empty(0)
        self._factor = np.empty((0, 0))  # L, with room for more rows
        self._inverse: Array | None = None  # L^-1, with room for more rows, from `KEEPS_INVERSE` rows on
        self._a = np.empty(0)
        self._prepared: _Prepared | None = None

    def __len__(self) -> int:
        """T, the number of observations."""
        return len(self.X)

    @property
    def factor(self) -> Array:
        """L, the lower Cholesky factor of K_T, shape (T, T)."""
        return self._factor[: len(self), : len(self)]

    def mean_prior(self, X: Array) -> Array:
        """mu(X), shape (n,)."""
        if callable(self.prior_mean):
            return np.asarray(self.prior_mean(X), dtype=float)
        return np.full(len(X), float(self.prior_mean))

    def observe(self, X: ArrayLike, y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations: O(T^2) for one, instead of the O(T^3) of a refit.

        Parameters
        ----------
        X : array_like of shape (n, p)
            Points.
        y : array_like of shape (n,)
            Observed values; rows with nan are left out.
        noise_variance : array_like of shape (n,) or float, optional
            The variance of each observation; `self.noise_variance` unless given, and where it is nan.

        Raises
        ------
        ValueError
            If lengths differ, a point is not finite, a value is infinite or a variance is negative.
        """
        points, values = self._as_points(X), np.asarray(y, dtype=float).reshape(-1)
        if len(points) != len(values):
            raise ValueError(f"{len(points)} points, but {len(values)} values")
        if np.isinf(values).any():
            raise ValueError("an observed value is infinite")
        noise = stated_or_own(noise_variance, self.noise_variance, values.shape)
        known = ~np.isnan(values)
        if known.any():
            self._extend(points[known], values[known], noise[known])
        return self

    def _extend(self, X: Array, y: Array, noise: Array) -> None:
        T, n = len(self), len(y)
        cross = np.empty((0, n))
        K = self.kernel(X)
        noise = with_least(noise, np.diag(K), self._least_noise)
        scale = np.diag(K) + noise
        if T:
            shared = self.kernel(self.X, X)
            if self._kept is not None:
                shared = shared + self._kept.across(self.X, X, self._noise, noise)
            cross = dtrtrs(self._factor[:T, :T], shared, lower=1)[0]
        if self._kept is not None:
            K = K + self._kept.within(X, noise)
            self._noise = np.append(self._noise, noise)
        corner, jitter = safe_cholesky(K + np.diag(noise) - cross.T @ cross, scale)
        self._make_room(T + n)
        self._factor[T : T + n, :T] = cross.T
        self._factor[T : T + n, T : T + n] = corner
        if T + n >= KEEPS_INVERSE:
            self._extend_inverse(T, cross, corner)
        residual = y - self.mean_prior(X) - cross.T @ self._a
        self._a = np.append(self._a, dtrtrs(corner, residual, lower=1)[0])
        self.X = np.vstack([self.X, X]) if T else X
        self._prepared = None
        self.jitter = np.append(self.jitter, jitter)

    def _as_points(self, X: ArrayLike) -> Array:
        points = as_points(X)
        if len(self) and points.shape[1] != self.X.shape[1]:
            raise ValueError(f"points must have {self.X.shape[1]} entries, not {points.shape[1]}")
        return points

    def _make_room(self, rows: int) -> None:
        if rows > len(self._factor):
            roomy = np.zeros((max(rows, 2 * len(self._factor), 16),) * 2)
            roomy[: len(self), : len(self)] = self.factor
            self._factor = roomy

    def _extend_inverse(self, T: int, cross: Array, corner: Array) -> None:
        """L^-1 of [[L, 0], [W^T, C]] is [[L^-1, 0], [-C^-1 W^T L^-1, C^-1]]: O(T^2) a row.

        In column-major order, as BLAS reads it.
        """
        rows = T + len(corner)
        if self._inverse is None:
            self._inverse = np.zeros((int(1.25 * rows),) * 2, order="F")
            self._inverse[:rows, :rows] = dtrtri(self._factor[:rows, :rows], lower=1)[0]
            return
        if rows > len(self._inverse):
            roomy = np.zeros((int(1.25 * rows),) * 2, order="F")
            roomy[:T, :T] = self._inverse[:T, :T]
            self._inverse = roomy
        own = dtrtri(corner, lower=1)[0]
        self._inverse[T:rows, :T] = -own @ (cross.T @ self._inverse[:T, :T])
        self._inverse[T:rows, T:rows] = own

    def drawn(self, rng: np.random.Generator) -> Self:
        """The process itself: nothing of its hyperparameters is uncertain (see `ProcessMixture.drawn`)."""
        return self

    def predict(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance at points (n, p), each (n,); 0 <= variance <= prior variance."""
        X = self._as_points(X)
        mean, variance = self.mean_prior(X), diag_and_gradient(self.kernel, X)[0]
        if len(self):
            V = self._solve(self._prepare().kernel.value(X).T)
            mean = mean + V.T @ self._a
            variance = np.maximum(variance - np.einsum("ti,ti->i", V, V), 0.0)
        return mean, variance

    def predict_mean(self, X: ArrayLike) -> Array:
        """Posterior mean at points (n, p), shape (n,), by mu(x) + k(x, X) K_T^-1 (y - mu(X))."""
        X = self._as_points(X)
        mean = self.mean_prior(X)
        if len(self):
            prepared = self._prepare()
            mean = mean + prepared.kernel.value(X) @ prepared.alpha
        return mean

    def predict_mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The same with its gradient (n, p) in the features; the prior mean's own is left out."""
        mean = self.mean_prior(X)
        if not len(self):
            return mean, np.zeros_like(X)
        prepared = self._prepare()
        K, pullback = prepared.kernel.value_and_pullback(X)
        return mean + K @ prepared.alpha, pullback(np.broadcast_to(prepared.alpha, K.shape))

    def predict_covariance(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean (n,) and covariance (n, n) at points (n, p)."""
        X = self._as_points(X)
        mean, covariance = self.mean_prior(X), self.kernel(X)
        if len(self):
            V = self._solve(self._prepare().kernel.value(X).T)
            mean, covariance = mean + V.T @ self._a, covariance - V.T @ V
        return mean, covariance

    def predict_with_gradients(self, X: Array) -> Gradients:
        """Posterior mean and variance with gradients in the features; the prior mean's own is left out.

        d mean / dx = sum_t (L^-T a)_t dk(x, x_t)/dx and d variance / dx = dk(x, x)/dx - 2 sum_t (L^-T V)_t
        dk(x, x_t)/dx: two sums of the same kernel derivatives.
        """
        diagonal, diagonal_gradient = diag_and_gradient(self.kernel, X)
        if not len(self):
            return Gradients(self.mean_prior(X), diagonal, np.zeros_like(X), diagonal_gradient)
        prepared = self._prepare()
        K, pullback = prepared.kernel.value_and_pullback(X)
        V = self._solve(K.T)
        U = self._multiplied(prepared.inverse, V, transposed=1)
        return Gradients(
            self.mean_prior(X) + V.T @ self._a,
            np.maximum(diagonal - np.einsum("ti,ti->i", V, V), 0.0),
            pullback(np.broadcast_to(prepared.alpha, K.shape)),
            diagonal_gradient - 2.0 * pullback(U.T),
        )

    def _solve(self, K: Array) -> Array:
        """L^-1 K for K (T, n)."""
        return self._multiplied(self._prepare().inverse, K, transposed=0)

    def _multiplied(self, inverse: Array, B: Array, transposed: int) -> Array:
        """L^-1 B, or L^-T B, for B (T, n)."""
        if self._inverse is not None and B.shape[1] == 1:  # of many rows: nearly twice as fast for one point
            return np.asarray(dtrmv(inverse, B[:, 0], lower=1, trans=transposed))[:, None]
        return np.asarray(dtrmm(1.0, inverse, B, lower=1, trans_a=transposed))

    def _prepare(self) -> "_Prepared":
        if self._prepared is None:
            T = len(self)
            if self._inverse is None:
                inverse = dtrtri(self.factor, lower=1)[0]
            else:
                inverse = np.asfortranarray(self._inverse[:T, :T])
            alpha = dtrmm(1.0, inverse, self._a[:, None], lower=1, trans_a=1)[:, 0]
            self._prepared = _Prepared(inverse, alpha, bind(self.kernel, self.X))
        return self._prepared


class _Prepared(NamedTuple):
    """What every prediction between two observations shares: many of them make one search.

    Multiplying by L^-1 is four times faster than solving with L for the hundreds of points of a search. It
    is accurate because pivots are kept above `cholesky.FLOOR`, so that L is never worse conditioned than 1e6;
    the factor itself is extended by solving.
    """

    inverse: Array
    alpha: Array
    kernel: BoundKernel
