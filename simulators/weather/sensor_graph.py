"""The network of sensors: each is joined to the nearest others on the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from simulators.arrays import Array, Edges
from simulators.stations.sphere import arc_of_chord

if TYPE_CHECKING:
    import networkx as nx


NEIGHBOURS = 8
"""Sensors that each is joined to by default: enough to connect the stations of the contiguous US."""


def nearest_neighbours(points: Array, k: int) -> Edges:
    """The edges between every point (n, 3) on the sphere and its k nearest others, or all if there are fewer.

    The straight line through the Earth orders neighbours as the great circle does. A point may have more than
    k, since others ask for it. Each pair of rows is there once, the smaller first, and they are sorted.
    """
    n = len(points)
    k = min(k, n - 1)
    if k < 1:
        return np.empty((0, 2), dtype=np.intp)
    _, near = cKDTree(points).query(points, k + 1)
    pairs = np.stack([np.repeat(np.arange(n), k + 1), near.ravel()], axis=1)
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return np.unique(pairs, axis=0)


def parts(edges: Edges, n: int) -> tuple[int, NDArray[np.int32]]:
    """Into how many parts a graph falls, and the part of each of its n nodes."""
    adjacency = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    count, part = connected_components(adjacency, directed=False)
    return int(count), part


def connected_neighbours(points: Array, k: int | None, ids: Sequence[str], source: str) -> Edges:
    """The edges to the k nearest neighbours, of a graph that hangs together.

    k is by default `NEIGHBOURS`, or the least number above that connects the graph. Where the graph of a
    given k falls into parts, a ValueError says how many, which stations are the smallest of them, and from
    which k on there is one; `ids` and `source` are for this message.
    """
    n = len(points)
    edges = nearest_neighbours(points, NEIGHBOURS if k is None else k)
    count, part = parts(edges, n)
    if count == 1:
        return edges
    if k is None:
        return nearest_neighbours(points, _least_connecting(points, NEIGHBOURS))
    sizes = np.bincount(part)
    lonely = np.flatnonzero(part == sizes.argmin())
    shown = ", ".join(str(ids[i]) for i in lonely[:5]) + (", .." if len(lonely) > 5 else "")
    raise ValueError(
        f"{source}: neighbours={k} leaves the sensors in {count} parts that are not connected, the smallest "
        f"of {len(lonely)} ({shown}); choose neighbours >= {_least_connecting(points, k)}, or leave it out"
    )


def _least_connecting(points: Array, k: int) -> int:
    """The least number of neighbours above k that connects the graph; more of them keep it so."""
    n = len(points)

    def connects(k: int) -> bool:
        return parts(nearest_neighbours(points, k), n)[0] == 1

    low, high = k, min(2 * k, n - 1)
    while not connects(high):
        low, high = high, min(2 * high, n - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if connects(middle) else (middle, high)
    return high


def graph_of(points: Array, edges: Edges) -> nx.Graph[Any]:
    """The network as a graph of nodes 0..n-1, whose edges have their `distance` along the ground in km."""
    import networkx as nx  # a fifth of a second that a run without the graph can do without

    graph = nx.Graph()
    graph.add_nodes_from(range(len(points)))
    km = arc_of_chord(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1))
    graph.add_weighted_edges_from(
        zip(edges[:, 0].tolist(), edges[:, 1].tolist(), km.tolist(), strict=True), weight="distance"
    )
    return graph
