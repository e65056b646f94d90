"""Learning a prior from samples: kernels by marginal likelihood, means from the samples themselves."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel
from threadpoolctl import ThreadpoolController

from optimizer.arrays import Array
from optimizer.kernels.space_time import climate_kernel
from optimizer.posterior.inputs import as_observations, as_points, as_variances
from optimizer.prior.families import CLIMATE, Family, registered_family
from optimizer.prior.families import FAMILIES as FAMILIES
from optimizer.prior.families import ON_GRAPH as ON_GRAPH
from optimizer.prior.hyperparameters import Group
from optimizer.prior.prior import Prior

if TYPE_CHECKING:
    import networkx as nx

CONSTANT = 1e-12
"""Samples whose spread is below this share of their size do not vary, but by rounding."""

FEW = 30
"""Samples below which their own spread may well be far from that of the group."""


def learn_prior(
    kernel: str | Kernel,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    graph: "nx.Graph[Any] | None" = None,
    time: bool = False,
    noise_variances: ArrayLike | None = None,
    restarts: int = 2,
    seed: int = 0,
    jobs: int = 1,
    on_group: Callable[[int], None] | None = None,
) -> Prior:
    """Prior of every group from samples: Y[:, j] ~ GP(mean of Y[:, j], amplitude * kernel) + noise.

    The log marginal likelihood, with weak priors of the hyperparameters where `kernel` names a family, is
    maximised from `restarts` more starts than one (Rasmussen & Williams 2006, section 5.4). Features and
    outcomes are brought to unit scale for the optimiser only; what is returned is in the samples' own units.

    Parameters
    ----------
    kernel : {"rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "diffusion", "climate"} or Kernel
        A family, with a length scale for every feature, or a kernel whose hyperparameters are to be learned.
        A family may be registered besides (`optimizer.register_family`).
        The family "diffusion" sees the numbers of a graph's nodes; "climate" needs `time`, and is a kernel of
        its own (`optimizer.kernels.space_time.climate_kernel`), with no priors but bounds.
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
        One kernel, noise variance and constant mean a group. A group that does not vary in the samples
        is not believed certain elsewhere: see `outcome_units`; nor is one of few samples: see
        `widened_for_few`.

    Raises
    ------
    ValueError
        If the family is unknown or lacks its graph, or a group has no sample at all.
    """
    X = as_points(X)
    Y = np.asarray(Y, dtype=float)
    Y = as_observations(Y, len(X), Y.shape[1] if Y.ndim == 2 else 1)
    J = Y.shape[1]
    if time and kernel == CLIMATE:
        spans = np.ptp(X[:, :-1], axis=0)
        kernel = climate_kernel(unit=float(np.exp(np.log(spans[spans > 0]).mean())) / 3 if spans.any() else 1)
    family = Family(kernel, graph, time) if isinstance(kernel, str) else kernel
    known = np.full(J, np.nan) if noise_variances is None else as_variances(noise_variances, (J,))
    observed = [np.isfinite(Y[:, j]) for j in range(J)]
    for j in range(J):
        if not observed[j].any():
            raise ValueError(f"group {j} has no sample to learn from")
    units, varies = outcome_units([Y[rows, j] for j, rows in enumerate(observed)], known)
    tasks = (
        delayed(_learn_group)(
            family, X[rows], Y[rows, j], units[j], float(known[j]), restarts if varies[j] else None, seed
        )
        for j, rows in enumerate(observed)
    )
    if isinstance(kernel, str) and registered_family(kernel):
        jobs = 1  # another process knows nothing of it
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


def outcome_units(
    samples: Sequence[Array], noise_variances: Array | None = None
) -> tuple[list[float], list[bool]]:
    """The unit of a group's outcomes, in which amplitude and noise have their priors; and whether it varies.

    It is the standard deviation of the group's samples. Samples that do not vary say nothing of how much the
    group does elsewhere, and must not make it certain for ever: nothing is learned from them, and the unit is
    the typical (median) one of the groups that vary, or the size of the value, whichever is smaller; 1 where
    there is neither. Of fewer than `FEW` samples that holds where their noise variance, if known, explains
    how they differ.
    """
    spreads = np.array([float(np.std(y)) for y in samples])
    sizes = np.array([float(np.abs(y).max()) for y in samples])
    varies = spreads > CONSTANT * sizes
    if noise_variances is not None:
        few = np.array([len(y) < FEW for y in samples])
        varies &= ~(few & (spreads**2 <= noise_variances))  # nan, of an unknown one, is never explained
    typical = float(np.median(spreads[varies])) if varies.any() else math.inf
    small = np.minimum(np.where(sizes > 0, sizes, math.inf), typical)
    fallback = np.where(np.isfinite(small), small, 1.0)
    return np.where(varies, spreads, fallback).tolist(), varies.tolist()


def widened_for_few(n: int) -> float:
    """What n samples' amplitude is multiplied by, since a spread of few samples may be small by chance.

    With it a normal's 95 % interval is as wide as Student's for one more value after n independent ones whose
    mean and variance are unknown: 61 for 2 samples, 2.7 for 5, and 1 from `FEW` on.
    """
    if n < 2 or n >= FEW:
        return 1.0
    return float((student.ppf(0.975, n - 1) / student.ppf(0.975, math.inf)) ** 2 * (1 + 1 / n) * n / (n - 1))


def _learn_group(
    kernel: Family | Kernel, X: Array, y: Array, unit: float, noise: float, restarts: int | None, seed: int
) -> tuple[Kernel, float]:
    """The kernel and the noise variance of a group; without `restarts` its samples teach nothing."""
    span = kernel.span(X) if isinstance(kernel, Family) else np.ones(X.shape[1])
    group = Group(kernel, X / span, (y - y.mean()) / unit, np.full(len(y), noise / unit**2))
    if restarts is None:
        theta, noise = group.default, (noise if np.isfinite(noise) else 0.0)
    else:
        rng = np.random.default_rng(seed)
        starts = [group.default, *(group.random(rng) for _ in range(restarts))]
        with one_thread():
            theta = group.most_probable(starts, rng)
    amplitude, inner, learned = group.split(theta)
    if learned is not None and restarts is not None:
        noise = learned * unit**2
    if restarts is not None:
        amplitude *= widened_for_few(len(y))
    family = kernel if isinstance(kernel, Family) else None
    shape = family.in_units(inner, span) if family else kernel.clone_with_theta(inner)  # type: ignore[union-attr]
    return ConstantKernel(amplitude * unit**2) * shape, noise


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """A context with one BLAS thread: the same rounding in every process, and faster at these sizes."""
    return _threads().limit(limits=1)
