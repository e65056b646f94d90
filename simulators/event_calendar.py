"""What happens to whom on which day: a calendar of persons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Persons = NDArray[np.int32]


class EventCalendar:
    """Persons by the day on which something is due for them.

    Parameters
    ----------
    last : int
        The last day; what is due later is dropped.
    """

    def __init__(self, last: int) -> None:
        self._due: list[list[Persons]] = [[] for _ in range(last + 1)]

    def put(self, persons: Persons, days: NDArray[np.integer]) -> None:
        """Enter (n,) persons on their (n,) days, not negative."""
        if len(persons) == 0:
            return
        order = np.argsort(days, kind="stable")
        persons, days = persons[order], days[order]
        starts = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1).tolist(), len(days)]
        for start, end in zip(starts, starts[1:], strict=False):
            day = int(days[start])
            if day < len(self._due):
                self._due[day].append(persons[start:end])

    def take(self, day: int) -> Persons:
        """Return who is due on a day, in the order of entry, and strike them off."""
        due, self._due[day] = self._due[day], []
        return np.concatenate(due) if due else np.empty(0, dtype=np.int32)
