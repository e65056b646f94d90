"""Stations from whatever a user has: a file of any known format, a table, stations already read, or nothing.

Who has nothing gets the snapshot that comes with the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Any, Unpack

import numpy as np
import pandas as pd

from simulators.contract.validation import choice
from simulators.files.text_file import kind_of, lines
from simulators.stations.aviation_weather import aviation_weather, is_aviation_weather
from simulators.stations.columns import LAYOUTS, known_layout, quoted
from simulators.stations.data_frame import from_dataframe, from_rows
from simulators.stations.delimited import read_csv, read_header
from simulators.stations.flags import Flags
from simulators.stations.gather import TableOptions, cut, report_of, sides_of
from simulators.stations.iem_asos import is_iem_asos, read_iem_asos
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.json_records import (
    first_record,
    flat,
    looks_like_json,
    read_answer,
    read_records,
)
from simulators.stations.meteostat import is_meteostat, meteostat
from simulators.stations.ndbc import is_ndbc, read_ndbc
from simulators.stations.openweathermap import is_openweathermap, read_openweathermap
from simulators.stations.quality import check_stations, quality_of
from simulators.stations.sheets import read_parquet, read_workbook
from simulators.stations.station_set import Stations
from simulators.stations.synoptic import is_synoptic, synoptic

FORMATS = (
    *("csv", "json", "workbook", "parquet", "openweathermap", "iem", "ndbc"),
    *("aviation-weather", "synoptic", "meteostat"),
)

SNAPSHOT = "noaa_metar_conus_20071014T1450Z.csv"

Source = str | os.PathLike[str] | Stations | pd.DataFrame | None
Found = tuple[Stations, ImportReport]

_ANSWERS = {"aviation-weather": aviation_weather, "synoptic": synoptic, "meteostat": meteostat}
"""Formats that are answers of a service, whose units and times are known."""

_SYSTEMATIC = ("openweathermap", "iem", "ndbc", *_ANSWERS)
"""Formats whose columns are known."""


class StationOptions(TableOptions, total=False):
    """Options of `read_stations`: how the stations are read and which are taken.

    Attributes
    ----------
    format : a name of `FORMATS`, optional
        Of a file; left out, what its first bytes and its first line tell.
    columns : table of quantity = "column", optional
        lon, lat, temperature, wind, and humidity or dew_point or both; id, name, country and time may be.
        Left out, where the header is known.
    units : table of quantity = "unit", optional
        temperature, dew_point: K, degC, degF; humidity: percent, fraction; wind: m/s, km/h, mph, kt; time:
        unix or a format of strptime. Alone, it changes those of a known header. Of OpenWeatherMap's files
        "standard", "metric" or "imperial".
    country : str, optional
        Stations of other countries are dropped, where the source tells the country.
    encoding : str, optional
        Of text; left out, what a byte-order mark says, UTF-8, or what it looks like.
    time_zone : str, optional
        Of times without an offset, such as "America/Chicago"; left out, they count as UTC.
    at : str or datetime, optional
        The moment, UTC unless it says otherwise; left out, the latest that most stations have.
    window : float, default 24
        Hours around that moment; readings outside are left out as stale.
    box : (west, south, east, north), optional
        Degrees; stations outside are dropped. It crosses the antimeridian if west is greater than east.
    repeated_places : {"keep", "drop"}, default "keep"
        What to do with all but the first of the stations at one place. They are reported either way.
    quality : "on", "off" or settings, default "on"
        The quality control: "off" for none, or some of buddy = 4.0, neighbours = 16, contradiction = 15.0,
        stuck = 6.0, spike = 20.0, places = true, leave_out = true (`simulators.stations.Quality`).
    """

    format: str | None
    columns: Mapping[str, str] | None
    units: Mapping[str, str] | str | None
    country: str | None
    encoding: str | None


class _Given(dict[str, Any]):
    """The options of an import, told apart by their values."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


def read_stations(data: Source = None, **options: Unpack[StationOptions]) -> Found:
    """The stations of any source. A file is read once, until it changes.

    Parameters
    ----------
    data : path, Stations, pandas.DataFrame or None
        None: the default snapshot.
    **options
        See `StationOptions`, and of the quality control `Quality`.

    Returns
    -------
    stations : Stations
        Without those that the quality control leaves out.
    report : ImportReport

    Raises
    ------
    ValueError
        What cannot be read, and an option that has no effect, in one line that names the file and the row.
    TypeError
        An unknown option.
    """
    unknown = set(options) - set(_accepted())
    if unknown:
        raise TypeError(f"read_stations() got an unexpected keyword argument {min(unknown)!r}")
    given = _Given({name: value for name, value in options.items() if value is not None})
    if "format" in given:
        choice("format", given["format"], FORMATS)
    if "columns" in given and not isinstance(given["columns"], Mapping):
        raise ValueError(f"columns={given['columns']!r} must map quantities, as in {{wind = ...}}")
    if isinstance(data, str | os.PathLike):
        path = os.path.abspath(data)
        return _read_file(os.fspath(data), path, _stamp(path), given)
    if data is None:
        _refuse("the default snapshot", given, "format", "encoding")
        with as_file(files("simulators") / "data" / SNAPSHOT) as path_:
            path = os.path.abspath(path_)
            return _read_file(SNAPSHOT, path, _stamp(path), given)
    if isinstance(data, Stations):
        return _checked(data, given)
    if isinstance(data, pd.DataFrame):
        _refuse("a DataFrame", given, "format", "encoding")
        layout = _layout(given, [str(name) for name in data.columns], "DataFrame")
        return from_dataframe(data, *layout, **given)
    raise ValueError(f"data must be a path, Stations, a DataFrame or None, not {type(data).__name__}")


