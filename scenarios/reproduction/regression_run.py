"""One run of the regression study: the errors of both regressions in one world (paper, section 8.1).

A run observes a world at random points and follows two posteriors of the sum of the groups: one Gaussian
process a group, each told its own outcome (Algorithm 1), and one Gaussian process with the composed kernel
and noise, told the sum. They are extended row by row, never refitted, so that a run yields the errors of
T = 1, 2, .. observations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel
from threadpoolctl import threadpool_limits

import bridges
import simulators
from optimizer import CandidatePosterior, Composition, Prior
from optimizer.arrays import Array
from optimizer.kernels.composed import FrozenKernel
from policyloop.messages import unknown_name
from scenarios.errors import UserError


class LagKernel(FrozenKernel):
    """k(x_i, x_j) = table[|i - j|] of the points with numbers i and j, which are what the kernel sees.

    A Matern kernel of any smoothness takes a Bessel function for each pair of points; here it takes one for
    each distance. `table` (n,) holds k between points 0, 1, .., n - 1 steps apart.
    """

    def __init__(self, table: Array) -> None:
        self.table = table

    @classmethod
    def of(cls, kernel: Kernel, points: Array) -> LagKernel:
        """A stationary kernel on evenly spaced points (n, 1)."""
        return cls(np.asarray(kernel(points[:1], points), dtype=np.float64)[0])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the kernel, as scikit-learn asks for them."""
        return {"table": self.table}

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        """Kernel matrix between points by their numbers X (n, 1) and Y (m, 1), shape (n, m)."""
        first = np.asarray(X).astype(np.intp)
        second = first if Y is None else np.asarray(Y).astype(np.intp)
        K = self.table[np.abs(first - second.T)]
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Array) -> Array:
        """k(x, x) of every point, shape (n,)."""
        return np.full(len(X), self.table[0])

    def is_stationary(self) -> bool:
        """Whether k depends on the distance alone: it does."""
        return True


Rows = NDArray[np.intp]

FAMILIES = ("rbf", "matern", "rq")
DOMAINS = (*FAMILIES, "flu")

WORLD: Mapping[str, Any] = {
    "points": 1000,
    "length_scale": (0.5, 2.0),
    "noise_variance": 1e-4,
}
"""The paper's synthetic data: X = 1000 points of [0, 1]; alpha and nu are the environment's defaults."""

HELD_OUT = 1000
"""Random policies, beside the observed ones, at which flu predictions are compared with the truth."""


