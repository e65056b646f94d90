"""Actions of a Gymnasium environment as policies: which levers they are, and which action a policy is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from bridges.environments.levers import Entry, Levers
from simulators.contract.levers import Lever, OneOf, Real, Whole

ALONE = "action"
"""Name of the number that is an action by itself."""

GREATEST = 2.0**53
"""Whole numbers beyond are no floats; a limit beyond is none."""


class Number(NamedTuple):
    """One number of an action.

    Attributes
    ----------
    name : str
        Its keys and places in the action, joined by dots; "action" where it is the action.
    lever : Real or Whole
        What it may be.
    dtype : numpy.dtype
        Of its space.
    """

    name: str
    lever: Real | Whole
    dtype: np.dtype[Any]


def numbers(space: Any, *path: Any) -> list[Number]:
    """All numbers of an action, in their order: by the keys or places of Dict and Tuple, then by index.

    Raises
    ------
    ValueError
        A space of something else than numbers.
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return [number for key, part in _parts(space) for number in numbers(part, *path, key)]
    if isinstance(space, spaces.Discrete):
        low, high = space.start, space.start + space.n - 1
    elif isinstance(space, spaces.MultiDiscrete):
        low, high = space.start, space.start + (space.nvec - 1)
    elif isinstance(space, spaces.MultiBinary):
        low, high = np.zeros(space.shape, dtype=int), np.ones(space.shape, dtype=int)
    elif isinstance(space, spaces.Box):
        low, high = space.low, space.high
    else:
        raise ValueError(f"act=None: an action of {space} is not made of numbers; accepted: a function")
    kind: Any = Whole if np.issubdtype(space.dtype, np.integer) else Real
    name = ".".join(map(str, path)) or ALONE
    places, sides = np.ndindex(np.shape(low)), (np.ravel(side).tolist() for side in (low, high))
    return [
        Number(".".join([name, *map(str, place)]), kind(*limits), np.dtype(space.dtype))
        for place, *limits in zip(places, *sides, strict=True)
    ]


def levers_of(space: Any) -> dict[str, Lever]:
    """The levers that an action space is, by the names of its numbers.

    Raises
    ------
    ValueError
        As `numbers`, and where a number has no limits.
    """
    levers: dict[str, Lever] = {}
    for name, lever, _ in numbers(space):
        if not (abs(lever.low) < GREATEST and abs(lever.high) < GREATEST):
            raise ValueError(f"policy=None: {name!r} of {space} has no limits; accepted: a policy that has")
        levers[name] = lever
    return levers


class ConstantAction:
    """A policy as an action of a space: by the labels if these are the names of its numbers, else in order.

    Parameters
    ----------
    space : gymnasium.Space
    levers : Levers
        Of the policy.

    Raises
    ------
    ValueError
        Another number of entries, or one that is not what the action takes there.
    """

    def __init__(self, space: Any, levers: Levers) -> None:
        found, given = numbers(space), _by_entry(levers)
        if len(found) != len(given):
            raise ValueError(
                f"policy has {len(given)} entries, an action of {space} has {len(found)}; "
                "without act the policy is the action"
            )
        names = [number.name for number in found]
        self._labels = names if set(names) == set(given) else list(given)
        self._categories: dict[str, dict[str, int]] = {}
        for label, number in zip(self._labels, found, strict=True):
            lever = given[label]
            _check(label, lever, number)
            if isinstance(lever, OneOf):
                self._categories[label] = {
                    name: int(number.lever.low) + place for place, name in enumerate(lever.names)
                }

    def __call__(self, space: Any, entries: Mapping[str, Entry]) -> Any:
        """The action, in the space's own shapes and types."""
        values: list[Any] = [entries[label] for label in self._labels]
        for i, label in enumerate(self._labels):
            if label in self._categories:
                values[i] = self._categories[label][values[i]]
        return _action(space, iter(values))


def _check(label: str, lever: Lever, number: Number) -> None:
    """Refuse a lever that is not what an action takes."""
    takes = number.lever
    if isinstance(lever, OneOf):
        if isinstance(takes, Real) or lever.high != takes.high - takes.low:
            room = "real numbers" if isinstance(takes, Real) else f"{takes.high - takes.low + 1:g} values"
            raise ValueError(
                f"policy: {label!r} has {len(lever.names)} categories, but {number.name!r} of an action "
                f"takes {room}"
            )
        return
    if isinstance(takes, Whole) and isinstance(lever, Real):
        raise ValueError(
            f"policy: {label!r} is a real number, but {number.name!r} of an action a whole one; "
            f"accepted: {{ whole = [{takes.low}, {takes.high}] }}"
        )
    limits = np.array([lever.low, lever.high], dtype=float)
    if isinstance(takes, Real):
        with np.errstate(over="ignore"):
            limits = limits.astype(number.dtype)  # as the action will have them
    if limits[0] < takes.low or limits[1] > takes.high:
        raise ValueError(
            f"policy: {label!r} lies in {lever.low:g}..{lever.high:g}, but {number.name!r} of an action in "
            f"{takes.low:g}..{takes.high:g}"
        )


def _by_entry(levers: Levers) -> dict[str, Lever]:
    """What each entry is; of candidates a whole number where all of them have one."""
    table = levers.space.candidates
    if table is None:
        return levers.by_entry
    low, high, whole = table.min(axis=0), table.max(axis=0), (table == np.floor(table)).all(axis=0)
    columns = zip(levers.labels, whole, low.tolist(), high.tolist(), strict=True)
    return {label: Whole(a, b) if is_whole else Real(a, b) for label, is_whole, a, b in columns}


def _action(space: Any, values: Iterator[Any]) -> Any:
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = {key: _action(part, values) for key, part in _parts(space)}
        return parts if isinstance(space, spaces.Dict) else tuple(parts.values())
    if isinstance(space, spaces.Discrete):
        return int(next(values))
    shape = tuple(space.shape)
    return np.array(list(islice(values, int(np.prod(shape)))), dtype=space.dtype).reshape(shape)


def _parts(space: Any) -> list[tuple[Any, Any]]:
    return list(space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces))
