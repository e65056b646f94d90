"""Who takes the steps of an environment: itself, one after the other, or others, side by side."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from policyloop.messages import failure, on_one_line
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.validation import noise_of_groups, outcome_ranges


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

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps of (seed, policy) pairs, and yield them as they end.

        With a seed, noise and memory begin anew; with None they go on from the step before.
        """


class OneByOne:
    """The environment's own steps, in order: `Steps` where nobody else takes them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps one after the other."""
        for which, (seed, policy) in enumerate(asked):
            began = perf_counter()
            outcomes: Outcomes | Exception
            try:
                if seed is not None:
                    self._environment.reset(seed)
                outcomes = self._environment.step(policy)
            except Exception as error:  # whatever a simulator raises is its round's failure
                outcomes = error
            except SystemExit as end:
                why = f"the simulator asked to exit with code {end.code}"
                outcomes = SimulationError(why, policy, seed)
            yield Taken(which, outcomes, perf_counter() - began)


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
        return checked(taken.outcomes, len(environment.groups), environment)
    except SimulationError:
        raise
    except Exception as error:
        raise SimulationError(failure(error), policy, seed) from error


def checked(outcomes: Any, J: int, environment: Environment | None = None) -> Outcomes:
    """What a step returned, as numbers of the right shape: values (J,), and noise variances or None.

    Variances are (J,), or a covariance (J, J), nan where a group is missing. Of an environment with an
    `outcome_range` values have to lie in it.

    Raises
    ------
    SimulationError
        If they are something else, or infinite.
    """
    if not isinstance(outcomes, Outcomes):
        raise SimulationError(f"step must return Outcomes, not {type(outcomes).__name__}")
    values = np.array(outcomes.values, dtype=float)
    if values.shape != (J,):
        raise SimulationError(f"outcomes must have shape {(J,)}, one a group, not {values.shape}")
    if np.isinf(values).any():
        raise SimulationError(f"an outcome is infinite: {values.tolist()}")
    ranges = None if environment is None else outcome_ranges(environment.outcome_range, environment.groups)
    if environment is not None and ranges is not None:
        for group, value, (low, high) in zip(environment.groups, values, ranges, strict=True):
            if value < low or value > high:
                raise SimulationError(
                    f"the outcome of {group} is {value:.6g}, outside its outcome_range ({low:g}, {high:g})"
                )
    noise = outcomes.noise_variance
    if noise is not None:
        try:
            noise = noise_of_groups("noise_variance", noise, J, np.isnan(values))
        except ValueError as error:
            raise SimulationError(on_one_line(error)) from error
    return Outcomes(values, noise, outcomes.info)
