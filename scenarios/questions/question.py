"""A question as people write it: other weights, another objective, limits, a budget, fixed levers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridges.reframed import Reweighing
from policyloop.messages import unknown_name
from scenarios.declaration.asked import NUMBER, TOTAL, function, in_members, number
from scenarios.declaration.weights_file import is_weights_file, read_weights
from scenarios.errors import UserError
from scenarios.study.facts import Facts
from simulators.contract.levers import OneOf, Whole
from simulators.contract.outcome_limit import Limit
from simulators.contract.targets import is_target

EVERY = "every"
"""In a limit: each group by itself; `TOTAL` is the objective as the study composes it, a sum there."""
HEAVIEST = 1e100
"""More would overflow where weights are squared."""
USUAL = 0.95
"""The joint probability of keeping limits where neither a question nor its study names one."""


@dataclass(frozen=True)
class Question:
    """What is asked of a study; what is not said is as in the study.

    Attributes
    ----------
    weights : sequence of str
        `GROUP*2` multiplies today's weight, `GROUP=2` sets it; a file (CSV or workbook) of groups and weights
        sets those that it names.
    objective : str
        "weighted-sum", "worst-group", "worst-rate", "group-gap", "cvar:LEVEL", "count:THRESHOLD", or
        FILE.py:g, a function
        from outcomes (..., J) and policies (..., d) to values (...,). "": the study's.
    limits : sequence of str
        Such as `70+ <= 0.02`, `0-4 + 5-19 <= 0.3`, `every <= 0.05` (each group), `total <= 0.4`, or
        `FILE.py:function <= 3`. In an ensemble the group of every member: `70+` is `r0=1.3: 70+` and all its
        like. A name in quotation marks is a group's, whatever else it means.
    limit_probability : float, optional
        The joint probability of keeping all of them; the study's unless given.
    budget : float, optional
        Another upper limit in place of the study's, in the unit of the study's one linear constraint.
    fix : sequence of str
        Levers that are not free: `LEVER=VALUE`.
    """

    weights: Sequence[str] = ()
    objective: str = ""
    limits: Sequence[str] = ()
    limit_probability: float | None = None
    budget: float | None = None
    fix: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check what needs no study."""
        if self.limit_probability is not None and not 0 < self.limit_probability < 1:
            raise UserError(
                f"limit probability {self.limit_probability}; accepted: a number above 0 and below 1"
            )
        if self.budget is not None and not math.isfinite(self.budget):
            raise UserError(
                f"budget {self.budget}; accepted: a number, in the unit of the study's own budget"
            )

    @property
    def probability(self) -> float:
        """The joint probability asked for."""
        return USUAL if self.limit_probability is None else self.limit_probability

    @property
    def words(self) -> str:
        """The question in one line."""
        parts = [f"objective {self.objective}"] if self.objective else []
        parts += [f"weights {', '.join(self.weights)}"] if self.weights else []
        if self.limits:
            parts.append(f"limits {', '.join(self.limits)} (together {100 * self.probability:g} % sure)")
        parts += [f"budget {self.budget:g}"] if self.budget is not None else []
        parts += [f"fixed {', '.join(self.fix)}"] if self.fix else []
        return "; ".join(parts) or "as the study asked"


def reweighing(texts: Sequence[str], groups: Sequence[str]) -> Reweighing:
    """What `--weights` says: `GROUP*2` and `GROUP=2`, one or more, parted by commas, or a file's name."""
    factors, fixed = np.ones(len(groups)), np.full(len(groups), np.nan)
    seen: set[str] = set()
    for given in texts:
        of_file = read_weights(given) if is_weights_file(given) else {}
        for name, value in of_file.items():
            named = [one for each in in_members({name: 1.0}, groups) for one in each]
            if unknown := [one for one in named if one not in groups]:
                raise UserError(f"{given}: {unknown_name('group', unknown[0], groups)}")
            _weigh(fixed, named, value, groups, seen)
        for part in _parts(given) if not of_file else ():
            named, sign, text = _change(part, groups)
            value = number(f"weights {part!r}", text)
            if not 0 <= value <= HEAVIEST:
                raise UserError(
                    f"weights {part!r}: {value:g}; accepted: no negative number, and none above {HEAVIEST:g}"
                )
            _weigh(factors if sign == "*" else fixed, named, value, groups, seen)
    return Reweighing(factors, fixed)


def _weigh(
    row: NDArray[np.float64], named: Sequence[str], value: float, groups: Sequence[str], seen: set[str]
) -> None:
    """Put a value in the places of groups that were not named before."""
    for name in named:
        if name in seen:
            raise UserError(f"weights: {name} is named twice")
        seen.add(name)
        row[list(groups).index(name)] = value


def _parts(text: str) -> list[str]:
    """What stands between commas, but for commas in a group's name."""
    pieces, found = text.split(","), []
    while pieces:
        part = pieces.pop(0)
        while pieces and not re.search(r"[*=][^*=]*$", part):
            part = f"{part},{pieces.pop(0)}"
        found.append(part.strip())
    return found


def _change(part: str, groups: Sequence[str]) -> tuple[list[str], str, str]:
    """A group, or that of every member of an ensemble, * or =, and the text after it."""
    found = re.fullmatch(r"(.*?)\s*([*=])\s*([^*=]*)", part, flags=re.DOTALL)
    if found is None:
        raise UserError(f"weights {part!r}: accepted: GROUP*FACTOR or GROUP=WEIGHT, such as {groups[-1]}*10")
    name, sign, value = found.groups()
    name = _unquoted(name, groups)
    names = [one for each in in_members({name: 1.0}, groups) for one in each]
    if any(one not in groups for one in names):
        raise UserError(f"weights {part!r}: {unknown_name('group', name, groups)}")
    return names, sign, value


