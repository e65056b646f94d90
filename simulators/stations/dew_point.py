"""Relative humidity from temperature and dew point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def relative_humidity(temperature: ArrayLike, dew_point: ArrayLike) -> Floats:
    """Return the relative humidity over water by the Magnus formula.

    The saturation pressure is proportional to exp(17.62 t / (243.12 + t)), t in degC, valid from -45 to 60
    degC (World Meteorological Organization, Guide to Instruments and Methods of Observation, WMO-No. 8, annex
    4.B).

    Parameters
    ----------
    temperature, dew_point : array_like
        K.

    Returns
    -------
    array of the broadcast shape
        Percent; above 100 where the dew point is above the temperature.
    """
    t, d = (np.asarray(x, dtype=float) - 273.15 for x in (temperature, dew_point))
    humidity: Floats = 100.0 * np.exp(17.62 * d / (243.12 + d) - 17.62 * t / (243.12 + t))
    return humidity
