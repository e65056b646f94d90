"""What a scenario asks of its environment besides: another objective, other weights, limits on outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bridges.members import ensemble_of
from bridges.reframed import ReframedEnvironment, Reweighing
from optimizer.composition.ready import READY, OneGroup, ReadyComposition, ready
from policyloop.messages import on_one_line, unknown_name
from scenarios.declaration.rates import WORST_RATE, rate_unit, worst_rate
from scenarios.declaration.schema import LimitSpec, Scenario
from scenarios.errors import UserError
from simulators.contract.environment import Environment
from simulators.contract.outcome_limit import Limit
from simulators.contract.targets import is_target, load_target

WEIGHTED_SUM, TOTAL = "weighted-sum", "total"
"""The environment's own objective: by its name where one is asked for, and where it stands beside others."""
OPTION = {"cvar": "level", "count": "threshold"}
"""What the number after an objective's name is, as in `cvar:0.5`."""

NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
"""A number as people type it."""

Function = Callable[..., Any]


def is_ready(text: str) -> bool:
    """Whether an objective is named, and no code."""
    return text.partition(":")[0] in ("", WEIGHTED_SUM, TOTAL, WORST_RATE, *READY)


def objective(
    text: str,
    sense: Literal["minimize", "maximize"],
    group_units: Sequence[str],
    groups: Sequence[str] = (),
    persons: Sequence[float] | None = None,
    worlds: int = 1,
) -> ReadyComposition | Function | None:
    """What an objective's name means; None for the weighted sum.

    Parameters
    ----------
    text : str
        "weighted-sum" or "total", "worst-group", "worst-rate", "group-gap", "cvar:LEVEL", "count:THRESHOLD",
        a group, or FILE.py:g, a function from outcomes (..., J) and policies (..., d) to values (...,).
    sense : {"minimize", "maximize"}
        What is to be done with the groups' outcomes.
    group_units : sequence of J str
    groups : sequence of J str, optional
        Names that stand for a group by itself.
    persons : sequence of J floats, optional
        Of the groups, where they are people.
    worlds : int, default 1
        Of an ensemble, whose groups these are.

    Raises
    ------
    UserError
        It is none of them, or compares groups of different units.
    """
    if group := group_named(text, groups):
        return OneGroup(sense, list(groups).index(group))
    name, _, option = text.partition(":")
    if text in ("", WEIGHTED_SUM, TOTAL):
        return None
    if text == WORST_RATE:
        return worst_rate(sense, group_units, persons, worlds)
    if name not in READY:
        if not is_target(text):
            known = unknown_name("objective", name, [WEIGHTED_SUM, TOTAL, WORST_RATE, *READY, *groups])
            raise UserError(f"objective {text!r}: {known}, or FILE.py:g")
        return function("objective", text)
    if len(set(group_units)) > 1:
        raise UserError(
            f"objective {text!r}: its groups have different units ({', '.join(group_units)}) and cannot be "
            "compared; name a function of one's own, FILE.py:g"
        )
    wanted = OPTION.get(name)
    if option and wanted is None:
        raise UserError(f"objective {text!r}: {name} has no number")
    if wanted and not option:
        raise UserError(f"objective {text!r}: {name} needs its {wanted}, such as {name}:0.5")
    try:
        return ready(name, sense, **({wanted: number(f"objective {text!r}", option)} if wanted else {}))
    except ValueError as error:
        raise UserError(f"objective {text!r}: {error}") from error


def group_named(text: str, groups: Sequence[str]) -> str:
    """The group that a text names, plain or in quotation marks; "" if it names none.

    UserError where a plain name is that of an objective as well.
    """
    bare = text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else ""
    if bare in groups:
        return bare
    if text not in groups:
        return ""
    if is_ready(text):
        raise UserError(
            f"{text!r} is the name of a group and of an objective; write '\"{text}\"', in quotation marks, "
            "for the group, and give the group another name to ask for the objective"
        )
    return text


def function(what: str, target: str) -> Function:
    """The function that a target names, or UserError."""
    try:
        found = load_target(target)
    except ValueError as error:
        raise UserError(f"{what}: {on_one_line(error)}") from error
    if not callable(found):
        raise UserError(f"{what}: {target!r} is no function")
    return found  # type: ignore[no-any-return]


