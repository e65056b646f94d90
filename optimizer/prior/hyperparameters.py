"""The hyperparameters of a group: their priors, the most probable ones, and draws of how uncertain they are.

Five samples of a function hardly tell its length scale, and the marginal likelihood alone then takes an
extreme: a kernel that extrapolates far beyond all samples, and is sure of it. So hyperparameters have weak
priors, which keep them at the scale of the samples until the samples know better.

Draws are of a t distribution about the most probable logarithms, with the precision that the Laplace
approximation has there (the second derivative of the log density; MacKay 1992), weighted by how much more
probable they are than such draws (importance sampling), so that they also tell what is skewed.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.prior.families import Family
from optimizer.prior.marginal_likelihood import LogPosterior, shape_of

LOG_PRIORS: dict[str, tuple[float, float]] = {
    # In units of the samples' spread: their variance, their noise variance.
    "constant_value": (0.0, 1.0),
    "noise_level": (-4.0, 2.0),
    "alpha": (0.0, 1.5),
    # On the normalised Laplacian.
    "beta": (2.0, 2.0),
}
"""Mean and standard deviation of the logarithm of a hyperparameter."""

AMPLITUDES = (1e-2, 1e3)
NOISES = (1e-8, 1e1)
LENGTHS = (2e-2, 1e1)
"""Bounds, in units of the samples' variance and of the features' spans."""

LEAST_NOISE = 1e-8
"""A noise far below the samples' spread only spoils the conditioning of the likelihood."""

SEARCH_POINTS = 200
"""Of several starts the best is found on this many samples at most, and then refined on all."""

STEP = 1e-3
"""Step of the differences of gradients, in standard deviations of the prior."""

DEGREES_OF_FREEDOM = 5
"""Of the t distribution that draws come from."""


class LengthPrior(NamedTuple):
    """Log-normal prior of a length scale, in units of its feature's span.

    The logarithm has mean `mean` + log(p) / 2 for p features, so that more features mean smoother functions
    (Hvarfner, Hellsten & Nardi 2024), and standard deviation `deviation`.
    """

    mean: float
    deviation: float


SMOOTH = LengthPrior(math.sqrt(2), math.sqrt(3))
"""Hvarfner, Hellsten & Nardi (2024): for the most probable kernel of samples."""


class Draws(NamedTuple):
    """Hyperparameters (S, n), and their weights (S,), which add up to 1."""

    thetas: Array
    weights: Array


