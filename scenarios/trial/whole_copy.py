"""Copies of environments that share nothing with their original that could change."""

from __future__ import annotations

import copy
import gc
import weakref
from types import FunctionType, ModuleType
from typing import Any

from simulators import Environment


def whole_copy(environment: Environment) -> Environment | None:
    """A deep copy, or None where none can be had that is whole.

    `copy.deepcopy` leaves functions as they are: a closure over the original, or over a part of it, would
    draw from a noise that the copy's `reset` does not restart. So a copy is refused from which anything leads
    back to what was copied, and one of what ends with its object (`__del__`), such as a program or a folder.
    """
    memo: dict[int, Any] = {}
    try:
        copied = copy.deepcopy(environment, memo)
    except Exception:  # a lock, a socket, or a class of its own mind
        return None
    seen: set[int] = set()
    ahead: list[Any] = [copied]
    while ahead:
        one = ahead.pop()
        if id(one) in seen or isinstance(one, type | ModuleType):
            continue
        if id(one) in memo or hasattr(type(one), "__del__"):
            return None
        seen.add(id(one))
        if isinstance(one, FunctionType):  # not the globals of its module
            ahead += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        elif isinstance(one, weakref.ref):
            ahead.append(one())
        else:
            ahead += gc.get_referents(one)
    return copied
