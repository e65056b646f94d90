"""From the cells of any source to stations and a report: every check of an import is here.

The order of the checks is the order of the reasons for which a row may be dropped: cells that are missing or
cannot be read, places and readings that cannot be, a dew point above the temperature, then stations that
repeat.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Literal, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simulators.arrays import Array
from simulators.contract.validation import choice
from simulators.stations.cells import examples, numbers, stripped, times
from simulators.stations.import_report import ImportReport, Journal
from simulators.stations.station_set import LIMITS, Stations
from simulators.stations.unit_check import suspicion
from simulators.stations.units import convert, relative_humidity

Moment = str | datetime.datetime | np.datetime64 | None
RepeatedPlaces = Literal["keep", "drop"]


class Which(TypedDict, total=False):
    """Which of several readings or stations an import keeps: options of all importers, see `read_csv`."""

    at: Moment
    repeated_places: RepeatedPlaces


class TableOptions(Which, total=False):
    """Options of the importers of tables, see `read_csv`."""

    time_zone: str | None


MOST_HUMIDITY = 110.0
"""Percent. A saturated sensor may read a little over 100, which is clipped; more than this is no reading."""

MOST_DEW_POINT_EXCESS = 1.0
"""K. Rounding may put the dew point this far above the temperature, which means 100 %; more is an error."""


def gather(
    cells: pd.DataFrame,
    journal: Journal,
    *,
    source: str,
    units: Mapping[str, str],
    time_zone: str | None = None,
    at: Moment = None,
    repeated_places: RepeatedPlaces = "keep",
) -> tuple[Stations, ImportReport]:
    """The stations that a table holds, and what became of its rows.

    Columns are named by quantity (`columns.QUANTITIES`) and hold text or numbers; some rows may be dropped in
    the journal already. Units and options are those of `read_csv`.
    """
    choice("repeated_places", repeated_places, ("keep", "drop"))
    moment = _moment(at)
    if not len(cells):
        raise ValueError(f"{source}: row 1: there are no rows of data")
    ids = stripped(cells["id"]) if "id" in cells else pd.Series(journal.rows.astype(str), index=cells.index)
    journal.note("dropped", (ids == "").to_numpy(dtype=bool), "id is missing")

    lon = _longitudes(cells, journal)
    lat = _readable(cells, "lat", journal)
    _drop_impossible("lat", lat, journal)
    temperature = _reading(cells, "temperature", units, journal)
    _drop_impossible("temperature", temperature, journal)
    wind = _reading(cells, "wind", units, journal)
    _drop_impossible("wind", wind, journal)
    humidity = _humidity(cells, units, temperature, journal)
    time = _times(cells, units, time_zone, journal, source)
    _drop_repeated_stations(ids, time, moment, journal)
    place = pd.DataFrame({"lon": lon % 360.0, "lat": lat})
    _repeated_places(place, np.stack([temperature, humidity, wind], axis=1), repeated_places, journal)

    kept = np.flatnonzero(journal.alive)
    if not len(kept):
        reasons = "; ".join(f"{f.count} {f.reason}" for f in journal.findings if f.action == "dropped")
        hints = "; ".join(f.reason for f in journal.findings if f.action == "noted")
        raise ValueError(
            f"{source}: row {journal.rows[0]}: all {len(cells)} rows are dropped: {reasons}"
            + (f" ({hints})" if hints else "")
        )
    names = stripped(cells["name"]) if "name" in cells else pd.Series("", index=cells.index)
    stations = Stations(
        ids=ids.to_numpy(dtype=np.str_)[kept],
        names=names.to_numpy(dtype=np.str_)[kept],
        lon=lon[kept],
        lat=lat[kept],
        time=time[kept],
        temperature=temperature[kept],
        humidity=humidity[kept],
        wind=wind[kept],
    )
    if stations.crosses_antimeridian:
        journal.remark(
            "stations lie on both sides of the antimeridian; "
            f"centre maps at {stations.central_longitude:g} degrees"
        )
    rows = tuple(journal.rows[kept].tolist())
    return stations, ImportReport(source, len(cells), len(stations), tuple(journal.findings), rows)


def _moment(at: Moment) -> np.datetime64 | None:
    if at is None:
        return None
    moment = pd.to_datetime(pd.Series([at], dtype=object), utc=True, errors="coerce").dt.tz_localize(None)
    if moment.isna().any():
        raise ValueError(f"at={at!r} must be a date and time, such as '2007-10-14T15:00Z'")
    return np.datetime64(moment.iloc[0].isoformat(), "s")


def _readable(cells: pd.DataFrame, quantity: str, journal: Journal) -> Array:
    """A column's numbers; rows where there is none are dropped."""
    values, missing, unreadable = numbers(cells[quantity])
    shown = examples(cells[[quantity]], missing & journal.alive)
    journal.note("dropped", missing, f"{quantity} is missing ({shown})")
    journal.note("dropped", unreadable, f"{quantity} is not a number")
    return values


def _reading(cells: pd.DataFrame, quantity: str, units: Mapping[str, str], journal: Journal) -> Array:
    """A column in canonical units; rows without a number are dropped, a suspicious unit is noted."""
    return _converted(_readable(cells, quantity, journal), quantity, units[quantity], journal)


def _converted(values: Array, quantity: str, unit: str, journal: Journal) -> Array:
    doubt = suspicion(quantity, values[journal.alive], unit)
    if doubt:
        journal.remark(doubt)
    return convert(values, quantity, unit)


