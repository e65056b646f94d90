"""What an agent was told, in order: enough to tell it again."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from optimizer.arrays import Array, Policies, Rows


class Told(NamedTuple):
    """One `tell`: policies, observations (n, J), their noise variances if stated, and the time if any."""

    policies: Policies
    Y: Array
    noise: Array | None
    time: float | None


class History:
    """All that an agent was told.

    Parameters
    ----------
    none : policies
        No policy: an empty array (0, d), or (0,) for candidate rows.
    groups : int
        J of the observations.

    Attributes
    ----------
    failures : int
        How many policies were told without any finite observation, and how many in part, `gaps`. Kept, since
        every `ask` wants to know.
    """

    def __init__(self, none: Policies, groups: int) -> None:
        self._told = [Told(none, np.empty((0, groups)), np.empty((0, groups)), None)]
        self.failures: int = 0
        self.gaps: int = 0

    def __iter__(self) -> Iterator[Told]:
        """Every `tell`, in order."""
        return iter(self._told[1:])

    def forget(self) -> None:
        """Forget the last one."""
        told = self._told.pop()
        self._count(told, -1)

    def add(self, told: Told) -> None:
        """Remember one more."""
        self._told.append(told)
        self._count(told, 1)

    def _count(self, told: Told, times: int) -> None:
        known = np.isfinite(told.Y)
        self.failures += times * int((~known.any(axis=1)).sum())
        self.gaps += times * int((known.any(axis=1) & ~known.all(axis=1)).sum())

    @property
    def policies(self) -> Policies:
        """All policies told."""
        return np.concatenate([told.policies for told in self._told])

    @property
    def Y(self) -> Array:
        """All observations (T, J), nan where missing."""
        return np.concatenate([told.Y for told in self._told])

    @property
    def noise(self) -> Array:
        """Their noise variances (T, J), nan where none was stated."""
        return np.concatenate(
            [np.full(told.Y.shape, np.nan) if told.noise is None else told.noise for told in self._told]
        )

    @property
    def times(self) -> list[float]:
        """The time of every policy told, where there is one."""
        return [float(told.time) for told in self if told.time is not None for _ in told.policies]

    def tried(self) -> tuple[Policies, Rows]:
        """The different policies with at least one finite observation, and how often each was observed."""
        policies, counts = np.unique(self.observed, axis=0, return_counts=True)
        return policies, counts

    @property
    def observed(self) -> Policies:
        """Policies told with at least one finite observation."""
        return self.policies[np.isfinite(self.Y).any(axis=1)]

    def suffices(self, observations: int) -> bool:
        """Whether so many policies were observed, and every group in at least two of them."""
        Y = np.isfinite(self.Y)
        return int(Y.any(axis=1).sum()) >= observations and int(Y.sum(axis=0).min()) >= 2