@dataclass(frozen=True)
class RegressionSetting:
    """What is compared: a domain, the numbers of groups, and how many points are observed.

    UserError where a field is out of range.

    Parameters
    ----------
    domain : {"rbf", "matern", "rq", "flu"}
        Functions drawn from kernels of that family, with g_j = 1; or the sick days of `flu-ode`, with
        squared-exponential kernels learned from samples outside the runs.
    groups : tuple of int, optional
        The numbers J of groups to compare; (3, 5, 7, 10) by default, and for "flu", where 5 and 9 are
        possible, (5,).
    observations : int, default 50
        T goes from 1 to this.
    samples : int, default 1000
        Samples, outside the runs, from which the kernels of the flu domain are learned (paper, section
        8.2.2).
    seed : int, default 0
    """

    domain: str
    groups: tuple[int, ...] = ()
    observations: int = 50
    samples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field, and fill in the default groups."""
        if self.domain not in DOMAINS:
            raise UserError(unknown_name("domain", self.domain, list(DOMAINS)))
        groups = self.groups or ((5,) if self.domain == "flu" else (3, 5, 7, 10))
        if self.domain == "flu" and not set(groups) <= {5, 9}:
            raise UserError(f"groups = {list(groups)}; accepted for flu: 5 and 9")
        if min(groups) < 1:
            raise UserError(f"groups = {list(groups)}; accepted: whole numbers, 1 or more")
        most = WORLD["points"]
        if not 1 <= self.observations <= most:
            raise UserError(f"observations = {self.observations}; accepted: a whole number, 1 to {most}")
        if self.samples < 2:
            raise UserError(f"samples = {self.samples}; accepted: a whole number, 2 or more")
        object.__setattr__(self, "groups", tuple(groups))


def shared_priors(
    setting: RegressionSetting, *, jobs: int = 1, on_group: Callable[[int], None] | None = None
) -> dict[int, dict[str, Any]]:
    """The kernels that all runs share, learned from samples outside them: for each J, as plain data.

    Empty where each run draws kernels of its own. `jobs` and `on_group` are those of `bridges.learn_prior`.
    """
    if setting.domain in FAMILIES:
        return {}
    seed = bridges.seed_sequence(setting.seed, 0, "samples")
    return {
        J: bridges.learn_prior(
            _flu(J), family="rbf", samples=setting.samples, seed=seed, jobs=jobs, on_group=on_group
        ).to_dict()
        for J in setting.groups
    }


def regression_run(setting: RegressionSetting, run: int, priors: Mapping[int, Mapping[str, Any]]) -> Array:
    """Root mean squared errors of one run, (2, number of J, T): decomposed, then entire regression.

    Runs count from 0. They are the same, bit for bit, in any process and in any order.
    """
    with threadpool_limits(1):
        if setting.domain in FAMILIES:
            return _synthetic_run(setting, run)
        runs = [_flu_run(setting, run, J, Prior.from_dict(dict(priors[J]))) for J in setting.groups]
        return np.concatenate(runs, axis=1)


def _synthetic_run(setting: RegressionSetting, run: int) -> Array:
    """Compare in one drawn world, where the first J functions are the world of J groups.

    So the numbers of groups are compared with each other on the same functions, points and noise.
    """
    environment = simulators.make(
        "synthetic",
        family=setting.domain,
        groups=max(setting.groups),
        seed=bridges.seed_sequence(setting.seed, run, "world"),
        **WORLD,
    )
    candidates = np.arange(WORLD["points"])
    points = environment.policy_space.embed(candidates)
    known = bridges.known_prior(environment)
    kernels = [LagKernel.of(kernel, points) for kernel in known.kernels]
    rng = np.random.default_rng(bridges.seed_sequence(setting.seed, run, "design"))
    return compare_regressions(
        Prior(kernels, known.noise_variances, known.means),
        candidates[:, None].astype(np.float64),
        environment.expected(candidates),
        rng.choice(candidates, setting.observations, replace=False),
        np.random.default_rng(bridges.seed_sequence(setting.seed, run, "noise")),
        groups=setting.groups,
        at=candidates,
    )


def _flu_run(setting: RegressionSetting, run: int, J: int, prior: Prior) -> Array:
    """Compare at held-out random policies, after observing others."""
    environment = _flu(J)
    T = setting.observations
    rng = np.random.default_rng(bridges.seed_sequence(setting.seed, run, "design"))
    policies = bridges.search_space(environment).sample(T + HELD_OUT, rng)
    return compare_regressions(
        prior,
        environment.policy_space.embed(policies),
        environment.expected(policies),
        np.arange(T),
        np.random.default_rng(bridges.seed_sequence(setting.seed, run, "noise")),
        groups=(J,),
        at=np.arange(T, T + HELD_OUT),
    )


def compare_regressions(
    prior: Prior,
    features: Array,
    truth: Array,
    observed: Rows,
    rng: np.random.Generator,
    *,
    groups: Sequence[int],
    at: Rows,
) -> Array:
    """Errors of both regressions of f = f_1 + .. + f_J after each of T observations.

    Root mean squared errors, (2, number of J, T), of the decomposed, then of the entire regression.

    Parameters
    ----------
    prior : Prior
        Of the groups.
    features : ndarray of shape (n, p)
        What the kernels see of n candidates.
    truth : ndarray of shape (n, max J)
        f_j of the candidates.
    observed : ndarray of shape (T,)
        The candidates observed, in this order.
    rng : numpy.random.Generator
        Draws the noise; that of a group does not depend on the number of groups.
    groups : sequence of int
        The numbers J to compare; each takes the first J groups.
    at : ndarray of int
        The candidates over which the squared error is averaged.
    """
    noise = np.sqrt(prior.noise_variances) * rng.standard_normal(truth.T[:, observed].shape).T
    Y = truth[observed] + noise
    every = Composition(truth.shape[1])
    decomposed = CandidatePosterior(
        prior.kernels, prior.noise_variances, every, prior.means, features=features
    )
    entire = []
    for J in groups:
        first = Prior(prior.kernels[:J], prior.noise_variances[:J], prior.means[:J])
        composed = first.composed(Composition(J))
        entire.append(
            CandidatePosterior(
                composed.kernels, composed.noise_variances, Composition(1), composed.means, features=features
            )
        )
    totals = truth.cumsum(axis=1)
    errors = np.empty((2, len(groups), len(observed)))
    for t, (row, y) in enumerate(zip(observed, Y, strict=True)):
        decomposed.observe([row], y[None])
        sums = decomposed.predict_groups(at)[0].cumsum(axis=1)
        for i, J in enumerate(groups):
            entire[i].observe([row], y[None, :J].sum(axis=1))
            true = totals[at, J - 1]
            errors[0, i, t] = _rmse(sums[:, J - 1], true)
            errors[1, i, t] = _rmse(entire[i].predict(at)[0], true)
    return errors


def _flu(J: int) -> simulators.Environment:
    return simulators.make("flu-ode", groups=J)


def _rmse(predicted: Array, true: Array) -> float:
    return float(np.sqrt(np.mean((predicted - true) ** 2)))
