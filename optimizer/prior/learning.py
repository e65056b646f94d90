"""Learning a prior from samples: kernels by marginal likelihood, means from the samples themselves.

Five samples of a function hardly tell its length scale, and the marginal likelihood alone then takes an
extreme: a kernel that extrapolates far beyond all samples, and is sure of it. So hyperparameters have weak
priors (`LOG_PRIORS`), which keep them at the scale of the samples until the samples know better.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from threadpoolctl import threadpool_limits

from optimizer.arrays import Array
from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel
from optimizer.posterior.inputs import as_observations, as_points, as_variances
from optimizer.prior.prior import Prior

if TYPE_CHECKING:
    import networkx as nx


LOG_PRIORS: dict[str, tuple[float, float]] = {
    # In units of the samples' spread: their variance, their noise variance.
    "constant_value": (0.0, 1.0),
    "noise_level": (-4.0, 2.0),
    "alpha": (0.0, 1.5),
    # On the normalised Laplacian.
    "beta": (2.0, 2.0),
}
"""Mean and standard deviation of the logarithm of a hyperparameter."""

SEARCH_POINTS = 200
"""Restarts search on this many samples at most; the best of them is then refined on all samples."""

FAMILIES: dict[str, Callable[[Array, tuple[float, float]], Kernel]] = {
    "rbf": lambda scale, bounds: RBF(scale, bounds),
    "matern-1/2": lambda scale, bounds: Matern(scale, bounds, nu=0.5),
    "matern-3/2": lambda scale, bounds: Matern(scale, bounds, nu=1.5),
    "matern-5/2": lambda scale, bounds: Matern(scale, bounds, nu=2.5),
    # scikit-learn's rational quadratic has one length scale for all features.
    "rq": lambda scale, bounds: RationalQuadratic(float(scale[0]), 1.0, bounds, (1e-2, 1e2)),
}
"""Kernel families by name, each from length scales (p,) and their bounds."""

ON_GRAPH = "diffusion"
"""The family that knows the graph: `optimizer.kernels.diffusion.DiffusionKernel`."""


class MaximumAPosteriori(GaussianProcessRegressor):  # type: ignore[misc]
    """scikit-learn's regressor, with the log density of the hyperparameters' priors added to the likelihood.

    Length scales, in units of the features' spans, have the prior of Hvarfner, Hellsten & Nardi (2024):
    log-normal with mean sqrt(2) + log(p) / 2 and standard deviation sqrt(3), so that more features mean
    smoother functions.
    """

    def log_marginal_likelihood(
        self, theta: Array | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Log marginal likelihood plus log prior of the hyperparameters theta, and its gradient."""
        likelihood = super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)
        if theta is None:
            return likelihood
        features = self.X_train_.shape[1]
        smooth = (np.sqrt(2) + 0.5 * np.log(features), np.sqrt(3))
        moments = [
            LOG_PRIORS.get(hyperparameter.name.split("__")[-1], smooth)
            for hyperparameter in self.kernel_.hyperparameters
            if not hyperparameter.fixed
            for _ in range(hyperparameter.n_elements)
        ]
        mean, deviation = np.array(moments).T
        z = (theta - mean) / deviation
        if not eval_gradient:
            return likelihood - 0.5 * float(z @ z)
        return likelihood[0] - 0.5 * float(z @ z), likelihood[1] - z / deviation


def learn_prior(
    kernel: str | Kernel,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    graph: "nx.Graph | None" = None,
    time: bool = False,
    noise_variances: ArrayLike | None = None,
    restarts: int = 2,
    seed: int = 0,
    jobs: int = 1,
    on_group: Callable[[int], None] | None = None,
) -> Prior:
    """Prior of every group from samples: Y[:, j] ~ GP(mean of Y[:, j], amplitude * kernel) + noise.

    The log marginal likelihood, with weak priors of the hyperparameters where `kernel` names a family, is
    maximised from `restarts` more starts than one (scikit-learn's `GaussianProcessRegressor`; Rasmussen &
    Williams 2006, section 5.4). Features and outcomes are brought to unit scale for the optimiser only; what
    is returned is in the samples' own units.

    Parameters
    ----------
    kernel : {"rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion"} or Kernel
        A family, with a length scale for every feature, or a kernel whose hyperparameters are to be learned.
        The family "diffusion" sees the numbers of a graph's nodes.
    X : array_like of shape (n, p)
        Features of the samples.
    Y : array_like of shape (n, J)
        Outcomes, nan where missing.
    graph : networkx.Graph, optional
        For the family "diffusion": its nodes are numbered 0..n-1.
    time : bool, default=False
        The last feature is the time: the kernel is one of the family over the others, times a Matern kernel
        (nu = 3/2: changes are smooth, but soon forgotten) over time. Without meaning for a given `kernel`.
    noise_variances : array_like of shape (J,), optional
        Known noise variances; learned as well where not given.
    restarts : int, default=2
        More random starts of the optimiser.
    seed : int, default=0
        Of the starts.
    jobs : int, default=1
        Processes that learn groups side by side; the result does not depend on it.
    on_group : callable, optional
        Called with j after group j has been learned, to show progress.

    Returns
    -------
    Prior
        One kernel, noise variance and constant mean a group. A group that never varies gets variance zero.

    Raises
    ------
    ValueError
        If the family is unknown or lacks its graph, or a group has no sample at all.
    """
    X = as_points(X)
    Y = np.asarray(Y, dtype=float)
    Y = as_observations(Y, len(X), Y.shape[1] if Y.ndim == 2 else 1)
    J = Y.shape[1]
    if isinstance(kernel, str) and kernel not in (*FAMILIES, ON_GRAPH):
        raise ValueError(f"unknown kernel family {kernel!r}; known are {', '.join((*FAMILIES, ON_GRAPH))}")
    family = Family(kernel, graph, time) if isinstance(kernel, str) else None
    known = None if noise_variances is None else as_variances(noise_variances, (J,))
    observed = [np.isfinite(Y[:, j]) for j in range(J)]
    for j in range(J):
        if not observed[j].any():
            raise ValueError(f"group {j} has no sample to learn from")
    tasks = (
        delayed(_learn_group)(
            family or kernel, X[rows], Y[rows, j], None if known is None else float(known[j]), restarts, seed
        )
        for j, rows in enumerate(observed)
    )
    learned: list[tuple[Kernel, float]] = []
    for group in Parallel(n_jobs=min(jobs, J), return_as="generator")(tasks):
        learned.append(group)
        if on_group is not None:
            on_group(len(learned) - 1)
    return Prior(
        [kernel for kernel, _ in learned],
        np.array([noise for _, noise in learned]),
        [float(Y[rows, j].mean()) for j, rows in enumerate(observed)],
    )


