"""The contacts asked of a population, a reciprocal matrix a setting, and how far a network is from them.

Notation: ``N_i`` persons in group i of K, ``C_ij`` contacts a day of a person of group i with persons of
group j, ``F_ij = N_i C_ij`` all contacts a day from i to j. People meet mutually, so ``F`` must be symmetric;
where it is not, the mean of ``F_ij`` and ``F_ji`` takes the place of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulators import flu_data
from simulators.contact_network import ContactNetwork, mean_contacts
from simulators.flu_data import SETTINGS
from simulators.options import choice, nonnegative_matrix
from simulators.population_data import EMPLOYED, FIRST_AGES, group_of_age

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AskedContacts:
    """Contacts a day asked of a population, by setting.

    Attributes
    ----------
    groups : tuple of str
        Names of the K groups of the matrices.
    parent : (J,) int array
        For each of the population's groups, the group of the matrices that it belongs to.
    sizes : (K,) array
        Persons N_i.
    given : (K, K) array
        Contacts of all settings before they were made reciprocal.
    flows : dict of str to (K, K) array
        F_ij by setting, symmetric.
    """

    groups: tuple[str, ...]
    parent: NDArray[np.intp]
    sizes: Floats
    given: Floats
    flows: dict[str, Floats]

    def matrix(self, setting: str) -> Floats:
        """Return the reciprocal contacts C_ij of a setting, (K, K); 0 for a group with nobody."""
        return self.flows[setting] / np.maximum(self.sizes, 1)[:, None]

    def edges(self, setting: str) -> NDArray[np.int64]:
        """Return the pairs of persons asked by the groups of the two, (K, K), zero below the diagonal."""
        flows = self.flows[setting]
        return np.rint(np.triu(flows) - np.diag(np.diag(flows)) / 2).astype(np.int64)

    def reciprocity(self) -> pd.DataFrame:
        """Return what making the matrix reciprocal changed.

        Returns
        -------
        DataFrame
            Columns ``group, met, given, reciprocal``, in contacts a day of all settings.
        """
        import pandas

        total = np.sum([self.matrix(setting) for setting in self.flows], axis=0)
        return pandas.DataFrame(
            [
                (group, met, self.given[i, j], total[i, j])
                for i, group in enumerate(self.groups)
                for j, met in enumerate(self.groups)
            ],
            columns=["group", "met", "given", "reciprocal"],
        )

    def compare(self, network: ContactNetwork) -> pd.DataFrame:
        """Return the contacts of a network beside those asked, as :meth:`ContactNetwork.achieved`."""
        import pandas

        asked = {setting: self.matrix(setting) for setting in self.flows}
        achieved = self.achieved(network)
        for matrices in (asked, achieved):
            matrices["all"] = np.sum(list(matrices.values()), axis=0)
        shares = self.sizes / self.sizes.sum()
        names = (*self.groups, "all")
        rows = []
        for setting in asked:
            a, b = (_with_totals(matrices[setting], shares) for matrices in (asked, achieved))
            rows += [
                (setting, group, met, a[i, j], b[i, j])
                for i, group in enumerate(names)
                for j, met in enumerate(names)
            ]
        return pandas.DataFrame(rows, columns=["setting", "group", "met", "asked", "achieved"])

    def achieved(self, network: ContactNetwork) -> dict[str, Floats]:
        """Return the mean contacts of a network between the groups of the matrices, (K, K) by setting."""
        group = self.parent.astype(np.int8)[network.group]
        return {name: mean_contacts(network.layers[name], group, len(self.groups)) for name in self.flows}

    def distance(self, network: ContactNetwork) -> tuple[float, str]:
        """Return how far a network is from what was asked.

        Returns
        -------
        share : float
            Contacts too many or too few, over setting and pair of groups, as a share of the contacts asked.
        where : str
            The setting and the groups where most are amiss, with both numbers.
        """
        achieved = self.achieved(network)
        return self._amiss({s: self.sizes[:, None] * achieved[s] for s in self.flows})

    def shortage(self) -> tuple[float, str]:
        """Return how far from what was asked any network must stay, as :meth:`distance`, for lack of people.

        Returns
        -------
        share : float
        where : str
        """
        people = np.outer(self.sizes, self.sizes) - np.diag(self.sizes)
        return self._amiss({s: np.minimum(flows, people) for s, flows in self.flows.items()})

    def _amiss(self, had: dict[str, Floats]) -> tuple[float, str]:
        amiss = {s: np.abs(had[s] - self.flows[s]) for s in self.flows}
        s = max(amiss, key=lambda s: float(amiss[s].max()))
        i, j = np.unravel_index(np.argmax(amiss[s]), amiss[s].shape)
        got, asked = had[s][i, j] / self.sizes[i], self.flows[s][i, j] / self.sizes[i]
        where = f"{s}, {self.groups[i]!r} with {self.groups[j]!r}: {got:.3g} a day instead of {asked:.3g}"
        total = sum(float(flows.sum()) for flows in self.flows.values())
        return sum(float(a.sum()) for a in amiss.values()) / max(total, 1.0), where


def ask(contacts: Any, groups: int, sizes: NDArray[np.integer], homes: NDArray[np.integer]) -> AskedContacts:
    """Return the contacts that a population is asked to have.

    A matrix without settings is divided in the proportions of Mistry 2021, pair of groups by pair of groups,
    except that people meet those they live with, all of them and as far as the matrix allows.

    Parameters
    ----------
    contacts : str, (J, J) array-like or mapping of str to (J, J) array-like
        A name of :data:`simulators.flu_data.CONTACTS`, contacts of all settings, or contacts by setting.
    groups : {5, 9}
        Number J of the population's age groups.
    sizes : (J,) array
        Persons in each.
    homes : (J, J) array
        F_ij between members of the same household.

    Returns
    -------
    AskedContacts

    Raises
    ------
    ValueError
        A wrong name, shape or entry, in one line.
    """
    K, given = _resolve(contacts, groups)
    parent = group_of_age(K)[list(FIRST_AGES[groups])].astype(np.intp)
    members = np.eye(K)[parent]  # (J, K)
    N = members.T @ sizes
    if not any(matrix.any() for matrix in given.values()):
        raise ValueError("contacts: every entry is 0; some must be > 0")
    flows = {setting: _reciprocal(matrix, N) for setting, matrix in given.items()}
    if "all" in flows:
        flows = _divide(flows["all"], members.T @ homes @ members, _setting_shares(K))
    return AskedContacts(
        groups=flu_data.AGES[K].groups,
        parent=parent,
        sizes=N,
        given=np.sum(list(given.values()), axis=0),
        flows=flows,
    )


def _resolve(contacts: Any, groups: int) -> tuple[int, dict[str, Floats]]:
    """Return the number of groups of the matrices asked for, and those by setting, or one of name "all"."""
    names = flu_data.AGES[groups].groups
    if isinstance(contacts, str):
        choice("contacts", contacts, tuple(flu_data.CONTACTS))
        if contacts in flu_data.CONTACTS_BY_SETTING:
            return 5, flu_data.CONTACTS_BY_SETTING[contacts]
        return groups, {"all": flu_data.CONTACTS[contacts][groups]}
    if isinstance(contacts, Mapping):
        if set(contacts) != set(SETTINGS):
            raise ValueError(
                f"contacts has the settings {', '.join(map(repr, contacts)) or 'none'}; "
                f"it must have {', '.join(map(repr, SETTINGS))}, with zeros where nobody meets"
            )
        by_setting = {s: nonnegative_matrix(f"contacts[{s!r}]", contacts[s], names) for s in SETTINGS}
        return groups, by_setting
    return groups, {"all": nonnegative_matrix("contacts", contacts, names)}


def _reciprocal(matrix: Floats, N: Floats) -> Floats:
    flows = N[:, None] * matrix
    symmetric: Floats = (flows + flows.T) / 2 * np.outer(N > 0, N > 0)
    return symmetric


def _setting_shares(K: int) -> dict[str, Floats]:
    """Return the share of each setting in the contacts of each pair of K groups, symmetric.

    That of the five groups of Mistry 2021 they belong to, but groups too young to work meet in the community.
    """
    name = "mistry-2021-oregon"
    flows = {
        setting: _reciprocal(matrix, flu_data.AGE_SHARES[name])
        for setting, matrix in flu_data.CONTACTS_BY_SETTING[name].items()
    }
    total = np.sum(list(flows.values()), axis=0)
    of = group_of_age(5)[list(FIRST_AGES[K])]
    shares: dict[str, Floats] = {s: (flow / total)[np.ix_(of, of)] for s, flow in flows.items()}
    may_work = np.maximum.reduceat(EMPLOYED, FIRST_AGES[K]) > 0
    without = shares["work"] * ~np.outer(may_work, may_work)
    shares["work"] -= without
    shares["community"] += without
    return shares


def _divide(total: Floats, homes: Floats, shares: dict[str, Floats]) -> dict[str, Floats]:
    household = np.minimum(np.maximum(shares["household"] * total, homes), total)
    elsewhere = (total - household) / (1 - shares["household"])
    return {
        setting: household if setting == "household" else share * elsewhere
        for setting, share in shares.items()
    }


def _with_totals(matrix: Floats, shares: Floats) -> Floats:
    """Return a matrix with sums over the groups met as last column, and means over persons as last row."""
    wide = np.column_stack((matrix, matrix.sum(axis=1)))
    return np.vstack((wide, shares @ wide))
