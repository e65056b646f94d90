"""How weather moves and mixes from sensor to sensor in an hour: one sparse matrix on their graph.

Each row of the matrix is a weighted mean, so that no field leaves the range it had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from simulators.arrays import Array, Edges
from simulators.stations.sphere import points_on_sphere

SECONDS = 3600.0


def transport_matrix(
    lon: Array, lat: Array, edges: Edges, flow: tuple[float, float], mixing: float
) -> csr_array:
    """The (n, n) matrix of one hour: advection by a steady flow, then diffusion.

    Its entries are not negative and its rows add up to 1. Sensors stand at lon and lat, degrees; the flow has
    an eastward and a northward speed, m/s; `mixing` is the share of a sensor's weather, 0..1, that the mean
    of its neighbours replaces.
    """
    n = len(lon)
    to, of = np.concatenate([edges, edges[:, ::-1]]).T
    return _mixed(to, of, n, mixing) @ _carried(lon, lat, to, of, flow)


def _carried(lon: Array, lat: Array, to: Any, of: Any, flow: tuple[float, float]) -> csr_array:
    """Upwind differences: a sensor takes over the weather of the neighbours that the flow comes from.

    The share that it takes over, at most all, is the way of the air over the way to those neighbours.
    """
    n = len(lon)
    points = 1000.0 * points_on_sphere(lon, lat)
    east, north = np.radians(lon), np.radians(lat)
    sin, cos, up, flat = np.sin(east), np.cos(east), np.sin(north), np.cos(north)
    eastward = np.stack([-sin, cos, np.zeros(n)], axis=1)
    northward = np.stack([-up * cos, -up * sin, flat], axis=1)
    velocity = flow[0] * eastward + flow[1] * northward
    speed = float(np.hypot(*flow))
    way = points[to] - points[of]
    along = np.maximum(np.einsum("ij,ij->i", way, velocity[to]) / max(speed, 1e-12), 0.0)
    distance = np.linalg.norm(way, axis=1)
    towards = along / np.maximum(distance, 1.0)  # the cosine of the angle between way and flow
    total = np.bincount(to, towards, n)
    share = towards / np.maximum(total, 1e-12)[to]
    mean_way = np.bincount(to, share * along, n)
    taken = np.where(total > 0, np.minimum(speed * SECONDS / np.maximum(mean_way, 1.0), 1.0), 0.0)
    upwind = csr_array((share, (to, of)), shape=(n, n))
    return csr_array(diags_array(1.0 - taken) + diags_array(taken) @ upwind)


def _mixed(to: Any, of: Any, n: int, mixing: float) -> csr_array:
    """Diffusion: each sensor's weather and the mean of its neighbours'."""
    neighbours = np.bincount(to, minlength=n)
    mean = csr_array((1.0 / neighbours[to], (to, of)), shape=(n, n))
    return csr_array((1.0 - mixing) * diags_array(np.ones(n)) + mixing * mean)
