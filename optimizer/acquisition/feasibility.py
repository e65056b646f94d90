"""Whether a policy works: a probability, learned from the policies that worked and those that failed.

A failure has no outcome, and pretending one would mix two questions: how good a policy is, and whether it can
be had at all. So a second model answers the second question alone. In a world that stays as it is, it is a
Gaussian process classifier of scikit-learn (Rasmussen & Williams 2006, chapter 3) on the unit box of the
policies, with a length scale for every entry, so that one that has nothing to do with failures is seen
through. It does not depend on J. In a world that lives, a failure says something of the coming time only for
a while.

Notation: F the latent function, m and v its posterior mean and variance by Laplace's approximation, and the
probability that a policy works is the logistic of m / sqrt(1 + pi v / 8) (MacKay 1992).
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer.arrays import Array, Policies
from optimizer.kernels.gradients import bind
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace

Worked = NDArray[np.bool_]

BASE_VARIANCE = 4.0
"""Prior variance of the log-odds that all policies share: how often anything works is learned."""
AMPLITUDE, LENGTH_SCALE = (0.1, 30.0), (0.05, 5.0)
"""Bounds of the kernel's variance, and of its length scales as shares of an entry's range. Above that
variance Laplace's approximation is too unsure of itself: held-out log loss 0.15 at 30, 0.17 at 100, 0.27 at
1000 where 30 policies of two entries are parted by a step."""
ALONE = 0.3
"""Length scale, as a share of the box's diagonal, by which policies are kept apart before one has worked."""
MOST = 100
"""Of more policies, some are left out of the classifier: a fit takes a tenth of a second for so many."""
MEMORY = 24.0
"""Hours after which a living world's answer, or silence, says e times less of the same policy."""
NEAR = 0.02
"""How far it says something of other policies, as a share of an entry's range."""


class Feasibility(ABC):
    """The probability that policies work."""

    @abstractmethod
    def probability(self, policies: Policies) -> Array:
        """P(works) of policies, (n,)."""

    @abstractmethod
    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """P(works) of policies (n, d) of a bounded space, and its gradient (n, d)."""


def feasibility(space: SearchSpace, policies: Policies, worked: Worked) -> Feasibility:
    """What policies that worked, and at least one that failed, say of all others."""
    if not worked.any():
        return Unknown(space, policies)
    return Classified(space, policies, worked)


class Classified(Feasibility):
    """A Gaussian process classifier of what worked and what failed; both must have happened.

    Parameters
    ----------
    space : SearchSpace
    policies : ndarray of shape (T, d) or (T,)
        All that were tried.
    worked : ndarray of bool, shape (T,)
    """

    def __init__(self, space: SearchSpace, policies: Policies, worked: Worked) -> None:
        self.space = space
        U, works = _relevant(_unit(space, policies), worked)
        scaled = ConstantKernel(3.0, AMPLITUDE) * RBF(np.full(U.shape[1], 0.5), LENGTH_SCALE)
        kernel = ConstantKernel(BASE_VARIANCE, "fixed") + scaled
        with warnings.catch_warnings():
            # Data that a line parts has no largest amplitude: the bound is meant to be reached.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = GaussianProcessClassifier(kernel, random_state=0).fit(U, works).base_estimator_
        self.kernel = fitted.kernel_
        self._bound = bind(self.kernel, U)
        self._residual = fitted.y_train_ - fitted.pi_
        self._root, self._factor = fitted.W_sr_, fitted.L_
        self._diagonal = float(self.kernel.diag(U[:1])[0])

    def probability(self, policies: Policies) -> Array:
        """P(works) of policies, (n,)."""
        K = self._bound.value(_unit(self.space, policies))
        return self._moments(K)[0]

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """P(works) and its gradient, through m and v."""
        K, pullback = self._bound.value_and_pullback(_unit(self.space, X))
        probability, m, s, V = self._moments(K)
        # The kernel is stationary: v changes by -V^T V alone.
        U = self._root * solve_triangular(self._factor, V, lower=True, trans=1).T
        in_mean = pullback(np.broadcast_to(self._residual, K.shape))
        in_variance = -2.0 * pullback(U)
        slope = (probability * (1 - probability))[:, None]
        gradient = slope * (in_mean / s[:, None] - (np.pi / 16 * m / s**3)[:, None] * in_variance)
        return probability, gradient[:, : self.space.d] / _span(self.space)

    def _moments(self, K: Array) -> tuple[Array, Array, Array, Array]:
        m = K @ self._residual
        V = solve_triangular(self._factor, self._root[:, None] * K.T, lower=True)
        v = np.maximum(self._diagonal - np.einsum("ti,ti->i", V, V), 0.0)
        s = np.sqrt(1 + np.pi * v / 8)
        return expit(m / s), m, s, V


