"""Stations from OpenWeatherMap's bulk files of current weather: a JSON object a line, plain or gzip.

A line holds `city` (`id`, `name`, `country`, `coord`), `time` in Unix seconds, `main`
(`temp`, `humidity`) and `wind` (`speed`); an answer of the current-weather API holds the same a level
higher (`id`, `name`, `sys.country`, `coord`, `dt`). The paper's sensors are those of 14 March 2017
in the US. The data are licensed by OpenWeather: mention it, and share what is derived from them alike.
"""

from __future__ import annotations

import json
import os
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from simulators.contract.validation import choice
from simulators.files.text_file import lines
from simulators.stations.gather import Which, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.station_set import Stations

_UNITS = {
    "standard": {"temperature": "K", "wind": "m/s"},
    "metric": {"temperature": "degC", "wind": "m/s"},
    "imperial": {"temperature": "degF", "wind": "mph"},
}

_FIELDS = {
    "id": (("city", "id"), ("id",)),
    "name": (("city", "name"), ("name",)),
    "country": (("city", "country"), ("sys", "country")),
    "lon": (("city", "coord", "lon"), ("coord", "lon")),
    "lat": (("city", "coord", "lat"), ("coord", "lat")),
    "time": (("time",), ("dt",)),
    "temperature": (("main", "temp"),),
    "humidity": (("main", "humidity"),),
    "wind": (("wind", "speed"),),
}


def is_openweathermap(path: str | os.PathLike[str]) -> bool:
    """Whether a file, plain or gzip, begins with a JSON object."""
    return next((line for line in lines(path) if line.strip()), "").lstrip().startswith("{")


def read_openweathermap(
    path: str | os.PathLike[str],
    *,
    country: str | None = None,
    units: Literal["standard", "metric", "imperial"] = "standard",
    **which: Unpack[Which],
) -> tuple[Stations, ImportReport]:
    """Read stations from an OpenWeatherMap bulk file.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    country : str, optional
        Two letters; rows of other countries are dropped. The paper's 2,906 sensors are those of `"US"` and
        there of `stations.within(-130, -90, 180, 90)`.
    units : {"standard", "metric", "imperial"}
        OpenWeatherMap's names for K and m/s (the bulk files), degC and m/s, degF and mph.
    **which
        `at` and `repeated_places`, as for `simulators.stations.read_csv`; so are the results and the errors.
    """
    declared = choice("units", units, tuple(_UNITS))
    rows, records, broken = [], [], []
    for row, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # the latter of thousands of lists in one another
            record = None
        rows.append(row)
        broken.append(not isinstance(record, dict))
        records.append({name: _field(record, paths) for name, paths in _FIELDS.items()})
    source = os.fspath(path)
    if not rows:
        raise ValueError(f"{source}: row 1: there are no rows of data")
    cells = pd.DataFrame(records, dtype=object)
    journal = Journal(np.array(rows))
    journal.note("dropped", np.array(broken), "line is not a JSON object")
    if country is not None:
        elsewhere = (cells["country"] != country).to_numpy(dtype=bool)
        journal.note("dropped", elsewhere, f"country is not {country!r}")
    return gather(
        cells.drop(columns="country"),
        journal,
        source=source,
        units={**_UNITS[declared], "humidity": "percent", "time": "unix"},
        **which,
    )


def _field(record: Any, paths: tuple[tuple[str, ...], ...]) -> Any:
    """The first scalar that is there, or None."""
    for path in paths:
        value = record
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return value
    return None
