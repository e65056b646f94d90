"""How many whole days something lasts, for each person: a distribution for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.arrays import Array, Integers
from simulators.contract.validation import number

TAIL = 1e-9
"""Probability beyond which a distribution's tail is cut, and given to its last day."""

LONGEST = 20_000
"""Days beyond which a distribution is cut likewise: longer than any season."""


class Durations:
    """A number of days, 1 or more, drawn by inversion: the same draw never gets shorter when rates fall.

    Row j of `probabilities` (J, m) are those that it lasts 1, 2, .. m days in group j; `mean` (J,) is in
    days.
    """

    def __init__(self, probabilities: Array) -> None:
        J, m = probabilities.shape
        self.probabilities = probabilities
        self.mean: Array = probabilities @ np.arange(1.0, m + 1)
        cumulative = np.cumsum(probabilities, axis=1)
        cumulative[:, -1] = 1.0
        # One ascending array for all groups, so that one search serves persons of all groups; or one row for
        # all, where they are alike.
        self._alike = bool((probabilities == probabilities[0]).all())
        self._ladder = cumulative[0] if self._alike else (cumulative + np.arange(J)[:, None]).ravel()

    def draw(self, uniforms: Array, group: Integers) -> NDArray[np.int16]:
        """The days of persons with the given draws in [0, 1) and groups, (n,) each."""
        if self._alike:
            return (np.searchsorted(self._ladder, uniforms, side="right") + 1).astype(np.int16)
        first = group.astype(np.int64) * self.probabilities.shape[1]
        rungs = np.searchsorted(self._ladder, uniforms + group, side="right")
        days: NDArray[np.int16] = (rungs - first + 1).astype(np.int16)
        return days

    def discounted(self, hazards: Array) -> Array:
        """E[1 - exp(-h D)], (J, n): the chance that what has the rate h (n,) a day happens while it lasts."""
        days = np.arange(1.0, self.probabilities.shape[1] + 1)
        chance: Array = self.probabilities @ -np.expm1(-days[:, None] * hazards)
        return chance


def durations(name: str, value: Any, J: int) -> Durations:
    """The distribution that a user means by a parameter, the same in J groups.

    A number is the mean, 1 or more, of a geometric distribution: a constant rate of leaving, the
    discrete-time form of a compartment of an ODE. A sequence holds the probabilities of 1, 2, .. days. A
    frozen distribution of scipy.stats is rounded up to whole days.
    """
    if hasattr(value, "cdf"):
        return Durations(np.tile(_of_distribution(name, value), (J, 1)))
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        try:
            p = np.array(value, dtype=float)
        except (TypeError, ValueError):
            p = np.empty(0)
        if p.ndim != 1 or not 0 < len(p) <= LONGEST or not (p >= 0).all() or abs(p.sum() - 1) > 1e-6:
            raise ValueError(
                f"{name}={value!r} must be probabilities of 1, 2, .. days, each in 0..1, that sum to 1"
            )
        return Durations(np.tile(p / p.sum(), (J, 1)))
    return geometric(np.full(J, 1 / number(name, value, least=1)))


def geometric(rates: Array) -> Durations:
    """The distributions of days until what happens with a probability a day, above 0 and at most 1, (J,)."""
    slowest = float(np.min(rates))
    m = 1 if slowest >= 1 else int(min(np.ceil(np.log(TAIL) / np.log1p(-slowest)), LONGEST))
    p = rates[:, None] * (1 - rates[:, None]) ** np.arange(m)
    p[:, -1] += 1 - p.sum(axis=1)
    return Durations(p)


def _of_distribution(name: str, value: Any) -> Array:
    low, last = float(value.ppf(0.0)), float(value.ppf(1 - TAIL))
    # Discrete distributions of SciPy put ppf(0) one below their support.
    if not (low >= -1 and float(value.cdf(-1e-9)) == 0 and np.isfinite(last) and last > 0):
        raise ValueError(f"{name} must be a distribution over positive days; its support begins at {low:g}")
    m = int(min(max(np.ceil(last), 1), LONGEST))
    cumulative = np.asarray(value.cdf(np.arange(1, m + 1)), dtype=float)
    p = np.diff(cumulative, prepend=0.0)
    p[-1] += 1 - p.sum()
    return p
