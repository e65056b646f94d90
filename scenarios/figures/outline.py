"""Coasts and borders on a map, without a network: Natural Earth 1:50m and the borders of the United States.

They come with the package (`simulators.stations.coast`), in hundredths of a degree.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.arrays import Array
from simulators.stations.coast import BORDER as BORDER
from simulators.stations.coast import COAST as COAST
from simulators.stations.coast import STATE as STATE
from simulators.stations.coast import outline_lines

MARGIN = 0.04
"""Of a map around its places, as a share of its extent, and the least in degrees."""


class Box(NamedTuple):
    """A part of the world in degrees; east may be beyond 180, and west before -180."""

    west: float
    south: float
    east: float
    north: float

    @classmethod
    def around(cls, lon: Array, lat: Array) -> Box:
        """A box around places, with some margin; longitudes are without a jump (`unwrapping`)."""
        x, y = (MARGIN * max(float(np.ptp(values)), 1.0) for values in (lon, lat))
        return cls(
            float(lon.min()) - x,
            max(float(lat.min()) - y, -90.0),
            float(lon.max()) + x,
            min(float(lat.max()) + y, 90.0),
        )

    @property
    def aspect(self) -> float:
        """The length of a degree of latitude over one of longitude, in the middle of the map."""
        return float(1.0 / np.cos(np.radians(np.clip((self.south + self.north) / 2.0, -80.0, 80.0))))


@cache
def _lines() -> tuple[list[Array], NDArray[np.uint8], Array]:
    """All lines as points (m, 2) in degrees, the kind of each, and their boxes (west, south, east, north)."""
    lines, kinds = outline_lines()
    boxes = np.array([[*line.min(axis=0), *line.max(axis=0)] for line in lines])
    return lines, kinds, boxes


def outline(box: Box) -> dict[int, list[Array]]:
    """The lines that cross a box, cut to it, by their kind; longitudes are those of the box."""
    lines, kinds, boxes = _lines()
    found: dict[int, list[Array]] = {COAST: [], BORDER: [], STATE: []}
    for turn in (-360.0, 0.0, 360.0):
        meets = (
            (boxes[:, 0] + turn <= box.east)
            & (boxes[:, 2] + turn >= box.west)
            & (boxes[:, 1] <= box.north)
            & (boxes[:, 3] >= box.south)
        )
        for i in np.flatnonzero(meets):
            found[int(kinds[i])] += _cut(lines[i] + (turn, 0.0), box)
    return found


def _cut(line: Array, box: Box) -> list[Array]:
    """The parts of a line in a box, each with the point before and after it."""
    x, y = line.T
    # The side of the box on which a point lies: two points that are both beyond one side are out of sight.
    sides = np.stack([x < box.west, x > box.east, y < box.south, y > box.north])
    seen = ~(sides[:, 1:] & sides[:, :-1]).any(axis=0)
    steps = np.flatnonzero(np.diff(seen, prepend=False, append=False))
    return [line[start : end + 1] for start, end in zip(steps[::2], steps[1::2], strict=True)]


def plain_lines(lon: Array, lat: Array) -> list[list[list[float]]]:
    """The lines around places as plain data, hundredths of a degree; longitudes are without a jump."""
    found = outline(Box.around(lon, lat)).values()
    return [np.round(line, 2).tolist() for lines in found for line in lines]
