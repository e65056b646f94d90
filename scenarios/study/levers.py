"""The levers of a study's environment: as they are stored, and as people read a policy's entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.numbers import significant
from simulators.contract.levers import Lever, OneOf, Real, Whole, as_lever

Entry = float | int | str


def spelled(lever: Lever) -> Any:
    """A lever as scenario files and studies spell it, plain data that `as_lever` reads."""
    if isinstance(lever, OneOf):
        return {"one_of": list(lever.names)}
    if isinstance(lever, Whole):
        return {"whole": [lever.low, lever.high], "step": lever.step}
    return [lever.low, lever.high]


def read_levers(labels: Sequence[str], stored: Sequence[Any] | None) -> list[Lever]:
    """The levers of a study, one a label; real numbers without known limits where it stores none."""
    if stored is None:
        return [Real(-math.inf, math.inf) for _ in labels]
    return [as_lever(label, one) for label, one in zip(labels, stored, strict=True)]


def in_words(lever: Lever, unit: str = "") -> str:
    """What a lever may be: "0..1, persons", "whole 1..20 in steps of 5", "one of flat, peak"."""
    if isinstance(lever, OneOf):
        words = f"one of {', '.join(lever.names)}"
    elif isinstance(lever, Whole):
        words = f"whole {lever.low}..{lever.high}" + (f" in steps of {lever.step}" if lever.step > 1 else "")
    else:
        words = f"{lever.low:g}..{lever.high:g}" if math.isfinite(lever.low) else "real"
    return f"{words}, {unit}" if unit else words


def shown(entry: Entry) -> str:
    """An entry in a table: a real number by three significant digits, the others whole."""
    if isinstance(entry, float):
        # A search may end 1e-16 beside a bound; nobody wants to read that.
        return significant(entry if abs(entry) > 1e-9 else 0.0, 3)
    return str(entry)


def policy_in_words(policy: Mapping[str, Entry]) -> str:
    """A policy in a sentence: "0-19 0.883, order oldest"."""
    return ", ".join(f"{label} {shown(entry)}" for label, entry in policy.items())


def changes(
    labels: Sequence[str], stored: Sequence[Any] | None, labels_now: Sequence[str], now: Sequence[Any] | None
) -> list[str]:
    """In words how the levers of an environment differ from those that a study was made with."""
    if list(labels) != list(labels_now):
        return [f"policy: {', '.join(labels)} stored, {', '.join(labels_now)} now"]
    levers = zip(labels, read_levers(labels, stored), read_levers(labels, now), strict=True)
    return [
        f"policy.{label}: {in_words(one)} stored, {in_words(other)} now"
        for label, one, other in levers
        if not _same(one, other)
    ]


def _same(one: Lever, other: Lever) -> bool:
    if isinstance(one, Real) and isinstance(other, Real):
        known = math.isfinite(one.low) and math.isfinite(other.low)
        # Another machine may compute a limit with another last bit.
        return not known or all(math.isclose(*ends, rel_tol=1e-9, abs_tol=1e-9) for ends in _ends(one, other))
    return one == other


def _ends(one: Real, other: Real) -> list[tuple[float, float]]:
    return [(one.low, other.low), (one.high, other.high)]
