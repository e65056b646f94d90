"""Which column holds what, in which unit: as the user says, checked before anything is read, or as known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from policyloop.messages import did_you_mean, unknown_name
from simulators.stations.import_report import Journal
from simulators.stations.units import UNITS

PLACES = ("lon", "lat")
QUANTITIES = (
    *PLACES,
    "temperature",
    "humidity",
    "dew_point",
    "wind",
    "id",
    "name",
    "country",
    "time",
    "elevation",
)


def check_map(
    columns: Mapping[str, str],
    units: Mapping[str, str],
    available: Sequence[str],
    where: str,
    header: str = "",
) -> None:
    """Refuse a column, unit or quantity that is unknown or left out, with the nearest known one.

    `columns` and `units` are as for `read_csv`, `available` the names of the table's columns; `where` (the
    table) and `header` (its row, as in `"row 1: "`) are for messages.
    """
    for quantity in columns:
        if quantity not in QUANTITIES:
            raise ValueError(f"{where}: {unknown_name('quantity', quantity, QUANTITIES)}")
    for quantity in (*PLACES, "temperature", "wind"):
        if quantity not in columns:
            raise ValueError(f"{where}: no column is named for {quantity}")
    if "humidity" not in columns and "dew_point" not in columns:
        raise ValueError(f"{where}: no column is named for humidity or dew_point; one of them is needed")
    for quantity, column in columns.items():
        if not isinstance(column, str):
            raise ValueError(f"{where}: column {column!r} for {quantity} must be a name, in quotes")
        if column not in available:
            raise ValueError(
                f"{where}: {header}no column {column!r} for {quantity}{did_you_mean(column, available)} "
                f"(there are: {quoted(available)})"
            )
        if list(available).count(column) > 1:
            raise ValueError(f"{where}: {header}column {column!r} for {quantity} is there more than once")
        accepted = UNITS.get(quantity)
        if accepted and units.get(quantity) not in accepted:
            given = f"unit {units[quantity]!r}" if quantity in units else "no unit"
            raise ValueError(
                f"{where}: column {column!r} for {quantity} has {given}; accepted: {', '.join(accepted)}"
            )
    for quantity in units:
        if quantity not in columns:
            raise ValueError(f"{where}: a unit is given for {quantity!r}, but no column")


def drop_elsewhere(cells: pd.DataFrame, country: str | None, journal: Journal, source: str) -> None:
    """Drop the rows of other countries than the one asked for; ValueError where no column tells them."""
    if country is None:
        return
    if "country" not in cells:
        raise ValueError(f"{source}: country={country!r} has no effect: no column is named for country")
    there = cells["country"].astype("string").fillna("").str.strip()
    journal.note("dropped", (there != country).to_numpy(dtype=bool), f"country is not {country!r}")


def quoted(names: Sequence[str], most: int = 30, longest: int = 40) -> str:
    """Names or cells as a message quotes them: so many at most, and long ones cut."""
    short = [repr(name if len(name) <= longest else f"{name[: longest - 3]}...") for name in names[:most]]
    return ", ".join(short) + (f" and {len(names) - most} more" if len(names) > most else "")


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
    "meteostat": (
        {
            "id": "station",
            "name": "name",
            "country": "country",
            "lon": "longitude",
            "lat": "latitude",
            "time": "time",
            "temperature": "temp",
            "dew_point": "dwpt",
            "humidity": "rhum",
            "wind": "wspd",
        },
        {"temperature": "degC", "dew_point": "degC", "humidity": "percent", "wind": "km/h"},
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
"""Columns and units by name: the default snapshot, the bulk file of OpenWeatherMap as a table, Meteostat's
hourly readings joined with its list of stations, and `Stations.to_dataframe`."""


def known_layout(header: Sequence[str]) -> tuple[Mapping[str, str], Mapping[str, str]] | None:
    """The columns and units of a known table by the names of its columns, which may be more; or None.

    A column `elevation` is taken for metres, which all of these sources have.
    """
    found = next((layout for layout in LAYOUTS.values() if set(layout[0].values()) <= set(header)), None)
    if found is None or "elevation" not in header:
        return found
    return {**found[0], "elevation": "elevation"}, {**found[1], "elevation": "m"}
