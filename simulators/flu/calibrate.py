"""The reproduction number of a season that was observed, with its uncertainty.

Attack rates by group are fitted in `simulators.flu.fit_rates`, counts by week in `simulators.flu.fit_counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import joblib
import numpy as np

from simulators.contract.validation import choice, number, per_group, table
from simulators.flu.fit import Fit, Model
from simulators.flu.fit_counts import fit_counts
from simulators.flu.fit_rates import fit_r0, fit_susceptibility
from simulators.flu.season_data import attack_rates, weekly_counts

KEYS = ("attack_rate", "weekly_counts", "coverage", "fit", "reporting")


def fit_of(given: Any, model: Model) -> Fit:
    """Fit a season's reproduction number to what an option asks.

    Parameters
    ----------
    given : mapping
        `attack_rate`, a file or J numbers, or `weekly_counts`, a file, with `reporting`, the share of
        infections that is counted (`simulators.flu.season_data` has the columns). `coverage` of that season,
        a number or J; by default today's. `fit`: "r0", the default, or "susceptibility", which fits that of
        each group too.
    model : Model

    Raises
    ------
    ValueError
        Anything else; data that no r0 gives, or that do not identify what is to be fitted.
    """
    options = table("calibrate", given, "attack_rate or weekly_counts, with their options")
    for key in options:
        choice("calibrate: key", key, KEYS)
    what = choice("calibrate: fit", options.get("fit", "r0"), ("r0", "susceptibility"))
    if ("attack_rate" in options) == ("weekly_counts" in options):
        raise ValueError("calibrate needs attack_rate or weekly_counts, one of them")
    usual = np.zeros(len(model.groups)) if model.coverage is None else model.coverage
    coverage = per_group(
        "calibrate: coverage", options.get("coverage"), model.groups, default=usual, least=0, most=1
    )
    immune = model.efficacy * coverage
    if "weekly_counts" in options:
        if what != "r0":
            raise ValueError("calibrate: fit='susceptibility' needs attack_rate")
        if "reporting" not in options:
            raise ValueError(
                "calibrate: reporting is missing; accepted: the share of infections that is counted"
            )
        reporting = number("calibrate: reporting", options["reporting"], above=0)
        if reporting > 1:
            raise ValueError(f"calibrate: reporting={reporting:g} must be a share, at most 1")
        counts = weekly_counts(options["weekly_counts"], model.groups)
        return _kept(lambda: fit_counts(counts, reporting, immune, model), counts, reporting, immune, model)
    if "reporting" in options:
        raise ValueError("calibrate: reporting belongs to weekly_counts")
    rates = attack_rates(options["attack_rate"], model.groups)
    fit = fit_r0 if what == "r0" else fit_susceptibility
    return _kept(lambda: fit(rates, immune, model), rates, what, immune, model)


_known: dict[str, Fit] = {}


def _kept(fit: Callable[[], Fit], *of: Any) -> Fit:
    """A fit, made once in a process for the same data and model: members of an ensemble share it."""
    *data, model = of
    trial = model.at(1.0, np.ones(len(model.groups)))
    rest = (
        trial.days,
        trial.stages,
        trial.n_steps,
        [vars(one) if hasattr(one, "__dict__") else one for one in data],
    )
    key = joblib.hash((model._replace(season=None), rest))
    if key not in _known:
        if len(_known) > 100:
            _known.clear()
        _known[key] = fit()
    return _known[key]