def number(what: str, text: str) -> float:
    """A finite number, or UserError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{what}: {text!r} is no finite number")
    return value


def unit_of(text: str, group_units: Sequence[str], groups: Sequence[str] = ()) -> str | None:
    """The unit of an objective; None where it is that of the weighted sum."""
    if group := group_named(text, groups):
        return group_units[list(groups).index(group)]
    if text in ("", WEIGHTED_SUM, TOTAL):
        return None
    if text.partition(":")[0] == "count":
        return "groups"
    if text == WORST_RATE:
        return rate_unit(group_units[0])
    return group_units[0] if len(set(group_units)) == 1 else ""


def asked(scenario: Scenario, environment: Environment) -> Environment:
    """The environment as the scenario asks of it; the same where it asks for nothing else."""
    if not (scenario.objective or scenario.objectives or scenario.weights or scenario.limits):
        return environment
    source, groups, ensemble = scenario.source, environment.groups, ensemble_of(environment)
    worlds = 1 if ensemble is None else len(ensemble.members)
    persons = None if environment.group_persons is None else np.asarray(environment.group_persons).tolist()
    try:
        limits = [limit for spec in scenario.limits for limit in limits_of(spec, groups)]
    except UserError as error:
        raise UserError(f"{source}: {error}") from error
    weights: dict[str, float] = {}
    for name, weight in scenario.weights.items():
        for meant in in_members({name: weight}, groups):
            weights |= meant
    for name in weights:
        if name not in groups:
            raise UserError(f"{source}: weights: {unknown_name('group', name, groups)}")

    def with_objective(text: str, *others: ReframedEnvironment) -> ReframedEnvironment:
        units, names = environment.group_units, groups if scenario.objectives else ()
        meant: Reweighing | ReadyComposition | Function | None = None
        if group_named(text, names) or text not in ("", WEIGHTED_SUM, TOTAL):
            meant = objective(text, environment.sense, units, names, persons, worlds)
            unit = unit_of(text, units, names)
        else:
            meant, unit = _weights(weights, groups) if weights else None, None
        return ReframedEnvironment(environment, objective=meant, limits=limits, unit=unit, objectives=others)

    try:
        if not scenario.objectives:
            return with_objective(scenario.objective)
        first, *others = [with_objective(text) for text in first_reported(scenario.objectives)]
        return with_objective(first_reported(scenario.objectives)[0], first, *others)
    except (ValueError, UserError) as error:
        where = "objectives: " if scenario.objectives else ""
        raise UserError(f"{source}: {where}{on_one_line(error)}") from error


def first_reported(objectives: Sequence[str]) -> list[str]:
    """Several objectives, the one that rounds report first: the total, if it is among them."""
    return sorted(objectives, key=lambda text: text != TOTAL)


def _weights(weights: Mapping[str, float], groups: Sequence[str]) -> Reweighing:
    return Reweighing(np.ones(len(groups)), np.array([weights.get(name, np.nan) for name in groups]))


def limits_of(spec: LimitSpec, groups: Sequence[str]) -> list[Limit]:
    """What a declared limit means: one limit, or one for every member of an ensemble that has its groups.

    UserError where it names an unknown group or no function.
    """
    low = -math.inf if spec.at_least is None else spec.at_least
    high = math.inf if spec.at_most is None else spec.at_most
    try:
        if spec.function is not None:
            name = spec.function.rpartition(":")[2]
            return [Limit({}, low, high, function("limit", spec.function), name)]
        weights = {spec.group: 1.0} if spec.group is not None else spec.weights
        found = [Limit(each, low, high) for each in in_members(weights, groups)]
        for limit in found:
            limit.row(groups)
        return found
    except ValueError as error:
        raise UserError(on_one_line(error)) from error


def in_members(weights: Mapping[str, float], groups: Sequence[str]) -> list[Mapping[str, float]]:
    """Weights by group, of an ensemble's groups: where they name one for all members, those of each member.

    Of the groups `r0=1.3: old` and `r0=1.5: old`, `old` means one and the other. As they are where a name is
    a group already, or none of any member.
    """
    if any(name in groups for name in weights):
        return [weights]
    members = [
        {group[: -len(name) - 2] for group in groups if group.endswith(f": {name}")} for name in weights
    ]
    shared = set.intersection(*members) if members else set()
    order = dict.fromkeys(
        group[: -len(name) - 2] for name in weights for group in groups if group.endswith(f": {name}")
    )
    found = [{f"{one}: {name}": w for name, w in weights.items()} for one in order if one in shared]
    return [*found] or [weights]
