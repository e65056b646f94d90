"""Stations that are not where they say: at 0/0, or among the others once a sign or an order is turned.

What has the same fault in every row cannot be seen from the places alone; `remarks` tells of what is odd
about a whole column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.spatial import cKDTree

from simulators.arrays import Array, Mask
from simulators.stations.flags import Flags
from simulators.stations.sphere import points_on_sphere

FEWEST = 10
"""Stations below which nothing is said of a region that all others share."""

TURNS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "the sign of the longitude is turned": lambda lon, lat: (-lon, lat),
    "the sign of the latitude is turned": lambda lon, lat: (lon, -lat),
    "both signs are turned": lambda lon, lat: (-lon, -lat),
    "longitude and latitude change places": lambda lon, lat: (lat, lon),
    "they change places and the longitude's sign is turned": lambda lon, lat: (-lat, lon),
}
"""Ways in which a place may have gone wrong, by what mends it."""


def check_places(flags: Flags, rows: Mask, lon: Array, lat: Array) -> Mask:
    """Flag the rows at 0/0, and those outside the region of the others that a turn would bring there.

    The region reaches, in longitude and latitude, from the 15th to the 85th percentile and as far again on
    either side: less than a seventh of the stations may lie wrong.

    Returns
    -------
    (n,) array of bool
        Rows outside that region which no turn brings there: islands, or places with a fault of their own.
    """
    apart = np.zeros(len(lon), dtype=bool)
    nowhere = np.full(len(lon), np.nan)
    zero = rows & (lon == 0.0) & (lat == 0.0)
    flags.add("place", zero, "place", "longitude and latitude are both 0", nowhere)
    at = np.flatnonzero(rows & ~flags.flagged)
    if len(at) < FEWEST:
        return apart
    middle = _middle(lon[at])
    inside = _region(_turned(lon[at], middle), lat[at])
    away = at[~inside(_turned(lon[at], middle), lat[at])]
    home = np.setdiff1d(at, away)
    if not len(away) or len(home) < FEWEST:
        return apart
    tree = cKDTree(points_on_sphere(lon[home], lat[home]))
    usual = np.median(tree.query(points_on_sphere(lon[home], lat[home]), 4)[0][:, 3])
    for words, turn in TURNS.items():
        x, y = turn(lon[away], lat[away])
        possible = (np.abs(y) <= 90.0) & inside(_turned(x, middle), y)
        gap, _ = tree.query(points_on_sphere(x, np.clip(y, -90, 90)))
        wrong = np.zeros(len(lon), dtype=bool)
        wrong[away[possible & (gap <= max(3.0 * usual, 100.0))]] = True
        why = f"lies far from the others, and among them if {words}"
        flags.add("place", wrong, "place", why, nowhere)
    apart[away] = ~flags.flagged[away]
    return apart


def _middle(lon: Array) -> float:
    """The direction in which most longitudes lie, degrees."""
    return float(np.degrees(np.angle(np.exp(1j * np.radians(lon)).sum())))


def _turned(lon: Array, middle: float) -> Array:
    turned: Array = (lon - middle + 180.0) % 360.0 - 180.0
    return turned


def _region(*columns: Array) -> Callable[..., Mask]:
    """A test of places for being in the region of those given."""
    limits = []
    for values in columns:
        low, high = np.percentile(values, [15, 85])
        limits.append((low - (high - low) - 1.0, high + (high - low) + 1.0))

    def inside(*places: Array) -> Mask:
        within = [(x >= low) & (x <= high) for x, (low, high) in zip(places, limits, strict=True)]
        return np.asarray(within[0] & within[1])

    return inside


def remarks(lon: Array, lat: Array, ids: list[str]) -> Iterator[str]:
    """What is odd about the places of a whole table, in sentences."""
    if len(lon) >= 30 and _looks_like_minutes(lon) and _looks_like_minutes(lat):
        yield (
            "no longitude or latitude has hundredths of 60 or more: "
            "they look like degrees and minutes (40.30 for 40 degrees 30 minutes)"
        )
    american = [len(name) == 4 and name[0] == "K" and name.isalnum() for name in ids]
    if len(ids) >= 5 and sum(american) > len(ids) / 2 and (lon[american] > 0).all():
        yield "longitudes of stations with ids of the US (K...) are positive: they look positive to the west"


def _looks_like_minutes(degrees: Array) -> bool:
    hundredths = np.abs(degrees) * 100.0
    whole = np.round(hundredths)
    return bool((np.abs(hundredths - whole) < 1e-6).all() and (whole % 100 < 60).all() and (whole % 10).any())
