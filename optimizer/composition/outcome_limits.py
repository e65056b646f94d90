"""Limits on the outcomes of the groups, and the probability that a policy keeps all of them.

A limit is `low_k <= v_k <= high_k` of a value v_k of the noise-free outcomes f: linear, v_k = sum_j A_kj f_j,
or a known function. The posterior of the groups makes it a probability, and that of all limits together is
what is asked for (Gardner et al. 2014 multiply it with expected improvement).

Notation: m_k and s_k are the mean and the standard deviation of a linear v_k, a = (low - m) / s and
b = (high - m) / s. Where no group is in two limits, log P = sum_k log(Phi(b_k) - Phi(a_k)). Else P is the
mean over samples of the groups, each limit rounded off over `SMOOTH` s_k, so that it has slopes.

Where a group's noise-free outcome has a range, P is given that it lies there: what a normal posterior holds
possible below zero persons speaks for no limit. A limit of one group then has the logarithm of
(Phi(min(b, beta)) - Phi(max(a, alpha))) / (Phi(beta) - Phi(alpha)), with alpha and beta the range's ends in
deviations of the group; samples are of the truncated normal.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp, ndtri_exp

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
    ranges : array_like of shape (J, 2), optional
        What each group's noise-free outcome cannot lie below or above, in its unit; unknown by default.

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
        ranges: ArrayLike | None = None,
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
        self.ranges: Array | None = None if ranges is None else np.array(ranges, dtype=float)
        if self.ranges is not None and self.ranges.shape != (self.groups, 2):
            raise ValueError(f"ranges must have shape ({self.groups}, 2), not {self.ranges.shape}")

    def of_values(self, objectives: int = 1) -> "OutcomeLimits":
        """The same limits for whoever is told so many objectives, and beside them the K values."""
        K = len(self)
        rows = np.eye(K, K + objectives, k=objectives)
        ranges = None
        if self.ranges is not None:
            ranges = np.concatenate([np.full((objectives, 2), (-np.inf, np.inf)), self._value_ranges])
        return OutcomeLimits(rows, self.low, self.high, names=self.names, ranges=ranges)

    @cached_property
    def _value_ranges(self) -> Array:
        """What the value of each limit cannot lie below or above (K, 2), by the ranges of its groups."""
        found = np.tile([-np.inf, np.inf], (len(self), 1))
        for k, row in enumerate(self.A):
            if self.ranges is not None and self.functions[k] is None:
                inside = np.flatnonzero(row)
                found[k] = np.sort(row[inside, None] * self.ranges[inside], axis=1).sum(axis=0)
        return found

    def of_groups(self, which: Sequence[int]) -> "OutcomeLimits":
        """The same linear limits for whoever is told of these groups alone: all that are limited."""
        ranges = None if self.ranges is None else self.ranges[list(which)]
        return OutcomeLimits(self.A[:, which], self.low, self.high, names=self.names, ranges=ranges)

    def __len__(self) -> int:
        """K."""
        return len(self.low)

    @property
    def groups(self) -> int:
        """J."""
        return int(self.A.shape[1])

    @cached_property
    def independent(self) -> bool:
        """Whether all limits are linear, no group is in two of them, and none that has a range in a sum."""
        if any(self.functions) or (np.count_nonzero(self.A, axis=0) > 1).any():
            return False
        summed = self.A[np.count_nonzero(self.A, axis=1) > 1].any(axis=0)
        return self.ranges is None or not np.isfinite(self.ranges[summed]).any()

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
        return OutcomeLimits(
            self.A[one], self.low[one], self.high[one], [self.functions[k]], [self.names[k]], self.ranges
        )

    def probability(self, means: Array, variances: Array) -> Array:
        """The probability (n,) that all limits are kept, given independent groups (n, J)."""
        return np.exp(self.chance(means, variances).log)

    def chance(self, means: Array, variances: Array) -> Chance:
        """Its logarithm, and the slopes of that."""
        variances = np.maximum(variances, LEAST_VARIANCE)
        return self._exact(means, variances) if self.independent else self._sampled(means, variances)

    def _exact(self, means: Array, variances: Array) -> Chance:
        m, s = means @ self.A.T, np.sqrt(variances @ (self.A**2).T)
        lowest, highest = self._value_ranges.T
        # Ends beyond the range are the range's own; where nothing of a limit lies within, it has no width.
        low, high = np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest)
        log, in_m, in_s = log_interval(low, high, m, s)
        ranged = np.isfinite(lowest) | np.isfinite(highest)
        if ranged.any():
            within = log_interval(lowest[ranged], highest[ranged], m[:, ranged], s[:, ranged])
            for of_limit, of_range in zip((log, in_m, in_s), within, strict=True):
                of_limit[:, ranged] -= of_range
        return Chance(log.sum(axis=1), in_m @ self.A, (in_s / (2 * s)) @ self.A**2)

    def _sampled(self, means: Array, variances: Array) -> Chance:
        """By samples f = mu + sd z, where the width of a function's rounding off counts as given."""
        deviations = np.sqrt(variances)
        z, in_mean, in_deviation = self._draws(means, deviations)
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
        in_variances = (in_f * in_deviation).sum(axis=0) / (2 * deviations)
        of_width = (share * in_width).sum(axis=0) * SMOOTH**2 / (2 * width)
        linear = np.array([function is None for function in self.functions])
        in_variances += np.where(linear, of_width, 0.0) @ self.A**2
        return Chance(total - np.log(SAMPLES), (in_f * in_mean).sum(axis=0), in_variances)

    def _draws(self, means: Array, deviations: Array) -> tuple[Array, Array, Array]:
        """Z (S, n, J) of samples, or (S, 1, J), and the slopes of mu + sd z in mu and in sd."""
        z = standard_normal_points(SAMPLES, self.groups, 0)[:, None, :]
        if self.ranges is None or not np.isfinite(self.ranges).any():
            return z, np.ones_like(z), z
        alpha, beta = ((self.ranges[:, end] - means) / deviations for end in (0, 1))
        return truncated(z, *np.clip((alpha, beta), -FARTHEST, FARTHEST))

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


def truncated(z: Array, alpha: Array, beta: Array) -> tuple[Array, Array, Array]:
    """Standard normal samples z as those of a normal within alpha and beta, by their quantiles.

    Returns
    -------
    t : ndarray
        Phi(t) = (1 - u) Phi(alpha) + u Phi(beta) with u = Phi(z), in the shape of all three together.
    in_mean, in_deviation : ndarray
        Slopes of mu + sd t, where alpha and beta are (end - mu) / sd of ends that stay.
    """
    # Where both ends lie to the right, all is mirrored: logarithms of a left tail keep their digits.
    turned = alpha + beta > 0
    a, b = np.where(turned, -beta, alpha), np.where(turned, -alpha, beta)
    low, high = (log_ndtr(np.where(turned, sign * z, -sign * z)) for sign in (1.0, -1.0))
    t = np.clip(ndtri_exp(np.logaddexp(low + log_ndtr(a), high + log_ndtr(b))), a, b)
    of_a, of_b = (
        np.exp(np.clip(log + 0.5 * (t - end) * (t + end), -700.0, 700.0))
        for log, end in ((low, a), (high, b))
    )
    in_mean, in_deviation = 1.0 - of_a - of_b, t - a * of_a - b * of_b
    sign = np.where(turned, -1.0, 1.0)
    return sign * t, in_mean, sign * in_deviation
