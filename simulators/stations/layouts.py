"""Column maps of tables that are known by their header, so that nobody has to write them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LAYOUTS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "noaa-metar": (
        {
            "id": "station_id",
            "name": "name",
            "lon": "lon",
            "lat": "lat",
            "time": "time_utc",
            "temperature": "temp_f",
            "humidity": "rh_percent",
            "wind": "wind_mph",
        },
        {"temperature": "degF", "humidity": "percent", "wind": "mph"},
    ),
    "openweathermap-table": (
        {
            "id": "id",
            "name": "name",
            "lon": "lon",
            "lat": "lat",
            "time": "time_unix",
            "temperature": "temp_k",
            "humidity": "humidity_percent",
            "wind": "wind_speed_ms",
        },
        {"temperature": "K", "humidity": "percent", "wind": "m/s", "time": "unix"},
    ),
    "station-set": (
        {
            "id": "ids",
            "name": "names",
            "lon": "lon",
            "lat": "lat",
            "time": "time",
            "temperature": "temperature",
            "humidity": "humidity",
            "wind": "wind",
        },
        {"temperature": "K", "humidity": "percent", "wind": "m/s"},
    ),
}
"""Columns and units by name: the default snapshot, the bulk file of OpenWeatherMap as a table, and what
:meth:`simulators.stations.Stations.to_dataframe` makes."""


def known_layout(header: Sequence[str]) -> tuple[Mapping[str, str], Mapping[str, str]] | None:
    """Return the columns and units of a known table, or None.

    Parameters
    ----------
    header : sequence of str
        Names of the columns, some of which may not be mapped.

    Returns
    -------
    (columns, units) or None
    """
    return next((layout for layout in LAYOUTS.values() if set(layout[0].values()) <= set(header)), None)