class Group:
    """What is to be learned of a group from its samples, in units of their spread and spans.

    Parameters
    ----------
    kernel : Family or Kernel
        A family, or a kernel of the user's own, which has no priors but its bounds.
    X : ndarray of shape (T, p)
        Features, in units of their spans where it is a family.
    y : ndarray of shape (T,)
        Outcomes less their mean, in units of their spread.
    noise : ndarray of shape (T,)
        Noise variances in units of the spread's square; nan where one is to be learned.
    length : LengthPrior
    mean_variance : float, default=0.0
        Prior variance of the mean, in amplitudes.

    Attributes
    ----------
    bounds : ndarray of shape (n, 2)
        Of the logarithms of the hyperparameters: the amplitude, the kernel's, the noise if it is learned.
    default : ndarray of shape (n,)
        Where a search begins.
    """

    def __init__(
        self,
        kernel: Family | Kernel,
        X: Array,
        y: Array,
        noise: Array,
        length: LengthPrior = SMOOTH,
        mean_variance: float = 0.0,
    ) -> None:
        own = not isinstance(kernel, Family)
        if isinstance(kernel, Family):
            kernel = kernel.kernel(np.full(X.shape[1], 0.5), LENGTHS)
        self._kernel = kernel
        self._data = X, y, np.maximum(noise, LEAST_NOISE)
        self._mean_variance = mean_variance
        self.learns_noise: bool = bool(np.isnan(noise).any())
        learns = [True] if self.learns_noise else []
        inner_bounds = np.reshape(self._kernel.bounds, (-1, 2))
        self.bounds: Array = np.vstack([np.log(AMPLITUDES), inner_bounds, *[np.log(NOISES) for _ in learns]])
        self.default: Array = np.array([0.0, *self._kernel.theta, *[math.log(1e-2) for _ in learns]])
        smooth = length.mean + 0.5 * math.log(X.shape[1]), length.deviation
        inner = [
            LOG_PRIORS.get(part.name.split("__")[-1], smooth)
            for part in self._kernel.hyperparameters
            if not part.fixed
            for _ in range(part.n_elements)
        ]
        priors = [LOG_PRIORS["constant_value"], *inner, *[LOG_PRIORS["noise_level"] for _ in learns]]
        self.means, self.deviations = np.array(priors).T
        if own:
            self.deviations = np.full(len(priors), np.inf)

    def begin_at(self, theta: Array, deviation: float) -> None:
        """Have priors about logarithms (n,) of all but the noise, with this deviation, for the weak ones."""
        n = len(theta)
        self.means[:n], self.deviations[:n] = theta, deviation
        self.default[:n] = theta

    def split(self, theta: Array) -> tuple[float, Array, float | None]:
        """The amplitude, the logarithms of the kernel's hyperparameters, and the noise variance if any."""
        amplitude = float(np.exp(theta[0]))
        if self.learns_noise:
            return amplitude, theta[1:-1], float(np.exp(theta[-1]))
        return amplitude, theta[1:], None

    def density(self, some: NDArray[np.int64] | None = None) -> LogPosterior:
        """The log posterior density of the hyperparameters, given all samples or some."""
        X, y, noise = self._data if some is None else [part[some] for part in self._data]
        shape = shape_of(self._kernel, X)
        return LogPosterior(shape, y, noise, self.means, self.deviations, self._mean_variance)

    @property
    def unlearned(self) -> Array:
        """What is believed after samples that do not vary: the middle of the priors, without noise."""
        theta: Array = self.means.copy()
        if self.learns_noise:
            theta[-1] = math.log(LEAST_NOISE)
        return theta

    def draws_unlearned(self, S: int, rng: np.random.Generator) -> Draws:
        """S draws of the priors, and no noise."""
        z = rng.standard_normal(((S + 1) // 2, len(self.means)))
        thetas = self.unlearned + np.concatenate([z, -z])[:S] * self.deviations * (S > 1)
        thetas = np.clip(thetas, *self.bounds.T)
        if self.learns_noise:
            thetas[:, -1] = math.log(LEAST_NOISE)
        return Draws(thetas, np.full(S, 1 / S))

    def random(self, rng: np.random.Generator) -> Array:
        """A random start: of the priors, or within the bounds where there are none."""
        if np.isinf(self.deviations).any():
            return np.asarray(rng.uniform(*self.bounds.T))
        return np.asarray(self.means + self.deviations * rng.standard_normal(len(self.means)))

    def most_probable(
        self, starts: Sequence[Array], rng: np.random.Generator, tolerance: float = 1e-11
    ) -> Array:
        """The hyperparameters of the highest density that L-BFGS-B finds from the starts.

        It stops where a step changes the density by less than its share `tolerance`.
        """
        T = len(self._data[1])
        if len(starts) > 1 and T > SEARCH_POINTS:
            starts = [self._climb(self.density(rng.permutation(T)[:SEARCH_POINTS]), starts, tolerance)]
        return self._climb(self.density(), starts, tolerance)

    def _climb(self, density: LogPosterior, starts: Sequence[Array], tolerance: float) -> Array:
        def negative(theta: Array) -> tuple[float, Array]:
            value, gradient = density(theta)
            return -value, -gradient

        best: Array = np.clip(starts[0], *self.bounds.T)
        reached = -math.inf
        for start in starts:
            start = np.clip(start, *self.bounds.T)
            options = {"ftol": tolerance}
            found = minimize(
                negative, start, jac=True, method="L-BFGS-B", bounds=self.bounds, options=options
            )
            if -found.fun > reached:
                best, reached = np.asarray(found.x), -float(found.fun)
        return best

    def draws(self, best: Array, S: int, rng: np.random.Generator) -> Draws:
        """S weighted draws about the most probable hyperparameters; these themselves where S is 1."""
        if S == 1:
            return Draws(best[None], np.ones(1))
        density, n, nu = self.density(), len(best), DEGREES_OF_FREEDOM
        half = rng.standard_normal(((S + 1) // 2, n))
        half /= np.sqrt(rng.chisquare(nu, (len(half), 1)) / nu)
        t = np.concatenate([half, -half])[:S]  # in pairs, whose mean is the most probable
        thetas = np.clip(best + t @ laplace(density, best).T, *self.bounds.T)
        tails = -0.5 * (nu + n) * np.log1p((t**2).sum(axis=1) / nu)
        logs = np.array([density.value(theta) for theta in thetas]) - tails
        return Draws(thetas, truncated_weights(logs))


def truncated_weights(logs: Array) -> Array:
    """Weights (S,) that add up to 1, from the logarithms of importance weights.

    None counts for more than sqrt(S) average ones, which few draws need (Ionides 2008).
    """
    weights = np.exp(logs - logs.max())
    weights = np.minimum(weights, weights.mean() * math.sqrt(len(logs)))
    return np.asarray(weights / weights.sum())


def laplace(density: LogPosterior, best: Array) -> Array:
    """R (n, n) with R R^T the covariance of the Laplace approximation at the most probable hyperparameters.

    In units of the priors no precision is taken below 1: nobody is less certain after data than before.
    """
    units, n = density.prior_deviations, len(best)
    at = density(best)[1]
    precision = np.empty((n, n))
    for i in range(n):
        moved = best.copy()
        moved[i] += STEP * units[i]
        precision[i] = (at - density(moved)[1]) * units / STEP
    values, vectors = np.linalg.eigh(0.5 * (precision + precision.T))
    root: Array = units[:, None] * vectors / np.sqrt(np.maximum(values, 1.0))
    return root
