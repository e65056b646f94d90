"""Longitudes without a jump in the middle of a map."""

from __future__ import annotations

import numpy as np

from optimizer.arrays import Array


def unwrapped(lon: Array) -> Array:
    """Longitudes (n,) such that the widest gap between places lies outside the map."""
    return unwrapped_as(lon, lon)


def unwrapped_as(lon: Array, places: Array) -> Array:
    """Longitudes (n,) turned as those of other places must be for their widest gap to lie outside the map."""
    ring = np.sort(places)
    start = ring[np.argmax(np.diff(ring, prepend=ring[-1] - 360.0))]
    turned: Array = (lon - start) % 360.0 + start
    return turned
