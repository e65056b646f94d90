"""The ODE of an epidemic among persons: the season of `flu-ode` that describes the same town on average."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulators.contract.policy_space import BoundedPolicySpace
from simulators.flu.doses import Packs
from simulators.flu.season.durations import durations
from simulators.flu.season.start import initially_infected
from simulators.population import survey
from simulators.population.population import Population

NO_TRANSMISSION = 1e-9
"""The ODE's reproduction number where nobody infects anybody, for it takes none of 0."""


def ode_options(
    population: Population,
    shares: BoundedPolicySpace,
    season: Mapping[str, Any],
    packs: Packs | None,
    vaccinates: bool,
) -> dict[str, Any]:
    """The options under which `simulators.FluODE` has the same people, contacts and policies.

    It gets the numbers of persons by group and the mean contacts of the network, and the policies: the bounds
    and the budget of the shares, and the packs that they are given by. `season` are the options of a
    `FluModel`.
    """
    J = len(population.groups)
    sizes, infected = population.sizes, season["initial_infected"]
    if infected is None:
        infected = initially_infected(population.groups, sizes)
    options: dict[str, Any] = {
        "intervention": "vaccination" if vaccinates else "treatment",
        "groups": J
        if survey.AGES.get(J) and survey.AGES[J].groups == population.groups
        else population.groups,
        "contacts": population.network.contact_matrix(),
        "population": sizes.astype(float),
        "susceptibility": season["susceptibility"],
        "infectious_period": float(durations("infectious_period", season["infectious_period"], J).mean[0]),
        "r0": season["r0"] or NO_TRANSMISSION,
        "initial_infected": np.asarray(infected, dtype=float),
        "bounds": (shares.bounds.lb, shares.bounds.ub),
        "budget": "none",
        "days": season["days"],
    }
    if vaccinates:
        options["efficacy"] = season["efficacy"]
    if packs is not None:
        options["pack"] = packs.size
    if shares.constraint is not None:
        options["budget"] = float(shares.constraint.ub[0])
        options["budget_weights"] = shares.constraint.A[0]
    return options
