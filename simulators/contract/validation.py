"""Checks of the parameters that a user may write into a scenario file.

Each raises ValueError, in one line, for anything else than what it returns: with the parameter, its value and
what is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from policyloop.messages import did_you_mean
from simulators.arrays import Array

Entry = TypeVar("Entry")

LARGEST = 1e60
"""Outcomes are not larger, nor noise variances than its square: products of variances must not overflow."""


def real_numbers(name: str, value: Any) -> Array:
    """An array of floats, of any shape; nan and infinities pass. A copy.

    ValueError for complex numbers, text, truth values, masked entries, ragged lists and other objects.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ValueError(f"{name} must be numbers; some are masked")
    try:
        x = np.asarray(value)
        if x.dtype.kind == "O" and all(isinstance(one, Real) or one is None for one in x.flat):
            x = x.astype(float)  # long whole numbers and fractions; None is nan
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, in rows of one length") from None
    if x.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers, not {_KINDS.get(x.dtype.kind, 'other objects')}")
    return np.array(x, dtype=float)


_KINDS = {"c": "complex ones", "b": "truth values", "U": "text", "S": "bytes"}


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
        x = real_numbers(name, "" if value is None else value)  # None would be nan
    except ValueError:
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


def noise_of_groups(name: str, value: Any, J: int, missing: ArrayLike | None = None) -> Array:
    """Noise variances (J,) of J groups, or their covariance (J, J).

    Parameters
    ----------
    name : str
        In messages.
    value : array_like
        Variances not negative, or a covariance: symmetric, with no eigenvalue below -1e-9 of the largest.
        nan says that one is unknown: a variance, or a group's row, column and entry on the diagonal.
    J : int
        The number of groups.
    missing : (J,) array of bool, optional
        Groups whose noise is nan whatever is stated, since they were not observed.
    """
    x = real_numbers(name, value)
    if x.shape not in ((J,), (J, J)):
        raise ValueError(f"{name} must be {J} variances or a {J} x {J} covariance; got shape {x.shape}")
    unknown = np.isnan(x if x.ndim == 1 else np.diag(x)) | (False if missing is None else np.asarray(missing))
    known = np.flatnonzero(~unknown)
    inside = x[known] if x.ndim == 1 else x[np.ix_(known, known)]
    if not (np.abs(inside) <= LARGEST**2).all() or (x.ndim == 1 and (inside < 0).any()):
        raise ValueError(
            f"{name} must be finite, at most {LARGEST**2:g}, and a variance not negative; it is {x.tolist()}"
        )
    if x.ndim == 2 and len(known):
        if not np.allclose(inside, inside.T, rtol=1e-9, atol=1e-9 * np.abs(inside).max()):
            raise ValueError(f"{name} must be symmetric; it is {x.tolist()}")
        eigenvalues = np.linalg.eigvalsh(inside)
        if eigenvalues[0] < -1e-9 * max(eigenvalues[-1], 0.0) or eigenvalues[-1] < 0:
            raise ValueError(f"{name} must have no eigenvalue below 0; the least is {eigenvalues[0]:.6g}")
    x[unknown] = np.nan
    if x.ndim == 2:
        x[:, unknown] = np.nan
    return x


def outcome_ranges(value: Any, groups: Sequence[str], name: str = "outcome_range") -> Array | None:
    """`outcome_range` of an environment as low and high of each group, (J, 2); None where there is none.

    An open end is infinite, or "inf" or "-inf" in a scenario, which cannot hold infinities. ValueError, which
    names the group, unless every low is below its high and neither is nan.
    """
    if value is None:
        return None
    J = len(groups)
    try:
        pairs = real_numbers(name, _open_ends(value))
    except ValueError:
        pairs = np.empty(0)
    if pairs.shape not in ((2,), (J, 2)):
        raise ValueError(f"{name}={value!r} must be a pair (low, high), or {J} of them, one a group")
    ranges = np.array(np.broadcast_to(pairs, (J, 2)))
    for group, (low, high) in zip(groups, ranges, strict=True):
        if not low < high:
            raise ValueError(f"{name} of group {group!r} is ({low:g}, {high:g}); low must be below high")
    return ranges


def _open_ends(value: Any) -> Any:
    """With the texts "inf" and "-inf" as the numbers."""
    if isinstance(value, list | tuple):
        return [_open_ends(one) for one in value]
    return float(value) if isinstance(value, str) and value in ("inf", "-inf") else value


def expected_ranges(environment: Any) -> Array | None:
    """What the noise-free outcomes of an environment's groups keep to, (J, 2); None where that is unknown."""
    expected = getattr(environment, "expected_range", None)
    if expected is None:
        return outcome_ranges(environment.outcome_range, environment.groups)
    return outcome_ranges(expected, environment.groups, "expected_range")


def choice(name: str, value: Any, accepted: Sequence[Any]) -> Any:
    """A value that is among the accepted ones."""
    if value not in accepted or isinstance(value, bool):
        words = [word for word in accepted if isinstance(word, str)]
        known = ", ".join(map(repr, accepted))
        raise ValueError(f"{name}={value!r} must be one of {known}{did_you_mean(value, words)}")
    return value


def entry(name: str, value: Any, table: Mapping[Any, Entry]) -> Entry:
    """What a table holds for a value, which must be one of its keys."""
    return table[choice(name, value, tuple(table))]


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number that is not below a limit."""
    try:
        x = number(name, value, least=least)
    except ValueError:
        x = np.nan
    if x != np.floor(x):
        raise ValueError(f"{name}={value!r} must be a whole number >= {least}")
    return int(x)


def table(name: str, value: Any, what: str) -> dict[str, Any]:
    """A copy of a mapping with texts as keys, empty for None; `what` says what belongs in it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name}={value!r} must be a table of {what}")
    return dict(value)


def text(name: str, value: Any, what: str) -> str:
    """A text that is not empty; `what` says in messages what it must be."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}={value!r} must be {what}")
    return value
