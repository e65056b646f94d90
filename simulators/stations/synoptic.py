"""Stations from answers of Synoptic Data's Mesonet API in JSON: the services `latest` and `timeseries`.

An answer holds a list `STATION`, whose objects have `STID`, `NAME`, `COUNTRY`, `LONGITUDE`, `LATITUDE` and
`OBSERVATIONS`. Of `latest` these are `air_temp_value_1` and so on, each with `value` and `date_time`; of
`timeseries` lists `date_time`, `air_temp_set_1` and so on, of which every entry is a reading. Derived values
(`.._1d`) stand in where measured ones are missing. `UNITS` declares degC or degF, m/s, mph, km/h or kt; left
out, they are degC and m/s. Elevations are in
feet, unless it declares m. The data are licensed by Synoptic Data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from simulators.stations.json_records import Answer, first_of, read_records, scalar

VARIABLES = {
    "temperature": "air_temp",
    "humidity": "relative_humidity",
    "dew_point": "dew_point_temperature",
    "wind": "wind_speed",
}

_DEGREES = {"Celsius": "degC", "Fahrenheit": "degF", "Kelvin": "K", "K": "K", "C": "degC", "F": "degF"}
_SPEEDS = {
    "m/s": "m/s",
    "meters/second": "m/s",
    "mph": "mph",
    "miles/hour": "mph",
    "kph": "km/h",
    "km/h": "km/h",
    "knots": "kt",
    "kts": "kt",
    "kt": "kt",
}
NAMES = {"temperature": _DEGREES, "dew_point": _DEGREES, "wind": _SPEEDS}
USUAL = {"temperature": "degC", "dew_point": "degC", "humidity": "percent", "wind": "m/s", "elevation": "ft"}


def is_synoptic(records: list[Any]) -> bool:
    """Whether the records of a JSON file are stations of Synoptic Data."""
    first = first_of(records)
    return "STID" in first and isinstance(first.get("OBSERVATIONS"), dict)


def synoptic(path: str | os.PathLike[str], encoding: str | None = None) -> Answer:
    """The readings of a saved answer; ValueError where it declares a unit that is not known."""
    records, numbers, broken, around = read_records(path, encoding)
    units = USUAL | _declared(around, os.fspath(path))
    readings, rows, lost = [], [], []
    for record, row, bad in zip(records, numbers.tolist(), broken.tolist(), strict=True):
        for one in [{}] if bad else _readings(record):
            readings.append(one)
            rows.append(row)
            lost.append(bad)
    moist = [name for name in ("humidity", "dew_point") if any(one.get(name) is not None for one in readings)]
    unused = {"humidity", "dew_point"} - set(moist or ["humidity"])
    kept = [{name: value for name, value in one.items() if name not in unused} for one in readings]
    return Answer(kept, rows, lost, units)


def _readings(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The readings of one station: the latest, or all of a series."""
    fixed = {
        "id": scalar(record, "STID"),
        "name": scalar(record, "NAME"),
        "country": scalar(record, "COUNTRY"),
        "lon": scalar(record, "LONGITUDE"),
        "lat": scalar(record, "LATITUDE"),
        "elevation": scalar(record, "ELEVATION"),
    }
    observations = record.get("OBSERVATIONS")
    observations = observations if isinstance(observations, dict) else {}
    times = observations.get("date_time")
    if isinstance(times, list):
        series = {
            quantity: _series(observations, f"{name}_set_1", len(times))
            for quantity, name in VARIABLES.items()
        }
        for i, time in enumerate(times):
            yield fixed | {"time": time} | {quantity: values[i] for quantity, values in series.items()}
        return
    latest: dict[str, Any] = {"time": None}
    for quantity, name in VARIABLES.items():
        for suffix in ("_value_1", "_value_1d"):
            value = scalar(observations, f"{name}{suffix}", "value")
            if latest.get(quantity) is None:
                latest[quantity] = value
        if quantity == "temperature":
            latest["time"] = scalar(observations, f"{name}_value_1", "date_time")
    yield fixed | latest


def _series(observations: dict[str, Any], name: str, length: int) -> list[Any]:
    for one in (name, f"{name}d"):
        values = observations.get(one)
        if isinstance(values, list) and len(values) == length:
            return values
    return [None] * length


def _declared(around: Any, source: str) -> dict[str, str]:
    """The units that an answer declares, by quantity."""
    told = around.get("UNITS") if isinstance(around, dict) else None
    if not isinstance(told, dict):
        return {}
    found = {}
    for quantity, known in NAMES.items():
        unit = told.get(VARIABLES[quantity])
        if unit is None:
            continue
        if unit not in known:
            given = f"{VARIABLES[quantity]} is in {str(unit)[:40]!r}"
            raise ValueError(f"{source}: UNITS: {given}; accepted: {', '.join(known)}")
        found[quantity] = known[unit]
    if told.get("elevation") in ("m", "ft"):
        found["elevation"] = told["elevation"]
    return found
