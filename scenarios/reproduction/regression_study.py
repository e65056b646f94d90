"""How much better decomposed regression predicts than ordinary regression (paper, section 8.1, figure 2).

Many runs (`scenarios.reproduction.regression_run`), and their averages by the number of groups J and of
observations T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd

from optimizer.arrays import Array
from scenarios.errors import UserError
from scenarios.reproduction.regression_run import RegressionSetting, regression_run, shared_priors
from scenarios.results.intervals import jackknife_ends, mean_interval


@dataclass(frozen=True, eq=False)
class RegressionStudy:
    """The errors of both regressions, for each number of groups J, of observations T, and run.

    Attributes
    ----------
    setting : RegressionSetting
    decomposed, entire : ndarray of shape (number of J, T, runs)
        Root mean squared error against the true, noise-free sum: of Algorithm 1, and of the Gaussian process
        with the composed kernel and noise. In the unit of the sum.
    """

    setting: RegressionSetting
    decomposed: Array
    entire: Array

    @property
    def improvement(self) -> Array:
        """100 (1 - decomposed / entire), the percentage that each run gains, in the shape of both."""
        gain: Array = 100 * (1 - self.decomposed / self.entire)
        return gain

    def by_observations(self) -> pd.DataFrame:
        """The curves of figure 2: one row for each J and T.

        `groups, observations`; `rmse_decomposed, rmse_entire`, means over runs; `improvement, low, high`, the
        mean percentage over runs and its 95 % interval (Student's t; nan for one run); `trend`, the
        least-squares line over T through the improvements.
        """
        T = np.arange(1, self.setting.observations + 1)
        improvement, rows = self.improvement, []
        for i, J in enumerate(self.setting.groups):
            slope, level = _lines(improvement[i]).mean(axis=1)
            for t in range(len(T)):
                rows.append(
                    {
                        "groups": J,
                        "observations": T[t],
                        "rmse_decomposed": self.decomposed[i, t].mean(),
                        "rmse_entire": self.entire[i, t].mean(),
                        **_interval("", improvement[i, t]),
                        "trend": level + slope * T[t],
                    }
                )
        return pd.DataFrame(rows)

    def overall(self, first: int = 1) -> pd.DataFrame:
        """One row for each J: the improvement averaged over T from `first` on, and its trend line's slope.

        `groups`; `improvement, low, high`, percent, averaged over T within a run, then over runs with its
        95 % interval; `slope, slope_low, slope_high`, percent an observation, likewise; `pooled, pooled_low,
        pooled_high`, the improvement of the errors' averages over runs, averaged over T, with its
        interval over runs by the jackknife: unlike a mean of ratios, it is not ruled by the runs in which the
        ordinary regression happens to err little.
        """
        rows = []
        for i, J in enumerate(self.setting.groups):
            gain = self.improvement[i, first - 1 :]
            ours, theirs = self.decomposed[i, first - 1 :], self.entire[i, first - 1 :]
            slope = _interval("slope_", _lines(gain)[0])
            slope["slope"] = slope.pop("slope_improvement")
            rows.append({"groups": J, **_interval("", gain.mean(axis=0)), **slope, **_pooled(ours, theirs)})
        return pd.DataFrame(rows)


def regression_study(
    setting: RegressionSetting,
    *,
    runs: int = 100,
    jobs: int = 1,
    priors: Mapping[int, Mapping[str, Any]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RegressionStudy:
    """Compare both regressions over independent runs; by default the paper's number of them.

    A study of more runs holds those of a smaller one, and does not depend on `jobs`. `priors` are those of
    `shared_priors`, learned first unless given; `progress` is called with (runs done, runs) after each.
    """
    for name, value in (("runs", runs), ("jobs", jobs)):
        if value < 1:
            raise UserError(f"{name} = {value}; accepted: a whole number, 1 or more")
    if priors is None:
        priors = shared_priors(setting, jobs=jobs)
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
    found = []
    for errors in parallel(joblib.delayed(regression_run)(setting, run, priors) for run in range(runs)):
        found.append(errors)
        if progress is not None:
            progress(len(found), runs)
    decomposed, entire = np.stack(found, axis=-1)
    return RegressionStudy(setting, decomposed, entire)


def _lines(improvement: Array) -> Array:
    """Least-squares lines over T through (T, runs), or a level where T = 1: slopes and levels (2, runs).

    A mean of such lines is the line through the means.
    """
    T = np.arange(1, len(improvement) + 1)
    if len(T) == 1:
        return np.stack([np.zeros_like(improvement[0]), improvement[0]])
    return np.asarray(np.polyfit(T, improvement, 1))


def _pooled(ours: Array, theirs: Array) -> dict[str, float]:
    """Improvement of errors (T, runs) averaged over runs first, and its jackknife interval, in percent."""
    ours_out, theirs_out = (one.sum(axis=1) - one.T for one in (ours, theirs))  # (runs, T)
    value = 100 * (1 - ours.mean(axis=1) / theirs.mean(axis=1)).mean()
    left_out = np.full(1, value)
    if ours.shape[1] > 1:
        left_out = 100 * (1 - ours_out / theirs_out).mean(axis=1)
    low, high = jackknife_ends(value, left_out)
    return {"pooled": float(value), "pooled_low": float(low), "pooled_high": float(high)}


def _interval(prefix: str, values: Array) -> dict[str, float]:
    found = mean_interval(values)
    named = {"improvement": found["mean"], "low": found["low"], "high": found["high"]}
    return {prefix + name: np.nan if value is None else value for name, value in named.items()}
