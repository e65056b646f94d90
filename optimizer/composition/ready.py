"""Ready-made compositions of the groups beside the weighted sum: the worst group, the gap, CVaR, a count.

Each is a known function g of the outcomes f (..., J), with its exact slopes dg/df_j and, where there is a
closed form, the moments of g(f) for independent normal groups. "Worse" is what the sense says: larger where
outcomes are to be minimised, smaller where they are to be maximised; b = 1 and b = -1 below.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from optimizer.arrays import Array
from optimizer.composition.objective import Moments
from policyloop.messages import unknown_name

Sense = Literal["minimize", "maximize"]


@dataclass(frozen=True)
class ReadyComposition(ABC):
    """A ready-made g; `sense` says which outcomes are worse.

    Attributes
    ----------
    sense : {"minimize", "maximize"}
        What is to be done with the outcomes of the groups.
    jumps : bool
        Whether its slopes say nothing: then those of its moments are used.
    """

    sense: Sense
    name: ClassVar[str]
    jumps: ClassVar[bool] = False

    @property
    def b(self) -> float:
        """1 where larger outcomes are worse, -1 where smaller ones are."""
        return 1.0 if self.sense == "minimize" else -1.0

    @property
    def own_sense(self) -> Sense:
        """What is to be done with g."""
        return self.sense

    @abstractmethod
    def __call__(self, outcomes: Array) -> Array:
        """Values g (...,) of outcomes (..., J)."""

    @abstractmethod
    def slopes(self, outcomes: Array) -> Array:
        """dg/df_j (..., J), on either side of a kink one of the two that meet there."""

    def bounds(self, groups: int) -> Array | None:
        """B_j >= |dg/df_j| (J,) of Definition 2; None where g has jumps."""
        return np.ones(groups)

    def moments(self, means: Array, variances: Array) -> Moments | None:
        """Exact mean and variance (n,) for independent normal groups (n, J); None without a closed form."""
        return None

    def moment_slopes(self, means: Array, variances: Array) -> tuple[Moments, Moments]:
        """Slopes of the mean, then of the variance, in the groups' means and variances, each (n, J)."""
        raise NotImplementedError


@dataclass(frozen=True)
class WorstGroup(ReadyComposition):
    """The outcome of the worst group, b max_j b f_j."""

    name = "worst-group"

    def __call__(self, outcomes: Array) -> Array:
        """The worst outcome."""
        worst: Array = self.b * (self.b * outcomes).max(axis=-1)
        return worst

    def slopes(self, outcomes: Array) -> Array:
        """1 of the worst group, 0 of all others."""
        return _one_hot((self.b * outcomes).argmax(axis=-1), outcomes.shape)

    def moments(self, means: Array, variances: Array) -> Moments | None:
        """Of two groups, Clark 1961, equations 2 and 3; of one, its own."""
        if means.shape[1] == 1:
            return Moments(means[:, 0], variances[:, 0])
        if means.shape[1] != 2:
            return None
        (m, n), (v, w) = self.b * means.T, variances.T
        a = np.sqrt(np.maximum(v + w, 1e-300))
        z = np.clip((m - n) / a, -1e8, 1e8)
        phi = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        first = m * ndtr(z) + n * ndtr(-z) + a * phi
        second = (m * m + v) * ndtr(z) + (n * n + w) * ndtr(-z) + (m + n) * a * phi
        return Moments(self.b * first, np.maximum(second - first**2, 0.0))


@dataclass(frozen=True)
class OneGroup(ReadyComposition):
    """The outcome of one group.

    Parameters
    ----------
    group : int
        Which.
    """

    group: int = 0
    name = "group"

    def __call__(self, outcomes: Array) -> Array:
        """Its outcome."""
        return np.array(outcomes[..., self.group])

    def slopes(self, outcomes: Array) -> Array:
        """1 of the group, 0 of all others."""
        return _one_hot(np.full(outcomes.shape[:-1], self.group), outcomes.shape)

    def moments(self, means: Array, variances: Array) -> Moments:
        """Its own."""
        return Moments(means[:, self.group], variances[:, self.group])


@dataclass(frozen=True)
class GroupGap(ReadyComposition):
    """The difference between the largest and the smallest outcome, which is to be small."""

    name = "group-gap"

    @property
    def own_sense(self) -> Sense:
        """Always minimised."""
        return "minimize"

    def __call__(self, outcomes: Array) -> Array:
        """Largest minus smallest."""
        return np.asarray(outcomes.max(axis=-1) - outcomes.min(axis=-1))

    def slopes(self, outcomes: Array) -> Array:
        """1 of the largest, -1 of the smallest; 0 where they are the same group."""
        largest, smallest = outcomes.argmax(axis=-1), outcomes.argmin(axis=-1)
        return _one_hot(largest, outcomes.shape) - _one_hot(smallest, outcomes.shape)

    def moments(self, means: Array, variances: Array) -> Moments | None:
        """Of two groups, the folded normal distribution (Leone, Nelson & Nottingham 1961)."""
        if means.shape[1] != 2:
            return None
        m, v = means[:, 0] - means[:, 1], variances.sum(axis=1)
        s = np.sqrt(np.maximum(v, 1e-300))
        z = np.clip(m / s, -1e8, 1e8)
        mean = s * np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z) + m * (1 - 2 * ndtr(-z))
        return Moments(mean, np.maximum(m * m + v - mean**2, 0.0))


