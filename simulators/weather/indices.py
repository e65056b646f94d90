"""How the weather is felt, by name: what the weather sensors' readings are composed to.

- "perceived-temperature", degF: heat index and wind chill, `simulators.weather.perceived_temperature`.
- "utci", degC: the Universal Thermal Climate Index, `simulators.weather.utci`.
- "wbgt-simplified", degC: the wet-bulb globe temperature as the Australian Bureau of Meteorology approximates
  it (ACSM 1984): 0.567 T + 0.393 e + 3.94 with e = 6.105 RH / 100 exp(17.27 T / (237.7 + T)). It takes the
  sun for moderately strong and the wind for light, and sees neither: it says too much at night, under clouds
  and in wind. Where radiation is measured, Liljegren's model (2008) is the one to use; no station of this
  package measures it.
- "humidex": T + 5/9 (e - 10) with e = 6.112 RH / 100 10^(7.5 T / (237.7 + T)) (Masterton & Richardson 1979,
  Environment Canada).

T is the temperature in degC, e the vapour pressure in hPa, RH the relative humidity in percent.

Every index is a function of temperature in K, humidity in percent and wind in m/s, with its exact slopes and
with the range in which it is meant to be used. Outside of it a value is given all the same, for a model may
predict anything: at the ends of the UTCI's range that of the nearest conditions inside, of the others by
their formula. Humidity is clipped to 0..100, wind below 0 counts as 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array, Mask
from simulators.contract.validation import choice
from simulators.stations.station_set import Stations

IndexName = Literal["perceived-temperature", "utci", "wbgt-simplified", "humidex"]

INDICES: tuple[IndexName, ...] = get_args(IndexName)

KELVIN = 273.15


class Index(ABC):
    """A function g of temperature (K), humidity (percent) and wind (m/s), array-likes that broadcast.

    Attributes
    ----------
    unit : str
        Of its values.
    meant_for : str
        The range in which it is meant to be used, in words.
    """

    unit: str
    meant_for: str

    @abstractmethod
    def __call__(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The index, in the broadcast shape; nan where a reading that it needs is missing."""

    @abstractmethod
    def gradient(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """Its slopes per K, per percent and per m/s, exact, in a last axis of 3; 0 where an end clips."""

    @abstractmethod
    def meant(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Mask:
        """Where the readings lie in the range in which it is meant to be used."""

    def bounds(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The largest |dg/df_j| at given readings: the B_j of Definition 2 over data.

        Of an index in pieces they bound the derivatives inside the pieces and say nothing of the jumps
        between them: two readings on either side of one can differ by more than sum_j B_j |difference of
        f_j|, so that what is proved from the B_j holds within a piece alone.

        Returns
        -------
        (3,) array
            Per unit of each reading, incomplete readings left out. Finite, as `gradient`: by the paper's rule
            of the perceived temperature V^0.16 has no bounded derivative at V = 0; the NWS rule's 3 mph limit
            removes that, at the price of a jump.

        Raises
        ------
        ValueError
            No complete reading.
        """
        readings = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (temperature, humidity, wind)))
        complete = ~np.isnan(readings).any(axis=0)
        if not complete.any():
            raise ValueError("bounds of the derivatives need at least one complete reading")
        slopes = np.abs(self.gradient(*(reading[complete] for reading in readings)))
        largest: Array = slopes.reshape(-1, 3).max(axis=0)
        return largest


class _ByVapourPressure(Index):
    """a T + b e + c, with the vapour pressure e = k RH / 100 exp(m T / (n + T))."""

    a: float
    b: float
    c: float
    k: float
    m: float
    n: float = 237.7
    from_celsius: float
    """The temperature from which it is meant."""

    def __call__(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The index, by its formula everywhere; the wind has no say."""
        T, RH = self._readings(temperature, humidity, wind)
        value: Array = self.a * T + self.b * self._saturation(T) * RH / 100.0 + self.c
        return value

    def gradient(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """See `Index.gradient`."""
        T, RH = self._readings(temperature, humidity, wind)
        raw = np.broadcast_to(np.asarray(humidity, dtype=float), T.shape)
        e = self._saturation(T) * RH / 100.0
        steep = self.m * self.n / (self.n + T) ** 2  # of the logarithm of e
        by_humidity = np.where((raw < 0.0) | (raw > 100.0), 0.0, self.b * self._saturation(T) / 100.0)
        by_humidity = np.where(np.isnan(raw), np.nan, by_humidity)
        return np.stack([self.a + self.b * e * steep, by_humidity, 0.0 * by_humidity], axis=-1)

    def meant(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Mask:
        """See `Index.meant`."""
        T, _ = self._readings(temperature, humidity, wind)
        return np.asarray(self.from_celsius <= T)

    def _readings(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> tuple[Array, Array]:
        arrays = [np.asarray(x, dtype=float) for x in (temperature, humidity, wind)]
        T, RH, _ = np.broadcast_arrays(*arrays)
        # Near -n the exponent has a pole; no temperature on Earth is below -100 degC.
        return np.maximum(T - KELVIN, -100.0), np.clip(RH, 0.0, 100.0)

    def _saturation(self, T: Array) -> Array:
        pressure: Array = self.k * np.exp(self.m * T / (self.n + T))
        return pressure


class SimplifiedWBGT(_ByVapourPressure):
    """The wet-bulb globe temperature, degC, by the simplified formula; see the module."""

    a, b, c = 0.567, 0.393, 3.94
    k, m = 6.105, 17.27
    from_celsius: float = 20.0
    unit = "degC"
    meant_for = "20 degC and more, in a moderately strong sun and a light wind"


class Humidex(_ByVapourPressure):
    """The humidex, a number that reads like degC; see the module."""

    a, b, c = 1.0, 5.0 / 9.0, -50.0 / 9.0
    k, m = 6.112, 7.5 * float(np.log(10.0))
    from_celsius: float = 20.0
    unit = "humidex"
    meant_for = "20 degC and more, where it is at least 1 above the temperature"

    def meant(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Mask:
        """Where Environment Canada tells it; see `Index.meant`."""
        T, _ = self._readings(temperature, humidity, wind)
        warm = super().meant(temperature, humidity, wind)
        return np.asarray(warm & (self(temperature, humidity, wind) >= T + 1.0))


def make_index(name: IndexName, rule: Literal["nws", "paper"] = "nws", radiant_excess: float = 0.0) -> Index:
    """The index of a name.

    Parameters
    ----------
    name : str
        A name of `INDICES`.
    rule : {"nws", "paper"}
        Of the perceived temperature; another index has none.
    radiant_excess : float
        Mean radiant temperature less air temperature, K, for the UTCI; no other index knows it.

    Raises
    ------
    ValueError
        An unknown name, or an option that has no effect on this index.
    """
    from simulators.weather.perceived_temperature import PerceivedTemperature
    from simulators.weather.utci import UTCI

    choice("index", name, INDICES)
    for option, given, usual, owner in (
        ("rule", rule, "nws", "perceived-temperature"),
        ("radiant_excess", radiant_excess, 0, "utci"),
    ):
        if name != owner and given != usual:
            raise ValueError(f"{option}={given!r} has no effect on index={name!r}; it is of {owner!r}")
    if name == "perceived-temperature":
        return PerceivedTemperature(rule, "K", "m/s")
    if name == "utci":
        return UTCI(radiant_excess)
    return SimplifiedWBGT() if name == "wbgt-simplified" else Humidex()


SHOWN = 5
"""Stations that a finding names."""


def outside(name: str, index: Index, stations: Stations) -> str:
    """Which stations read what an index is not meant for, in one line; "" where none does."""
    wrong = np.flatnonzero(~index.meant(*stations.readings.T))
    if not len(wrong):
        return ""
    ids = ", ".join(stations.ids[wrong[:SHOWN]].tolist()) + (", .." if len(wrong) > SHOWN else "")
    return (
        f"{name} is meant for {index.meant_for}: {len(wrong)} of {len(stations)} stations read something "
        f"else ({ids}), which their values stretch it to"
    )
