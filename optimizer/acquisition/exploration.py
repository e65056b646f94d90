"""Exploration schedules beta_t: how much uncertainty is worth to a UCB agent in round t."""

import math
from abc import ABC, abstractmethod

import numpy as np

from optimizer.space.finite_space import FiniteSpace
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace

LOG_ZETA_2 = np.log(np.pi**2 / 6)


class Exploration(ABC):
    """A schedule of beta_t; `scale_down` divides beta_t itself, not its root (in the paper: by 5)."""

    def __init__(self, delta: float, scale_down: float) -> None:
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, not {delta}")
        if not scale_down > 0:
            raise ValueError(f"scale_down must be positive, not {scale_down}")
        self.delta = delta
        self.scale_down = scale_down

    def beta(self, t: int) -> float:
        """beta_t of round t, counted from 1; never negative."""
        return max(self._unscaled(t), 0.0) / self.scale_down

    @abstractmethod
    def _unscaled(self, t: int) -> float: ...


class FiniteBeta(Exploration):
    """beta_t = 2 log(|X| t^2 pi^2 / (6 delta)) over a finite set (Theorem 2).

    With a general composition the J groups stand inside the logarithm (Theorem 3).

    Parameters
    ----------
    size : int
        |X|, any size: only its logarithm is used, so 100**12 is fine.
    delta : float, default=0.1
        Probability with which the confidence bounds may fail.
    scale_down : float, default=1.0
        Divides beta_t.
    groups : int, default=1
        J of Theorem 3; 1 for Theorem 2.
    """

    def __init__(self, size: int, delta: float = 0.1, scale_down: float = 1.0, groups: int = 1) -> None:
        super().__init__(delta, scale_down)
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        # math.log takes integers of any size, which numpy.log does not.
        self._log_size = math.log(size) + math.log(groups)

    def _unscaled(self, t: int) -> float:
        return float(2 * (self._log_size + 2 * np.log(t) + LOG_ZETA_2 - np.log(self.delta)))


class ContinuousBeta(Exploration):
    """beta_t of a continuous space, on the unit box.

    beta_t = 2 log(2 t^2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta))) on [0, r]^d.
    Section 7 of the paper, after Srinivas et al. 2010, with P(sup |df/dx_i| > L) <= a exp(-(L/b)^2).

    Parameters
    ----------
    d : int
        Dimension of the policy space.
    delta, scale_down, groups
        As in `FiniteBeta`.
    a, b, r : float, default=1.0
        Constants of the smoothness assumption and the side of the box.
    """

    def __init__(
        self,
        d: int,
        delta: float = 0.1,
        scale_down: float = 1.0,
        groups: int = 1,
        a: float = 1.0,
        b: float = 1.0,
        r: float = 1.0,
    ) -> None:
        super().__init__(delta, scale_down)
        self.d: int = d
        self.groups: int = groups
        self.a: float = a
        self.b: float = b
        self.r: float = r

    def _unscaled(self, t: int) -> float:
        confidence = 2 * np.log(2 * self.groups * t**2 * np.pi**2 / (3 * self.delta))
        # With a below delta / (4 d) the inner logarithm would be negative: the assumption then costs nothing.
        inner = np.sqrt(max(np.log(4 * self.d * self.a / self.delta), 1e-12))
        return float(confidence + 2 * self.d * np.log(t**2 * self.d * self.b * self.r * inner))


class ConstantBeta(Exploration):
    """The same beta in every round.

    Parameters
    ----------
    value : float
        beta, not negative.
    scale_down : float, default=1.0
        Divides beta.
    """

    def __init__(self, value: float, scale_down: float = 1.0) -> None:
        super().__init__(0.5, scale_down)
        if not (value >= 0 and np.isfinite(value)):
            raise ValueError(f"beta must be finite and not negative, not {value}")
        self.value = value

    def _unscaled(self, t: int) -> float:
        return self.value


def default_exploration(
    space: SearchSpace, delta: float = 0.1, scale_down: float = 5.0, groups: int = 1
) -> Exploration:
    """The paper's beta_t for the space: finite (Theorem 2) or continuous (section 7), scaled down by 5.

    A space of whole numbers and categories alone is finite. Where there are real entries besides, it is a
    continuous space for each choice of the others, and the bound is to hold in all of them: their number
    stands inside the logarithm, as J does.

    `groups` is the J that stands inside the logarithm where every group is modelled under a general
    composition (Theorem 3), else 1.
    """
    if isinstance(space, FiniteSpace):
        return FiniteBeta(space.size, delta, scale_down, groups)
    if isinstance(space, MixedSpace):
        if space.discrete:
            return FiniteBeta(
                space.parts if space.grid is None else len(space.grid), delta, scale_down, groups
            )
        return ContinuousBeta(int(space.real.sum()), delta, scale_down, groups * space.parts)
    return ContinuousBeta(space.d, delta, scale_down, groups)
