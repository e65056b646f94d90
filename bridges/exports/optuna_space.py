"""Optuna's distributions as a search space, and its parameters as coordinates.

What is tried is what was asked for: parameters with steps are searched on their steps, categories by their
names. A coordinate is

- the value, of a float or an integer;
- its logarithm, of a log-scaled float;
- its place on a list of values, of a log-scaled integer: all integers, or where there are more than
  `LOG_VALUES` so many, evenly in their logarithms, which is what kernels see of them;
- the place of its choice, of a categorical parameter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.optimize import Bounds, LinearConstraint

from optimizer.arrays import Array
from optimizer.space.mixed_space import MixedSpace
from optimizer.space.search_space import SearchSpace
from simulators.contract.levers import Lever, OneOf, Whole

LOG_VALUES = 500
"""Most values of a log-scaled integer that are searched."""

Distributions = Mapping[str, BaseDistribution]


class _Entry(ABC):
    """A parameter as an entry of a policy: a coordinate in `low..high`, in steps, or real where step is 0."""

    step = 0.0

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = float(low), float(high)

    @abstractmethod
    def coordinate(self, parameter: Any) -> float:
        """The coordinate of a parameter, which others may have asked for; ValueError where it has none."""

    @abstractmethod
    def parameter(self, coordinate: float) -> Any:
        """The parameter as Optuna knows it."""

    def value(self, parameter: Any) -> float:
        """The number that weights and compositions are given of a parameter."""
        return self.coordinate(parameter)

    def number(self, coordinates: Array) -> Array:
        """The same of coordinates (..)."""
        return coordinates

    def features(self, coordinates: Array) -> Array:
        """What kernels see of coordinates (n,), in one column or more."""
        return coordinates[:, None]


class _Number(_Entry):
    def __init__(self, distribution: FloatDistribution | IntDistribution) -> None:
        super().__init__(distribution.low, distribution.high)
        self.step = float(distribution.step or 0.0)
        self._whole = isinstance(distribution, IntDistribution)

    def coordinate(self, parameter: Any) -> float:
        return float(parameter)

    def parameter(self, coordinate: float) -> float | int:
        return round(coordinate) if self._whole else min(max(coordinate, self.low), self.high)


class _LogFloat(_Entry):
    def __init__(self, distribution: FloatDistribution) -> None:
        super().__init__(math.log(distribution.low), math.log(distribution.high))
        self._ends = distribution.low, distribution.high

    def coordinate(self, parameter: Any) -> float:
        return math.log(parameter)

    def parameter(self, coordinate: float) -> float:
        return min(max(math.exp(coordinate), self._ends[0]), self._ends[1])

    def value(self, parameter: Any) -> float:
        return float(parameter)

    def number(self, coordinates: Array) -> Array:
        return np.exp(coordinates)


class _LogInteger(_Entry):
    step = 1.0

    def __init__(self, distribution: IntDistribution) -> None:
        ends = distribution.low, distribution.high
        self._values = np.unique(np.rint(np.geomspace(*ends, LOG_VALUES)).clip(*ends))
        self._places = np.arange(len(self._values))
        super().__init__(0, len(self._values) - 1)

    def coordinate(self, parameter: Any) -> float:
        low, high = self._values[[0, -1]]
        if not low <= parameter <= high:
            raise ValueError(f"{parameter} is outside {low:g}..{high:g}")
        # Where others asked for one between two values of the list, the nearer one stands for it.
        return float(np.rint(np.interp(math.log(parameter), np.log(self._values), self._places)))

    def parameter(self, coordinate: float) -> int:
        return int(self._values[round(coordinate)])

    def value(self, parameter: Any) -> float:
        return float(parameter)

    def number(self, coordinates: Array) -> Array:
        numbers: Array = self._values[np.rint(coordinates).astype(int)]
        return numbers

    def features(self, coordinates: Array) -> Array:
        return np.log(self.number(coordinates))[:, None]


class _Choice(_Entry):
    step = 1.0

    def __init__(self, distribution: CategoricalDistribution) -> None:
        super().__init__(0, len(distribution.choices) - 1)
        self._distribution = distribution

    def coordinate(self, parameter: Any) -> float:
        return float(self._distribution.to_internal_repr(parameter))

    def parameter(self, coordinate: float) -> Any:
        return self._distribution.choices[round(coordinate)]

    def features(self, coordinates: Array) -> Array:
        return np.asarray(np.rint(coordinates)[:, None] == np.arange(self.high + 1), dtype=float)


def _entry(distribution: Any) -> _Entry:
    if isinstance(distribution, CategoricalDistribution):
        return _Choice(distribution)
    if distribution.log:
        return (
            _LogInteger(distribution)
            if isinstance(distribution, IntDistribution)
            else _LogFloat(distribution)
        )
    return _Number(distribution)


def distribution_of(lever: Lever) -> BaseDistribution:
    """A policy's entry as a distribution: whole numbers are integers, categories choices of their names."""
    if isinstance(lever, OneOf):
        return CategoricalDistribution(lever.names)
    if isinstance(lever, Whole):
        return IntDistribution(lever.low, lever.high, step=lever.step)
    return FloatDistribution(lever.low, lever.high)