class Unknown(Feasibility):
    """Before any policy has worked: the further from all that failed, the more probably it does.

    P = 1/2 times the product of 1 - exp(-r^2 / 2) over what failed, with r its distance in `ALONE` diagonals.
    """

    def __init__(self, space: SearchSpace, failed: Policies) -> None:
        self.space = space
        self._failed = np.unique(_unit(space, failed), axis=0)
        self._squared_scale = ALONE**2 * space.d

    def probability(self, policies: Policies) -> Array:
        """P(works) of policies, (n,)."""
        near = self._near(_unit(self.space, policies))
        probability: Array = 0.5 * np.prod(1 - near, axis=1)
        return probability

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """P(works) and its gradient."""
        U = _unit(self.space, X)
        near = self._near(U)
        gradient = np.zeros_like(U)
        for i, failed in enumerate(self._failed):
            rest = 0.5 * np.prod(np.delete(1 - near, i, axis=1), axis=1)
            gradient += (rest * near[:, i])[:, None] * (U - failed) / self._squared_scale
        return 0.5 * np.prod(1 - near, axis=1), gradient[:, : self.space.d] / _span(self.space)

    def _near(self, U: Array) -> Array:
        near: Array = np.exp(-0.5 * cdist(U, self._failed, "sqeuclidean") / self._squared_scale)
        return near


class Answering(Feasibility):
    """Whether policies answer at a time, in a world that lives.

    Every try draws the probability to what it showed, by as much as it still says: w = exp(-h / `MEMORY`)
    after h hours, less at other policies (a Gaussian of width `NEAR`). Of one policy, the last try says
    most. Without any, it is the share of all tries that were answered, and of one answer more.

    Parameters
    ----------
    space : SearchSpace
    policies : ndarray of shape (T, d) or (T,)
        All that were tried, in order.
    answered : ndarray of bool, shape (T,)
    times : sequence of T floats
        When, in hours.
    now : float
        The time that is asked for.
    """

    def __init__(
        self, space: SearchSpace, policies: Policies, answered: Worked, times: Sequence[float], now: float
    ) -> None:
        self.space = space
        self.base: float = (float(answered.sum()) + 1.0) / (len(answered) + 1.0)
        self._tried = _unit(space, policies)
        self._answered = answered.astype(float)
        self._weights = np.exp(-np.abs(now - np.asarray(times)) / MEMORY)

    def probability(self, policies: Policies) -> Array:
        """P(answers) of policies, (n,)."""
        near = self._near(_unit(self.space, policies))
        probability = np.full(len(near), self.base)
        for i, answered in enumerate(self._answered):
            probability += near[:, i] * (answered - probability)
        return probability

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """P(answers) and its gradient."""
        U = _unit(self.space, X)
        near = self._near(U)
        probability, gradient = np.full(len(U), self.base), np.zeros_like(U)
        for i, answered in enumerate(self._answered):
            w = near[:, [i]]
            slopes = -w * (U - self._tried[i]) / NEAR**2
            gradient += slopes * (answered - probability)[:, None] - w * gradient
            probability += near[:, i] * (answered - probability)
        return probability, gradient[:, : self.space.d] / _span(self.space)

    def _near(self, U: Array) -> Array:
        near: Array = self._weights * np.exp(-0.5 * cdist(U, self._tried, "sqeuclidean") / NEAR**2)
        return near


def _unit(space: SearchSpace, policies: Policies) -> Array:
    """Policies in the unit box (n, d); behind them, as a category has no order, one entry a name of each."""
    U = space.to_unit(policies)
    if not isinstance(space, MixedSpace) or not space.categories.any():
        return U
    U, X, places = U.copy(), space.resolve(policies), []
    for j in np.flatnonzero(space.categories):
        U[:, j] = 0.0
        places.append(X[:, [j]] == np.arange(space.lower[j], space.upper[j] + 1))
    return np.hstack([U, *places])


def _span(space: SearchSpace) -> Array:
    """What a unit of each entry is; 1 where the entry is fixed."""
    span: Array = np.where(space.upper > space.lower, space.upper - space.lower, 1.0)
    return span


def _relevant(U: Array, worked: Worked) -> tuple[Array, Worked]:
    """At most `MOST` policies, in order: the last failures, what worked nearest to one, some others."""
    if len(U) <= MOST:
        return U, worked
    failed = np.flatnonzero(~worked)[-MOST // 2 :]
    good = np.flatnonzero(worked)
    room = min(MOST - len(failed), len(good))
    by_distance = good[np.argsort(cdist(U[good], U[failed]).min(axis=1), kind="stable")]
    far = by_distance[room // 2 :]
    others = far[np.linspace(0, len(far) - 1, room - room // 2).astype(np.int64)]
    kept = np.unique(np.concatenate([failed, by_distance[: room // 2], others]))
    return U[kept], worked[kept]
