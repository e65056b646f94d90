"""Stations from Meteostat: answers of its JSON API. Its tables are a known header, see `columns.LAYOUTS`.

`stations/meta` describes a station: `data` is an object with `id`, `name` (`en`), `country` and `location`
(`latitude`, `longitude`). `stations/hourly` tells its readings: `data` is a list of objects with `time`
("2026-03-01 12:00:00", UTC), `temp` and `dwpt` in degC, `rhum` in percent and `wspd` in km/h, but not of
which station. A file holds such answers a line each, every station's description before its readings.
Meteostat's data are licensed under Creative Commons, some of them for uses that earn nothing alone: read its
terms, and name it as the source.
"""

from __future__ import annotations

import json
import os
from typing import Any, Unpack

import numpy as np
import pandas as pd

from simulators.files.text_file import lines
from simulators.stations.columns import drop_elsewhere
from simulators.stations.gather import Which, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.json_records import JSON_LINE, scalar
from simulators.stations.station_set import Stations

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


def read_meteostat(
    path: str | os.PathLike[str],
    *,
    country: str | None = None,
    encoding: str | None = None,
    **which: Unpack[Which],
) -> tuple[Stations, ImportReport]:
    """Read stations from a file of saved answers, plain or packed.

    Parameters
    ----------
    path : path
    country : str, optional
        Two letters; others are dropped.
    encoding, **which
        As for `simulators.stations.read_csv`; so are the results and the errors.

    Raises
    ------
    ValueError
        As there, and where readings come before the description of their station.
    """
    source = os.fspath(path)
    found: list[dict[str, Any]] = []
    rows: list[int] = []
    lost: list[bool] = []
    station: dict[str, Any] | None = None
    for row, line in enumerate(lines(path, encoding, JSON_LINE), start=1):
        if not line.strip():
            continue
        data = _data(line)
        if isinstance(data, dict):
            station = _described(data)
        elif isinstance(data, list):
            if station is None:
                raise ValueError(
                    f"{source}: row {row}: readings of no station; its stations/meta must come before"
                )
            for one in data:
                reading = one if isinstance(one, dict) else {}
                values = {quantity: scalar(reading, name) for quantity, name in READINGS.items()}
                found.append(station | {"time": scalar(reading, "time")} | values)
                rows.append(row)
                lost.append(False)
        else:
            found.append({})
            rows.append(row)
            lost.append(True)
    if not any(not bad for bad in lost):
        raise ValueError(f"{source}: row 1: there are no readings (stations/hourly)")
    columns = ["id", "name", "country", "lon", "lat", "elevation", "time", *READINGS]
    cells = pd.DataFrame(found, columns=columns, dtype=object)
    journal = Journal(np.array(rows, dtype=np.int64))
    journal.note("dropped", np.array(lost), "line is no answer of Meteostat")
    drop_elsewhere(cells, country, journal, source)
    return gather(cells.drop(columns="country"), journal, source=source, units=UNITS, **which)


def _data(line: str) -> Any:
    """What an answer holds; None where a line is none."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return answer.get("data") if isinstance(answer, dict) else None


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
