"""The log posterior density of a group's hyperparameters, with its gradient.

A group is y ~ N(0, a (k(X, X) + MEAN_VARIANCE) + diag(noise)): an amplitude a, a shape k with hyperparameters
of its own, a constant mean whose prior variance is `MEAN_VARIANCE` amplitudes and which is integrated over,
and noise, which is stated for an observation or else learned. Its log density is (Rasmussen & Williams 2006,
equations 2.30 and 5.9), with K the covariance above and alpha = K^-1 y,

    log p(y | theta) = -(y^T alpha + log |K| + T log 2 pi) / 2,
    d / d theta_i    = tr((alpha alpha^T - K^-1) dK / d theta_i) / 2,

and to it is added the log density of the hyperparameters' priors. Notation: theta holds logarithms, the
amplitude's first, then the shape's, then the noise variance's where one is learned. M (T, T) is any matrix
that derivatives of k are contracted with; no (T, T, p) array is ever made for the families.
"""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Kernel, Matern, RationalQuadratic

from optimizer.arrays import Array
from optimizer.kernels.gradients import profile_of
from optimizer.kernels.space_time import SpaceTimeKernel

Contraction = Callable[[Array], Array]

LOG_2PI = math.log(2 * math.pi)


class Shape(Protocol):
    """A kernel without amplitude over fixed points X (T, p), as a function of its hyperparameters."""

    size: int
    """How many hyperparameters there are."""

    def value(self, theta: Array) -> Array:
        """K (T, T), a new array."""

    def value_and_contraction(self, theta: Array) -> tuple[Array, Contraction]:
        """The same, and what takes M (T, T), symmetric, to sum_st M_st dk_st / d theta_i, shape (size,)."""


class Stationary:
    """A function of the distance in units of the features' length scales, of which theta has the logarithms.

    Parameters
    ----------
    kernel : Kernel
        Of scikit-learn's stationary kernels, the one meant: RBF or Matern; its length scales are not read.
    X : ndarray of shape (T, p)
    """

    def __init__(self, kernel: Kernel, X: Array) -> None:
        profile = profile_of(kernel)
        assert profile is not None
        self._profile = profile
        self._X = X - X.mean(axis=0)
        self.size: int = X.shape[1]

    def _scaled(self, theta: Array) -> tuple[Array, Array]:
        scaled = self._X * np.exp(-theta)
        return scaled, cdist(scaled, scaled, "sqeuclidean")

    def value(self, theta: Array) -> Array:
        """See `Shape`."""
        return self._profile(self._scaled(theta)[1])[0]

    def value_and_contraction(self, theta: Array) -> tuple[Array, Contraction]:
        """See `Shape`; dk/d log l_i = h (x_i - x'_i)^2 / l_i^2 with h = -2 dk/d(r^2)."""
        scaled, r2 = self._scaled(theta)
        k, h = self._profile(r2)

        def contract(M: Array) -> Array:
            G = M * h
            squares: Array = 2 * (G.sum(axis=1) @ scaled**2 - np.einsum("tp,tp->p", scaled, G @ scaled))
            return squares

        return k, contract


class RationalQuadraticShape:
    """(1 + r^2 / (2 alpha l^2))^-alpha, with theta = (log alpha, log l), in scikit-learn's order."""

    size = 2

    def __init__(self, X: Array) -> None:
        self._r2 = cdist(X, X, "sqeuclidean")

    def value(self, theta: Array) -> Array:
        """See `Shape`."""
        alpha, scale = np.exp(theta)
        return np.asarray((1 + self._r2 / (2 * alpha * scale**2)) ** -alpha)

    def value_and_contraction(self, theta: Array) -> tuple[Array, Contraction]:
        """See `Shape`."""
        alpha, scale = np.exp(theta)
        r2 = self._r2 / scale**2
        base = 1 + r2 / (2 * alpha)
        k = base**-alpha

        def contract(M: Array) -> Array:
            weighted = M * k
            by_alpha = alpha * np.sum(weighted * ((base - 1) / base - np.log(base)))
            return np.array([by_alpha, np.sum(weighted * r2 / base)])

        return k, contract


class SpaceTime:
    """The product of a shape over all features but the last and one over the last, the time."""

    def __init__(self, places: Shape, time: Shape) -> None:
        self._places, self._time = places, time
        self.size: int = places.size + time.size

    def value(self, theta: Array) -> Array:
        """See `Shape`."""
        n = self._places.size
        return self._places.value(theta[:n]) * self._time.value(theta[n:])

    def value_and_contraction(self, theta: Array) -> tuple[Array, Contraction]:
        """See `Shape`."""
        n = self._places.size
        k1, first = self._places.value_and_contraction(theta[:n])
        k2, second = self._time.value_and_contraction(theta[n:])
        return k1 * k2, lambda M: np.concatenate([first(M * k2), second(M * k1)])


