"""Who meets whom on a day, as one sparse symmetric matrix a layer (household, school, work, community).

Notation: N persons in J groups; `C_ij` is the mean number of persons of group j that a person of group i
meets on a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simulators.arrays import Array, Persons, Rows
from simulators.population.pairs import Keys

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


Groups = NDArray[np.int8]

LARGEST_GRAPH = 20_000
"""Persons above whom `ContactNetwork.to_networkx` refuses: a dictionary an edge takes gigabytes."""


@dataclass(frozen=True, eq=False, repr=False)
class ContactNetwork:
    """The contacts of N persons, a layer for each setting in which they meet.

    Attributes
    ----------
    layers : dict of str to (N, N) csr_array
        Symmetric, int8 ones, int32 indices sorted within a row; nobody meets himself, and a pair appears once
        in a layer (that is, once in either direction).
    weights : dict of str to float
        How readily a contact of the layer transmits, relative to the other layers.
    group : (N,) int8 array
        Index of each person's group.
    groups : tuple of str
        Names of the J groups.
    asked : AskedContacts, optional
        The contacts that the network was built to have.
    """

    layers: dict[str, csr_array]
    weights: dict[str, float]
    group: Groups
    groups: tuple[str, ...]
    asked: AskedContacts | None = None

    def __repr__(self) -> str:
        contacts = [f"{name}={layer.nnz // 2}" for name, layer in self.layers.items()]
        return f"ContactNetwork({', '.join([f'persons={self.persons}', *contacts])})"

    @property
    def persons(self) -> int:
        """Number of persons N."""
        return len(self.group)

    def degrees(self) -> Persons:
        """How many contacts each person has in all layers, (N,)."""
        total = np.zeros(self.persons, dtype=np.int32)
        for layer in self.layers.values():
            total += np.diff(layer.indptr)
        return total

    def contacts(self, layer: str) -> Array:
        """The mean contacts C_ij of a layer, by its name, (J, J); a row is 0 where the group has nobody."""
        return mean_contacts(self.layers[layer], self.group, len(self.groups))

    def contact_matrix(self) -> Array:
        """The contacts of all layers together, each times its weight, (J, J).

        It is what a next-generation matrix needs: times the chance that a contact of weight 1 transmits, it
        is the number of infections a person of group j causes in group i, per person of group i.
        """
        total = np.zeros((len(self.groups), len(self.groups)))
        for name, weight in self.weights.items():
            total += weight * self.contacts(name)
        return total

    def achieved(self) -> pd.DataFrame:
        """The contacts achieved against those asked for.

        Returns
        -------
        DataFrame
            Columns `setting, group, met, asked, achieved`, in contacts a day of a person of `group` with
            persons of the group `met`; the rows "all" of either are sums over the groups met, or means over
            the persons, and the setting "all" is the sum of the layers. Groups are those of the matrix that
            was asked for, which may be coarser than the network's.

        Raises
        ------
        ValueError
            The network was not built to have certain contacts.
        """
        if self.asked is None:
            raise ValueError("this network was not built from a contact matrix: nothing was asked of it")
        return self.asked.compare(self)

    def to_networkx(self, largest: int = LARGEST_GRAPH) -> nx.Graph[Any]:
        """The network as a graph of persons 0..N-1, for small sizes.

        Parameters
        ----------
        largest : int, default 20,000
            Most persons that are accepted.

        Returns
        -------
        networkx.Graph
            Nodes have `group` (its name); edges have `layers` (the names of those in which the pair
            meets) and `weight` (the sum of their weights).

        Raises
        ------
        ValueError
            More persons than that.
        """
        import networkx

        if self.persons > largest:
            raise ValueError(
                f"a graph of {self.persons:,} persons is too large for networkx; at most {largest:,} "
                "(the parameter largest) are exported, use the sparse layers instead"
            )
        graph = networkx.Graph()
        graph.add_nodes_from((i, {"group": self.groups[g]}) for i, g in enumerate(self.group.tolist()))
        for name, layer in self.layers.items():
            for a, b in zip(*(ends.tolist() for ends in pairs(layer)), strict=True):
                if graph.has_edge(a, b):
                    graph[a][b]["layers"] += (name,)
                    graph[a][b]["weight"] += self.weights[name]
                else:
                    graph.add_edge(a, b, layers=(name,), weight=self.weights[name])
        return graph


def symmetric(N: int, keys: Keys) -> csr_array:
    """The (N, N) int8 matrix with a one for either direction of each pair; indices are sorted within rows.

    `keys` (see `simulators.population.pairs`) hold each pair once, in any order, and no one with himself.
    """
    # Sorting the keys of both directions is faster than SciPy's conversion, which jumps about in memory.
    directed = np.sort(np.concatenate((keys, keys % N * N + keys // N)))
    starts = np.searchsorted(directed, np.arange(N + 1, dtype=np.int64) * N).astype(np.int32)
    directed %= N
    indices = directed.astype(np.int32)
    return csr_array((np.ones(len(indices), dtype=np.int8), indices, starts), shape=(N, N))


def pairs(layer: csr_array) -> tuple[Persons, Persons]:
    """The pairs of a layer, each once: (M,) lower and (M,) higher persons."""
    rows = np.repeat(np.arange(layer.shape[0], dtype=np.int32), np.diff(layer.indptr))
    upper = rows < layer.indices
    return rows[upper], layer.indices[upper]


def mean_contacts(layer: csr_array, group: Groups, J: int) -> Array:
    """The mean number of persons of group j that a person of group i meets, (J, J), 0 where i has nobody."""
    own = np.repeat(group.astype(np.int8), np.diff(layer.indptr))
    counts = np.zeros((J, J))
    for i in range(J):
        counts[i] = np.bincount(group[layer.indices[own == i]], minlength=J)
    return counts / np.maximum(np.bincount(group, minlength=J), 1)[:, None]


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
    parent: Rows
    sizes: Array
    given: Array
    flows: dict[str, Array]

    def matrix(self, setting: str) -> Array:
        """The reciprocal contacts C_ij of a setting, (K, K); 0 for a group with nobody."""
        return self.flows[setting] / np.maximum(self.sizes, 1)[:, None]

    def edges(self, setting: str) -> NDArray[np.int64]:
        """The pairs of persons asked by the groups of the two, (K, K), zero below the diagonal."""
        flows = self.flows[setting]
        return np.rint(np.triu(flows) - np.diag(np.diag(flows)) / 2).astype(np.int64)

    def reciprocity(self) -> pd.DataFrame:
        """What making the matrix reciprocal changed.

        Returns
        -------
        DataFrame
            Columns `group, met, given, reciprocal`, in contacts a day of all settings.
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
        """The contacts of a network beside those asked, as `ContactNetwork.achieved`."""
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

    def achieved(self, network: ContactNetwork) -> dict[str, Array]:
        """The mean contacts of a network between the groups of the matrices, (K, K) by setting."""
        group = self.parent.astype(np.int8)[network.group]
        return {name: mean_contacts(network.layers[name], group, len(self.groups)) for name in self.flows}

    def distance(self, network: ContactNetwork) -> tuple[float, str]:
        """How far a network is from what was asked.

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
        """How far from what was asked any network must stay, as `distance`, for lack of people."""
        people = np.outer(self.sizes, self.sizes) - np.diag(self.sizes)
        return self._amiss({s: np.minimum(flows, people) for s, flows in self.flows.items()})

    def missed(self, network: ContactNetwork) -> dict[str, tuple[float, str]]:
        """How far each setting of a network is from what was asked of it, as `distance` of all settings."""
        achieved = self.achieved(network)
        return {s: self._amiss({s: self.sizes[:, None] * achieved[s]}) for s in self.flows}

    def _amiss(self, had: dict[str, Array]) -> tuple[float, str]:
        amiss = {s: np.abs(had[s] - self.flows[s]) for s in had}
        s = max(amiss, key=lambda s: float(amiss[s].max()))
        i, j = np.unravel_index(np.argmax(amiss[s]), amiss[s].shape)
        got, asked = had[s][i, j] / self.sizes[i], self.flows[s][i, j] / self.sizes[i]
        place = f"{s}, " if len(had) > 1 else ""
        where = f"{place}{self.groups[i]!r} with {self.groups[j]!r}: {got:.3g} a day instead of {asked:.3g}"
        total = sum(float(self.flows[s].sum()) for s in had)
        return sum(float(a.sum()) for a in amiss.values()) / max(total, 1.0), where


def _with_totals(matrix: Array, shares: Array) -> Array:
    """A matrix with sums over the groups met as last column, and means over persons as last row."""
    wide = np.column_stack((matrix, matrix.sum(axis=1)))
    return np.vstack((wide, shares @ wide))
