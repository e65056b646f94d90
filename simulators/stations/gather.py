"""From the cells of any source to stations and a report: the way of every import.

The order of the checks is the order of the reasons for which a row may be dropped: cells that are missing or
cannot be read, places and readings that cannot be, a dew point above the temperature, places outside a box,
times far from the moment, readings that jump, then stations that repeat. What is left is a station a row, of
which the quality control (`quality`) leaves out those that it finds wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd

from simulators.arrays import Array, Mask, Rows
from simulators.contract.validation import choice, number
from simulators.stations.cells import stripped
from simulators.stations.flags import Flags
from simulators.stations.humidity import contradicting, humidity_of
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.moments import Moment, Times, drop_stale, moment_of, note_span, times_of
from simulators.stations.place_check import remarks
from simulators.stations.quality import Quality, QualityOption, check_stations, quality_of
from simulators.stations.readable import drop_impossible, elevations, readable, reading
from simulators.stations.repeats import (
    contradicting_repeats,
    drop_repeated_stations,
    handle_repeated_places,
    one_spelling,
)
from simulators.stations.series_check import spikes, stuck
from simulators.stations.station_set import Stations, in_box

RepeatedPlaces = Literal["keep", "drop"]


class Which(TypedDict, total=False):
    """Which readings and stations an import keeps: options of all importers, see `StationOptions`."""

    at: Moment
    window: float | None
    box: Sequence[float] | None
    repeated_places: RepeatedPlaces
    quality: QualityOption


class TableOptions(Which, total=False):
    """Options of the importers of tables, see `StationOptions`."""

    time_zone: str | None


def gather(
    cells: pd.DataFrame,
    journal: Journal,
    *,
    source: str,
    units: Mapping[str, str],
    time_zone: str | None = None,
    at: Moment = None,
    window: float | None = None,
    box: Sequence[float] | None = None,
    repeated_places: RepeatedPlaces = "keep",
    quality: QualityOption = None,
) -> tuple[Stations, ImportReport]:
    """The stations that a table holds, and what became of its rows.

    Columns are named by quantity (`columns.QUANTITIES`) and hold text or numbers; some rows may be dropped in
    the journal already. Units and options are those of `read_csv`.
    """
    choice("repeated_places", repeated_places, ("keep", "drop"))
    moment, asked = moment_of(at), at is not None
    settings = quality_of(quality)
    hours = None if window is None else number("window", window, above=0)
    sides = None if box is None else sides_of(box)
    if "time" not in cells:
        given = {"at": at, "window": window, "time_zone": time_zone}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{source}: {name}={value!r} has no effect: no column is named for time")
    if not len(cells):
        raise ValueError(f"{source}: row 1: there are no rows of data")
    ids = stripped(cells["id"]) if "id" in cells else pd.Series(journal.rows.astype(str), index=cells.index)
    journal.note("dropped", (ids == "").to_numpy(dtype=bool), "id is missing")

    lon = _longitudes(cells, journal)
    lat = readable(cells, "lat", journal)
    _hint_at_swapped(lon, lat, journal)
    drop_impossible(cells, "lat", lat, journal)
    temperature = reading(cells, "temperature", units, journal)
    drop_impossible(cells, "temperature", temperature, journal, units)
    wind = reading(cells, "wind", units, journal)
    drop_impossible(cells, "wind", wind, journal, units)
    humidity, by_dew_point = humidity_of(cells, units, temperature, journal)
    if sides is not None:
        cut(lon, lat, sides, journal, source)
    place = pd.DataFrame({"lon": lon % 360.0, "lat": lat})
    # Nothing is computed with what is dropped: it may be any number.
    readings = np.stack([temperature, humidity, wind], axis=1)
    readings[~journal.alive] = np.nan
    time = times_of(cells, units, time_zone, journal, source)
    ids = one_spelling(ids, place, journal)
    flags = Flags(len(cells), units)
    try:
        moment = drop_stale(time, moment, hours, journal)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    if settings is not None:
        _check_rows(settings, flags, ids, time, readings, by_dew_point, journal)
    drop_repeated_stations(ids, time, moment, asked, journal)
    handle_repeated_places(place, readings, repeated_places, journal)
    note_span(time, journal)

    if not journal.alive.any():
        raise ValueError(_all_dropped(source, len(cells), journal))
    for text in remarks(lon[journal.alive], lat[journal.alive], ids[journal.alive].tolist()):
        journal.remark(text)
    if settings is not None:
        check_stations(settings, flags, journal, lon, lat, readings)
    names = stripped(cells["name"]) if "name" in cells else pd.Series("", index=cells.index)
    every: dict[str, Any] = {
        "ids": ids.to_numpy(dtype=np.str_),
        "names": names.to_numpy(dtype=np.str_),
        "lon": lon,
        "lat": lat,
        "time": time,
        "temperature": temperature,
        "humidity": humidity,
        "wind": wind,
        "elevation": elevations(cells, units, journal),
    }
    return report_of(source, every, flags, settings, journal)


def report_of(
    source: str,
    every: Mapping[str, Any],
    flags: Flags,
    settings: Quality | None,
    journal: Journal,
) -> tuple[Stations, ImportReport]:
    """The stations that are kept of the rows that are left, and the report with the others."""
    out = (
        flags.flagged & journal.alive
        if settings is not None and settings.leave_out
        else flags.flagged & False
    )
    kept, left_out = np.flatnonzero(journal.alive & ~out), np.flatnonzero(out)
    if not len(kept):
        raise ValueError(
            f"{source}: row {journal.rows[left_out[0]]}: the quality control leaves out all "
            f'{len(left_out)} stations; quality = "off" keeps them'
        )

    def taken(rows: Rows) -> Stations:
        return Stations(**{name: values[rows] for name, values in every.items()})

    stations = taken(kept)
    if stations.crosses_antimeridian:
        journal.remark(
            "stations lie on both sides of the antimeridian; "
            f"centre maps at {stations.central_longitude:g} degrees"
        )
    done: Literal["left out", "kept"] = "left out" if settings is None or settings.leave_out else "kept"
    report = ImportReport(
        source,
        len(journal.rows),
        len(stations),
        tuple(journal.findings),
        tuple(journal.rows[kept].tolist()),
        tuple(flags.listed(np.flatnonzero(journal.alive), every["ids"], journal.rows, done)),
        taken(left_out) if len(left_out) else None,
        "off" if settings is None else "on",
    )
    return stations, report


def _check_rows(
    settings: Quality,
    flags: Flags,
    ids: pd.Series[str],
    time: Times,
    readings: Array,
    by_dew_point: Array,
    journal: Journal,
) -> None:
    """The checks of rows, of which a station may have many."""
    if settings.spike:
        jumps = spikes(ids, time, readings[:, 0], journal.alive, settings.spike)
        why = f"spike: temperature jumps by more than {settings.spike:g} K an hour from the station's others"
        journal.note("dropped", jumps, why)
    if settings.contradiction:
        differ = contradicting(readings[:, 1], by_dew_point, journal.alive, settings.contradiction, journal)
        why = "humidity {value} where temperature and dew point make {expected}"
        flags.add("contradiction", differ, "humidity", why, readings[:, 1], by_dew_point)
        twice = contradicting_repeats(ids, time, readings, journal.alive)
        why = "temperature {value} in one of several rows of the same time, which differ"
        flags.add("contradiction", twice, "temperature", why, readings[:, 0])
    if settings.stuck:
        still = stuck(ids, time, readings[:, 0], journal.alive, settings.stuck)
        why = f"temperature has been {{value}} for {settings.stuck:g} hours or more"
        flags.add("stuck", still, "temperature", why, readings[:, 0])


def _longitudes(cells: pd.DataFrame, journal: Journal) -> Array:
    lon = readable(cells, "lon", journal)
    from_zero = (lon > 180.0) & (lon <= 360.0)
    journal.note("changed", from_zero, "longitude counted from 0 to 360, now from -180 to 180")
    lon = np.where(from_zero, lon - 360.0, lon)
    drop_impossible(cells, "lon", lon, journal)
    return lon


def _hint_at_swapped(lon: Array, lat: Array, journal: Journal) -> None:
    swapped: Mask = (np.abs(lat) > 90.0) & (np.abs(lat) <= 180.0) & (np.abs(lon) <= 90.0)
    journal.note("dropped", swapped, "lat is impossible: latitude and longitude seem to change places")


def sides_of(box: Sequence[float]) -> tuple[float, float, float, float]:
    """The four sides of a box, checked."""
    if isinstance(box, str) or len(box) != 4:
        raise ValueError(f"box={box!r} must be four numbers of degrees: west, south, east, north")
    west, south, east, north = (number("box", side) for side in box)
    return west, south, east, north


def cut(
    lon: Array, lat: Array, sides: tuple[float, float, float, float], journal: Journal, source: str
) -> None:
    """Drop the rows outside a box."""
    west, south, east, north = sides
    where = f"{west:g}..{east:g} degrees east, {south:g}..{north:g} north"
    inside = in_box(lon, lat, *sides)
    if journal.alive.any() and not (inside & journal.alive).any():
        hint = ""
        for words, x, y in (("the sign of longitudes turned", -lon, lat), ("lon and lat swapped", lat, lon)):
            if (turned := in_box(x, y, *sides) & journal.alive).any():
                hint = f"; with {words} {turned.sum()} would"
        raise ValueError(
            f"{source}: row {journal.rows[journal.alive][0]}: no station lies within {where}{hint}"
        )
    journal.note("dropped", ~inside, f"outside {where}")


def _all_dropped(source: str, n: int, journal: Journal) -> str:
    reasons = "; ".join(f"{f.count} {f.reason}" for f in journal.findings if f.action == "dropped")
    hints = "; ".join(f.reason for f in journal.findings if f.action == "noted")
    text = f"{source}: row {journal.rows[0]}: all {n} rows are dropped: {reasons}"
    return text + (f" ({hints})" if hints else "")
