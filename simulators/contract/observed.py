"""What a step has observed, as numbers of the right shape: the one check of all outcomes.

Whatever a model, a program or a class returns as outcomes passes here before anybody computes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from policyloop.messages import on_one_line
from simulators.arrays import Array
from simulators.contract.environment import Outcomes, SimulationError
from simulators.contract.validation import LARGEST, noise_of_groups, outcome_ranges


def checked(outcomes: Any, groups: Sequence[str], outcome_range: Any = None) -> Outcomes:
    """A copy of what a step has returned: values (J,), and noise variances or None.

    Parameters
    ----------
    outcomes : Outcomes
        Values as `as_values` takes them. Variances are (J,), or a covariance (J, J), nan where a group is
        missing.
    groups : sequence of str
        The J names.
    outcome_range : optional
        Where values have to lie; see `Environment`.

    Raises
    ------
    SimulationError
        If they are something else; names the group.
    """
    if not isinstance(outcomes, Outcomes):
        raise SimulationError(f"step must return Outcomes, not {type(outcomes).__name__}")
    values = as_values(outcomes.values, groups)
    ranges = outcome_ranges(outcome_range, groups)
    if ranges is not None:
        for group, value, (low, high) in zip(groups, values, ranges, strict=True):
            if value < low or value > high:
                raise SimulationError(
                    f"the outcome of {group} is {value:.6g}, outside its outcome_range ({low:g}, {high:g})"
                )
    noise = outcomes.noise_variance
    if noise is not None:
        try:
            noise = noise_of_groups("noise_variance", noise, len(groups), np.isnan(values))
        except ValueError as error:
            raise SimulationError(on_one_line(error)) from error
    return Outcomes(values, noise, outcomes.info)


def as_values(values: Any, groups: Sequence[str], infinite: bool = False) -> Array:
    """One number a group, (J,), from an array or a list of them; nan or None where one is missing.

    Infinite ones pass only where `infinite` says so.

    Raises
    ------
    SimulationError
        Another shape, or what is no real number of a size to compute with: text, complex numbers, truth
        values, masked entries, any other object.
    """
    shape = getattr(values, "shape", None) or ((len(values),) if isinstance(values, Sequence) else ())
    if shape != (len(groups),):
        raise SimulationError(f"outcomes must have shape {(len(groups),)}, one a group, not {shape}")
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if masked is not None and masked.any():
        hidden = ", ".join(group for group, out in zip(groups, masked, strict=True) if out)
        raise SimulationError(f"the outcome of {hidden} is masked; accepted: nan where a group is missing")
    numbers = [_number(value, group) for value, group in zip(values, groups, strict=True)]
    for number, group in zip(numbers, groups, strict=True):
        if np.isinf(number) and not infinite:
            raise SimulationError(f"the outcome of {group} is infinite")
    return np.array(numbers)


def shortened(text: str, limit: int = 60) -> str:
    """A text on one line, cut off at a limit."""
    text = on_one_line(text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _number(value: Any, group: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, np.ndarray) and value.size == 1 and not isinstance(value, np.ma.MaskedArray):
        value = value.reshape(())[()]
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, Real):
        raise SimulationError(f"the outcome of {group} is {shortened(repr(value))}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if LARGEST < abs(number) < np.inf:
        raise SimulationError(
            f"the outcome of {group} is {number:.6g}; accepted: up to {LARGEST:g} in size, for variances "
            "overflow beyond"
        )
    return number
