"""Stations from METAR reports as the Aviation Weather Center's API answers in JSON or GeoJSON.

`https://aviationweather.gov/api/data/metar?bbox=S,W,N,E&format=json` is a list of objects: `icaoId`, `name`
("Kansas City Intl, MO, US"), `lat`, `lon`, `obsTime` in Unix seconds, `temp` and `dewp` in degC, `wspd` in
kt. With `format=geojson` the same are the `properties` of features, with `id` and `site` for names, `obsTime`
in ISO 8601 and the place as `coordinates`. Reports are a work of the US government in the public domain.
"""

from __future__ import annotations

import os
from typing import Any

from simulators.stations.json_records import Answer, first_of, read_records, scalar

UNITS = {"temperature": "degC", "dew_point": "degC", "wind": "kt", "elevation": "m"}


def is_aviation_weather(records: list[Any]) -> bool:
    """Whether the records of a JSON file are METAR reports of the Aviation Weather Center."""
    first = first_of(records)
    properties = first.get("properties")
    return "icaoId" in first or (isinstance(properties, dict) and {"id", "site", "wspd"} <= set(properties))


def aviation_weather(path: str | os.PathLike[str], encoding: str | None = None) -> Answer:
    """The reports of a saved answer; their country is the last part of the station's name."""
    records, rows, broken, _ = read_records(path, encoding)
    reports = [_cells(record) for record in records]
    unix = not any(isinstance(one["time"], str) and "T" in one["time"] for one in reports)
    return Answer(reports, rows, broken, UNITS | ({"time": "unix"} if unix else {}))


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
