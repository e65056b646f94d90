"""Readings beyond the records of the Earth, alone or together.

What no instrument can mean at all is dropped by the import itself (`station_set.LIMITS`); here is what one
can read though no weather has been like it. Records by the World Meteorological Organization's archive of
weather and climate extremes (wmo.asu.edu), where not said otherwise.
"""

from __future__ import annotations

import numpy as np

from simulators.arrays import Array, Mask
from simulators.stations.flags import Flags
from simulators.stations.units import dew_point_of

HOTTEST = 329.85
"""K: 56.7 degC, Furnace Creek, 10 July 1913."""

STRONGEST_WIND = 100.0
"""m/s sustained; one-minute means of the strongest tropical cyclones reach 95 (Patricia 2015)."""

DAMPEST = 308.15
"""K of the dew point: 35 degC, Dhahran, 8 July 2003 (Burt 2004, "Extreme Weather"), the heat index's record
of 81 degC. At 50 degC it is a humidity of 46 percent."""

COLDEST_FELT = -120.0
"""degC of wind chill; the coldest of North America was -78 (Mount Washington, 4 February 2023)."""


def check_plausible(flags: Flags, rows: Mask, readings: Array) -> None:
    """Flag the rows whose readings (n, 3), K, percent and m/s, are beyond those records."""
    temperature, humidity, wind = readings.T
    hot = rows & (temperature > HOTTEST)
    why = f"temperature {{value}} is above the record of {flags.said('temperature', HOTTEST)}"
    flags.add("limits", hot, "temperature", why, temperature)
    strong = rows & (wind > STRONGEST_WIND)
    why = f"wind {{value}} is above {flags.said('wind', STRONGEST_WIND)}, more than any storm sustains"
    flags.add("limits", strong, "wind", why, wind)
    with np.errstate(invalid="ignore", divide="ignore"):
        dew_point = dew_point_of(temperature, humidity)
        damp = rows & (dew_point > DAMPEST)
    record = flags.said("temperature", DAMPEST)  # a dew point is a temperature
    why = f"with humidity {{value}} the dew point is {{temperature}}, above the record of {record}"
    flags.add("joint", damp, "humidity", why, humidity, temperature=dew_point)
    with np.errstate(invalid="ignore"):
        felt = _wind_chill(temperature - 273.15, 3.6 * wind)
        cold = rows & (felt < COLDEST_FELT)
    why = f"temperature {{value}} and wind make a wind chill of {{felt}} degC, below {COLDEST_FELT:g} degC"
    flags.add("joint", cold, "temperature", why, temperature, felt=felt)


def _wind_chill(t: Array, v: Array) -> Array:
    """DegC of degC and km/h (Osczevski & Bluestein 2005), where it is below 10 degC and above 4.8 km/h."""
    power = np.where(v > 0, v, 0.0) ** 0.16
    chill: Array = 13.12 + 0.6215 * t - 11.37 * power + 0.3965 * t * power
    return np.where((t <= 10.0) & (v > 4.8), chill, t)
