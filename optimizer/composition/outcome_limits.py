"""Limits on the outcomes of the groups, and the probability that a policy keeps all of them.

A limit is `low_k <= v_k <= high_k` of a value v_k of the noise-free outcomes f: linear, v_k = sum_j A_kj f_j,
or a known function. The posterior of the groups makes it a probability, and that of all limits together is
what is asked for (Gardner et al. 2014 multiply it with expected improvement).

Notation: m_k and s_k are the mean and the standard deviation of a linear v_k, a = (low - m) / s and
b = (high - m) / s. Where no group is in two limits, log P = sum_k log(Phi(b_k) - Phi(a_k)). Else P is the
mean over samples of the groups, each limit rounded off over `SMOOTH` s_k, so that it has slopes.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp

from optimizer.arrays import Array
from optimizer.composition.propagation import standard_normal_points
from optimizer.differences import central_differences

SAMPLES = 256
"""Of the groups' outcomes, where limits are not independent."""
SMOOTH = 0.05
"""Over which share of its standard deviation a limit of samples is rounded off."""
TOLERANCE = 1e-9
"""Kept means exceeded by no more than this times max(1, |limit|)."""
LEAST_VARIANCE = 1e-60
FARTHEST = 1e8
"""Standard deviations beyond which a limit counts as this far away."""
LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)

Function = Callable[[Array], Array]


class Chance(NamedTuple):
    """Logarithm of a probability (n,), with its slopes in the groups' means and variances, each (n, J)."""

    log: Array
    in_means: Array
    in_variances: Array


