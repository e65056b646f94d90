"""Stations from the latest observations of the US National Data Buoy Center (NDBC), `latest_obs.txt`.

Words between spaces below a header that begins `#STN` and a line of units; MM is missing. `ATMP` and `DEWP`
are temperature and dew point in degC, `WSPD` the wind in m/s, the time UTC in five columns.
"""

from __future__ import annotations

import os
from typing import Unpack

import numpy as np
import pandas as pd

from simulators.files.text_file import lines
from simulators.stations.data_frame import from_rows
from simulators.stations.gather import Which
from simulators.stations.import_report import ImportReport
from simulators.stations.station_set import Stations

_COLUMNS = {
    "id": "STN",
    "lon": "LON",
    "lat": "LAT",
    "time": "time",
    "temperature": "ATMP",
    "dew_point": "DEWP",
    "wind": "WSPD",
}
_UNITS = {"temperature": "degC", "dew_point": "degC", "wind": "m/s", "time": "%Y %m %d %H %M"}
_TIME = ("YYYY", "MM", "DD", "hh", "mm")


def is_ndbc(first: str) -> bool:
    """Whether the first line of a text is that of NDBC's latest observations."""
    return first.startswith("#STN")


def read_ndbc(
    path: str | os.PathLike[str], *, encoding: str | None = None, **which: Unpack[Which]
) -> tuple[Stations, ImportReport]:
    """Read stations from NDBC's `latest_obs.txt`, plain or packed; the options are those of `read_csv`."""
    numbered = [(row, line.split()) for row, line in enumerate(lines(path, encoding), 1) if line.strip()]
    header = [name.lstrip("#") for name in numbered[0][1]]
    for name in (*_TIME, *(column for column in _COLUMNS.values() if column != "time")):
        if name not in header:
            raise ValueError(f"{path}: row 1: no column {name}; is it NDBC's latest_obs.txt?")
    data = [(row, words) for row, words in numbered[1:] if not words[0].startswith("#")]
    if not data:
        raise ValueError(f"{path}: row 1: there are no rows below the header")
    fits = [(row, words) for row, words in data if len(words) == len(header)]
    if len(fits) < len(data):
        row = next(row for row, words in data if len(words) != len(header))
        raise ValueError(f"{path}: row {row}: not the {len(header)} words of the header")
    frame = pd.DataFrame([words for _, words in fits], columns=header, dtype="string")
    frame["time"] = frame[list(_TIME)].agg(" ".join, axis=1)
    rows = np.array([row for row, _ in fits], dtype=np.int64)
    return from_rows(frame, rows, _COLUMNS, _UNITS, source=os.fspath(path), **which)
