"""What the stations around it say that a station should read: leave-one-out kriging from the nearest ones.

Ordinary kriging (an unknown mean for every neighbourhood) with the covariance exp(-d / length) and a nugget,
d the straight line through the Earth in km. Titanlib's spatial consistency test (Lussana, Uboldi and Salvati
2010, "A spatial consistency test for surface observations from mesoscale meteorological networks", QJRMS
136:1075) does the same by optimal interpolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from simulators.arrays import Array, Mask, Rows
from simulators.stations.sphere import points_on_sphere

LENGTHS = (50.0, 150.0, 400.0, 1000.0)
"""Length scales that are tried, km."""

NUGGETS = (0.1, 0.3, 1.0)
"""Nuggets that are tried, as shares of the sill."""

SAMPLE = 600
"""Stations on which the length scale and the nugget are chosen."""

BLOCK = 4096
"""Stations worked on together, which bounds the memory."""


class Covariance(NamedTuple):
    """Length scale in km, and the nugget as a share of the sill."""

    length: float
    nugget: float


class Neighbourhoods:
    """The nearest others of each station, of which the first so many that are trusted are asked.

    Parameters
    ----------
    lon, lat : (n,) array
        Degrees.
    asked : int
        Neighbours that say what a station should read.
    """

    def __init__(self, lon: Array, lat: Array, asked: int) -> None:
        self.points: Array = points_on_sphere(lon, lat)
        n = len(self.points)
        self.asked: int = min(asked, n - 1)
        known = min(2 * self.asked + 1, n)  # some of them may turn out to be wrong
        distance, near = cKDTree(self.points).query(self.points, known)
        # A station at the place of another need not be the first of its own list.
        own = near == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        self.near: NDArray[np.intp] = near[~own].reshape(n, known - 1)
        self.distance: Array = distance[~own].reshape(n, known - 1)

    def trusted(self, rows: Rows, trusted: Mask) -> tuple[NDArray[np.intp], Mask]:
        """The first neighbours (m, k) of some stations that are trusted, and which entries are there."""
        good = trusted[self.near[rows]]
        order = np.argsort(~good, axis=1, kind="stable")[:, : self.asked]
        return np.take_along_axis(self.near[rows], order, 1), np.take_along_axis(good, order, 1)

    def predict(
        self, values: Array, rows: Rows, trusted: Mask, covariance: Covariance
    ) -> tuple[Array, Array]:
        """What each of some stations should read by its trusted neighbours, and how uncertain that is.

        Returns
        -------
        mean : (m,) array
            nan where no neighbour is trusted.
        deviation : (m,) array
            Standard deviation of what is read about it, in units of the root of the sill.
        """
        mean, deviation = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            mean[part], deviation[part] = self._predict(values, rows[part], trusted, covariance)
        return mean, deviation

    def elsewhere(self, values: Array, places: Array, covariance: Covariance) -> tuple[Array, Array]:
        """What there should be at other places (m, 3), and how uncertain that is; as `predict`."""
        mean, deviation = np.empty((2, len(places)))
        tree, asked = cKDTree(self.points), min(self.asked + 1, len(self.points))
        for start in range(0, len(places), BLOCK):
            part = slice(start, start + BLOCK)
            _, near = tree.query(places[part], list(range(1, asked + 1)))
            everyone = np.ones(near.shape, dtype=bool)
            mean[part], deviation[part] = self._kriged(values, near, everyone, places[part], covariance)
        return mean, deviation

    def _predict(
        self, values: Array, rows: Rows, trusted: Mask, covariance: Covariance
    ) -> tuple[Array, Array]:
        return self._kriged(values, *self.trusted(rows, trusted), self.points[rows], covariance)

    def _kriged(
        self, values: Array, near: NDArray[np.intp], there: Mask, places: Array, covariance: Covariance
    ) -> tuple[Array, Array]:
        """Ordinary kriging at places (m, 3) from stations (m, k), of which some entries are not there."""
        m, k = near.shape
        points = self.points[near]
        squares = np.einsum("mki,mki->mk", points, points)
        between = squares[:, :, None] + squares[:, None, :] - 2.0 * points @ points.transpose(0, 2, 1)
        K = np.exp(-np.sqrt(np.maximum(between, 0.0)) / covariance.length)
        K[:, np.arange(k), np.arange(k)] = 1.0 + covariance.nugget
        # A neighbour that is not there is far from everything and has no say.
        K *= there[:, :, None] & there[:, None, :]
        K[:, np.arange(k), np.arange(k)] += ~there
        c = np.exp(-np.linalg.norm(points - places[:, None, :], axis=2) / covariance.length)
        right = np.stack([c * there, there.astype(float)], axis=2)
        solved = np.linalg.solve(K, right)
        ones = there.astype(float)
        total = np.einsum("mk,mk->m", ones, solved[:, :, 1])
        with np.errstate(invalid="ignore", divide="ignore"):
            missing = (1.0 - np.einsum("mk,mk->m", ones, solved[:, :, 0])) / total
        weights = solved[:, :, 0] + missing[:, None] * solved[:, :, 1]
        mean = np.einsum("mk,mk->m", weights, values[near] * there)
        variance = 1.0 + covariance.nugget - np.einsum("mk,mk->m", weights, c * there) + missing
        return mean, np.sqrt(np.maximum(variance, 1e-12))


def choose_covariance(neighbourhoods: Neighbourhoods, values: Array, trusted: Mask) -> Covariance:
    """The covariance under which a sample of stations is predicted best, by the median error.

    The median, for a station that is wrong must not choose. The sample is every so many of the stations.
    """
    rows = np.flatnonzero(trusted)
    rows = rows[:: max(1, len(rows) // SAMPLE)]

    def error(covariance: Covariance) -> float:
        mean, _ = neighbourhoods.predict(values, rows, trusted, covariance)
        return float(np.nanmedian(np.abs(values[rows] - mean)))

    return min((Covariance(length, nugget) for length in LENGTHS for nugget in NUGGETS), key=error)


def kriged(lon: Array, lat: Array, values: Array, x: Array, y: Array, asked: int = 16) -> tuple[Array, Array]:
    """What stations say of other places: kriging from the nearest ones, with a covariance chosen by them.

    Parameters
    ----------
    lon, lat, values : (n,) array
        Of the stations, three or more; degrees.
    x, y : (m,) array
        Longitude and latitude of the places.
    asked : int, default 16
        Stations that say what there is at a place.

    Returns
    -------
    mean, deviation : (m,) array
        The deviation is of what a station there would read; its scale is the robust one of the errors at the
        stations themselves.
    """
    around = Neighbourhoods(lon, lat, asked)
    every, trusted = np.arange(len(lon)), np.ones(len(lon), dtype=bool)
    covariance = choose_covariance(around, values, trusted)
    own, spread = around.predict(values, every, trusted, covariance)
    scale = 1.4826 * float(np.median(np.abs(values - own) / spread))
    mean, deviation = around.elsewhere(values, points_on_sphere(x, y), covariance)
    return mean, scale * deviation
