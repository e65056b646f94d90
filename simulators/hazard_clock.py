"""How much hazard of infection has accumulated by each day, for a contact of each kind.

A contact of an infectious with a susceptible person transmits at a rate that may change from day to day: a
school closes, a vaccine takes effect. Transmission happens when the accumulated hazard passes a threshold
with the exponential distribution of mean 1 (the first event of an inhomogeneous Poisson process), which is
drawn once for each contact. So changes of the rate are honoured, and no other contact's draw is touched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class HazardClock:
    """Accumulated hazard by layer, kind of person and day.

    Parameters
    ----------
    hazard : (L, K, days) array
        Rate per day at which an infectious person infects a susceptible of kind k through one contact of
        layer l, on each of the days 1, 2, ..

    Notes
    -----
    ``before(t)`` is the hazard accumulated before day t; an infectious period that begins on day s and ends
    before day t brings ``before(t) - before(s)``.
    """

    def __init__(self, hazard: Floats) -> None:
        L, K, days = hazard.shape
        accumulated = np.zeros((L, K, days + 2))
        np.cumsum(hazard, axis=2, out=accumulated[:, :, 2:])
        self._kinds, self._length = K, days + 2
        # Row after row ascending, each above the one before, so that one search serves all rows.
        above = np.arange(L * K).reshape(L, K, 1) * (accumulated.max() + 1)
        self._ladder = (accumulated + above).ravel()
        self._greatest = np.zeros(days + 2)
        np.cumsum(hazard.max(axis=(0, 1)), out=self._greatest[2:])

    def greatest(self, begin: NDArray[np.integer], end: NDArray[np.integer]) -> Floats:
        """Return bounds of any contact's hazard from days ``begin`` until before days ``end``, (n,)."""
        bound: Floats = self._greatest[end] - self._greatest[begin]
        return bound

    def crossings(
        self,
        layer: NDArray[np.integer],
        kind: NDArray[np.integer],
        begin: NDArray[np.integer],
        end: NDArray[np.integer],
        thresholds: Floats,
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return which contacts pass their thresholds, and on which day.

        Parameters
        ----------
        layer, kind : (n,) int arrays
            Of each contact.
        begin : (n,) int array
            The day from which each accumulates.
        end : (n,) int array
            The day before which each must pass.
        thresholds : (n,) array
            Hazards, >= 0.

        Returns
        -------
        which : (m,) int array
            Indices of those that pass.
        days : (m,) int array
            ``begin <= day < end``.
        """
        row = (layer * self._kinds + kind) * self._length
        passing = self._ladder[row + begin] + thresholds
        which = np.flatnonzero(passing < self._ladder[row + end])
        rungs = np.searchsorted(self._ladder, passing[which], side="right") - 1
        return which, rungs - row[which]
