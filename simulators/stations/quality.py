"""Quality control of stations before anybody learns from them: its settings, and the order of its checks.

The models are MetPy and titanlib (Baaserud et al. 2020) and the practice of MADIS, the Meteorological
Assimilation Data Ingest System of NOAA: limits, consistency within a station, consistency in time and space.
Which check is which file: `plausible`, `place_check`, `series_check`, `mixed_units`, `buddy_check`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from policyloop.messages import unknown_name
from simulators.arrays import Array
from simulators.contract.validation import number, whole
from simulators.stations.buddy_check import check_buddies
from simulators.stations.flags import Flags
from simulators.stations.import_report import Journal
from simulators.stations.mixed_units import check_mixed_units
from simulators.stations.place_check import check_places
from simulators.stations.plausible import check_plausible

QualityOption = str | Mapping[str, Any] | None


@dataclass(frozen=True)
class Quality:
    """Settings of the quality control; each check is left out where its setting is 0.

    Attributes
    ----------
    buddy : float, default 4.0
        Robust standard deviations by which a reading may differ from what its neighbours say.
    neighbours : int, default 16
        Neighbours that are asked.
    contradiction : float, default 15.0
        Percent by which the humidity of the column may differ from that of the dew point.
    stuck : float, default 6.0
        Hours for which a temperature may read the same (at least five times) while those of others change.
    spike : float, default 20.0
        K an hour by which a temperature may jump away from its station's other readings.
    places : bool, default True
        Whether places are checked: 0/0, latitude and longitude swapped, a sign turned.
    leave_out : bool, default True
        Whether stations that are found wrong are left out; otherwise they are said and kept.
    """

    buddy: float = 4.0
    neighbours: int = 16
    contradiction: float = 15.0
    stuck: float = 6.0
    spike: float = 20.0
    places: bool = True
    leave_out: bool = True


def quality_of(option: QualityOption) -> Quality | None:
    """The settings that an option means: None or "on" is the default, "off" none; a mapping changes some.

    Raises
    ------
    ValueError
        One line: the setting, its value and what is accepted.
    """
    if option is None or option == "on":
        return Quality()
    if option == "off":
        return None
    if not isinstance(option, Mapping):
        raise ValueError(f'quality={option!r} must be "on", "off" or settings, as in {{buddy = 4.0}}')
    known = {field.name: field.default for field in fields(Quality)}
    settings: dict[str, Any] = {}
    for name, value in option.items():
        if name not in known:
            raise ValueError(unknown_name("setting of quality", str(name), tuple(known)))
        label = f"quality.{name}"
        if isinstance(known[name], bool):
            if not isinstance(value, bool):
                raise ValueError(f"{label}={value!r} must be true or false")
            settings[name] = value
        elif name == "neighbours":
            settings[name] = whole(label, value, least=5)
        else:
            settings[name] = number(label, value, least=0)
    return Quality(**settings)


def check_stations(
    quality: Quality,
    flags: Flags,
    journal: Journal,
    lon: Array,
    lat: Array,
    readings: Array,
) -> None:
    """Flag the stations, one reading each, that cannot be relied on, and note what is odd about their places.

    Parameters
    ----------
    journal : Journal
        Its rows that are still there are the stations.
    lon, lat : (n,) array
        Degrees.
    readings : (n, 3) array
        K, percent, m/s.
    """
    rows = journal.alive.copy()
    check_plausible(flags, rows, readings)
    if quality.places:
        apart = check_places(flags, rows, lon, lat)
        journal.note("noted", apart, "lies far outside the region of most stations: is its place right?")
    if quality.buddy:
        at = np.flatnonzero(rows & ~flags.flagged)
        if len(at) > 6:
            check_mixed_units(flags, at, lon, lat, readings[:, 0])
            at = np.flatnonzero(rows & ~flags.flagged)
            check_buddies(flags, at, lon, lat, readings, quality.buddy, quality.neighbours)
