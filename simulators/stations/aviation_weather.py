"""Stations from METAR reports as the Aviation Weather Center's API answers in JSON or GeoJSON.

`https://aviationweather.gov/api/data/metar?bbox=S,W,N,E&format=json` is a list of objects: `icaoId`, `name`
("Kansas City Intl, MO, US"), `lat`, `lon`, `obsTime` in Unix seconds, `temp` and `dewp` in degC, `wspd` in
kt. With `format=geojson` the same are the `properties` of features, with `id` and `site` for names, `obsTime`
in ISO 8601 and the place as `coordinates`. Reports are a work of the US government in the public domain.
"""

from __future__ import annotations

import os
from typing import Any, Unpack

import numpy as np
import pandas as pd

from simulators.stations.columns import drop_elsewhere
from simulators.stations.gather import Which, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.json_records import read_records, scalar
from simulators.stations.station_set import Stations

UNITS = {"temperature": "degC", "dew_point": "degC", "wind": "kt", "elevation": "m"}


def is_aviation_weather(records: list[Any]) -> bool:
    """Whether the first record that says anything is a METAR report of the Aviation Weather Center."""
    first: dict[str, Any] = next((record for record in records if record), {})
    properties = first.get("properties")
    return "icaoId" in first or (isinstance(properties, dict) and {"id", "site", "wspd"} <= set(properties))


def read_aviation_weather(
    path: str | os.PathLike[str],
    *,
    country: str | None = None,
    encoding: str | None = None,
    **which: Unpack[Which],
) -> tuple[Stations, ImportReport]:
    """Read stations from a saved answer, plain or packed.

    Parameters
    ----------
    path : path
    country : str, optional
        The last part of a station's name, two letters; others are dropped.
    encoding, **which
        As for `simulators.stations.read_csv`; so are the results and the errors.
    """
    records, rows, broken, _ = read_records(path, encoding)
    cells = pd.DataFrame([_cells(record) for record in records], dtype=object)
    journal, source = Journal(rows), os.fspath(path)
    journal.note("dropped", np.array(broken), "no JSON object")
    drop_elsewhere(cells, country, journal, source)
    unix = not any(isinstance(time, str) and "T" in time for time in cells["time"])
    units = UNITS | ({"time": "unix"} if unix else {})
    return gather(cells.drop(columns="country"), journal, source=source, units=units, **which)


def _cells(record: dict[str, Any]) -> dict[str, Any]:
    """What is read of one report."""
    properties = record.get("properties")
    if isinstance(properties, dict):
        geometry = record.get("geometry")
        place = geometry.get("coordinates") if isinstance(geometry, dict) else None
        lon, lat = place[:2] if isinstance(place, list) and len(place) >= 2 else (None, None)
        report, ids, names = properties, ("id",), ("site",)
    else:
        report, ids, names = record, ("icaoId",), ("name",)
        lon, lat = scalar(report, "lon"), scalar(report, "lat")
    name = scalar(report, *names)
    parts = str(name or "").rsplit(",", 1)
    return {
        "id": scalar(report, *ids),
        "name": name,
        "country": parts[1].strip() if len(parts) == 2 else None,
        "lon": lon,
        "lat": lat,
        "time": scalar(report, "obsTime"),
        "temperature": scalar(report, "temp"),
        "dew_point": scalar(report, "dewp"),
        "wind": scalar(report, "wspd"),
        "elevation": scalar(report, "elev"),
    }