def _drop_impossible(quantity: str, values: Array, journal: Journal) -> None:
    low, high = LIMITS[quantity]
    unit = {"lat": "degrees", "lon": "degrees", "temperature": "K", "wind": "m/s"}[quantity]
    outside = ~((values >= low) & (values <= high))
    journal.note("dropped", outside, f"{quantity} is impossible: not within {low:g}..{high:g} {unit}")


def _longitudes(cells: pd.DataFrame, journal: Journal) -> Array:
    lon = _readable(cells, "lon", journal)
    from_zero = (lon > 180.0) & (lon <= 360.0)
    journal.note("changed", from_zero, "longitude counted from 0 to 360, now from -180 to 180")
    lon = np.where(from_zero, lon - 360.0, lon)
    _drop_impossible("lon", lon, journal)
    return lon


def _humidity(cells: pd.DataFrame, units: Mapping[str, str], temperature: Array, journal: Journal) -> Array:
    """The humidity in percent, from its column or where it has none from the dew point."""
    if "dew_point" not in cells:
        humidity = _reading(cells, "humidity", units, journal)
    else:
        dew_point, *_ = numbers(cells["dew_point"])
        dew_point = _converted(dew_point, "dew_point", units["dew_point"], journal)
        if "humidity" in cells:
            humidity, *_ = numbers(cells["humidity"])
            humidity = _converted(humidity, "humidity", units["humidity"], journal)
        else:
            humidity = np.full(len(cells), np.nan)
        without = np.isnan(humidity)
        nothing = without & np.isnan(dew_point)
        sources = [name for name in ("humidity", "dew_point") if name in cells]
        label = " and ".join(sources).replace("_", " ") + (" are" if len(sources) > 1 else " is")
        shown = examples(cells[sources], nothing & journal.alive)
        journal.note("dropped", nothing, f"{label} missing or not a number ({shown})")
        low, high = LIMITS["temperature"][0] - 60.0, LIMITS["temperature"][1]
        impossible = without & ~((dew_point >= low) & (dew_point <= high))
        journal.note("dropped", impossible, f"dew point is impossible: not within {low:g}..{high:g} K")
        excess = dew_point - temperature
        above = excess > 0.0
        far = excess > MOST_DEW_POINT_EXCESS
        limit = f"{MOST_DEW_POINT_EXCESS:g} K"
        journal.note("dropped", without & far, f"dew point above temperature by more than {limit}")
        journal.note(
            "clipped", without & above, f"dew point above temperature by up to {limit}: humidity 100 %"
        )
        journal.note("noted", ~without & above, "dew point above temperature; the humidity column was used")
        usable = without & journal.alive
        journal.note("noted", usable, "humidity computed from the dew point")
        t, d = temperature[usable], dew_point[usable]
        humidity[usable] = relative_humidity(t, np.minimum(d, t))
    impossible = ~((humidity >= 0.0) & (humidity <= MOST_HUMIDITY))
    journal.note("dropped", impossible, f"humidity is impossible: not within 0..{MOST_HUMIDITY:g} percent")
    journal.note("clipped", humidity > 100.0, f"humidity above 100 % (up to {MOST_HUMIDITY:g}): set to 100")
    return np.minimum(humidity, 100.0)


def _times(
    cells: pd.DataFrame, units: Mapping[str, str], time_zone: str | None, journal: Journal, source: str
) -> NDArray[np.datetime64]:
    if "time" not in cells:
        return np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[s]")
    try:
        time, unreadable, naive = times(cells["time"], units.get("time"), time_zone)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    journal.note(
        "noted", unreadable, "time cannot be read, or the clock was changed then; kept without a time"
    )
    if time_zone is None:
        journal.note("noted", naive, "time without an offset or time zone, taken as UTC")
    elif naive.any() and time_zone.upper() not in ("UTC", "GMT", "ETC/UTC"):
        journal.note("changed", naive, f"time of {time_zone} turned into UTC")
    return time


def _drop_repeated_stations(
    ids: pd.Series[str], time: NDArray[np.datetime64], moment: np.datetime64 | None, journal: Journal
) -> None:
    """Of each station keep the reading that is the latest or nearest to a moment, the first of equals."""
    later = np.iinfo(np.int64).max
    seconds = time.astype("datetime64[s]").astype(np.int64)
    away = -seconds if moment is None else np.abs(seconds - moment.astype(np.int64))
    away = np.where(np.isnat(time), later, away)
    rows = np.flatnonzero(journal.alive)
    order = rows[np.argsort(away[rows], kind="stable")]
    repeated = np.zeros(len(ids), dtype=bool)
    repeated[order] = ids.iloc[order].duplicated().to_numpy()
    kept = "latest reading is kept" if moment is None else f"reading nearest to {moment} UTC is kept"
    journal.note("dropped", repeated, f"repeated station: its {kept}")


def _repeated_places(place: pd.DataFrame, readings: Array, action: RepeatedPlaces, journal: Journal) -> None:
    rows = np.flatnonzero(journal.alive)
    at = place.iloc[rows]
    again = np.zeros(len(place), dtype=bool)
    again[rows] = at.duplicated().to_numpy()
    if action == "drop":
        journal.note("dropped", again, "repeated place: the first station there is kept")
        return
    same = np.zeros(len(place), dtype=bool)
    same[rows] = pd.concat([at.reset_index(drop=True), pd.DataFrame(readings[rows])], axis=1).duplicated()
    journal.note("noted", again & same, "same place and readings as an earlier station")
    journal.note("noted", again & ~same, "same place as an earlier station, other readings")
