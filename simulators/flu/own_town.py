"""A country of one's own, as a town of persons needs it."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from simulators.arrays import Array, Integers
from simulators.flu import tables
from simulators.flu.people import country_of
from simulators.flu.season.start import LEAST_INFECTED, at_least_a_few
from simulators.population.population import Population

if TYPE_CHECKING:
    from simulators.country import Country

SETTINGS = {"home": "household", "school": "school", "work": "work", "other": "community"}
"""The settings of a country's contacts, and the layers of a town's network that they become."""

TOLD = 0.01
"""Share of a setting's contacts that a town may miss without a word."""


def own_country(groups: Any, contacts: Any, age_shares: Any, reading: Mapping[str, Any]) -> Country | None:
    """The country that the options name; None where they name the groups of the US.

    Parameters
    ----------
    groups, contacts, age_shares
        As `simulators.FluABM` has them.
    reading : mapping
        How files are read: `orientation`, `reciprocity` and `persons`, each None where it is left out.

    Raises
    ------
    ValueError
        What `simulators.flu.people.country_of` refuses; settings that are missing; an infectivity that
        differs between groups, which a town does not know.
    """
    if isinstance(groups, Number):
        for name in ("orientation", "reciprocity"):
            if reading.get(name) is not None:
                raise ValueError(
                    f"{name}={reading[name]!r} says how files are read; accepted where groups is a file"
                )
        return None
    if isinstance(groups, str) and isinstance(contacts, str) and contacts == "mistry-2021-oregon":
        contacts = None  # the default, which is not theirs
    country = country_of(groups, contacts, age_shares, **reading)
    if country.by_setting and set(country.by_setting) != set(SETTINGS):
        missing = sorted(set(SETTINGS) - set(country.by_setting)) or sorted(country.by_setting)
        raise ValueError(
            f"contacts by setting must be of {', '.join(SETTINGS)}, with zeros where nobody meets; "
            f"missing or strange: {', '.join(missing)}"
        )
    infectivity = country.infectivity
    if infectivity is not None and not np.all(infectivity == infectivity[0]):
        raise ValueError("infectivity: persons are equally infective; accepted: one number for all groups")
    return country


def contacts_of(country: Country) -> Any:
    """Its contacts as `simulators.population.population.build_population` takes them."""
    if not country.by_setting:
        return country.contacts
    return {SETTINGS[name]: matrix for name, matrix in country.by_setting.items()}


def seeding_of(country: Country) -> Array:
    """The share of each group infected on day 0, (J,)."""
    if country.initial_infected is None:
        return np.full(len(country.groups), tables.OWN_SEEDING)
    shares: Array = country.initial_infected / country.persons
    return shares


def infected_of(country: Country, sizes: Integers) -> tuple[Integers, str]:
    """Who is infected on day 0 in a town with so many persons a group, (J,), and the rule in words.

    The country's shares of each group, but a few persons at least.
    """
    told = country.initial_infected is not None
    numbers = at_least_a_few(seeding_of(country), sizes)
    rule = (
        "the table's share of each group" if told else f"{tables.OWN_SEEDING:.1%} of every group, by default"
    )
    few = numbers.sum() > 0 and float(seeding_of(country) @ sizes) < min(LEAST_INFECTED, sizes.sum())
    raised = f", but {LEAST_INFECTED} persons at least" if few else ""
    said = (
        f"initial_infected: {numbers.sum():,} of the town's {sizes.sum():,} persons on day 0: {rule}{raised}"
    )
    return numbers, said


def findings_of(country: Country) -> tuple[str, ...]:
    """What becomes of a country's contacts in a town, one sentence each."""
    said = []
    if not country.by_setting:
        said.append(
            "contacts: divided between home, school, work and other as those of Oregon are (Mistry 2021), "
            "by the lowest age of each group; everybody meets those at home"
        )
    flows = country.contacts * country.persons[:, None]
    if not np.allclose(flows, flows.T, rtol=1e-6, atol=1e-9 * flows.max()):
        said.append("contacts: persons meet mutually, so that the town is asked for the mean of both sides")
    return tuple(said)


def missed(population: Population) -> tuple[str, ...]:
    """Where the contacts of a town miss those asked of it, a sentence a setting."""
    network = population.network
    if network.asked is None:
        return ()
    names = {layer: setting for setting, layer in SETTINGS.items()}
    said = []
    for layer, (off, where) in network.asked.missed(network).items():
        if off > TOLD:
            said.append(
                f"contacts at {names[layer]}: {off:.1%} of those asked are too many or too few in the town, "
                f"most of them {where}"
            )
    return tuple(said)
