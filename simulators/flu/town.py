"""The town in which a season is simulated person by person: its population, and what is to be told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulators.flu.own_bands import own_bands
from simulators.flu.own_town import contacts_of, findings_of, infected_of, missed
from simulators.flu.town_tables import TownOptions, town_of
from simulators.population.population import Population, build_population

if TYPE_CHECKING:
    from simulators.country import Country


class Town(NamedTuple):
    """A town that is built.

    Attributes
    ----------
    population : Population
    initial_infected : (J,) array-like or None
        Persons infected on day 0; None where the season's own default holds.
    findings : tuple of str
        What was read, what holds by default, and where its contacts miss those asked; one sentence each.
        None of the town of the US.
    """

    population: Population
    initial_infected: Any
    findings: tuple[str, ...]


def build_town(
    persons: int,
    seed: int | np.random.SeedSequence,
    country: Country | None,
    options: TownOptions,
    *,
    groups: Any,
    contacts: Any,
    age_shares: Any,
    layer_weights: Mapping[str, float] | None,
    initial_infected: Any,
) -> Town:
    """Build the town of a country of one's own, or of the US where there is none.

    Parameters
    ----------
    persons, seed, groups, contacts, age_shares, layer_weights, initial_infected
        As `simulators.FluABM` has them; the country tells groups, contacts and ages itself.
    country : Country or None
    options : TownOptions
        Its tables.

    Raises
    ------
    ValueError
        A group with nobody, and what `simulators.population.population.build_population` refuses.
    """
    if country is not None:
        groups, contacts, age_shares = own_bands(country.groups), contacts_of(country), country.persons
    parts = town_of(options)
    population = build_population(
        persons,
        seed=seed,
        contacts=contacts,
        groups=groups,
        age_shares=age_shares,
        weights=layer_weights,
        **parts.arguments,
    )
    for name, size in zip(population.groups, population.sizes, strict=True):
        if size == 0:
            raise ValueError(f"persons={persons!r} leaves nobody in the group {name!r}; take more")
    findings: tuple[str, ...] = ()
    if country is not None:
        findings = findings_of(country)
        if initial_infected is None:
            initial_infected, said = infected_of(country, population.sizes)
            findings += (said,)
    if country is not None or options.any_file:
        findings += (*parts.findings, *missed(population))
    return Town(population, initial_infected, findings)
