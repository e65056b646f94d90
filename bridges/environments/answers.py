"""What a foreign model answers, as outcomes: one number a group, or one line that says what is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulators.contract.environment import SimulationError
from simulators.contract.observed import as_values, shortened


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
        array = isinstance(answer, np.ndarray) and answer.ndim > 0
        if not (array or isinstance(answer, Sequence)) or isinstance(answer, str | bytes):
            raise SimulationError(
                f"the model answered {shortened(repr(answer))}; it must be one number a group"
            )
        values = answer
        if len(values) != J:
            raise SimulationError(
                f"the model answered {len(values)} values for the {J} groups {', '.join(groups)}"
            )
    return as_values(values, groups)