def _unquoted(name: str, groups: Sequence[str]) -> str:
    """A name without its quotation marks, unless they are part of a group's."""
    quoted = len(name) > 2 and name[0] == name[-1] == '"' and name not in groups
    return name[1:-1] if quoted else name


def limits(texts: Sequence[str], groups: Sequence[str], total: Mapping[str, float] | None) -> list[Limit]:
    """What `--limit` says, one or more limits each.

    Parameters
    ----------
    texts : sequence of str
    groups : sequence of str
    total : mapping, optional
        The weights of the objective by group, where they are constants.
    """
    found = []
    for text in texts:
        plain = text.strip().replace("≤", "<=").replace("≥", ">=")
        match = re.fullmatch(r"(.+?)\s*(<=|>=)\s*(\S+)", plain, flags=re.DOTALL)
        if match is None:
            raise UserError(
                f"limit {text!r}: accepted: GROUP <= NUMBER, or >=, such as '{groups[-1]} <= 0.02'"
            )
        value, sign, bound = match.groups()
        if re.fullmatch(NUMBER, value) and value not in groups:
            raise UserError(f"limit {text!r}: the number comes last, such as '{groups[-1]} <= {value}'")
        end = number(f"limit {text!r}", bound)
        ends = {"at_most" if sign == "<=" else "at_least": end}
        for weights in _weights(text, value, groups, total):
            try:
                if callable(weights):
                    found.append(Limit(function=weights, name=value, **ends))  # type: ignore[arg-type]
                else:
                    found.append(Limit(weights, **ends))  # type: ignore[arg-type]
            except ValueError as error:
                raise UserError(f"limit {text!r}: {error}") from error
    return _joined(found)


def _joined(limits: Sequence[Limit]) -> list[Limit]:
    """Those with one value on both sides as one limit."""
    found: list[Limit] = []
    for limit in limits:
        same = [i for i, one in enumerate(found) if limit.weights and one.weights == limit.weights]
        if not same:
            found.append(limit)
            continue
        one = found[same[0]]
        low, high = max(one.at_least, limit.at_least), min(one.at_most, limit.at_most)
        if low > high:
            raise UserError(f"limits {one.text!r} and {limit.text!r} cannot both be kept")
        found[same[0]] = Limit(limit.weights, low, high)
    return found


def _weights(
    text: str, value: str, groups: Sequence[str], total: Mapping[str, float] | None
) -> list[Mapping[str, float] | Callable[..., Any]]:
    """What a limit's value is: weights by group, or a function; one for every group of `every`."""
    if value in (EVERY, TOTAL) and value in groups:
        raise UserError(
            f"limit {text!r}: {value} is a group here, and means something else besides: write "
            f"'\"{value}\" ..', in quotation marks, for the group"
        )
    if value in groups:
        return [{value: 1.0}]
    if value == EVERY:
        return [{name: 1.0} for name in groups]
    if value == TOTAL:
        if total is None:
            raise UserError(f"limit {text!r}: the study's objective is no sum with constant weights")
        return [dict(total)]
    if is_target(value) and value.rpartition(":")[0].endswith(".py"):
        return [function(f"limit {text!r}", value)]
    weights: dict[str, float] = {}
    for term in re.split(r"""\s\+\s(?=(?:[^"]*"[^"]*")*[^"]*$)""", value):  # not within quotation marks
        found = re.fullmatch(r"(?:([-+0-9.eE]+)\s*\*\s*)?(.+)", term.strip())
        assert found is not None
        factor, name = found.groups()
        if term.strip() in groups:
            factor, name = None, term.strip()
        name = _unquoted(name, groups)
        weights[name] = weights.get(name, 0.0) + (1.0 if factor is None else number(text, factor))
    each = in_members(weights, groups)
    for name in [name for one in each for name in one]:
        if name not in groups:
            raise UserError(f"limit {text!r}: {unknown_name('group', name, [*groups, EVERY, TOTAL])}")
    return [*each]


def fixed(texts: Sequence[str], facts: Facts) -> dict[int, float]:
    """What `--fix` says: the number of each fixed entry, by its place."""
    found = {}
    for text in texts:
        label, sign, value = text.rpartition("=")
        if not sign or label not in facts.labels:
            names = unknown_name("lever", label, facts.labels)
            raise UserError(f"fix {text!r}: {names if sign else 'accepted: LEVER=VALUE'}")
        place = facts.labels.index(label)
        if place in found:
            raise UserError(f"fix: {label} is named twice")
        lever = None if facts.levers is None else facts.kinds[place]
        if isinstance(lever, OneOf):
            if value not in lever.names:
                raise UserError(f"fix {text!r}: {unknown_name('category', value, lever.names)}")
            found[place] = lever.number(value)
            continue
        x = number(f"fix {text!r}", value)
        if lever is not None and not lever.low <= x <= lever.high:
            raise UserError(f"fix {text!r}: {x:g} is outside {lever.low:g} to {lever.high:g}")
        if isinstance(lever, Whole) and (x - lever.low) % lever.step:
            steps = f"{lever.low}, {lever.low + lever.step}, .. {lever.high}"
            raise UserError(f"fix {text!r}: {x:g} is none of {steps}")
        found[place] = x
    return found
