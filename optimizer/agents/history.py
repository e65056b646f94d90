"""What an agent was told, in order: enough to tell it again."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from optimizer.arrays import Array, Policies


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
    failed : list of policies
        Those told without any finite observation. Kept, since every `ask` wants to know.
    streak : int
        How many of them were told last in a row.
    """

    def __init__(self, none: Policies, groups: int) -> None:
        self._told = [Told(none, np.empty((0, groups)), np.empty((0, groups)), None)]
        self.failed: list[Any] = []
        self.streak = 0

    def __iter__(self) -> Iterator[Told]:
        """Every `tell`, in order."""
        return iter(self._told[1:])

    def add(self, told: Told) -> None:
        """Remember one more."""
        self._told.append(told)
        for policy, row in zip(told.policies, told.Y, strict=True):
            observed = np.isfinite(row).any()
            self.streak = 0 if observed else self.streak + 1
            if not observed:
                self.failed.append(policy)

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
    def observed(self) -> Policies:
        """Policies told with at least one finite observation."""
        return self.policies[np.isfinite(self.Y).any(axis=1)]

    def suffices(self, observations: int) -> bool:
        """Whether so many policies were observed, and every group in at least two of them."""
        Y = np.isfinite(self.Y)
        return int(Y.any(axis=1).sum()) >= observations and int(Y.sum(axis=0).min()) >= 2
