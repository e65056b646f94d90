"""The Universal Thermal Climate Index by its operational procedure (Broede et al. 2012).

UTCI = Ta + sum of 210 terms c Ta^i va^j D^k pa^l, of sixth order: Ta is the air temperature in degC, va the
wind at 10 m in m/s, D the mean radiant temperature less Ta in K, pa the vapour pressure in kPa. The
polynomial approximates the UTCI-Fiala model of heat exchange with a root mean square error of 1.1 K over

    -50 <= Ta <= 50, 0.5 <= va <= 17, -30 <= D <= 70, pa < 5.

It says nothing beyond: readings outside count as the nearest ones inside, as the procedure has it for a calm.
Stations tell no radiation, so that D is one number for all, 0 (shade) unless another is given. The vapour
pressure is RH / 100 times that of saturation over water by Hardy (1998), as in the authors' program.

P. Broede et al., Deriving the operational procedure for the Universal Thermal Climate Index (UTCI),
International Journal of Biometeorology 56 (2012) 481-494. The coefficients, of UTCI_approx version a 0.002
(October 2009, "released for public use after termination of COST Action 730"), are in
`simulators/data/utci_polynomial.csv`.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from simulators.arrays import Array, Mask
from simulators.contract.validation import number
from simulators.weather.indices import KELVIN, Index

COLDEST, HOTTEST = -50.0, 50.0
CALM, STORM = 0.5, 17.0
MOST_VAPOUR = 5.0
BLOCK = 16_384
RADIATION = (-30.0, 70.0)

HARDY = (
    -2.8365744e3,
    -6.028076559e3,
    1.954263612e1,
    -2.737830188e-2,
    1.6261698e-5,
    7.0229056e-10,
    -1.8680009e-13,
)
"""Coefficients of T^-2 .. T^4 of the logarithm of the saturation pressure in Pa, T in K."""

HARDY_LOG = 2.7150305
"""Of ln T."""


@cache
def coefficients() -> Array:
    """The coefficients (7, 7, 7, 7) of Ta^i va^j D^k pa^l; the term Ta itself is not among them."""
    found = np.zeros((7, 7, 7, 7))
    text = (files("simulators") / "data" / "utci_polynomial.csv").read_text()
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        at = tuple(int(row[name]) for name in ("temperature", "wind", "radiation", "vapour"))
        found[at] = float(row["coefficient"])
    return found


def saturation_pressure(temperature: Array) -> Array:
    """Over water, kPa, of temperatures in K."""
    return np.exp(_log_saturation(temperature)) / 1000.0


def _log_saturation(T: Array) -> Array:
    powers: Array = sum((g * T ** float(i - 2) for i, g in enumerate(HARDY)), HARDY_LOG * np.log(T))
    return powers


def _steepness(T: Array) -> Array:
    """The slope of the logarithm of the saturation pressure, per K."""
    steep: Array = sum((g * (i - 2) * T ** float(i - 3) for i, g in enumerate(HARDY)), HARDY_LOG / T)
    return steep


def _sixth_order(C: Array, T: Array, v: Array, p: Array) -> Array:
    """The sum of C[i, j, k] T^i v^j p^k with i + j + k <= 6, by Horner's rule, a block at a time."""
    flat = [np.ravel(x) for x in (T, v, p)]
    found = np.empty(flat[0].shape)
    for start in range(0, len(found), BLOCK):
        t, w, e = (x[start : start + BLOCK] for x in flat)
        value = np.zeros(len(t))
        for k in reversed(range(C.shape[2])):
            by_wind = np.zeros(len(t))
            for j in reversed(range(min(C.shape[1], 7 - k))):
                by_temperature = np.zeros(len(t))
                for i in reversed(range(min(C.shape[0], 7 - j - k))):
                    by_temperature *= t
                    by_temperature += C[i, j, k]
                by_wind *= w
                by_wind += by_temperature
            value *= e
            value += by_wind
        found[start : start + BLOCK] = value
    return found.reshape(np.shape(T))


class UTCI(Index):
    """The UTCI, degC, of temperature in K, humidity in percent and wind at 10 m in m/s; see the module.

    Parameters
    ----------
    radiant_excess : float, default 0
        D of all stations: -30 to 70 K. 0 in the shade; a sunny noon has 20 to 40.
    """

    unit = "degC"
    meant_for = "-50 to 50 degC, wind of 0.5 to 17 m/s and a vapour pressure up to 5 kPa"

    def __init__(self, radiant_excess: float = 0.0) -> None:
        self.radiant_excess: float = number("radiant_excess", radiant_excess)
        if not RADIATION[0] <= self.radiant_excess <= RADIATION[1]:
            raise ValueError(f"radiant_excess={radiant_excess!r} must be within -30..70 K")
        # With D known, what is left are the coefficients of Ta^i va^j pa^l.
        powers = self.radiant_excess ** np.arange(7.0)
        C = np.einsum("ijkl,k->ijl", coefficients(), powers)
        C[1, 0, 0] += 1.0
        self._C = C
        self._slopes = [polynomial.polyder(C, axis=axis) for axis in range(3)]

    def __call__(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """The UTCI, degC; that of the nearest conditions inside its range where readings are outside."""
        K, RH, V = self._readings(temperature, humidity, wind)
        return _sixth_order(self._C, *self._inside(K, RH, V))

    def gradient(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Array:
        """See `Index.gradient`."""
        K, RH, V = self._readings(temperature, humidity, wind)
        T, v, p = self._inside(K, RH, V)
        by_temperature, by_wind, by_vapour = (_sixth_order(C, T, v, p) for C in self._slopes)
        full = saturation_pressure(T + KELVIN)
        e = full * np.clip(RH, 0.0, 100.0) / 100.0
        moist = by_vapour * (e < MOST_VAPOUR)
        warm = (K - KELVIN > COLDEST) & (K - KELVIN < HOTTEST) | np.isnan(K)
        damp = (RH >= 0.0) & (RH <= 100.0) | np.isnan(RH)
        windy = (V > CALM) & (V < STORM) | np.isnan(V)
        slopes = [
            (by_temperature + moist * e * _steepness(T + KELVIN)) * warm,
            moist * full / 100.0 * damp,
            by_wind * windy,
        ]
        return np.stack(slopes, axis=-1)

    def meant(self, temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> Mask:
        """See `Index.meant`."""
        K, RH, V = self._readings(temperature, humidity, wind)
        T = K - KELVIN
        vapour = saturation_pressure(np.maximum(K, 100.0)) * np.clip(RH, 0.0, 100.0) / 100.0
        inside = (T >= COLDEST) & (T <= HOTTEST) & (V >= CALM) & (V <= STORM) & (vapour < MOST_VAPOUR)
        return np.asarray(inside)

    @staticmethod
    def _readings(temperature: ArrayLike, humidity: ArrayLike, wind: ArrayLike) -> tuple[Array, Array, Array]:
        arrays = [np.asarray(x, dtype=float) for x in (temperature, humidity, wind)]
        K, RH, V = np.broadcast_arrays(*arrays)
        return K, RH, V

    @staticmethod
    def _inside(K: Array, RH: Array, V: Array) -> tuple[Array, Array, Array]:
        """Temperature in degC, wind and vapour pressure in kPa, as near as the polynomial knows them."""
        T = np.clip(K - KELVIN, COLDEST, HOTTEST)
        vapour = saturation_pressure(T + KELVIN) * np.clip(RH, 0.0, 100.0) / 100.0
        return T, np.clip(V, CALM, STORM), np.minimum(vapour, MOST_VAPOUR)
