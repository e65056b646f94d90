"""Who hears whom, and over how many hops a reading travels to a gateway.

A gateway has mains and a line of its own; every other sensor sends its readings to the nearest gateway, from
sensor to sensor, by the way with the fewest hops. Its last hop is the one that a gateway receives, so that a
gateway's own reading travels none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from simulators.arrays import Array, Edges, Mask, Rows
from simulators.stations.sphere import chord_of_arc


class Routes(NamedTuple):
    """The ways to the gateways.

    Attributes
    ----------
    hops : (n,) array
        Of each sensor; infinite where there is no way.
    following : (n,) array of int
        The sensor that hears it next; negative at a gateway, and where there is no way.
    """

    hops: Array
    following: Rows

    def way(self, row: int) -> list[int]:
        """The sensors that send a reading on, its own first; a gateway sends nothing on."""
        way = []
        while self.following[row] >= 0:
            way.append(row)
            row = int(self.following[row])
        return way


def links_within(points: Array, km: float) -> Edges:
    """Pairs of points (n, 3) on the sphere that are at most so many km apart along the ground."""
    pairs = cKDTree(points).query_pairs(chord_of_arc(km), output_type="ndarray")
    return np.unique(np.sort(np.asarray(pairs, dtype=np.intp), axis=1), axis=0)


def spread_gateways(points: Array, count: int) -> Rows:
    """So many of the points (n, 3), far apart: the most central, then always the farthest from those chosen.

    The greedy rule of Gonzalez (1985), which is within a factor of two of the best choice. In rising order.
    """
    centre = points.mean(axis=0)
    chosen = [int(((points - centre) ** 2).sum(axis=1).argmin())]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.sort(np.array(chosen, dtype=np.intp))


def routes(links: Edges, n: int, gateways: Rows, relays: Mask | None = None) -> Routes:
    """The ways with the fewest hops from n sensors to the gateways.

    Of `relays` only those hand others' readings on; a sensor that is none of them has no way itself. All are
    unless given. Among ways of equally many hops it is always the same one that is taken.
    """
    if relays is not None:
        links = links[relays[links].all(axis=1)]
        gateways = gateways[relays[gateways]]
    if not len(gateways):
        return Routes(np.full(n, np.inf), np.full(n, -1))
    to, of = np.concatenate([links, links[:, ::-1]]).T
    graph = coo_array((np.ones(len(to)), (to, of)), shape=(n, n)).tocsr()
    hops, before, _ = dijkstra(
        graph, indices=gateways, unweighted=True, min_only=True, return_predecessors=True
    )
    return Routes(np.asarray(hops), np.asarray(before, dtype=np.intp))
