"""scikit-learn's estimator interface on decomposed GP regression (Algorithm 1), and its aggregate twin.

Both are fitted on the outcomes of all groups, Y (n, J), and predict one composed value f = g(f_1, .., f_J).
`DecomposedGPRegressor` keeps a Gaussian process a group; `AggregateGPRegressor` composes first and keeps one,
with the composed kernel and noise: what the paper compares Algorithm 1 with.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from optimizer.arrays import Array
from optimizer.composition.linear import Composition
from optimizer.kernels.composed import joined_features
from optimizer.posterior.inputs import as_variances
from optimizer.regression.base import ComposedEstimator


class GroupPosterior(NamedTuple):
    """What the groups are predicted to be: posterior means and standard deviations, each (n, J)."""

    mean: Array
    std: Array


class DecomposedGPRegressor(ComposedEstimator):
    """Decomposed GP regression as a scikit-learn estimator (paper, Algorithm 1).

    Every group has its own Gaussian process, fitted on its column of Y. Predictions are composed: exactly by
    linear weights, f(x) = sum_j g_j(x) f_j(x); to first order by a general g, with mean g(mu_1, .., mu_J) and
    covariance sum_j dg/df_j(x) k_{j,T}(x, x') dg/df_j(x'), where the partial derivatives are central
    differences at the means.

    Parameters
    ----------
    kernels : None, str, Kernel or sequence of J Kernels, default=None
        k_j, one for all groups or one a group, used as they are. The name of a family ("rbf", "matern-1/2",
        "matern-3/2", "matern-5/2", "rq") is learned from the samples; None is "rbf".
    noise_variances : float or array_like of shape (J,), optional
        sigma_j^2. Unless given, learned where kernels are learned, and 1e-10 where not.
    weights : array_like of shape (J,), or callable, optional
        g_j(x): constants, or a function from points (n, p) to weights (n, J); ones unless given.
    g : callable, optional
        A general composition instead of weights: a function from outcomes (n, J) to values (n,).
    prior_means : float or callable, or a sequence of J of them, default=0.0
        mu_{j,0}: constants, or functions from points (n, p) to (n,). Where kernels are learned, the mean of
        what they leave of the samples is added.
    optimizer : None or "marginal-likelihood", default=None
        Whether the hyperparameters of given kernels are learned too (by `optimizer.learn_prior`).
    n_restarts_optimizer : int, default=0
        Random starts of the learning, in addition to its first.
    random_state : int, RandomState instance or None, default=0
        Of those starts.

    Attributes
    ----------
    n_groups_ : int
        J.
    n_samples_per_group_ : ndarray of shape (J,)
        Observations that each group was fitted on: nan is left out a group at a time. A group without any
        stays at its prior.
    prior_ : Prior
        Kernels, noise variances and means of the groups, as given or learned.
    jitter_ : ndarray of shape (J,)
        What was added to the diagonal of a group's kernel matrix; zero unless it is singular.
    processes_ : list of J FittedProcess
        The posteriors of the groups, of what their prior means leave.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.linspace(0, 1, 8)[:, None]
    >>> Y = np.hstack([np.sin(3 * X), X**2])
    >>> model = DecomposedGPRegressor([RBF(0.5), RBF(1.0)], 1e-6, weights=[1.0, 2.0]).fit(X, Y)
    >>> model.score(X, Y) > 0.999
    True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit a Gaussian process to every group.

        Parameters
        ----------
        X : array_like of shape (n, p)
            Points.
        y : array_like of shape (n, J), or (n,) where J = 1
            Outcomes of the groups, nan where missing.

        Raises
        ------
        ValueError
            If y and the parameters disagree on the number of groups, y has no value at all, parameters
            exclude each other, or a kernel is to be learned from fewer than two samples.
        """
        X, Y = self._validate(X, y, reset=True)
        if np.isnan(Y).all():
            raise ValueError("y holds no observation: all its values are nan")
        self._begin(X, Y)
        columns = Y.reshape(len(Y), -1)
        self.prior_ = self._prior(X, columns, self.noise_variances)
        residuals = columns - self._group_means(X)
        noise = np.tile(self.prior_.noise_variances, (len(X), 1))
        return self._fit(self.prior_.kernels, X, residuals, noise)

    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False, return_groups: bool = False
    ) -> Any:
        """Predict the composed value, without noise.

        Parameters
        ----------
        X : array_like of shape (n, p)
            Points.
        return_std, return_cov : bool, default=False
            Return the standard deviation (n,), or the covariance (n, n), as well; not both.
        return_groups : bool, default=False
            Return the groups' own `GroupPosterior` as well, last.

        Returns
        -------
        ndarray of shape (n,), or a tuple
            The mean, then what else was asked for.
        """
        X = self._points(X)
        _check_one(return_std, return_cov)
        means = self._posterior_means(X)
        parts: list[Any] = [self._compose(X, means)]
        if return_std or return_groups:
            variances = np.stack([process.variance(X) for process in self.processes_], axis=1)
        if return_std:
            parts.append(np.sqrt((self._slopes(X, means) ** 2 * variances).sum(axis=1)))
        if return_cov:
            covariance = np.zeros((len(X), len(X)))
            for slope, process in zip(self._slopes(X, means).T, self.processes_, strict=True):
                covariance += slope[:, None] * process.covariance(X) * slope
            parts.append(covariance)
        if return_groups:
            parts.append(GroupPosterior(means, np.sqrt(variances)))
        return parts[0] if len(parts) == 1 else tuple(parts)

    def _posterior_means(self, X: Array) -> Array:
        """Posterior means of the groups, shape (n, J)."""
        return self._group_means(X) + np.stack([process.mean(X) for process in self.processes_], axis=1)

    def _predicted(self, X: Array) -> Array:
        return self._compose(X, self._posterior_means(X))


class AggregateGPRegressor(ComposedEstimator):
    """Ordinary GP regression of the composed value y = g(Y): what the paper compares Algorithm 1 with.

    With linear weights the kernel is sum_j g_j(x) k_j(x, x') g_j(x'), the noise variance sum_j g_j(x)^2
    sigma_j^2 and the prior mean sum_j g_j(x) mu_{j,0}(x): the same belief as that of `DecomposedGPRegressor`
    with equal parameters, so that the feedback alone differs.

    A general g has no composed kernel. The process is then one of the composed value itself: `kernels` is one
    kernel or family, `prior_means` one mean, and the noise variance sum_j (dg/df_j)^2 sigma_j^2 at the
    observed outcomes. So it is with linear weights, where kernels are to be learned from composed values
    alone; the noise variance is then one number.

    Parameters
    ----------
    kernels, noise_variances, weights, g, prior_means, optimizer, n_restarts_optimizer, random_state
        As in `DecomposedGPRegressor`, with what the last paragraph says.

    Attributes
    ----------
    n_groups_ : int
        J.
    own_prior_ : bool
        Whether the process is one of the composed value itself, and not composed of the groups'.
    n_samples_per_group_ : ndarray of shape (1,)
        Rows that the process was fitted on: one with a missing group has no composed value, and is left out.
    prior_ : Prior
        Of the groups; of the composed value where `own_prior_` is true.
    jitter_ : ndarray of shape (1,)
        What was added to the diagonal of the kernel matrix; zero unless it is singular.
    processes_ : list of one FittedProcess
        The posterior of the composed value, of what its prior mean leaves.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit one Gaussian process to the composed values.

        Parameters
        ----------
        X : array_like of shape (n, p)
            Points.
        y : array_like of shape (n, J), or (n,)
            Outcomes of the groups, to be composed; or composed values.

        Raises
        ------
        ValueError
            As in `DecomposedGPRegressor.fit`; or if every row misses a group, or a general g comes with
            kernels or means of groups.
        """
        X, Y = self._validate(X, y, reset=True)
        self._begin(X, Y)
        values = self._composed_values(X, Y)
        complete = ~np.isnan(values)
        if not complete.any():
            raise ValueError("y holds no observation: every row misses a group")
        self.own_prior_: bool = self.g is not None or (self._learns and not self._is_outcomes(Y))
        kernel, noise = self._own(X, Y, values) if self.own_prior_ else self._composed(X, Y)
        residuals = (values - self._mean(X))[:, None]
        return self._fit([kernel], self._features(X), residuals, noise[:, None])

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the composed value, without noise; see `DecomposedGPRegressor.predict`."""
        X = self._points(X)
        _check_one(return_std, return_cov)
        mean = self._predicted(X)
        features, (process,) = self._features(X), self.processes_
        if return_std:
            return mean, np.sqrt(process.variance(features))
        return (mean, process.covariance(features)) if return_cov else mean

    def _predicted(self, X: Array) -> Array:
        return self._mean(X) + self.processes_[0].mean(self._features(X))

    def _is_outcomes(self, Y: Array) -> bool:
        return Y.ndim > 1

    def _composed(self, X: Array, Y: Array) -> tuple[Kernel, Array]:
        """The kernel and the noise variances (n,) that the groups' priors imply."""
        columns = Y if self._is_outcomes(Y) else np.full((len(Y), self.n_groups_), np.nan)
        self.prior_ = self._prior(X, columns, self.noise_variances)
        noise = np.tile(self.prior_.noise_variances, (len(X), 1))
        composition = self._linear
        return self.prior_.composed(composition).kernels[0], composition.variance(noise, X)

    def _own(self, X: Array, Y: Array, values: Array) -> tuple[Kernel, Array]:
        """The kernel and the noise variances (n,) of the composed value itself."""
        noise = self.noise_variances
        if noise is None:
            self.prior_ = self._prior(X, values[:, None], None)
            return self.prior_.kernels[0], np.tile(self.prior_.noise_variances, len(values))
        complete = ~np.isnan(values)
        known = np.ones(len(values))
        if self._is_outcomes(Y):
            slopes = self._slopes(X[complete], Y[complete])
            known[complete] = slopes**2 @ as_variances(noise, (self.n_groups_,))
        elif np.size(noise) == 1:
            known[complete] = as_variances(noise, (1,))
        else:
            raise ValueError(f"composed values have one noise variance, not {np.size(noise)}")
        self.prior_ = self._prior(X, values[:, None], known[complete].mean())
        return self.prior_.kernels[0], known

    @property
    def _linear(self) -> Composition:
        assert isinstance(self.composition_, Composition)
        return self.composition_

    def _features(self, X: Array) -> Array:
        """What the kernel sees: X, with the weights beside it where they vary."""
        return X if self.own_prior_ else joined_features(lambda X: X, self._linear)(X)

    def _mean(self, X: Array) -> Array:
        """Prior mean of the composed value, shape (n,)."""
        means = self._group_means(X)
        return means[:, 0] if self.own_prior_ else self.composition_.unsigned(means, X)


def _check_one(return_std: bool, return_cov: bool) -> None:
    if return_std and return_cov:
        raise ValueError("ask for return_std or return_cov, not for both")
