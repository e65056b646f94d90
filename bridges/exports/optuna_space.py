"""Optuna's distributions as the bounds of a search space, and its parameters as coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from optimizer.arrays import Array

Distribution = Any  # optuna.distributions.FloatDistribution or IntDistribution


def is_numeric(distribution: Distribution) -> bool:
    """Whether a distribution is one of numbers: everything but a categorical one."""
    return hasattr(distribution, "low") and hasattr(distribution, "high")


def bounds(distributions: Mapping[str, Distribution]) -> Bounds:
    """Bounds of the coordinates: log-scaled parameters by their logarithm, the others by themselves."""
    ends = [[_coordinate(d, d.low), _coordinate(d, d.high)] for d in distributions.values()]
    return Bounds(*np.array(ends, dtype=float).T)


def coordinates(distributions: Mapping[str, Distribution], parameters: Mapping[str, Any]) -> Array:
    """Coordinates (d,) of a trial's parameters."""
    return np.array([_coordinate(one, parameters[label]) for label, one in distributions.items()])


def parameters(distributions: Mapping[str, Distribution], policy: Array) -> dict[str, float | int]:
    """Parameters of coordinates (d,), each within its limits and on its steps."""
    named = zip(distributions.items(), policy.tolist(), strict=True)
    return {label: _parameter(one, x) for (label, one), x in named}


def _coordinate(distribution: Distribution, value: float) -> float:
    return math.log(value) if distribution.log else float(value)


def _parameter(distribution: Distribution, x: float) -> float | int:
    value = math.exp(x) if distribution.log else x
    if distribution.step is not None:
        value = distribution.low + distribution.step * round((value - distribution.low) / distribution.step)
    value = min(max(value, distribution.low), distribution.high)
    return int(value) if isinstance(distribution.low, int) else value
