"""A limit on outcomes, as an environment or a scenario declares it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from policyloop.messages import unknown_name
from simulators.arrays import Array


@dataclass(frozen=True)
class Limit:
    """What a policy must keep: `at_least <= value <= at_most` of the noise-free outcomes.

    Attributes
    ----------
    weights : mapping of str to float
        The value is the sum of these groups' outcomes, each times its weight; empty where a `function` is.
    at_least, at_most : float
        In the value's unit; infinite where there is no limit on that side.
    function : callable, optional
        A known function of the outcomes in place of weights: from (..., J) to (...,), vectorised.
    name : str, optional
        How messages call it; its groups unless given.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    at_least: float = -math.inf
    at_most: float = math.inf
    function: Callable[[Array], Array] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check that it limits something."""
        if bool(self.weights) == (self.function is not None):
            raise ValueError("a limit needs weights of groups, or a function, and not both")
        if self.weights and not any(self.weights.values()):
            raise ValueError("a limit needs a weight other than 0")
        for what, end in (("at_least", self.at_least), ("at_most", self.at_most)):
            if math.isnan(end):
                raise ValueError(f"{what} = nan; accepted: a number")
        if math.isinf(self.at_least) and math.isinf(self.at_most):
            raise ValueError("a limit needs at_most, at_least or both")
        if self.at_least > self.at_most:
            raise ValueError(f"at_least = {self.at_least:g} is above at_most = {self.at_most:g}")
        if not self.name:
            object.__setattr__(self, "name", self._described())

    def _described(self) -> str:
        if self.function is not None:
            return getattr(self.function, "__name__", "a function of the outcomes")
        terms = [name if w == 1 else f"{w:g}*{name}" for name, w in self.weights.items()]
        return " + ".join(terms)

    @property
    def text(self) -> str:
        """The limit as people write it, such as `70+ <= 0.02`."""
        low = "" if math.isinf(self.at_least) else f"{self.at_least:g} <= "
        high = "" if math.isinf(self.at_most) else f" <= {self.at_most:g}"
        return f"{self.name} >= {self.at_least:g}" if low and not high else f"{low}{self.name}{high}"

    def row(self, groups: Sequence[str]) -> Array:
        """Its weights of all groups (J,).

        Raises
        ------
        ValueError
            It names a group that is none of them; tells the nearest.
        """
        for name in self.weights:
            if name not in groups:
                raise ValueError(f"limit {self.text!r}: {unknown_name('group', name, groups)}")
        return np.array([float(self.weights.get(name, 0.0)) for name in groups])
