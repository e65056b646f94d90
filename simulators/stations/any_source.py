"""Stations from whatever a user has: a file of any known format, a table, stations already read, or nothing.

Who has nothing gets the snapshot that comes with the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Any

import pandas as pd

from simulators.contract.validation import choice, number
from simulators.stations.columns import LAYOUTS, known_layout, quoted
from simulators.stations.data_frame import from_dataframe
from simulators.stations.delimited import read_csv, read_header
from simulators.stations.gather import Moment, RepeatedPlaces, TableOptions
from simulators.stations.iem_asos import is_iem_asos, read_iem_asos
from simulators.stations.import_report import ImportReport
from simulators.stations.openweathermap import is_openweathermap, read_openweathermap
from simulators.stations.station_set import Stations

FORMATS = ("csv", "openweathermap", "iem")

SNAPSHOT = "noaa_metar_conus_20071014T1450Z.csv"

Source = str | os.PathLike[str] | Stations | pd.DataFrame | None
Found = tuple[Stations, ImportReport]


class StationOptions(TableOptions, total=False):
    """Options of `read_stations`, for those who pass them on."""

    format: str | None
    columns: Mapping[str, str] | None
    units: Mapping[str, str] | None
    country: str | None
    box: Sequence[float] | None


def read_stations(
    data: Source = None,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    country: str | None = None,
    box: Sequence[float] | None = None,
    time_zone: str | None = None,
    at: Moment = None,
    repeated_places: RepeatedPlaces = "keep",
) -> Found:
    """The stations of any source. A file is read once, until it changes.

    Parameters
    ----------
    data : path, Stations, pandas.DataFrame or None
        None: the default snapshot.
    format : {"csv", "openweathermap", "iem"}, optional
        Of a file; left out, what its first line tells: a JSON object is OpenWeatherMap's, a header with
        `station` and `valid` the IEM's, anything else delimited text.
    columns, units : mapping, optional
        As for `read_csv`, of delimited text and data frames; left out, where the header is known.
    country : str, optional
        Two letters: stations of other countries are dropped, where the source tells the country
        (OpenWeatherMap's JSON lines).
    box : (west, south, east, north), optional
        Degrees; stations outside are dropped. It crosses the antimeridian if west is greater than east.
    time_zone, at, repeated_places
        As for `read_csv`.

    Returns
    -------
    stations : Stations
    report : ImportReport

    Raises
    ------
    ValueError
        What cannot be read, in one line that names the file and the row.
    """
    if format is not None:
        choice("format", format, FORMATS)
    for name, mapping in (("columns", columns), ("units", units)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise ValueError(f"{name}={mapping!r} must map quantities, as in {{wind = ...}}")
    options: TableOptions = {"time_zone": time_zone, "at": at, "repeated_places": repeated_places}
    if data is None:
        found = read_snapshot()
    elif isinstance(data, Stations):
        rows = tuple(range(1, len(data) + 1))
        found = data, ImportReport("stations", len(data), len(data), (), rows)
    elif isinstance(data, pd.DataFrame):
        names = [str(name) for name in data.columns]
        found = from_dataframe(data, *_layout(columns, units, names, "DataFrame"), **options)
    elif isinstance(data, str | os.PathLike):
        path = os.path.abspath(data)
        maps = tuple(None if m is None else tuple(m.items()) for m in (columns, units))
        found = _read_file(os.fspath(data), path, _stamp(path), format, maps, country, tuple(options.items()))
    else:
        raise ValueError(f"data must be a path, Stations, a DataFrame or None, not {type(data).__name__}")
    return found if box is None else _cut(found, box)


@lru_cache(maxsize=8)
def _read_file(
    name: str,
    path: str,
    stamp: Any,
    format: str | None,
    maps: tuple[tuple[tuple[str, str], ...] | None, ...],
    country: str | None,
    pairs: tuple[tuple[str, Any], ...],
) -> Found:
    """Read a file, or remember what was read; `path` and `stamp` tell whether it is the same."""
    columns, units = (None if m is None else dict(m) for m in maps)
    options = dict(pairs)
    if format is None and columns is None:
        if is_openweathermap(name):
            format = "openweathermap"
        elif is_iem_asos(read_header(name)):
            format = "iem"
    if format == "openweathermap":
        options.pop("time_zone")
        return read_openweathermap(name, country=country, **options)
    if format == "iem":
        return read_iem_asos(name, **options)
    layout = _layout(columns, units, read_header(name), f"{name}: row 1")
    return read_csv(name, *layout, **options)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None  # the importer says what is wrong
    return status.st_mtime_ns, status.st_size


def _layout(
    columns: Mapping[str, str] | None, units: Mapping[str, str] | None, header: Sequence[str], where: str
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The columns and units that are given, or those of a known header."""
    if columns is not None:
        return columns, units or {}
    known = known_layout(header)
    if known is None:
        raise ValueError(f"{where}: unknown header ({quoted(header)}); name its columns and their units")
    return known


def _cut(found: Found, box: Sequence[float]) -> Found:
    """The stations in a box, and the report with the others dropped."""
    if isinstance(box, str) or len(box) != 4:
        raise ValueError(f"box={box!r} must be four numbers of degrees: west, south, east, north")
    west, south, east, north = (number("box", side) for side in box)
    stations, report = found
    inside = stations.inside(west, south, east, north)
    where = f"{west:g}..{east:g} degrees east, {south:g}..{north:g} north"
    if not inside.any():
        raise ValueError(f"{report.source}: row {report.station_rows[0]}: no station lies within {where}")
    return stations.take(inside), report.without(~inside, f"outside {where}")


def default_snapshot() -> Stations:
    """The default snapshot: 1,439 stations of the contiguous US, 14 October 2007, 14:50 to 15:50 UTC.

    METAR reports of NOAA's National Weather Service, a work of the US government in the public domain; the
    reports were archived in the source distribution of pymetar 1.4. Relative humidity is given in whole
    percent, wind in whole mph, 0 for calm. It is the same object at every call.
    """
    return read_snapshot()[0]


@cache
def read_snapshot() -> Found:
    """The default snapshot and the report of its import; read once."""
    with as_file(files("simulators") / "data" / SNAPSHOT) as path:
        stations, report = read_csv(path, *LAYOUTS["noaa-metar"])
    return stations, replace(report, source=SNAPSHOT)
