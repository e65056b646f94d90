"""The composition of an environment as foreign code: what it fails at is nan, and costs its own rows only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.arrays import Array
from policyloop.messages import failure
from simulators.contract.environment import Environment, SimulationError
from simulators.contract.validation import LARGEST, real_numbers

TRIES = 4000
"""Calls by which rows that fail are told from others, at most; those not told apart by then are nan."""


_watching: list[list[str]] = []


@contextmanager
def watched_failures() -> Iterator[list[str]]:
    """Note the first failure of foreign code for which nan stands; nothing if there was none."""
    found: list[str] = []
    _watching.append(found)
    try:
        yield found
    finally:
        _watching.remove(found)


def composed(environment: Environment, values: Array, policy: Any) -> float:
    """The objective of one policy's outcomes (J,); nan where one of them is.

    Raises
    ------
    SimulationError
        If `compose` raises, or answers with something else than one number of a size to compute with.
    """
    if np.isnan(values).any():
        return float("nan")
    try:
        answer = real_numbers("compose", environment.compose(values[None].copy(), np.array([policy])))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SimulationError(f"compose raised {failure(error)}") from error
    if answer.shape != (1,):
        raise SimulationError(f"compose must return one number a policy, shape (1,), not {answer.shape}")
    if abs(answer[0]) > LARGEST:
        raise SimulationError(f"compose gives {answer[0]:.6g} of finite outcomes: {values.tolist()}")
    return float(answer[0])


def known_outcomes(environment: Environment, policies: Any) -> Array:
    """The noise-free outcomes (n, J) of policies, nan where `expected` raises.

    Raises
    ------
    NotImplementedError
        If they are unknown.
    """
    unknown = []

    def expected(at: Any) -> Any:
        try:
            return environment.expected(at)
        except NotImplementedError as error:
            unknown.append(error)
            raise

    found = nan_where_it_fails(expected, (len(policies),), policies, tail=(len(environment.groups),))
    if unknown:
        raise unknown[0]
    return found


def nan_where_it_fails(
    call: Callable[..., Any], rows: tuple[int, ...], *arrays: NDArray[Any], tail: tuple[int, ...] = ()
) -> Array:
    """What a vectorised function answers, shape (*rows, *tail), nan in the rows for which it raises.

    One number a row that is too large to compute with is nan as well.

    Parameters
    ----------
    call : callable
        Takes arrays that share their leading axes, and gets copies.
    rows : tuple of int
        The lengths of these axes.
    *arrays
        Its arguments.
    tail : tuple of int, default ()
        The lengths of its answer's other axes.

    Raises
    ------
    ValueError
        If it answers with anything else than real numbers, in that shape.
    """
    try:
        return _answer(call, rows, arrays, tail)
    except _Failed:
        pass
    n = int(np.prod(rows))
    flat = [array.reshape(n, *array.shape[len(rows) :]) for array in arrays]
    found = np.full((n, *tail), np.nan)
    blocks = _halves(0, n)
    for _ in range(TRIES):
        if not blocks:
            break
        start, end = blocks.pop()
        try:
            found[start:end] = _answer(call, (end - start,), [array[start:end] for array in flat], tail)
        except _Failed:
            blocks += _halves(start, end)
    return found.reshape(*rows, *tail)


class _Failed(Exception):
    """The function has raised."""


def _halves(start: int, end: int) -> list[tuple[int, int]]:
    middle = (start + end) // 2
    return [(start, middle), (middle, end)] if end - start > 1 else []


def _answer(call: Callable[..., Any], rows: tuple[int, ...], arrays: Any, tail: tuple[int, ...]) -> Array:
    try:
        answer = call(*(np.array(array) for array in arrays))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _note(failure(error))
        raise _Failed from error
    found = real_numbers(getattr(call, "__name__", "the composition"), answer)
    if found.shape != (*rows, *tail):
        raise ValueError(
            f"{getattr(call, '__name__', 'the composition')} must return shape {(*rows, *tail)}, "
            f"not {found.shape}"
        )
    if not tail:
        found[np.abs(found) > LARGEST] = np.nan
        if np.isnan(found).any():
            _note("it gives nan, or numbers too large to compute with")
    return found


def _note(words: str) -> None:
    for noted in _watching:
        noted[:] = noted or [words]
