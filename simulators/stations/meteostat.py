"""Stations from Meteostat: answers of its JSON API. Its tables are a known header, see `columns.LAYOUTS`.

`stations/meta` describes a station: `data` is an object with `id`, `name` (`en`), `country` and `location`
(`latitude`, `longitude`). `stations/hourly` tells its readings: `data` is a list of objects with `time`
("2026-03-01 12:00:00", UTC), `temp` and `dwpt` in degC, `rhum` in percent and `wspd` in km/h, but not of
which station. A file holds such answers a line each, every station's description before its readings.
Meteostat's data are licensed under Creative Commons, some of them for uses that earn nothing alone: read its
terms, and name it as the source.
"""

from __future__ import annotations

import os
from typing import Any

from simulators.files.text_file import lines
from simulators.stations.json_records import JSON_LINE, Answer, parsed, scalar

READINGS = {"temperature": "temp", "dew_point": "dwpt", "humidity": "rhum", "wind": "wspd"}
UNITS = {
    "temperature": "degC",
    "dew_point": "degC",
    "humidity": "percent",
    "wind": "km/h",
    "elevation": "m",
}


def is_meteostat(first: Any) -> bool:
    """Whether the first line of a file, as JSON, is an answer of Meteostat's API."""
    return isinstance(first, dict) and "meta" in first and "data" in first


def meteostat(path: str | os.PathLike[str], encoding: str | None = None) -> Answer:
    """The readings of a file of saved answers; ValueError where their station comes after."""
    found: list[dict[str, Any]] = []
    rows: list[int] = []
    lost: list[bool] = []
    station: dict[str, Any] | None = None
    for row, line in enumerate(lines(path, encoding, JSON_LINE), start=1):
        if not line.strip():
            continue
        answer = parsed(line)
        data = answer.get("data") if isinstance(answer, dict) else None
        if isinstance(data, dict):
            station = _described(data)
            continue
        if isinstance(data, list) and station is None:
            raise ValueError(f"{path}: row {row}: readings of no station; its stations/meta must come before")
        readings = [_reading(one, station or {}) for one in data] if isinstance(data, list) else [{}]
        found += readings
        rows += [row] * len(readings)
        lost += [not isinstance(data, list)] * len(readings)
    return Answer(found, rows, lost, UNITS)


def _reading(one: Any, station: dict[str, Any]) -> dict[str, Any]:
    values = {quantity: scalar(one, name) for quantity, name in READINGS.items()}
    return station | {"time": scalar(one, "time")} | values


def _described(data: dict[str, Any]) -> dict[str, Any]:
    name = scalar(data, "name", "en")
    return {
        "id": scalar(data, "id"),
        "name": scalar(data, "name") if name is None else name,
        "country": scalar(data, "country"),
        "lon": scalar(data, "location", "longitude"),
        "lat": scalar(data, "location", "latitude"),
        "elevation": scalar(data, "location", "elevation"),
    }
