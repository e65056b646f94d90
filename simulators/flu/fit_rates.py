"""The reproduction number, and susceptibilities, from the attack rates of a season by group.

Notation: `r0` the reproduction number with nobody vaccinated, `s_j` the susceptibility of group j, `C`
contacts, `k_j` infectivity, `D` the infectious period, `N_j` persons, `A_j` those infected. The model's
transmission rates are `beta_ij = q s_i C_ij k_j`, with `r0 = D * radius(beta)`.

The fit is of maximum likelihood: binomial where the persons behind each rate are known, normal where standard
errors are, else normal with one unknown variance. With as many groups as rates the products `q s_j` are
identified, not q and s: the largest susceptibility is set to 1. Their start is the final-size relation solved
for them, `q s_i = -log(1 - new_i / S_i(0)) / (D sum_j C_ij k_j A_j / N_j)` (Diekmann & Heesterbeek 2000,
Mathematical Epidemiology of Infectious Diseases), exact where a season ends within its days.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.special import xlogy

from simulators.arrays import Array
from simulators.flu.fit import LARGEST, SMALLEST, Fit, Model
from simulators.flu.season_data import AttackRates
from simulators.flu.season_ode import SeasonODE, radius

STEP = 1e-5
"""Of differences in the logarithm of a parameter; the model is smooth to 1e-9."""


def _shares(season: SeasonODE, immune: Array) -> Array:
    found: Array = season.vaccinated(immune[:, None]).infections[:, 0] / season.population
    return found


def _residuals(rates: AttackRates, expected: Array) -> Array:
    """Signed roots of the deviance of rates, (k,): least squares of them is maximum likelihood."""
    if rates.persons is None:
        errors = 1.0 if rates.standard_errors is None else rates.standard_errors
        scaled: Array = (rates.rates - expected) / errors
        return scaled
    o, e = rates.rates, np.clip(expected, 1e-12, 1 - 1e-12)
    deviance = 2 * rates.persons * (xlogy(o, o / e) + xlogy(1 - o, (1 - o) / (1 - e)))
    signed: Array = np.sign(o - e) * np.sqrt(np.maximum(deviance, 0.0))
    return signed


def _information(rates: AttackRates, expected: Array, slopes: Array, variance: float) -> Array:
    """The Fisher information (p, p) of parameters by which rates change with slopes (k, p)."""
    if rates.persons is not None:
        precision = rates.persons / (expected * (1 - expected))
    elif rates.standard_errors is not None:
        precision = 1 / rates.standard_errors**2
    else:
        precision = np.full(len(expected), 1 / variance)
    information: Array = slopes.T @ (precision[:, None] * slopes)
    return information


def _words(rates: AttackRates) -> str:
    spread = "binomial" if rates.persons is not None else "with their standard errors"
    if rates.persons is None and rates.standard_errors is None:
        spread = "with one unknown variance"
    return f"{len(rates.rates)} attack rates ({spread})"


def fit_r0(rates: AttackRates, immune: Array, model: Model) -> Fit:
    """The r0 by which a season with immune shares (J,) on day 0 comes nearest to attack rates.

    Raises
    ------
    ValueError
        Rates that no r0 gives, or that do not identify it.
    """
    rows, k = rates.rows, len(rates.rates)
    exact = rates.persons is None and rates.standard_errors is None
    if exact and k < 2:
        raise ValueError(
            f"{rates.source}: one attack rate says nothing of its own error; accepted: a column persons or "
            "standard_error, or rates of more groups"
        )

    def expected(log_r0: float) -> Array:
        shares: Array = _shares(model.at(float(np.exp(log_r0)), model.susceptibility), immune)[rows]
        return shares

    weights = model.population[rows] / model.population[rows].sum()
    low, high = np.log(SMALLEST), np.log(LARGEST)
    least, most = (float(weights @ expected(end)) for end in (low, high))
    seen = float(weights @ rates.rates)
    if not least < seen < most:
        raise ValueError(
            f"{rates.source}: {seen:.3g} of the persons fell ill, which no r0 gives: with the coverage and "
            f"the initially infected of the season it gives {least:.3g} to {most:.3g}"
        )
    # More fall ill with a greater r0: the one that gives their total is near to the likeliest.
    start = brentq(lambda theta: float(weights @ expected(theta)) - seen, low, high, xtol=0.01)
    answer = least_squares(
        lambda theta: _residuals(rates, expected(theta[0])),
        [start],
        bounds=([low], [high]),
        diff_step=STEP,
        xtol=1e-10,
        ftol=1e-10,
        gtol=1e-10,
    )
    best = float(answer.x[0])
    fitted = expected(best)
    slopes = ((expected(best + STEP) - expected(best - STEP)) / (2 * STEP))[:, None]
    deviance = float(np.square(answer.fun).sum())
    misfit = np.nan if exact or k == 1 else deviance / (k - 1)
    information = _information(rates, fitted, slopes, deviance / (k - 1) if exact else 1.0)[0, 0]
    if not information > 0:
        raise ValueError(f"{rates.source}: r0 is not identified: the attack rates do not change with it")
    widened = max(1.0, misfit) if np.isfinite(misfit) else 1.0
    return Fit(
        r0=float(np.exp(best)),
        log_error=float(np.sqrt(widened / information)),
        susceptibility=model.susceptibility,
        initial_infected=model.initial_infected,
        susceptibility_errors=None,
        observed=rates.rates,
        expected=fitted,
        labels=tuple(model.groups[row] for row in rows),
        misfit=misfit,
        words=_words(rates),
    )


def fit_susceptibility(rates: AttackRates, immune: Array, model: Model) -> Fit:
    """The r0 and the susceptibilities of all groups by which a season has given attack rates.

    Raises
    ------
    ValueError
        Rates that none give, or that do not identify them.
    """
    groups, J, N = model.groups, len(model.groups), model.population
    for j, group in enumerate(groups):
        if j not in rates.rows:
            raise ValueError(
                f"{rates.source}: no attack rate of group {group!r}: its susceptibility is not identified"
            )
    if rates.persons is None and rates.standard_errors is None:
        raise ValueError(
            f"{rates.source}: as many rates as parameters say nothing of their error; accepted: a column "
            "persons or standard_error, or fit = 'r0'"
        )
    rows = rates.rows
    shares = np.empty(J)
    shares[rows] = rates.rates
    first = model.initial_infected / N
    susceptible = np.maximum(1 - immune - first, 0.0)
    for j, group in enumerate(groups):
        low, high = first[j], first[j] + susceptible[j]
        if not low < shares[j] < high:
            raise ValueError(
                f"{rates.source}: the attack rate of group {group!r} is {shares[j]:.3g}, which no r0 gives: "
                f"with the coverage and the initially infected of the season it gives {low:.3g} to {high:.3g}"
            )
    force = model.infectious_period * (model.contacts * model.infectivity) @ shares
    if not (force > 0).all():
        j = int(np.argmin(force))
        raise ValueError(
            f"{rates.source}: nobody infects group {groups[j]!r}: its susceptibility is not identified"
        )
    start = np.log(-np.log1p(-(shares - first) / susceptible) / force)

    def r0_of(theta: Array) -> float:
        return model.infectious_period * radius(model.shape(np.exp(theta)))

    def expected(theta: Array) -> Array:
        shares: Array = _shares(model.at(r0_of(theta), np.exp(theta)), immune)[rows]
        return shares

    def slopes(theta: Array) -> Array:
        nudges = STEP * np.eye(J)
        return np.array([(expected(theta + e) - expected(theta - e)) / (2 * STEP) for e in nudges]).T

    theta = start
    for _ in range(50):  # Newton: as many rates as parameters, and a start that is nearly exact
        fitted, matrix = expected(theta), slopes(theta)
        off = rates.rates - fitted
        if np.abs(off).max() < 1e-9:
            break
        move, *_ = np.linalg.lstsq(matrix, off, rcond=None)
        theta = theta + move * min(1.0, 0.5 / max(np.abs(move).max(), 1e-300))
    else:
        raise ValueError(f"{rates.source}: these attack rates are given by no r0 and no susceptibilities")
    covariance = np.linalg.inv(_information(rates, fitted, matrix, 1.0))
    gradient = np.array(
        [(np.log(r0_of(theta + e)) - np.log(r0_of(theta - e))) / (2 * STEP) for e in STEP * np.eye(J)]
    )
    largest = int(np.argmax(theta))
    contrast = np.eye(J)
    contrast[:, largest] -= 1.0
    return Fit(
        r0=float(r0_of(theta)),
        log_error=float(np.sqrt(gradient @ covariance @ gradient)),
        susceptibility=np.exp(theta - theta[largest]),
        initial_infected=model.initial_infected,
        susceptibility_errors=np.sqrt(np.maximum(np.diag(contrast @ covariance @ contrast.T), 0.0)),
        observed=rates.rates,
        expected=fitted,
        labels=tuple(groups[row] for row in rows),
        misfit=np.nan,
        words=_words(rates),
    )