class Family:
    """A kernel family on features of some kind: places or nodes of a graph, and perhaps the time after them.

    Parameters
    ----------
    name : str
        One of `FAMILIES`, or "diffusion".
    graph : networkx.Graph, optional
        For "diffusion".
    time : bool, default=False
        Whether the last feature is the time.
    """

    def __init__(self, name: str, graph: "nx.Graph | None" = None, time: bool = False) -> None:
        if name == ON_GRAPH and graph is None:
            raise ValueError(f"the kernel family {name!r} needs a graph")
        self.name = name
        self.laplacian = GraphLaplacian.of(graph) if name == ON_GRAPH else None
        self.time = time

    def span(self, X: Array) -> Array:
        """The unit of each feature (p,): its span, 1 for a node's number."""
        span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
        places = span[:-1] if self.time else span
        if self.laplacian is not None:
            places[:] = 1.0
        elif self.name == "rq":  # one length scale for all features asks for one unit
            places[:] = np.exp(np.mean(np.log(places)))
        return span

    def kernel(self, scale: Array, bounds: tuple[float, float]) -> Kernel:
        """The kernel with length scales (p,), which have these bounds."""
        if self.time:
            over_time = Matern(float(scale[-1]), bounds, nu=1.5)
            return SpaceTimeKernel(self._places(scale[:-1], bounds), over_time)
        return self._places(scale, bounds)

    def _places(self, scale: Array, bounds: tuple[float, float]) -> Kernel:
        if self.laplacian is not None:
            return DiffusionKernel(self.laplacian, 10.0)
        return FAMILIES[self.name](scale, bounds)


def _learn_group(
    kernel: Family | Kernel, X: Array, y: Array, noise: float | None, restarts: int, seed: int
) -> tuple[Kernel, float]:
    own = not isinstance(kernel, Family)
    span = np.ones(X.shape[1]) if own else kernel.span(X)
    residual = y - y.mean()
    spread = float(residual.std())
    if spread <= 1e-14 * max(1.0, float(np.abs(y).max())):
        base = kernel if own else kernel.kernel(span, (1e-5, 1e5))
        return ConstantKernel(0.0, "fixed") * base, noise or 0.0
    shape = kernel if own else kernel.kernel(np.full(X.shape[1], 0.5), (2e-2, 1e1))
    free = ConstantKernel(1.0, (1e-2, 1e3)) * shape
    if noise is None:
        free = free + WhiteKernel(1e-2, (1e-8, 1e1))
    # A noise far below the samples' spread only spoils the conditioning of the likelihood.
    alpha = 1e-10 if noise is None else max(noise / spread**2, 1e-8)
    scaled, values = X / span, residual / spread
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(X))[:SEARCH_POINTS]
    # The priors are about features in units of their spans: a kernel of the user's own has its own units.
    regressor = GaussianProcessRegressor if own else MaximumAPosteriori
    # One BLAS thread: the same rounding in every process, and faster than two at these sizes.
    with warnings.catch_warnings(), threadpool_limits(1):
        # A hyperparameter at its bound is an answer here: an irrelevant feature, or no noise.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = regressor(free, alpha=alpha, n_restarts_optimizer=restarts, random_state=seed).fit(
            scaled[some], values[some]
        )
        if len(some) < len(X):
            best = regressor(best.kernel_, alpha=alpha).fit(scaled, values)
    learned = best.kernel_
    if noise is None:
        noise = float(learned.k2.noise_level) * spread**2
        learned = learned.k1
    shape = learned.k2 if own else _in_units(learned.k2, span)
    return ConstantKernel(learned.k1.constant_value * spread**2) * shape, noise


def _in_units(kernel: Kernel, span: Array) -> Kernel:
    """A kernel of features in units of their spans (p,), as one of the features themselves."""
    if isinstance(kernel, SpaceTimeKernel):
        return SpaceTimeKernel(_in_units(kernel.k1, span[:-1]), _in_units(kernel.k2, span[-1:]))
    if isinstance(kernel, DiffusionKernel):
        return kernel
    scale = kernel.length_scale * (span if np.ndim(kernel.length_scale) else float(span[0]))
    return kernel.clone_with_theta(kernel.theta).set_params(length_scale=scale)
