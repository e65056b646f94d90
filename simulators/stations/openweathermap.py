"""Stations from OpenWeatherMap's bulk files of current weather: a JSON object a line, plain or packed.

A line holds `city` (`id`, `name`, `country`, `coord`), `time` in Unix seconds, `main`
(`temp`, `humidity`) and `wind` (`speed`); an answer of the current-weather API holds the same a level
higher (`id`, `name`, `sys.country`, `coord`, `dt`), one for several cities a `list` of them. The paper's
sensors are those of 14 March 2017 in the US. The data are licensed by OpenWeather: mention it, and share what
is derived from them alike.
"""

from __future__ import annotations

import os
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from simulators.arrays import Array
from simulators.contract.validation import choice
from simulators.stations.cells import numbers
from simulators.stations.columns import drop_elsewhere
from simulators.stations.gather import Which, gather
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.json_records import first_of, read_records, scalar
from simulators.stations.station_set import Stations

System = Literal["standard", "metric", "imperial"]

SYSTEMS: dict[str, dict[str, str]] = {
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


def is_openweathermap(records: list[Any]) -> bool:
    """Whether the records of a JSON file are of OpenWeatherMap."""
    first = first_of(records)
    return "main" in first and ("coord" in first or "city" in first)


def read_openweathermap(
    path: str | os.PathLike[str],
    *,
    country: str | None = None,
    units: System | None = None,
    encoding: str | None = None,
    **which: Unpack[Which],
) -> tuple[Stations, ImportReport]:
    """Read stations from an OpenWeatherMap bulk file.

    Parameters
    ----------
    path : path
        The file, plain or packed.
    country : str, optional
        Two letters; rows of other countries are dropped. The paper's 2,906 sensors are those of `"US"` and
        there of `box=(-130, -90, 180, 90)`.
    units : {"standard", "metric", "imperial"}, optional
        OpenWeatherMap's names for K and m/s (the bulk files), degC and m/s, degF and mph. Left out, standard
        if the median temperature can be one in K, or else metric up to a median of 45, and imperial above;
        the report says so.
    encoding, **which
        As for `simulators.stations.read_csv`; so are the results and the errors.
    """
    if units is not None:
        choice("units", units, tuple(SYSTEMS))
    records, rows, broken, _ = read_records(path, encoding)
    cells = pd.DataFrame(
        [{name: _field(record, paths) for name, paths in _FIELDS.items()} for record in records], dtype=object
    )
    journal = Journal(rows)
    source = os.fspath(path)
    journal.note("dropped", np.array(broken), "line is not a JSON object")
    drop_elsewhere(cells, country, journal, source)
    system = units or _system(numbers(cells["temperature"])[0], journal)
    return gather(
        cells.drop(columns="country"),
        journal,
        source=source,
        units={**SYSTEMS[system], "humidity": "percent", "time": "unix"},
        **which,
    )


def _system(temperature: Array, journal: Journal) -> str:
    """The system of units in which temperatures are, as far as they tell."""
    known = temperature[np.isfinite(temperature) & journal.alive]
    if not len(known) or np.median(known) > 150.0:
        return "standard"
    median = float(np.median(known))
    system = "metric" if median <= 45.0 else "imperial"
    unit = " and ".join(SYSTEMS[system].values())
    journal.remark(
        f'temperatures around {median:g} are not K: read as {unit}; units = "imperial" or "metric" says which'
    )
    return system


def _field(record: Any, paths: tuple[tuple[str, ...], ...]) -> Any:
    """The first scalar that is there, or None."""
    return next((value for path in paths if (value := scalar(record, *path)) is not None), None)
