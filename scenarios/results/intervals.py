"""95 % intervals over trials, of the kinds whose coverage at 5 to 30 trials has been measured.

`benchmarks/bench_intervals.py` measures them beside bootstraps (docs/agents.md has its figures): at so few
trials percentile and BCa bootstraps are too narrow, and Student's t on the right scale is not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

CONFIDENCE = 0.95
FEWEST = 5
"""Trials: fewer give no interval, in no table, file, figure or verdict."""
UNLIMITED = (-math.inf, math.inf)
POSITIVE = (0.0, math.inf)
SHARE = (0.0, 1.0)
ROUNDING = 1e-9
"""By how much of the largest value one may lie outside its range, and still count as on its end."""

Interval = dict[str, float | None]
Array = NDArray[np.float64]


def t_quantile(n: int) -> float:
    """How many standard errors of a mean of n values its interval reaches to either side."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))


def mean_and_ends(values: ArrayLike, within: tuple[float, float] = UNLIMITED) -> tuple[Array, Array, Array]:
    """Means over the first axis and the ends of their intervals, nan of fewer than `FEWEST` values.

    Student's t; of values that have a range, on the scale of log(mean - low), or of the logit where both ends
    are finite, with the delta method's standard error there: so the interval stays inside the range, and its
    upper end lies farther away than the lower one, as skewed values want it. A mean that is an end of the
    range, which takes values that all are, is its own interval. Values that do not keep to their range are
    treated as having none.

    Parameters
    ----------
    values : array_like of shape (n, ...)
        One a trial, finite.
    within : pair of float, default unlimited
        What a value cannot lie below or above; the upper end alone cannot be finite.

    Returns
    -------
    mean, low, high : ndarrays of shape (...)
    """
    x = np.asarray(values, dtype=np.float64)
    n, (least, most) = len(x), within
    room = ROUNDING * np.abs(x).max(initial=0.0)
    ranged = math.isfinite(least) and bool(((x >= least - room) & (x <= most + room)).all())
    if ranged:
        x = np.clip(x, least, most)
    mean: Array = x.mean(axis=0)
    if n < FEWEST:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = np.where(np.ptp(x, axis=0) == 0, 0.0, t_quantile(n) * stats.sem(x, axis=0))
    if not ranged:
        return mean, mean - half, mean + half
    inside = (mean > least) & (mean < most)
    above = np.where(inside, mean - least, 1.0)
    if math.isinf(most):
        factor = np.exp(np.where(inside, half / above, 0.0))
        return mean, least + (mean - least) / factor, least + (mean - least) * factor
    below, width = np.where(inside, most - mean, 1.0), most - least
    factor = np.exp(np.where(inside, half * width / (above * below), 0.0))
    # The odds times or divided by the factor, as a share of the range.
    low, high = (above / (above + below * one) for one in (factor, 1 / factor))
    return mean, np.where(inside, least + width * low, mean), np.where(inside, least + width * high, mean)


def mean_interval(values: ArrayLike, within: tuple[float, float] = UNLIMITED) -> Interval:
    """The mean of values, one a trial, with its interval (`mean_and_ends`); nan values do not count.

    Low and high are None of fewer than `FEWEST` values, all three are None of none.
    """
    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    return _interval(*mean_and_ends(found, within)) if len(found) else nothing()


def gain_interval(agent: ArrayLike, reference: ArrayLike, minimise: bool, most: float = math.inf) -> Interval:
    """100 times the mean of paired differences over the reference's mean, with Fieller's interval.

    The interval holds the gains r for which Student's t of (difference - r reference / 100) is not beyond its
    quantile. It has no ends where the reference's mean cannot be told from zero: low and high are None then.

    Parameters
    ----------
    agent, reference : array_like of shape (n,)
        Their totals, trial by trial.
    minimise : bool
        Less is better.
    most : float, default unlimited
        The largest gain that there can be: 100 of regrets, which are not negative. High is no more than that.

    References
    ----------
    E. C. Fieller: Some problems in interval estimation. Journal of the Royal Statistical Society B 16 (1954).
    """
    ours, theirs = np.asarray(agent, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    n = len(theirs)
    if n == 0 or theirs.mean() == 0:
        return nothing()
    d = (theirs - ours) if minimise else (ours - theirs)
    r = theirs * np.sign(theirs.mean())
    gain = float(100 * d.mean() / r.mean())
    if n < FEWEST:
        return {"mean": gain, "low": None, "high": None}
    if not d.any():  # the reference itself
        return {"mean": 0.0, "low": 0.0, "high": 0.0}
    covariance, t2 = np.cov(d, r) / n, t_quantile(n) ** 2
    a = r.mean() ** 2 - t2 * covariance[1, 1]
    b = d.mean() * r.mean() - t2 * covariance[0, 1]
    c = d.mean() ** 2 - t2 * covariance[0, 0]
    if a <= 0:
        return {"mean": gain, "low": None, "high": None}
    root = math.sqrt(max(b * b - a * c, 0.0))
    low, high = 100 * (b - root) / a, 100 * (b + root) / a
    return {"mean": gain, "low": min(low, gain), "high": max(min(high, most), gain)}


def jackknife_ends(value: ArrayLike, left_out: ArrayLike) -> tuple[Array, Array]:
    """The ends of the interval of a smooth function of means, by Student's t with the jackknife's error.

    Parameters
    ----------
    value : array_like of shape (...)
        Of all n trials or runs.
    left_out : array_like of shape (n, ...)
        Of all but one, each in turn.

    Returns
    -------
    low, high : ndarrays of shape (...)
        nan of fewer than `FEWEST`.
    """
    one, others = np.asarray(value, dtype=np.float64), np.asarray(left_out, dtype=np.float64)
    n = len(others)
    if n < FEWEST:
        return np.full_like(one, np.nan), np.full_like(one, np.nan)
    half = t_quantile(n) * np.sqrt((n - 1) * others.var(axis=0))
    return one - half, one + half


def paired_p_value(differences: ArrayLike) -> float | None:
    """How probable a mean paired difference this far from zero is where there is none: Student's t.

    None of fewer than `FEWEST` differences, nan not counted; 1.0 where all are zero.
    """
    found = np.asarray(differences, dtype=np.float64)
    found = found[np.isfinite(found)]
    if len(found) < FEWEST:
        return None
    if np.ptp(found) == 0:
        return 0.0 if found[0] else 1.0
    return float(stats.ttest_1samp(found, 0.0).pvalue)


def holm(p_values: ArrayLike) -> Array:
    """Holm's corrected p-values (m,): with those below alpha rejected, the chance of any error is alpha.

    The k-th smallest, k from 0, times m - k; no less than the one before it, and 1 at most.

    References
    ----------
    S. Holm: A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6
    (1979).
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    corrected = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    found = np.empty_like(p)
    found[order] = corrected
    return found


def nothing() -> Interval:
    """The interval of no value."""
    return {"mean": None, "low": None, "high": None}


def _interval(mean: Array, low: Array, high: Array) -> Interval:
    ends = [float(end) if math.isfinite(end) else None for end in (low, high)]
    return {"mean": float(mean), "low": ends[0], "high": ends[1]}
