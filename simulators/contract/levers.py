"""What one entry of a policy may be: a real number, a whole number in steps, or one of some categories.

A policy travels as numbers (d,). A category's number is its place among the names, counted from 0; people,
models and tables read its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyloop.messages import unknown_name
from simulators.contract.validation import number

SPELLINGS = "[low, high], { whole = [low, high], step = 1 } or { one_of = [names] }"


@dataclass(frozen=True)
class Real:
    """A real number, `low <= x <= high`."""

    low: float
    high: float

    def number(self, value: Any) -> float:
        """The number of a value."""
        return float(value)

    def value(self, number: float) -> float:
        """What a number stands for: itself."""
        return float(number)


@dataclass(frozen=True)
class Whole:
    """A whole number: low, low + step, .., high.

    Raises
    ------
    ValueError
        Limits or a step that are not whole, a step below 1, or one that does not divide the range.
    """

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        """Check that the three are whole, and go together."""
        for name in ("low", "high", "step"):
            x = number(name, getattr(self, name))
            if x != round(x):
                raise ValueError(f"{name}={x:g} must be a whole number")
            object.__setattr__(self, name, round(x))
        if self.step < 1 or (self.high - self.low) % self.step:
            raise ValueError(
                f"step={self.step} must be 1 or more and divide the range {self.low}..{self.high}"
            )

    def number(self, value: Any) -> float:
        """The number of a value."""
        return float(value)

    def value(self, number: float) -> int:
        """What a number stands for: itself, as an int."""
        return round(number)


@dataclass(frozen=True)
class OneOf:
    """One of some categories, which have names and no order.

    Raises
    ------
    ValueError
        No names, names that are not text, or the same one twice.
    """

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the names."""
        names: Any = self.names
        if isinstance(names, str) or not isinstance(names, Sequence) or not names:
            raise ValueError(f"one_of={names!r} must be a list of names")
        if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
            raise ValueError(f"one_of={list(names)!r} must be different names, each a text")
        object.__setattr__(self, "names", tuple(names))

    low, step = 0, 1

    @property
    def high(self) -> int:
        """The number of the last category."""
        return len(self.names) - 1

    def number(self, value: Any) -> float:
        """The number of a category: of its name, or the number itself.

        Raises
        ------
        ValueError
            A name that is none of the lever's; tells the nearest.
        """
        if isinstance(value, str):
            if value not in self.names:
                raise ValueError(unknown_name("category", value, self.names))
            return float(self.names.index(value))
        return float(value)

    def value(self, number: float) -> str:
        """The category's name."""
        return self.names[round(number)]


Lever = Real | Whole | OneOf


def as_lever(label: str, given: Any) -> Lever:
    """A lever from its declaration, as Python and scenario files spell it.

    Parameters
    ----------
    label : str
        Of the policy's entry, for messages.
    given : Lever, pair or mapping
        `(low, high)`, `{"whole": (low, high), "step": 1}` (the step may be left out), or
        `{"one_of": [names]}`.

    Raises
    ------
    ValueError
        Anything else; names the label.
    """
    if isinstance(given, Real | Whole | OneOf):
        return given
    try:
        if isinstance(given, Mapping):
            keys = set(given)
            if keys == {"one_of"}:
                return OneOf(given["one_of"])
            if keys == {"whole"} or keys == {"whole", "step"}:
                return Whole(*_pair("whole", given["whole"]), given.get("step", 1))  # type: ignore[arg-type]
        elif _is_pair(given):
            return Real(*_pair("range", given))
    except ValueError as error:
        raise ValueError(f"policy: {label!r}: {error}") from None
    raise ValueError(f"policy: {label!r} is {given!r}; accepted: {SPELLINGS}")


def _is_pair(given: Any) -> bool:
    try:
        return not isinstance(given, str) and np.shape(given) == (2,)
    except ValueError:  # lists in a list
        return False


def _pair(name: str, given: Any) -> tuple[float, float]:
    if not _is_pair(given):
        raise ValueError(f"{name}={given!r} must be a pair [low, high]")
    return number("low", given[0]), number("high", given[1])


def steps_of(levers: Sequence[Lever]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The step of every entry (d,): 0 where it is a real number, 1 where it is a category."""
    return np.array([0 if isinstance(lever, Real) else lever.step for lever in levers], dtype=float)
