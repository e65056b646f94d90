"""What a foreign model answers, as outcomes: one number a group, or one line that says what is wrong."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policyloop.messages import on_one_line
from simulators.contract.environment import SimulationError


def group_names(groups: Any) -> tuple[str, ...]:
    """The names of the groups as they were given, if they are a list of names that differ."""
    named = isinstance(groups, Sequence) and not isinstance(groups, str)
    if not named or not groups or not all(isinstance(group, str) for group in groups):
        raise ValueError(f"groups={groups!r} must be a list of names, at least one")
    if len(set(groups)) < len(groups):
        raise ValueError(f"groups={list(groups)!r} must differ from each other")
    return tuple(groups)


def read_answer(answer: Any, groups: Sequence[str]) -> NDArray[np.float64]:
    """Outcomes (J,) of an answer by group, or in the order of the groups; nan or None where one is missing.

    Raises
    ------
    SimulationError
        If groups are missing or unknown, or a value is no number, or infinite; one line.
    """
    J = len(groups)
    if isinstance(answer, Mapping):
        lacking = [group for group in groups if group not in answer]
        other = [str(key) for key in answer if key not in groups]
        wrong = [f"no group {', '.join(lacking)}"] if lacking else []
        wrong += [f"unknown groups {', '.join(other)}"] if other else []
        if wrong:
            raise SimulationError(
                f"the model's answer has {' and '.join(wrong)}; it must name {', '.join(groups)}, each once"
            )
        values = [answer[group] for group in groups]
    else:
        if isinstance(answer, np.ndarray):
            answer = answer.tolist()
        if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
            raise SimulationError(
                f"the model answered {shortened(repr(answer))}; it must be one number a group"
            )
        values = list(answer)
        if len(values) != J:
            raise SimulationError(
                f"the model answered {len(values)} values for the {J} groups {', '.join(groups)}"
            )
    return np.array([_number(value, group) for value, group in zip(values, groups, strict=True)])


def shortened(text: str, limit: int = 60) -> str:
    """A text on one line, cut off at a limit."""
    text = on_one_line(text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _number(value: Any, group: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, np.ndarray | np.generic) and np.size(value) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SimulationError(f"the model's outcome of {group} is {shortened(repr(value))}, not a number")
    if np.isinf(float(value)):
        raise SimulationError(f"the model's outcome of {group} is infinite")
    return float(value)
