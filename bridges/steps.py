"""Who takes the steps of an environment: itself, one after the other, or others, side by side."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from policyloop.messages import failure
from simulators.contract.environment import Environment, Outcomes, SimulationError


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
        return checked(taken.outcomes, len(environment.groups))
    except SimulationError:
        raise
    except Exception as error:
        raise SimulationError(failure(error), policy, seed) from error


def checked(outcomes: Any, J: int) -> Outcomes:
    """What a step returned, as numbers of the right shape: values (J,), and noise variances (J,) or None.

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
    noise = outcomes.noise_variance
    if noise is not None:
        noise = np.array(noise, dtype=float)
        if noise.shape != (J,) or not (noise[~np.isnan(values)] >= 0).all():
            raise SimulationError(f"noise variances must be {J} numbers, not negative: {noise.tolist()}")
        noise[np.isnan(values)] = 0.0
    return Outcomes(values, noise, outcomes.info)
