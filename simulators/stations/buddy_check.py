"""The buddy check: a station that differs from what its neighbours say by more than so many deviations.

Neighbours speak by leave-one-out kriging (`local_kriging`). The deviation is theirs: the kriging standard
deviation times a robust scale (1.4826 times the median absolute standardised difference), the larger of that
of the neighbourhood and that of all stations, and not below what instruments and their sites differ by. The
worst of each neighbourhood is flagged and the others are asked again without it, so that one wrong station
does not condemn its neighbours. Wind is compared by its square root, which makes its scatter even.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simulators.arrays import Array, Mask, Rows
from simulators.stations.flags import Flags
from simulators.stations.local_kriging import Neighbourhoods, choose_covariance
from simulators.stations.units import UNITS, convert

TOLERANCE = {"temperature": 1.0, "humidity": 5.0, "wind": 0.35}
"""The least deviation: K, percent, and of the wind the root of m/s."""

MOST_PASSES = 30


def check_buddies(
    flags: Flags,
    at: Rows,
    lon: Array,
    lat: Array,
    readings: Array,
    most: float,
    neighbours: int,
) -> None:
    """Flag the stations `at` whose readings (n, 3) differ by more than `most` deviations."""
    around = Neighbourhoods(lon[at], lat[at], neighbours)
    for j, quantity in enumerate(TOLERANCE):
        values = readings[at, j]
        seen = np.sqrt(values) if quantity == "wind" else values
        wrong, mean, deviation = differing_stations(around, seen, TOLERANCE[quantity], most)
        expected = np.maximum(mean, 0.0) ** 2 if quantity == "wind" else mean
        for i in np.flatnonzero(wrong & ~flags.flagged[at]).tolist():
            away = abs(seen[i] - mean[i]) / deviation[i]
            fault = _likely_fault(quantity, values[i], mean[i], deviation[i], flags.units)
            why = (
                f"{quantity} {flags.said(quantity, values[i])} where its neighbours say "
                f"{flags.said(quantity, expected[i])} ({away:.1f} standard deviations)"
                + (f"; {fault}" if fault else "")
            )
            rule = "unit" if "looks like" in fault else "buddy"
            flags.one(int(at[i]), rule, quantity, why, values[i], expected[i])


def differing_stations(
    around: Neighbourhoods, values: Array, tolerance: float, most: float
) -> tuple[Mask, Array, Array]:
    """Which stations differ from their neighbours, what those say, and the deviation of the difference.

    Returns
    -------
    differing : (n,) array of bool
    mean, deviation : (n,) array
        By the neighbours that do not differ themselves.
    """
    n = len(values)
    everyone = np.arange(n)
    trusted = np.ones(n, dtype=bool)
    covariance = choose_covariance(around, values, trusted)
    mean, spread = around.predict(values, everyone, trusted, covariance)
    for _ in range(MOST_PASSES):
        deviation = _deviation(around, values, mean, spread, tolerance)
        score = np.where(trusted, np.abs(values - mean) / deviation, 0.0)
        worst = (score > most) & (score >= score[around.near[:, : around.asked]].max(axis=1))
        if not worst.any():
            break
        trusted &= ~worst
        again = np.flatnonzero(worst[around.near].any(axis=1))
        mean[again], spread[again] = around.predict(values, again, trusted, covariance)
    # Who was condemned by a neighbour found wrong later is asked once more.
    deviation = _deviation(around, values, mean, spread, tolerance)
    return ~trusted & (np.abs(values - mean) > most * deviation), mean, deviation


def _deviation(around: Neighbourhoods, values: Array, mean: Array, spread: Array, tolerance: float) -> Array:
    standard = np.abs(values - mean) / spread
    everywhere = np.median(standard)
    here = np.median(standard[around.near], axis=1)
    deviation: Array = np.maximum(1.4826 * np.maximum(here, everywhere) * spread, tolerance)
    return deviation


def _likely_fault(
    quantity: str, value: float, mean: float, deviation: float, units: Mapping[str, str]
) -> str:
    """What would explain a difference, in words, or ""."""
    declared = units.get(quantity, next(iter(UNITS[quantity])))
    raw = float(convert(value, quantity, next(iter(UNITS[quantity])), declared))

    def agrees(other: float, unit: str) -> bool:
        if not np.isfinite(other) or (quantity == "wind" and other < 0):
            return False
        seen = float(convert(other, quantity, unit))
        seen = np.sqrt(max(seen, 0.0)) if quantity == "wind" else seen
        return bool(abs(seen - mean) < 2.0 * deviation)

    if quantity == "temperature":
        for unit in UNITS[quantity]:
            if unit != declared and agrees(raw, unit):
                return f"it looks like {unit}"
        if declared != "K" and raw and agrees(-raw, declared):
            return "with the other sign it agrees with them"
    if quantity == "humidity" and raw <= 1.0 and declared == "percent" and agrees(raw, "fraction"):
        return "it looks like fraction"
    return ""