class OutcomeLimits:
    """K limits on the outcomes of J groups.

    Parameters
    ----------
    weights : array_like of shape (K, J)
        A: one row a limit, in the value's unit over the group's; unused where it is of a function.
    low, high : array_like of shape (K,)
        Infinite where there is no limit on that side.
    functions : sequence of K callables or None, optional
        In place of a row of A, a function from outcomes (..., J) to values (...,).
    names : sequence of K str, optional
        For messages.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is nan, `low` exceeds `high`, or a row has no group.
    """

    def __init__(
        self,
        weights: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        functions: Sequence[Function | None] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.A: Array = np.array(weights, dtype=float)
        if self.A.ndim != 2:
            raise ValueError(f"weights must have shape (K, J), not {self.A.shape}")
        K = len(self.A)
        self.low: Array = np.array(low, dtype=float)
        self.high: Array = np.array(high, dtype=float)
        if self.low.shape != (K,) or self.high.shape != (K,):
            raise ValueError(f"low and high must be {K} numbers, one a limit")
        if not np.isfinite(self.A).all() or np.isnan(self.low).any() or np.isnan(self.high).any():
            raise ValueError("weights must be finite, and limits numbers")
        if (self.low > self.high).any():
            k = int(np.flatnonzero(self.low > self.high)[0])
            raise ValueError(f"limit {k + 1} asks for at least {self.low[k]:g} and at most {self.high[k]:g}")
        self.functions: list[Function | None] = list(functions or [None] * K)
        self.names: list[str] = list(names or [f"limit {k + 1}" for k in range(K)])
        for k, row in enumerate(self.A):
            if self.functions[k] is None and not row.any():
                raise ValueError(f"{self.names[k]} is of no group")

    def of_values(self, objectives: int = 1) -> "OutcomeLimits":
        """The same limits for whoever is told so many objectives, and beside them the K values."""
        K = len(self)
        rows = np.eye(K, K + objectives, k=objectives)
        return OutcomeLimits(rows, self.low, self.high, names=self.names)

    def of_groups(self, which: Sequence[int]) -> "OutcomeLimits":
        """The same linear limits for whoever is told of these groups alone: all that are limited."""
        return OutcomeLimits(self.A[:, which], self.low, self.high, names=self.names)

    def __len__(self) -> int:
        """K."""
        return len(self.low)

    @property
    def groups(self) -> int:
        """J."""
        return int(self.A.shape[1])

    @cached_property
    def independent(self) -> bool:
        """Whether all limits are linear, and no group is in two of them."""
        return not any(self.functions) and bool((np.count_nonzero(self.A, axis=0) <= 1).all())

    def values(self, outcomes: Array) -> Array:
        """The values v (..., K) of outcomes (..., J)."""
        found: Array = np.asarray(outcomes) @ self.A.T
        for k, function in enumerate(self.functions):
            if function is not None:
                found[..., k] = function(outcomes)
        return found

    def excess(self, outcomes: Array) -> Array:
        """How far the values of outcomes (..., J) lie outside their limits, 0 inside: (..., K)."""
        v = self.values(outcomes)
        outside: Array = np.maximum(np.maximum(v - self.high, self.low - v), 0.0)
        return outside

    def kept(self, outcomes: Array) -> NDArray[np.bool_]:
        """Whether outcomes (..., J) keep all limits, (...,); nan does not."""
        v = self.values(outcomes)
        room_low, room_high = (
            TOLERANCE * np.maximum(1.0, np.abs(np.where(np.isfinite(end), end, 0.0)))
            for end in (self.low, self.high)
        )
        inside = (v >= self.low - room_low) & (v <= self.high + room_high)
        return np.asarray(inside.all(axis=-1))

    def each(self, means: Array, variances: Array) -> Array:
        """The probability (n, K) that each limit by itself is kept, given independent groups (n, J)."""
        logs = np.empty((len(means), len(self)))
        for k in range(len(self)):
            logs[:, k] = self._only(k).chance(means, variances).log
        return np.exp(logs)

    def _only(self, k: int) -> "OutcomeLimits":
        one = [k]
        return OutcomeLimits(self.A[one], self.low[one], self.high[one], [self.functions[k]], [self.names[k]])

    def probability(self, means: Array, variances: Array) -> Array:
        """The probability (n,) that all limits are kept, given independent groups (n, J)."""
        return np.exp(self.chance(means, variances).log)

    def chance(self, means: Array, variances: Array) -> Chance:
        """Its logarithm, and the slopes of that."""
        variances = np.maximum(variances, LEAST_VARIANCE)
        return self._exact(means, variances) if self.independent else self._sampled(means, variances)

    def _exact(self, means: Array, variances: Array) -> Chance:
        m, s = means @ self.A.T, np.sqrt(variances @ (self.A**2).T)
        log, in_m, in_s = log_interval(self.low, self.high, m, s)
        return Chance(log.sum(axis=1), in_m @ self.A, (in_s / (2 * s)) @ self.A**2)

    def _sampled(self, means: Array, variances: Array) -> Chance:
        """By samples f = mu + sd z, where the width of a function's rounding off counts as given."""
        z = standard_normal_points(SAMPLES, self.groups, 0)[:, None, :]
        deviations = np.sqrt(variances)
        f = means + deviations * z  # (S, n, J)
        v = self.values(f)
        width = SMOOTH * np.sqrt(variances @ (self.A**2).T)
        for k, function in enumerate(self.functions):
            if function is not None:
                width[:, k] = np.maximum(SMOOTH * v[..., k].std(axis=0), np.sqrt(LEAST_VARIANCE))
        log, in_v, in_width = log_interval(self.low, self.high, v, np.broadcast_to(width, v.shape))
        each = log.sum(axis=2)  # of a sample, (S, n)
        total = logsumexp(each, axis=0)
        share = np.exp(each - total)[..., None]
        in_f = self._through(share * in_v, f)
        in_variances = (in_f * z).sum(axis=0) / (2 * deviations)
        of_width = (share * in_width).sum(axis=0) * SMOOTH**2 / (2 * width)
        linear = np.array([function is None for function in self.functions])
        in_variances += np.where(linear, of_width, 0.0) @ self.A**2
        return Chance(total - np.log(SAMPLES), in_f.sum(axis=0), in_variances)

    def _through(self, in_v: Array, f: Array) -> Array:
        """Slopes in the outcomes f (S, n, J), of slopes in the values (S, n, K)."""
        linear = [k for k, function in enumerate(self.functions) if function is None]
        found: Array = in_v[..., linear] @ self.A[linear]
        for k, function in enumerate(self.functions):
            if function is not None:
                sizes = 6e-6 * np.maximum(np.abs(f), f.std(axis=0))
                steps = np.where(sizes > 0, sizes, 6e-6)
                found += in_v[..., [k]] * central_differences(function, f, steps)
        return found


def log_interval(low: Array, high: Array, m: Array, s: Array) -> tuple[Array, Array, Array]:
    """Logarithm of P(low <= v <= high) of v normal with mean m and deviation s, and its slopes in m and in s.

    By logarithms, so that it says which way to go where the probability is nothing.
    """
    with np.errstate(over="ignore"):
        a, b = (np.clip((end - m) / s, -FARTHEST, FARTHEST) for end in (low, high))
    # The tail in which both ends lie far out is taken on the left, where differences keep their digits.
    turned = a + b > 0
    left, right = np.where(turned, -b, a), np.where(turned, -a, b)
    log_right = log_ndtr(right)
    # Where the ends are the same, as in an equation, nothing lies between them: the least that can be told.
    difference = np.minimum(log_ndtr(left) - log_right, -1e-12)
    log = log_right + np.log1p(-np.exp(difference))
    in_a, in_b = (np.exp(np.minimum(-0.5 * end**2 - LOG_SQRT_2PI - log, 700.0)) for end in (a, b))
    in_m = (in_a - in_b) / s
    in_s = (a * in_a - b * in_b) / s
    return log, in_m, in_s