def _accepted() -> list[str]:
    return [name for level in StationOptions.__mro__ for name in getattr(level, "__annotations__", {})]


def _refuse(what: str, given: Mapping[str, Any], *names: str) -> None:
    """Refuse options that have no effect on a source."""
    for name in names:
        if name in given:
            raise ValueError(f"{name}={given[name]!r} has no effect on {what}; leave it out")


@lru_cache(maxsize=8)
def _read_file(name: str, path: str, stamp: Any, given: _Given) -> Found:
    """Read a file, or remember what was read; `path` and `stamp` tell whether it is the same."""
    source = name
    name = path if name == SNAPSHOT else name
    options = dict(given)
    form = options.pop("format", None) or _format(name, options)
    if form in _SYSTEMATIC:
        _refuse(f"{source}, whose columns are known ({form})", options, "columns")
    if form in ("iem", "ndbc"):
        _refuse(f"{source} ({form})", options, "country", "units")
    if form in ("openweathermap", "ndbc"):
        _refuse(f"{source}, whose times are UTC ({form})", options, "time_zone")
    if form in ("workbook", "parquet"):
        _refuse(f"{source} ({form})", options, "encoding")
    if form in _ANSWERS:
        _refuse(f"{source} ({form})", options, "units", "time_zone")
        return read_answer(_ANSWERS[form], name, **options)
    if form == "openweathermap":
        return read_openweathermap(name, **options)
    if form == "iem":
        return read_iem_asos(name, **options)
    if form == "ndbc":
        return read_ndbc(name, **options)
    if form == "csv":
        columns = read_header(name, encoding=options.get("encoding"))
        found = read_csv(name, *_layout(options, columns, f"{source}: row 1"), **options)
        return found[0], replace(found[1], source=source)
    if form == "json":
        records, rows, broken, _ = read_records(name, options.pop("encoding", None))
        frame = flat(records)
        layout = _layout(options, list(map(str, frame.columns)), f"{source}: row 1")
        return from_rows(frame, rows, *layout, source=source, broken=broken, **options)
    frame, named = read_workbook(name) if form == "workbook" else (read_parquet(name), 0)
    rows = np.arange(named + 1, named + 1 + len(frame))
    layout = _layout(options, list(map(str, frame.columns)), f"{source}: row {max(named, 1)}")
    return from_rows(frame, rows, *layout, source=source, **options)


def _format(path: str, options: Mapping[str, Any]) -> str:
    """The format of a file by its first bytes, and of text by its first line."""
    kind = kind_of(path)
    if kind != "text":
        return kind
    encoding = options.get("encoding")
    if looks_like_json(path, encoding):
        if "columns" in options:
            return "json"
        if is_meteostat(first_record(path, encoding)):
            return "meteostat"
        records, _, broken, _ = read_records(path, encoding)
        if is_aviation_weather(records):
            return "aviation-weather"
        if is_synoptic(records):
            return "synoptic"
        return "openweathermap" if broken.all() or is_openweathermap(records) else "json"
    if is_ndbc(next(lines(path, encoding))):
        return "ndbc"
    known = "columns" not in options and is_iem_asos(read_header(path, encoding=encoding))
    return "iem" if known else "csv"


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None  # the importer says what is wrong
    return status.st_mtime_ns, status.st_size


def _layout(
    options: dict[str, Any], header: tuple[str, ...] | list[str], where: str
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Take columns and units from the options, and from a known header what they do not say."""
    columns, units = options.pop("columns", None), options.pop("units", None) or {}
    if not isinstance(units, Mapping):
        raise ValueError(f"units={units!r} must map quantities, as in {{wind = ...}}")
    if columns is not None:
        return columns, units
    known = known_layout(header)
    if known is None:
        raise ValueError(
            f"{where}: unknown header ({quoted(header)}); name its columns and their units: columns "
            "temperature=HEADING, humidity=.., wind=.., lat=.., lon=.., units temperature=degC, .."
        )
    return known[0], {**known[1], **units}


def _checked(stations: Stations, given: Mapping[str, Any]) -> Found:
    """Stations already read, after the quality control and a box."""
    names = ("format", "columns", "units", "country", "encoding", "time_zone", "at", "window")
    _refuse("stations that are already read", given, *names, "repeated_places")
    journal, settings = Journal(np.arange(1, len(stations) + 1)), quality_of(given.get("quality"))
    if "box" in given:
        cut(stations.lon, stations.lat, sides_of(given["box"]), journal, "stations")
    flags = Flags(len(stations), {})
    if settings is not None:
        check_stations(settings, flags, journal, stations.lon, stations.lat, stations.readings)
    every = {name: getattr(stations, name) for name in stations.__dataclass_fields__}
    found, report = report_of("stations", every, flags, settings, journal)
    return (stations if len(found) == len(stations) else found), report


@cache
def default_snapshot() -> Stations:
    """The default snapshot: 1,439 stations of the contiguous US, 14 October 2007, 14:50 to 15:50 UTC.

    METAR reports of NOAA's National Weather Service, a work of the US government in the public domain; the
    reports were archived in the source distribution of pymetar 1.4. Relative humidity is given in whole
    percent, wind in whole mph, 0 for calm. All of them, without a quality control. It is the same object at
    every call.
    """
    with as_file(files("simulators") / "data" / SNAPSHOT) as path:
        return read_csv(path, *LAYOUTS["noaa-metar"], quality="off")[0]
