"""The reproduction number from the counts of a season by week.

Counts are negative binomial around the reported share of the model's new infections; their variance is
`mean + mean^2 / size`. The initially infected are fitted with r0, since they say when the epidemic comes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, xlogy

from simulators.arrays import Array
from simulators.flu.fit import Fit, Model
from simulators.flu.season_data import WeeklyCounts


def fit_counts(data: WeeklyCounts, reporting: float, immune: Array, model: Model) -> Fit:
    """The r0 and the initially infected of a season with immune shares (J,) on day 0, by its reported counts.

    Raises
    ------
    ValueError
        More weeks than the season has; counts that no r0 gives, or that do not identify it.
    """
    weeks = len(data.counts)
    ends = 7.0 * np.arange(weeks + 1)
    season = model.at(1.0, model.susceptibility)
    if ends[-1] > season.days + 1e-9:
        raise ValueError(
            f"{data.source}: {weeks} weeks are longer than the season; accepted: days >= {ends[-1]:g}"
        )

    def expected(theta: Array) -> Array:
        r0, scale = np.exp(theta[:2])
        course = model.at(float(r0), model.susceptibility, float(scale)).course(immune[:, None], "C")
        ill = course.curves["C"][:, :, 0]
        by_week = np.diff([np.interp(ends, course.days, one) for one in ill.T], axis=1).T
        counts: Array = reporting * (by_week if data.by_group else by_week.sum(axis=1, keepdims=True))
        return counts

    def loss(theta: Array) -> float:
        mean, size = np.maximum(expected(theta), 1e-9), np.exp(theta[2])
        y = data.counts
        log_likelihood = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
        log_likelihood += size * np.log(size / (size + mean)) + xlogy(y, mean / (size + mean))
        return -float(log_likelihood.sum())

    infected = model.initial_infected.sum()
    most = np.log(0.5 * model.population.sum() / infected)
    bounds = [(np.log(0.3), np.log(20.0)), (np.log(1 / infected), most), (-3.0, 12.0)]
    starts = [
        np.array([np.log(r0), scale, 2.0])
        for r0 in (1.2, 1.6, 2.2, 3.5)
        for scale in (0.0, -2.3, 2.3)
        if scale < most
    ]
    start = min(starts, key=loss)
    answer = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-7})
    answer = minimize(
        loss, answer.x, method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-6, "fatol": 1e-8}
    )
    theta = answer.x
    low, high = bounds[0]
    if not low + 1e-3 < theta[0] < high - 1e-3:
        raise ValueError(f"{data.source}: no r0 gives these counts with reporting={reporting:g}")
    covariance = np.linalg.pinv(_hessian(loss, theta))
    if not covariance[0, 0] > 0:
        raise ValueError(f"{data.source}: r0 is not identified by these counts")
    fitted = expected(theta)
    return Fit(
        r0=float(np.exp(theta[0])),
        log_error=float(np.sqrt(covariance[0, 0])),
        susceptibility=model.susceptibility,
        initial_infected=model.initial_infected * float(np.exp(theta[1])),
        susceptibility_errors=None,
        observed=data.counts.sum(axis=0),
        expected=fitted.sum(axis=0),
        labels=model.groups if data.by_group else ("cases",),
        misfit=np.nan,
        words=(
            f"{weeks} weeks of counts (negative binomial, size {np.exp(theta[2]):.3g}; "
            f"{infected * np.exp(theta[1]):.3g} persons infected on the first day)"
        ),
    )


def _hessian(loss: Callable[[Array], float], at: Array, step: float = 1e-3) -> Array:
    """The second derivatives (p, p) of a function, by central differences."""
    p, h = len(at), step * np.eye(len(at))
    found = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            corners = [loss(at + a * h[i] + b * h[j]) * a * b for a in (1, -1) for b in (1, -1)]
            found[i, j] = found[j, i] = sum(corners) / (4 * step**2)
    return found
