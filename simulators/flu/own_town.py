"""A country of one's own, as a town of persons needs it."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from simulators.arrays import Integers
from simulators.flu.people import country_of
from simulators.flu.season.start import whole_numbers

if TYPE_CHECKING:
    from simulators.country import Country

SETTINGS = {"home": "household", "school": "school", "work": "work", "other": "community"}
"""The settings of a country's contacts, and the layers of a town's network that they become."""


def own_country(groups: Any, contacts: Any, age_shares: Any) -> Country | None:
    """The country that the options name; None where they name the groups of the US.

    Raises
    ------
    ValueError
        What `simulators.flu.people.country_of` refuses; settings that are missing; an infectivity that
        differs between groups, which a town does not know.
    """
    if isinstance(groups, Number):
        return None
    if isinstance(groups, str) and isinstance(contacts, str) and contacts == "mistry-2021-oregon":
        contacts = None  # the default, which is not theirs
    country = country_of(groups, contacts, age_shares)
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


def infected_of(country: Country, sizes: Integers) -> Integers | None:
    """Who is infected on day 0 in a town with so many persons a group, (J,); None where it is not told."""
    if country.initial_infected is None:
        return None
    return whole_numbers(country.initial_infected / country.persons * sizes)


def findings_of(country: Country, households: bool) -> tuple[str, ...]:
    """What holds by default in the town of a country, one sentence each."""
    said = [
        "ages within a group, who goes to school and who works by age: as in the US of 2012, by default",
    ]
    if country.initial_infected is None:
        said.append("at least 50 persons of the town are infected on day 0, unless initial_infected says")
    if not households:
        said.append("household sizes: those of the US of 2012, by default")
    if not country.by_setting:
        said.append(
            "contacts: divided between home, school, work and other as those of Oregon are (Mistry 2021), "
            "by the lowest age of each group; everybody meets those at home"
        )
    return tuple(said)
