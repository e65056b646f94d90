"""What there is to know of a country at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simulators.arrays import Array
from simulators.country.country import Country
from simulators.country.reciprocity import Failure, imbalance, largest_failure


@dataclass(frozen=True)
class Summary:
    """Figures of a country's contacts.

    Attributes
    ----------
    mean_contacts : float
        A day, of a person of the country.
    contacts_of_groups : (J,) array
        A day, of a person of each group.
    mean_by_setting : mapping of str to float
    imbalance : float
        The share of contacts that is counted from one side alone, before they were mended; 0 where they were
        reciprocal.
    failure : Failure
        The pair of groups that fails reciprocity by the largest factor.
    largest_eigenvalue : float
        Of the contacts: R0 is proportional to it where all are alike susceptible and infectious.
    """

    mean_contacts: float
    contacts_of_groups: Array
    mean_by_setting: Mapping[str, float]
    imbalance: float
    failure: Failure
    largest_eigenvalue: float


def summary(country: Country) -> Summary:
    """The figures of a country."""
    shares = country.persons / country.persons.sum()
    return Summary(
        mean_contacts=float(shares @ country.contacts.sum(axis=1)),
        contacts_of_groups=country.contacts.sum(axis=1),
        mean_by_setting={name: float(shares @ one.sum(axis=1)) for name, one in country.by_setting.items()},
        imbalance=(
            imbalance(country.contacts, country.persons) if country.imbalance is None else country.imbalance
        ),
        failure=largest_failure(country.contacts, country.persons),
        largest_eigenvalue=float(np.abs(np.linalg.eigvals(country.contacts)).max()),
    )
