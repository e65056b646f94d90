"""Who takes the steps of an environment: itself, one after the other, or others, side by side."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from optimizer.arrays import Array
from policyloop.messages import failure, on_one_line
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.observed import checked
from simulators.contract.process_state import RandomNumbers, kept_process_state


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
    runs : (R, J) array, optional
        Where the step is the mean of several, the outcomes of each.
    """

    which: int
    outcomes: Outcomes | Exception
    seconds: float
    runs: Array | None = None


class Part(NamedTuple):
    """A policy of which only some groups are to be observed.

    Attributes
    ----------
    policy : (d,) array, or candidate row
    groups : list of int
    """

    policy: Any
    groups: list[int]


def whole_policy(asked: Any) -> Any:
    """The policy of what is asked of a step: of some groups, or of all."""
    return asked.policy if isinstance(asked, Part) else asked


class Steps(Protocol):
    """Takes several steps, in any order."""

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps of (seed, policy) pairs, and yield them as they end. A policy may be a `Part`.

        With a seed, noise and memory begin anew; with None they go on from the step before.
        """


class OneByOne:
    """The environment's own steps, in order: `Steps` where nobody else takes them.

    What a step changes in the process is put back (`kept_process_state`). Global random numbers begin anew
    with each seed, and go on where the last step left them without one.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._numbers = RandomNumbers()

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps one after the other."""
        for which, (seed, policy) in enumerate(asked):
            began = perf_counter()
            outcomes = self._step(seed, policy)
            yield Taken(which, outcomes, perf_counter() - began)

    def _step(self, seed: int | None, policy: Any) -> Outcomes | Exception:
        environment = self._environment
        try:
            with kept_process_state(), self._numbers.used(None if seed is None else seed % 2**32):
                if seed is not None:
                    environment.reset(seed)
                given = deepcopy(policy)  # what is done to it is done to nobody's
                outcomes = (
                    environment.step_groups(*given) if isinstance(given, Part) else environment.step(given)
                )
                return checked(outcomes, environment.groups, environment.outcome_range)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # whatever a simulator raises is its round's failure
            return error
        except SystemExit as end:
            why = f"the simulator asked to exit with code {on_one_line(end.code)}"
        except BaseException as error:
            why = f"the simulator raised {failure(error)}"
        return SimulationError(why, policy, seed)


def observe(
    environment: Environment, policy: Any, seed: int | None = None, steps: Steps | None = None
) -> Outcomes:
    """Take one step outside a loop, and check what it returns.

    Parameters
    ----------
    environment : Environment
    policy : (d,) array, or candidate row
    seed : int, optional
        Reset the environment with it first.
    steps : Steps, optional
        Who takes the step; default: the environment itself.

    Raises
    ------
    SimulationError
        Whatever goes wrong, in one line.
    """
    (taken,) = (steps or OneByOne(environment)).take([(seed, policy)])
    try:
        if isinstance(taken.outcomes, Exception):
            raise taken.outcomes
        return checked(taken.outcomes, environment.groups, environment.outcome_range)
    except SimulationError:
        raise
    except Exception as error:
        raise SimulationError(failure(error), policy, seed) from error