@dataclass(frozen=True)
class CVaR(ReadyComposition):
    """The mean over the worst share 1 - level of the groups (Rockafellar & Uryasev 2000), each equal.

    A share that ends within a group takes its part of it, so that g changes without jumps with the level:
    the plain mean at level 0, the worst group from (J - 1) / J on.

    Parameters
    ----------
    level : float
        From 0 up to, and without, 1.
    """

    level: float = 0.5
    name = "cvar"

    def __post_init__(self) -> None:
        """Check the level."""
        if not 0 <= self.level < 1:
            raise ValueError(f"level = {self.level}; accepted: a number from 0 up to, and without, 1")

    def shares(self, groups: int) -> Array:
        """The weight of the worst group, of the second worst, .. (J,)."""
        many = (1 - self.level) * groups
        weights: Array = np.clip(many - np.arange(groups), 0.0, 1.0) / many
        return weights

    def __call__(self, outcomes: Array) -> Array:
        """The weighted mean of the worst."""
        ordered = -np.sort(-self.b * outcomes, axis=-1)
        return np.asarray(self.b * (ordered @ self.shares(outcomes.shape[-1])))

    def slopes(self, outcomes: Array) -> Array:
        """Each group's weight by its rank."""
        ranks = np.argsort(np.argsort(-self.b * outcomes, axis=-1, kind="stable"), axis=-1)
        slopes: Array = self.shares(outcomes.shape[-1])[ranks]
        return slopes

    def bounds(self, groups: int) -> Array:
        """The weight of the worst."""
        return np.full(groups, self.shares(groups)[0])


@dataclass(frozen=True)
class CountBeyond(ReadyComposition):
    """How many groups are worse than a threshold, which are to be few.

    Parameters
    ----------
    threshold : float
        In the groups' unit.
    """

    threshold: float = 0.0
    name = "count"
    jumps = True

    def __post_init__(self) -> None:
        """Check the threshold."""
        if not np.isfinite(self.threshold):
            raise ValueError(f"threshold = {self.threshold}; accepted: a finite number")

    @property
    def own_sense(self) -> Sense:
        """Always minimised."""
        return "minimize"

    def __call__(self, outcomes: Array) -> Array:
        """The number of them; nan where an outcome is."""
        beyond = np.where(np.isnan(outcomes), np.nan, self.b * outcomes > self.b * self.threshold)
        return np.asarray(beyond.sum(axis=-1, dtype=float))

    def slopes(self, outcomes: Array) -> Array:
        """0: what is counted jumps."""
        return np.zeros_like(outcomes)

    def bounds(self, groups: int) -> None:
        """None: it jumps."""
        return

    def _each(self, means: Array, variances: Array) -> tuple[Array, Array, Array]:
        """Of every group the probability p to be beyond, with its slopes in mean and variance."""
        s = np.sqrt(np.maximum(variances, 1e-300))
        z = np.clip(self.b * (means - self.threshold) / s, -1e8, 1e8)
        phi = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return ndtr(z), self.b * phi / s, -z * phi / (2 * s * s)

    def moments(self, means: Array, variances: Array) -> Moments:
        """Sum_j p_j and sum_j p_j (1 - p_j)."""
        p, _, _ = self._each(means, variances)
        return Moments(p.sum(axis=1), (p * (1 - p)).sum(axis=1))

    def moment_slopes(self, means: Array, variances: Array) -> tuple[Moments, Moments]:
        """Through p, since samples of a count have no slopes."""
        p, in_mean, in_variance = self._each(means, variances)
        change = 1 - 2 * p
        return Moments(in_mean, in_variance), Moments(change * in_mean, change * in_variance)


def _one_hot(index: NDArray[np.int64], shape: tuple[int, ...]) -> Array:
    found = np.zeros(shape)
    np.put_along_axis(found, np.asarray(index)[..., None], 1.0, axis=-1)
    return found


READY: dict[str, type[ReadyComposition]] = {
    kind.name: kind for kind in (WorstGroup, GroupGap, CVaR, CountBeyond)
}
"""The ready-made compositions by name."""


def ready(name: str, sense: Sense, **options: float) -> ReadyComposition:
    """A ready-made composition by its name.

    Parameters
    ----------
    name : str
        A key of `READY`: "worst-group", "group-gap", "cvar" (option `level`), "count" (option `threshold`).
    sense : {"minimize", "maximize"}
        What is to be done with the groups' outcomes.

    Raises
    ------
    ValueError
        If the name is unknown or an option out of range.
    TypeError
        If it has no such option.
    """
    if name not in READY:
        raise ValueError(unknown_name("objective", name, ["weighted-sum", *READY]))
    return READY[name](sense, **options)
