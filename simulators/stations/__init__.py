"""Weather stations: where they are and what they read at one moment, and importers of common formats.

Every importer returns the `Stations` and an `ImportReport` of what it read, dropped or clipped,
and why. What cannot be imported at all is a `ValueError` of one line that names the file and the row.
"""

from simulators.stations.any_source import StationOptions, default_snapshot, read_stations
from simulators.stations.data_frame import from_dataframe
from simulators.stations.delimited import read_csv
from simulators.stations.flags import RULES, Flag
from simulators.stations.iem_asos import read_iem_asos
from simulators.stations.import_report import Finding, ImportReport
from simulators.stations.ndbc import read_ndbc
from simulators.stations.openweathermap import read_openweathermap
from simulators.stations.quality import Quality
from simulators.stations.station_set import Stations

__all__ = [
    "RULES",
    "Finding",
    "Flag",
    "ImportReport",
    "Quality",
    "StationOptions",
    "Stations",
    "default_snapshot",
    "from_dataframe",
    "read_csv",
    "read_iem_asos",
    "read_ndbc",
    "read_openweathermap",
    "read_stations",
]
