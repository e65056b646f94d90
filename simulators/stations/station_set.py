"""A set of weather stations with one reading each, in one set of units."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Array, Mask, Rows

LIMITS = {
    "lon": (-180.0, 180.0),
    "lat": (-90.0, 90.0),
    "temperature": (180.0, 335.0),
    "humidity": (0.0, 100.0),
    "wind": (0.0, 115.0),
}
"""What a place or a reading can be: degrees, K, percent, m/s.

The records on the ground are 184.0 K (Vostok 1983), 329.9 K (Death Valley 1913) and a gust of 113 m/s (Barrow
Island 1996), says the World Meteorological Organization's archive of extremes.
"""


@dataclass(frozen=True, eq=False)
class Stations:
    """Stations and what they read: temperature, humidity and wind (paper, section 8.2.3).

    Attributes
    ----------
    ids : (n,) array of str
        Unique.
    names : (n,) array of str
        "" where unknown.
    lon, lat : (n,) array
        Degrees east in -180..180 and degrees north.
    time : (n,) array of datetime64[s]
        Of the reading, UTC; NaT where unknown.
    temperature : (n,) array
        K.
    humidity : (n,) array
        Relative humidity, percent in 0..100.
    wind : (n,) array
        Wind speed, m/s.
    elevation : (n,) array
        m above the sea; nan where unknown, as it is everywhere unless given.

    Raises
    ------
    ValueError
        No station, lengths that differ, an id twice, or a value that is missing or impossible; names the
        station.
    """

    ids: NDArray[np.str_]
    names: NDArray[np.str_]
    lon: Array
    lat: Array
    time: NDArray[np.datetime64]
    temperature: Array
    humidity: Array
    wind: Array
    elevation: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.elevation is None:
            object.__setattr__(self, "elevation", np.full(len(self.ids), np.nan))
        dtypes = {"ids": "str", "names": "str", "time": "datetime64[s]"}
        for field in fields(self):
            array = np.array(getattr(self, field.name), dtype=np.dtype(dtypes.get(field.name, "float64")))
            array.flags.writeable = False
            object.__setattr__(self, field.name, array)
            if array.shape != (len(self.ids),):
                raise ValueError(
                    f"stations: {field.name} has shape {array.shape}; expected {(len(self.ids),)}"
                )
        if not len(self.ids):
            raise ValueError("stations: there is none")
        unique, counts = np.unique(self.ids, return_counts=True)
        for name in unique[counts > 1]:
            raise ValueError(f"stations: the id {str(name)!r} is there more than once")
        for quantity, (low, high) in LIMITS.items():
            values = getattr(self, quantity)
            for i in np.flatnonzero(~((values >= low) & (values <= high))):
                raise ValueError(
                    f"station {str(self.ids[i])!r}: {quantity} {values[i]:g} must be within {low:g}..{high:g}"
                )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def readings(self) -> Array:
        """(n, 3) array: temperature in K, humidity in percent, wind in m/s. Cannot be written to."""
        readings = np.stack([self.temperature, self.humidity, self.wind], axis=1)
        readings.flags.writeable = False
        return readings

    @property
    def central_longitude(self) -> float:
        """The middle of the narrowest range of longitudes that holds all stations: where to centre a map.

        The range may cross the antimeridian.
        """
        lon = np.unique(self.lon)
        gaps = np.diff(lon, append=lon[0] + 360.0)
        widest = int(gaps.argmax())
        middle = lon[widest] + gaps[widest] / 2.0 + 180.0
        return float((middle + 180.0) % 360.0 - 180.0)

    @property
    def crosses_antimeridian(self) -> bool:
        """Whether the narrowest range of longitudes that holds all stations includes 180 degrees."""
        lon = np.unique(self.lon)
        return bool(len(lon) > 1 and np.diff(lon).max() > 360.0 - (lon[-1] - lon[0]))

    def take(self, rows: Rows | Mask | list[int]) -> Stations:
        """The stations of some rows, none of them twice."""
        return Stations(*(getattr(self, field.name)[rows] for field in fields(self)))

    def inside(self, west: float, south: float, east: float, north: float) -> Mask:
        """Which stations are in a box of degrees, limits included; it crosses 180 degrees if west > east."""
        return in_box(self.lon, self.lat, west, south, east, north)

    def within(self, west: float, south: float, east: float, north: float) -> Stations:
        """The stations in a box, as `inside`; ValueError if no station is there."""
        inside = self.inside(west, south, east, north)
        if not inside.any():
            raise ValueError(
                f"no station lies within {west:g}..{east:g} degrees east, {south:g}..{north:g} north"
            )
        return self.take(inside)

    def named_places(self) -> list[list[Any]]:
        """Longitude, latitude, id and name of every station, as plain data."""
        columns = (self.lon, self.lat, self.ids, self.names)
        return [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def to_dataframe(self) -> pd.DataFrame:
        """A row a station, with the attributes as columns."""
        return pd.DataFrame({field.name: getattr(self, field.name) for field in fields(self)})


def in_box(lon: Array, lat: Array, west: float, south: float, east: float, north: float) -> Mask:
    """Which places lie in a box of degrees, limits included; it crosses 180 degrees if west > east."""
    across = (lon >= west, lon <= east)
    inside = across[0] & across[1] if west <= east else across[0] | across[1]
    return np.asarray(inside & (lat >= south) & (lat <= north))
