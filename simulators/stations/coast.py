"""How far places are from the sea, by the outline that maps are drawn with; no network is needed.

The outline is Natural Earth 1:50m, and the borders of the United States' states, in hundredths of a degree;
`simulators/data/outline-licence.txt` says from where. Its coasts are those of the sea: shores of lakes are no
part of it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from simulators.arrays import Array
from simulators.stations.sphere import points_on_sphere

COAST, BORDER, STATE = range(3)

STEP = 0.05
"""Degrees between the points of a coast, to the nearest of which distances are taken: 6 km at most."""


@cache
def outline_lines() -> tuple[list[Array], NDArray[np.uint8]]:
    """All lines as points (m, 2), longitude and latitude in degrees, and the kind of each."""
    with as_file(files("simulators") / "data" / "outline.npz") as path, np.load(path) as stored:
        steps, lengths, kinds = stored["steps"], stored["lengths"].astype(int), stored["kinds"]
    parts = np.split(steps, np.cumsum(lengths)[:-1])
    return [np.cumsum(part, axis=0, dtype=float) / 100.0 for part in parts], kinds


def coast_distance(lon: Array, lat: Array) -> Array:
    """The distance (n,) of places in degrees to the nearest coast, km, on land or at sea, to 3 km.

    Chords of the sphere, which are 0.1 % shorter than arcs at 1,000 km.
    """
    distance: Array = _coasts().query(points_on_sphere(lon, lat))[0]
    return distance


@cache
def _coasts() -> cKDTree:
    lines, kinds = outline_lines()
    points = np.concatenate([_refined(lines[i]) for i in np.flatnonzero(kinds == COAST)])
    return cKDTree(points_on_sphere(points[:, 0], points[:, 1]))


def _refined(line: Array) -> Array:
    """The same line with a point every `STEP` degrees at least."""
    counts = np.maximum(1, np.ceil(np.abs(np.diff(line, axis=0)).max(axis=1) / STEP)).astype(int)
    where = np.concatenate([i + np.arange(n) / n for i, n in enumerate(counts)] + [[len(line) - 1.0]])
    at = np.arange(len(line))
    return np.stack([np.interp(where, at, line[:, k]) for k in range(2)], axis=1)
