"""How fast a season's illness spreads: rates of transmission by a reproduction number, given or fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulators.arrays import Array
from simulators.flu.fit import Fit, Model
from simulators.flu.people import People
from simulators.flu.season_ode import SeasonODE
from simulators.flu.transmission import published_transmission, transmission


@dataclass(frozen=True, eq=False)
class Spread:
    """How an illness spreads among people.

    Attributes
    ----------
    beta : (J, J) array
        Transmission rates per day, row = susceptible group.
    r0 : float
        Reproduction number with nobody vaccinated.
    susceptibility, initial_infected : (J,) array
        Those of the people, or as fitted.
    fit : Fit or None
        What was fitted to a season that was observed.
    season : SeasonODE
    """

    beta: Array
    r0: float
    susceptibility: Array
    initial_infected: Array
    fit: Fit | None
    season: SeasonODE


def spread_of(
    people: People,
    efficacy: Array,
    infectious_period: float,
    r0: float | None,
    calibrate: Mapping[str, Any] | None,
    season: Callable[[Array, Array], SeasonODE],
    *,
    published: bool,
) -> Spread:
    """How an illness spreads as options have it.

    Parameters
    ----------
    people : People
    efficacy : (J,) array
        Of the vaccine that today's coverage is of.
    infectious_period : float
    r0 : float or None
        Takes the place of a fitted one.
    calibrate : mapping or None
        See `simulators.flu.calibrate.fit_of`.
    season : function of beta and the initially infected
    published : bool
        Whether, without an r0, transmissibility is that of the paper's authors; else r0 is such that the
        effective one at today's coverage is that of the median season.
    """
    fit: Fit | None = None
    susceptibility, infected = people.susceptibility, people.initial_infected
    if calibrate is not None:
        from simulators.flu.calibrate import fit_of  # brings what reads files, which is slow to import

        fit = fit_of(calibrate, Model.of(people, efficacy, infectious_period, season))
        susceptibility, infected = fit.susceptibility, fit.initial_infected
        r0 = fit.r0 if r0 is None else r0
    shape = susceptibility[:, None] * people.contacts * people.infectivity
    if published and r0 is None:
        beta, r0 = published_transmission(shape, infectious_period)
    else:
        coverage = np.zeros(len(people.groups)) if people.coverage is None else people.coverage
        beta, r0 = transmission(shape, infectious_period, r0, efficacy * coverage)
    return Spread(beta, r0, susceptibility, infected, fit, season(beta, infected))
