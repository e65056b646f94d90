"""Who takes the steps of an environment: itself, one after the other, or others, side by side."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from simulators.environment import Environment, Outcomes, SimulationError


class Taken(NamedTuple):
    """A step that has ended.

    Attributes
    ----------
    which : int
        Which of those that were asked for.
    outcomes : Outcomes, or Exception
        What was observed, or why the step failed.
    seconds : float
        Wall time.
    """

    which: int
    outcomes: Outcomes | Exception
    seconds: float


class Steps(Protocol):
    """Takes several steps, in any order."""

    def take(self, asked: Sequence[tuple[int, Any]]) -> Iterator[Taken]:
        """Take the steps of (seed, policy) pairs, the noise from the seed; yield them as they end."""


class OneByOne:
    """The environment's own steps, in order.

    Parameters
    ----------
    environment : Environment
        Its noise is reset before every step, unless it has memory.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def take(self, asked: Sequence[tuple[int, Any]]) -> Iterator[Taken]:
        """Take the steps one after the other; see `Steps.take`."""
        for which, (seed, policy) in enumerate(asked):
            began = perf_counter()
            outcomes: Outcomes | Exception
            try:
                if not self._environment.has_memory:
                    self._environment.reset(seed)
                outcomes = self._environment.step(policy)
            except Exception as failure:  # whatever a simulator raises is its round's failure
                outcomes = failure
            except SystemExit as end:
                outcomes = SimulationError(f"the simulator asked to exit with code {end.code}")
            yield Taken(which, outcomes, perf_counter() - began)
