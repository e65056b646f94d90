"""A temperature column in which some stations write another unit than the others.

Few of them are outliers among their neighbours and found as such (`buddy_check`); where they are many, the
neighbours cannot be trusted either. Every station is then labelled with the unit that makes it agree with the
median of its neighbours, by their labels, until no label changes (iterated conditional modes; Besag 1986, "On
the statistical analysis of dirty pictures", J. R. Stat. Soc. B 48:259).
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.spatial import cKDTree

from simulators.arrays import Array, Mask, Rows
from simulators.stations.flags import Flags
from simulators.stations.sphere import points_on_sphere
from simulators.stations.units import UNITS, convert

NEIGHBOURS, SWEEPS = 8, 20

LEAST_SHARE = 0.05
"""Of the stations; fewer are left to the neighbours."""

SMOOTHER = 0.6
"""At most this share of the mean difference from the neighbours may be left. Two regions, each of one label,
agree within themselves as well, but no better than before."""

TOLERANCE = 1.5
"""K. No mixture of units lets stations differ from the median of their neighbours by less on average."""


def check_mixed_units(flags: Flags, at: Rows, lon: Array, lat: Array, temperature: Array) -> None:
    """Flag the stations `at` whose temperature, K, is in another unit than the column's."""
    declared = flags.units.get("temperature", "K")
    if len(at) < 2 * NEIGHBOURS:
        return
    _, near = cKDTree(points_on_sphere(lon[at], lat[at])).query(
        points_on_sphere(lon[at], lat[at]), NEIGHBOURS + 1
    )
    values = temperature[at]
    before = np.abs(values - np.median(values[near[:, 1:]], axis=1))
    if before.mean() < TOLERANCE:
        return
    raw = convert(values, "temperature", "K", declared)
    for unit in UNITS["temperature"]:
        if unit == declared:
            continue
        other = convert(raw, "temperature", unit)
        labels, expected = _labels(values, other, near[:, 1:])
        if not LEAST_SHARE <= labels.mean() <= 1.0 - LEAST_SHARE:
            continue
        off = np.abs(np.where(labels, other, values) - expected)
        if off.mean() > SMOOTHER * before.mean():
            continue
        wrong = np.zeros(len(flags.flagged), dtype=bool)
        wrong[at[labels]] = True
        likely = np.full(len(flags.flagged), np.nan)
        likely[at] = expected
        share = f"{100.0 * labels.mean():.0f} % of the stations"
        why = f"temperature {{value}} is written in {unit}, as that of {share}, not in {declared}"
        flags.add("unit", wrong, "temperature", why, temperature, likely)


def _labels(values: Array, other: Array, near: Rows) -> tuple[Mask, Array]:
    """Which stations agree with their neighbours in the other unit, and the neighbours' median."""
    centres, cluster = kmeans2(values, np.quantile(values, [0.05, 0.95]), minit="matrix")
    high = cluster == int(np.argmax(centres))
    # The cluster that the other unit moves towards the rest.
    labels: Mask = high if np.median(other - values) < 0 else ~high
    for _ in range(SWEEPS):
        expected = np.median(np.where(labels, other, values)[near], axis=1)
        changed = np.abs(other - expected) < np.abs(values - expected)
        if (changed == labels).all():
            break
        labels = changed
    return labels, expected