class AnyKernel:
    """Any kernel, by scikit-learn's `kernel(X, eval_gradient=True)`."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self._kernel, self._X = kernel, X
        self.size: int = len(kernel.theta)

    def value(self, theta: Array) -> Array:
        """See `Shape`."""
        return np.array(self._kernel.clone_with_theta(theta)(self._X), dtype=float)

    def value_and_contraction(self, theta: Array) -> tuple[Array, Contraction]:
        """See `Shape`."""
        k, slopes = self._kernel.clone_with_theta(theta)(self._X, eval_gradient=True)
        return np.array(k, dtype=float), lambda M: np.einsum("st,sti->i", M, slopes)


def shape_of(kernel: Kernel, X: Array) -> Shape:
    """The fast shape of a family's kernel over points X (T, p); any other goes through scikit-learn."""
    kind = type(kernel)
    if kind is SpaceTimeKernel:
        return SpaceTime(shape_of(kernel.k1, X[:, :-1]), shape_of(kernel.k2, X[:, -1:]))
    if kernel.theta.size != sum(part.n_elements for part in kernel.hyperparameters):
        return AnyKernel(kernel, X)  # some are fixed
    if kind is RationalQuadratic and np.ndim(kernel.length_scale) == 0:
        return RationalQuadraticShape(X)
    if profile_of(kernel) is not None and kind is not RationalQuadratic:
        if kind is Matern and kernel.nu not in (0.5, 1.5, 2.5, math.inf):
            return AnyKernel(kernel, X)
        if np.size(kernel.length_scale) == X.shape[1]:
            return Stationary(kernel, X)
    return AnyKernel(kernel, X)


class LogPosterior:
    """The log posterior density of a group's hyperparameters.

    Parameters
    ----------
    shape : Shape
        The kernel over the observed points, without amplitude.
    y : ndarray of shape (T,)
        Observations less the prior mean.
    noise : ndarray of shape (T,)
        Their noise variances; nan where the learned one holds.
    prior_means, prior_deviations : ndarray of shape (number of hyperparameters,)
        Of the logarithms; an infinite deviation is no prior.
    mean_variance : float
        Prior variance of the constant mean, in amplitudes; 0 where y is known to have none.
    """

    def __init__(
        self,
        shape: Shape,
        y: Array,
        noise: Array,
        prior_means: Array,
        prior_deviations: Array,
        mean_variance: float,
    ) -> None:
        self.shape = shape
        self.y = y
        self._unstated = np.isnan(noise)
        self._stated = np.where(self._unstated, 0.0, noise)
        self.learns_noise: bool = bool(self._unstated.any())
        self.prior_means = prior_means
        self.prior_deviations = prior_deviations
        self.mean_variance = mean_variance

    def _split(self, theta: Array) -> tuple[float, Array, Array]:
        """Amplitude, the shape's hyperparameters and the noise variances (T,)."""
        noise = self._stated
        if self.learns_noise:
            noise = noise + np.exp(theta[-1]) * self._unstated
        return float(np.exp(theta[0])), theta[1 : 1 + self.shape.size], noise

    def value(self, theta: Array) -> float:
        """The log density; -inf where the covariance cannot be factorised."""
        amplitude, inner, noise = self._split(theta)
        K = self.shape.value(inner)
        K += self.mean_variance
        K *= amplitude
        K.flat[:: len(K) + 1] += noise
        factor, failed = dpotrf(K, lower=1, clean=0, overwrite_a=1)
        if failed:
            return -math.inf
        alpha = dpotrs(factor, self.y, lower=1)[0]
        return self._density(alpha, factor) + self._prior(theta)[0]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The log density, and its gradient in theta."""
        amplitude, inner, noise = self._split(theta)
        K, contract = self.shape.value_and_contraction(inner)
        K = (K + self.mean_variance) * amplitude
        covariance = K.copy()
        covariance.flat[:: len(K) + 1] += noise
        factor, failed = dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
        if failed:
            return -math.inf, np.zeros(len(theta))
        alpha = dpotrs(factor, self.y, lower=1)[0]
        inverse = dpotri(factor, lower=1)[0]
        density = self._density(alpha, factor)
        M = inverse + inverse.T  # the upper triangle of `inverse` is zero
        M.flat[:: len(M) + 1] *= 0.5
        M *= -0.5
        M += np.multiply.outer(0.5 * alpha, alpha)
        gradient = np.empty(len(theta))
        gradient[0] = np.vdot(M, K)
        gradient[1 : 1 + self.shape.size] = amplitude * contract(M)
        if self.learns_noise:
            gradient[-1] = np.exp(theta[-1]) * (M.diagonal() @ self._unstated)
        prior, slopes = self._prior(theta)
        return density + prior, gradient + slopes

    def _density(self, alpha: Array, factor: Array) -> float:
        log_root = float(np.log(factor.diagonal()).sum())
        return -0.5 * float(self.y @ alpha) - log_root - 0.5 * len(self.y) * LOG_2PI

    def _prior(self, theta: Array) -> tuple[float, Array]:
        """Log density of the hyperparameters up to a constant, and its gradient."""
        z = (theta - self.prior_means) / self.prior_deviations
        return -0.5 * float(z @ z), -z / self.prior_deviations
