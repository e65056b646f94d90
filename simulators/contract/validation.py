"""Checks of the parameters that a user may write into a scenario file.

Each raises ValueError, in one line, for anything else than what it returns: with the parameter, its value and
what is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policyloop.messages import did_you_mean
from simulators.arrays import Array


def number(name: str, value: Any, *, above: float = -np.inf, least: float = -np.inf) -> float:
    """A finite number above one limit and not below another."""
    accepted = _accepted(above, least)
    if isinstance(value, bool | str) or np.ndim(value) != 0:
        raise ValueError(f"{name}={value!r} must be {accepted}")
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} must be {accepted}") from None
    if not (np.isfinite(x) and x > above and x >= least):
        raise ValueError(f"{name}={value!r} must be {accepted}")
    return x


def _accepted(above: float, least: float) -> str:
    limit = f" > {above:g}" if above > -np.inf else f" >= {least:g}" if least > -np.inf else ""
    return f"a finite number{limit}"


def per_group(
    name: str,
    value: Any,
    groups: Sequence[str],
    *,
    default: ArrayLike | None = None,
    above: float = -np.inf,
    least: float = -np.inf,
    most: float = np.inf,
) -> Array:
    """One number a group (J,), from as many numbers or from one for all; its message names the group."""
    value = default if value is None else value
    accepted = _accepted(above, least) + (f" and <= {most:g}" if most < np.inf else "")
    try:
        x = np.array("" if value is None else value, dtype=float)  # NumPy would make nan of None
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r} must be one number, or {len(groups)} of them") from None
    if x.shape not in ((), (len(groups),)):
        raise ValueError(
            f"{name} must be one number, or {len(groups)} of them, one a group; got shape {x.shape}"
        )
    x = np.array(np.broadcast_to(x, (len(groups),)))
    for group, entry in zip(groups, x, strict=True):
        if not (np.isfinite(entry) and entry > above and least <= entry <= most):
            raise ValueError(f"{name} of group {group!r} is {entry:g}; it must be {accepted}")
    return x


def nonnegative_matrix(name: str, value: Any, groups: Sequence[str]) -> Array:
    """A matrix (J, J) with one row and one column a group and no negative or missing entry."""
    J = len(groups)
    try:
        x = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a {J} x {J} matrix of numbers, one row and column a group"
        ) from None
    if x.shape != (J, J):
        raise ValueError(
            f"{name} must be a {J} x {J} matrix, one row and column a group; got shape {x.shape}"
        )
    for i, j in np.argwhere(~(np.isfinite(x) & (x >= 0))):
        raise ValueError(
            f"{name}: row {groups[i]!r}, column {groups[j]!r} is {x[i, j]:g}; it must be a finite number >= 0"
        )
    return x


def choice(name: str, value: Any, accepted: Sequence[Any]) -> Any:
    """A value that is among the accepted ones."""
    if value not in accepted or isinstance(value, bool):
        words = [word for word in accepted if isinstance(word, str)]
        known = ", ".join(map(repr, accepted))
        raise ValueError(f"{name}={value!r} must be one of {known}{did_you_mean(value, words)}")
    return value


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number that is not below a limit."""
    try:
        x = number(name, value, least=least)
    except ValueError:
        x = np.nan
    if x != np.floor(x):
        raise ValueError(f"{name}={value!r} must be a whole number >= {least}")
    return int(x)
