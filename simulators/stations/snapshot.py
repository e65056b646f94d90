"""The stations that come with the package."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files

from simulators.stations.delimited import read_csv
from simulators.stations.import_report import ImportReport
from simulators.stations.layouts import LAYOUTS
from simulators.stations.station_set import Stations

FILE = "noaa_metar_conus_20071014T1450Z.csv"


def default_snapshot() -> Stations:
    """Return the default snapshot: 1,439 stations of the contiguous US, 14 October 2007, 14:50 to 15:50 UTC.

    METAR reports of NOAA's National Weather Service, a work of the US government in the public domain; the
    reports were archived in the source distribution of pymetar 1.4. Relative humidity is given in whole
    percent, wind in whole mph, 0 for calm.

    Returns
    -------
    Stations
        The same object at every call; its arrays cannot be written to.
    """
    return read_snapshot()[0]


@cache
def read_snapshot() -> tuple[Stations, ImportReport]:
    """Return the default snapshot and the report of its import; read once.

    Returns
    -------
    stations : Stations
    report : ImportReport
    """
    with as_file(files("simulators") / "data" / FILE) as path:
        stations, report = read_csv(path, *LAYOUTS["noaa-metar"])
    return stations, replace(report, source=FILE)
