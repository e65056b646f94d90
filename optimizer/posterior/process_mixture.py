"""A group's posterior where its hyperparameters are uncertain: a mixture of S Gaussian processes.

All of them see the same T observations. With the posterior means mu_s and variances var_s of the components
and their weights w_s, the group's are (law of total variance)

    mu = sum_s w_s mu_s    and    var = sum_s w_s (var_s + (mu_s - mu)^2).

Notation of `optimizer.posterior.gaussian_process`, with the components first: L (S, T, T), V (S, T, m). Kept
is L^-1, which a new observation extends by a row in O(T^2), and with which a prediction only multiplies.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dtrmm
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.kernels.batch import BoundKernels
from optimizer.kernels.gradients import constant_variance, diag_and_gradient
from optimizer.posterior.gaussian_process import GaussianProcess, Gradients
from optimizer.posterior.inputs import as_points, as_variances, stated_or_own, with_least
from optimizer.posterior.kept_noise import KeptNoise
from optimizer.posterior.safe_inverse import extend

CHUNK = 4_000_000
"""Numbers of one (S, T, m) array: predictions at many points go by so many at once."""
ONE_BY_ONE = 128
"""From so many observations, triangular factors are multiplied one by one, which is then faster."""


class Moments(NamedTuple):
    """Moments of the components (S, m), and of their mixture (m,)."""

    means: Array
    variances: Array
    mean: Array
    variance: Array


def mixed(means: Array, variances: Array, weights: Array) -> Moments:
    """Law of total variance over components (S, m) with weights (S,)."""
    mean = weights @ means
    variance = weights @ (variances + (means - mean) ** 2)
    return Moments(means, variances, mean, variance)


class ProcessMixture:
    """S Gaussian processes with mean zero and fixed hyperparameters, which see the same observations.

    Its methods are those of `GaussianProcess`, but for joint moments of several points: `drawn` gives one
    component, which has them.

    Parameters
    ----------
    kernels : sequence of S Kernel
        k_s.
    noise_variances : array_like of shape (S,)
        Of an observation that states none of its own.
    weights : array_like of shape (S,)
        They add up to 1.
    kept : KeptNoise, optional
        What of the noise repeated observations share.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        noise_variances: ArrayLike,
        weights: ArrayLike,
        kept: KeptNoise | None = None,
    ) -> None:
        self.kernels: list[Kernel] = list(kernels)
        S = len(self.kernels)
        constant = [constant_variance(kernel) for kernel in self.kernels]
        # k_s(x, x) (S,) where it is the same everywhere: asking S kernels costs more than a small prediction.
        self._constant = None if None in constant else np.array(constant, dtype=float)
        self.noise_variances: Array = as_variances(noise_variances, (S,))
        self.weights: Array = np.broadcast_to(np.asarray(weights, dtype=float), (S,))
        self.X = np.empty((0, 0))
        self._kept, self._y = kept, np.empty(0)
        self._noise = np.empty((S, 0))
        self._inverse = np.empty((S, 0, 0))  # L^-1
        self._a = np.empty((S, 0))
        self._alpha = np.empty((S, 0))
        self._bound: BoundKernels | None = None

    def __len__(self) -> int:
        """T, the number of observations."""
        return len(self.X)

    def _diagonals(self, X: Array) -> Array:
        if self._constant is not None:
            return np.broadcast_to(self._constant[:, None], (len(self._constant), len(X)))
        return np.stack([diag_and_gradient(kernel, X)[0] for kernel in self.kernels])

    def _diagonal_gradient(self, X: Array) -> Array:
        """Of sum_s w_s k_s(x, x), (n, p)."""
        total = np.zeros(X.shape)
        if self._constant is None:
            for weight, kernel in zip(self.weights, self.kernels, strict=True):
                total += weight * diag_and_gradient(kernel, X)[1]
        return total

    def observe(self, X: ArrayLike, y: ArrayLike, noise_variance: ArrayLike | None = None) -> Self:
        """Add observations; see `GaussianProcess.observe`."""
        points, values = as_points(X), np.asarray(y, dtype=float).reshape(-1)
        known = ~np.isnan(values)
        if not known.any():
            return self
        own = self.noise_variances[:, None]
        noise = np.broadcast_to(stated_or_own(noise_variance, own, values.shape), (len(own), len(values)))
        self._extend(points[known], values[known], noise[:, known])
        return self

    def _extend(self, X: Array, y: Array, noise: Array) -> None:
        corner = BoundKernels(self.kernels, X).value(X)
        noise = with_least(noise, np.einsum("snn->sn", corner))
        cross = self._kernel().value(X) if len(self) else np.empty((len(corner), len(y), 0))
        if self._kept is not None:
            corner = corner + self._kept.within(X, noise)
            cross = cross + self._kept.across(X, self.X, noise, self._noise) if len(self) else cross
        self._inverse, self._a = extend(self._inverse, self._a, cross, corner, noise, y)
        self.X = np.vstack([self.X, X]) if len(self) else X
        self._y = np.concatenate([self._y, y])
        self._noise = np.concatenate([self._noise, noise], axis=1)
        self._alpha = np.einsum("stu,st->su", self._inverse, self._a)
        self._bound = None

    def _kernel(self) -> BoundKernels:
        if self._bound is None:
            self._bound = BoundKernels(self.kernels, self.X)
        return self._bound

    def predict(self, X: ArrayLike) -> tuple[Array, Array]:
        """Posterior mean and variance of the mixture at points (n, p), each (n,)."""
        X = as_points(X)
        mean, variance = np.empty((2, len(X)))
        for some in self._chunks(len(X)):
            at = X[some]
            moments = self._moments(at, self._kernel().value(at)) if len(self) else self._before(at)
            mean[some], variance[some] = moments.mean, moments.variance
        return mean, variance

    def predict_mean(self, X: ArrayLike) -> Array:
        """Posterior mean of the mixture at points (n, p), shape (n,)."""
        X = as_points(X)
        mean = np.zeros(len(X))
        for some in self._chunks(len(X)) if len(self) else ():
            means = np.einsum("smt,st->sm", self._kernel().value(X[some]), self._alpha)
            mean[some] = self.weights @ means
        return mean

    def predict_mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The same with its gradient (n, p) in the features."""
        if not len(self):
            return np.zeros(len(X)), np.zeros(X.shape)
        K, pullback = self._kernel().value_and_pullback(X)
        by_mean = self.weights[:, None, None] * self._alpha[:, None, :]
        return np.einsum("smt,smt->m", K, np.broadcast_to(by_mean, K.shape)), pullback(
            np.broadcast_to(by_mean, K.shape)
        )

    def predict_with_gradients(self, X: Array) -> Gradients:
        """The same with gradients in the features.

        d mu = sum_s w_s d mu_s and d var = sum_s w_s (d var_s + 2 (mu_s - mu) d mu_s), where d mu_s and d
        var_s are sums of kernel derivatives (`GaussianProcess.predict_with_gradients`), so that all
        components make two sums.
        """
        inner = self._diagonal_gradient(X)
        if not len(self):
            moments = self._before(X)
            return Gradients(moments.mean, moments.variance, np.zeros(X.shape), inner)
        K, pullback = self._kernel().value_and_pullback(X)
        V = self._solved(K)
        moments = self._moments(X, K, V)
        U = self._multiplied(V, transposed=True)
        w = self.weights[:, None, None]
        by_mean = w * self._alpha[:, None, :]
        off = 2 * (moments.means - moments.mean)[:, :, None]
        by_variance = off * by_mean - 2 * w * U.transpose(0, 2, 1)
        return Gradients(
            moments.mean,
            moments.variance,
            pullback(np.broadcast_to(by_mean, K.shape)),
            inner + pullback(by_variance),
        )

    def drawn(self, rng: np.random.Generator) -> GaussianProcess:
        """One component, drawn by the weights, with all that was observed."""
        s = int(rng.choice(len(self.kernels), p=self.weights))
        one = GaussianProcess(self.kernels[s], self.noise_variances[s], kept=self._kept)
        return one.observe(self.X, self._y, self._noise[s]) if len(self) else one

    def _before(self, X: Array) -> Moments:
        diagonals = self._diagonals(X)
        return mixed(np.zeros(diagonals.shape), diagonals, self.weights)

    def _moments(self, X: Array, K: Array, V: Array | None = None) -> Moments:
        V = self._solved(K) if V is None else V
        means = np.einsum("smt,st->sm", K, self._alpha)
        left = np.maximum(self._diagonals(X) - np.einsum("stm,stm->sm", V, V), 0.0)
        return mixed(means, left, self.weights)

    def _solved(self, K: Array) -> Array:
        """V = L^-1 K^T (S, T, m) of K (S, m, T)."""
        return self._multiplied(K.transpose(0, 2, 1))

    def _multiplied(self, B: Array, transposed: bool = False) -> Array:
        """L^-1 B, or L^-T B, (S, T, m)."""
        factors = self._inverse
        if len(self) < ONE_BY_ONE:
            return np.asarray(np.matmul(factors.transpose(0, 2, 1) if transposed else factors, B))
        # Row-major L^-1 is column-major L^-T: BLAS reads it without a copy.
        products = [
            dtrmm(1.0, factor.T, b, lower=0, trans_a=0 if transposed else 1)
            for factor, b in zip(factors, B, strict=True)
        ]
        return np.stack(products)

    def _chunks(self, n: int) -> Iterator[slice]:
        size = max(CHUNK // max(len(self.kernels) * len(self), 1), 1)
        return (slice(start, start + size) for start in range(0, n, size))
