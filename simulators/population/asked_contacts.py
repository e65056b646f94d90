"""The contacts asked of a population, a reciprocal matrix a setting, and how far a network is from them.

Notation: `N_i` persons in group i of K, `C_ij` contacts a day of a person of group i with persons of
group j, `F_ij = N_i C_ij` all contacts a day from i to j. People meet mutually, so `F` must be symmetric;
where it is not, the mean of `F_ij` and `F_ji` takes the place of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simulators.arrays import Array, Integers
from simulators.contract.validation import choice, nonnegative_matrix
from simulators.population import survey
from simulators.population.age_bands import AgeBands, usual_bands
from simulators.population.network import AskedContacts
from simulators.population.survey import SETTINGS
from simulators.population.tables import EMPLOYED


def ask(
    contacts: Any, bands: AgeBands, sizes: Integers, homes: Integers, employed: Array = EMPLOYED
) -> AskedContacts:
    """The contacts that a population is asked to have.

    A matrix without settings is divided in the proportions of Mistry 2021, pair of groups by pair of groups,
    except that people meet those they live with, all of them and as far as the matrix allows.

    Parameters
    ----------
    contacts
        As `simulators.build_population` takes them.
    bands, sizes : AgeBands, (J,) array
        The population's J age groups, and persons in each.
    homes : (J, J) array
        F_ij between members of the same household.
    employed : (95,) array, default US 2012
        Shares who work, by year of age.
    """
    asked, given = _resolve(contacts, bands)
    parent = asked.of_age[list(bands.first)].astype(np.intp)
    members = np.eye(len(asked))[parent]  # (J, K)
    N = members.T @ sizes
    if not any(matrix.any() for matrix in given.values()):
        raise ValueError("contacts: every entry is 0; some must be > 0")
    flows = {setting: _reciprocal(matrix, N) for setting, matrix in given.items()}
    if "all" in flows:
        flows = _divide(flows["all"], members.T @ homes @ members, _setting_shares(asked, employed))
    return AskedContacts(
        groups=asked.names,
        parent=parent,
        sizes=N,
        given=np.sum(list(given.values()), axis=0),
        flows=flows,
    )


def _resolve(contacts: Any, bands: AgeBands) -> tuple[AgeBands, dict[str, Array]]:
    """The groups of the matrices asked for, and those by setting, or one of name "all"."""
    names = bands.names
    if isinstance(contacts, str):
        if bands.own:
            raise ValueError(f"contacts={contacts!r} is not of your groups; give a matrix, or one by setting")
        choice("contacts", contacts, tuple(survey.CONTACTS))
        if contacts in survey.CONTACTS_BY_SETTING:
            return usual_bands(5), survey.CONTACTS_BY_SETTING[contacts]
        return bands, {"all": survey.CONTACTS[contacts][len(bands)]}
    if isinstance(contacts, Mapping):
        if set(contacts) != set(SETTINGS):
            raise ValueError(
                f"contacts has the settings {', '.join(map(repr, contacts)) or 'none'}; "
                f"it must have {', '.join(map(repr, SETTINGS))}, with zeros where nobody meets"
            )
        by_setting = {s: nonnegative_matrix(f"contacts[{s!r}]", contacts[s], names) for s in SETTINGS}
        return bands, by_setting
    return bands, {"all": nonnegative_matrix("contacts", contacts, names)}


def _reciprocal(matrix: Array, N: Array) -> Array:
    flows = N[:, None] * matrix
    symmetric: Array = (flows + flows.T) / 2 * np.outer(N > 0, N > 0)
    return symmetric


def _setting_shares(bands: AgeBands, employed: Array) -> dict[str, Array]:
    """The share of each setting in the contacts of each pair of groups, symmetric.

    That of the five groups of Mistry 2021 they belong to, but groups too young to work meet in the community.
    """
    name = "mistry-2021-oregon"
    flows = {
        setting: _reciprocal(matrix, survey.AGE_SHARES[name])
        for setting, matrix in survey.CONTACTS_BY_SETTING[name].items()
    }
    total = np.sum(list(flows.values()), axis=0)
    of = usual_bands(5).of_age[list(bands.first)]
    shares: dict[str, Array] = {s: (flow / total)[np.ix_(of, of)] for s, flow in flows.items()}
    may_work = np.maximum.reduceat(employed, bands.first) > 0
    without = shares["work"] * ~np.outer(may_work, may_work)
    shares["work"] -= without
    shares["community"] += without
    return shares


def _divide(total: Array, homes: Array, shares: dict[str, Array]) -> dict[str, Array]:
    household = np.minimum(np.maximum(shares["household"] * total, homes), total)
    elsewhere = (total - household) / (1 - shares["household"])
    return {
        setting: household if setting == "household" else share * elsewhere
        for setting, share in shares.items()
    }