class OptunaSpace:
    """Distributions by label as a search space; see the head of this file.

    Parameters
    ----------
    distributions : mapping of str to optuna distribution
        In the order of the coordinates.
    """

    def __init__(self, distributions: Distributions) -> None:
        self.entries: dict[str, _Entry] = {label: _entry(one) for label, one in distributions.items()}

    def search_space(self, constraint: LinearConstraint | None) -> SearchSpace:
        """The space that the agent searches."""
        entries = list(self.entries.values())
        bounds = Bounds([one.low for one in entries], [one.high for one in entries])
        steps = np.array([one.step for one in entries])
        if not steps.any():
            return SearchSpace(bounds, constraint)
        return SearchSpace(
            bounds,
            constraint,
            embed=self._embed if any(isinstance(one, _LogInteger) for one in entries) else None,
            steps=steps,
            categories=np.array([isinstance(one, _Choice) for one in entries]),
        )

    def _embed(self, coordinates: Array) -> Array:
        """Coordinates (n, d) as kernels see them: log-scaled integers by their logarithms, choices apart."""
        columns = zip(self.entries.values(), np.asarray(coordinates, dtype=float).T, strict=True)
        return np.hstack([one.features(x) for one, x in columns])

    def coordinates(self, parameters: Mapping[str, Any]) -> Array | None:
        """Coordinates (d,) of a trial's parameters; None where one is lacking, or has no place here."""
        try:
            return np.array([one.coordinate(parameters[label]) for label, one in self.entries.items()])
        except (KeyError, ValueError):
            return None

    @staticmethod
    def may_be_told(space: SearchSpace, policy: Array) -> bool:
        """Whether an agent can learn from coordinates (d,) that others asked for: not between the steps."""
        return not isinstance(space, MixedSpace) or bool(space.contains(policy[None])[0])

    def values(self, parameters: Mapping[str, Any]) -> Array:
        """The numbers (d,) of a trial's parameters: values, and places of choices."""
        return np.array([one.value(parameters[label]) for label, one in self.entries.items()])

    def parameters(self, policy: Array) -> dict[str, Any]:
        """Parameters of coordinates (d,)."""
        named = zip(self.entries.items(), policy.tolist(), strict=True)
        return {label: one.parameter(x) for (label, one), x in named}

    def numbers(self, policies: Any) -> Array:
        """The same (.., d) of coordinates (.., d)."""
        numbers = np.array(policies, dtype=float)
        for i, one in enumerate(self.entries.values()):
            numbers[..., i] = one.number(numbers[..., i])
        return numbers

    def of_numbers(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose last argument is policies by their numbers, as one of coordinates."""
        return lambda *arguments: function(*arguments[:-1], self.numbers(arguments[-1]))
