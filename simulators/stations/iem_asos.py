"""Stations from the ASOS/AWOS/METAR export of the Iowa Environmental Mesonet (IEM).

The export (mesonet.agron.iastate.edu, "ASOS-AWOS-METAR Data Download") is comma or tab delimited text. It may
begin with comment lines, one of which names the time zone; M, null or an empty cell is a missing value;
`tmpf` and `dwpf` are temperature and dew point in degF, `relh` the relative humidity in percent,
`sknt` the wind in knots. Places are there when it was asked for with latitude and longitude
(`latlon=yes`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Unpack

from simulators.stations.delimited import from_table, read_table
from simulators.stations.gather import TableOptions
from simulators.stations.import_report import ImportReport
from simulators.stations.station_set import Stations

# Of each quantity, the columns that may hold it and their units; the first that is there is taken.
_COLUMNS = {
    "temperature": (("tmpf", "degF"), ("tmpc", "degC")),
    "dew_point": (("dwpf", "degF"), ("dwpc", "degC")),
    "humidity": (("relh", "percent"),),
    "wind": (("sknt", "kt"), ("sped", "mph")),
    "elevation": (("elevation", "m"),),
}

_ZONE = re.compile(r"#DEBUG: *Time Zone *-> *(\S+)")


def is_iem_asos(header: Sequence[str]) -> bool:
    """Whether the names of the columns are those of an IEM ASOS export."""
    return "station" in header and any(name.startswith("valid") for name in header)


def read_iem_asos(
    path: str | os.PathLike[str], *, encoding: str | None = None, **options: Unpack[TableOptions]
) -> tuple[Stations, ImportReport]:
    """Read stations from an IEM ASOS export, plain or packed.

    Parameters
    ----------
    path : path
        The file, with the columns station, valid, lon, lat, tmpf (or tmpc), relh or dwpf (or dwpc) or both,
        and sknt (or sped).
    encoding, **options
        As for `simulators.stations.read_csv`. Without a `time_zone` that of the file's own comment counts. An
        export covers hours or days: `at` picks one. So are the results and the errors.
    """
    table = read_table(path, encoding=encoding)
    columns = {"id": "station", "lon": "lon", "lat": "lat"}
    units = {}
    valid = [name for name in table.header if name.startswith("valid")]  # once "valid(UTC)"
    if valid:
        columns["time"] = valid[0]
    for quantity, choices in _COLUMNS.items():
        there = [(name, unit) for name, unit in choices if name in table.header]
        if there:
            columns[quantity], units[quantity] = there[0]
    where = f"{path}: row {table.header_row}"
    for quantity in ("temperature", "wind"):
        if quantity not in columns:
            names = " or ".join(name for name, _ in _COLUMNS[quantity])
            raise ValueError(f"{where}: no column {names} for {quantity}; is it an IEM ASOS export?")
    if "humidity" not in columns and "dew_point" not in columns:
        raise ValueError(f"{where}: no column relh or dwpf; export one of them")
    if not {"lon", "lat"} <= set(table.header):
        raise ValueError(f"{where}: no columns lon and lat; export with latitude and longitude (latlon=yes)")
    if valid and options.get("time_zone") is None:
        zones = (_ZONE.match(line) for line in table.comments)
        options["time_zone"] = next((zone.group(1) for zone in zones if zone), None)
    return from_table(table, columns, units, source=os.fspath(path), **options)
