"""What a scenario asks of its environment besides: another objective, other weights, limits on outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bridges.reframed import ReframedEnvironment, Reweighing
from optimizer.composition.ready import READY, ReadyComposition, ready
from policyloop.messages import on_one_line, unknown_name
from scenarios.declaration.schema import LimitSpec, Scenario
from scenarios.errors import UserError
from simulators.contract.environment import Environment
from simulators.contract.outcome_limit import Limit
from simulators.contract.targets import is_target, load_target

WEIGHTED_SUM = "weighted-sum"
OPTION = {"cvar": "level", "count": "threshold"}
"""What the number after an objective's name is, as in `cvar:0.5`."""

Function = Callable[..., Any]


def is_ready(text: str) -> bool:
    """Whether an objective is named, and no code."""
    return text.partition(":")[0] in ("", WEIGHTED_SUM, *READY)


def objective(
    text: str, sense: Literal["minimize", "maximize"], group_units: Sequence[str]
) -> ReadyComposition | Function | None:
    """What an objective's name means; None for the weighted sum.

    Parameters
    ----------
    text : str
        "weighted-sum", "worst-group", "group-gap", "cvar:LEVEL", "count:THRESHOLD", or FILE.py:g, a function
        from outcomes (..., J) and policies (..., d) to values (...,).
    sense : {"minimize", "maximize"}
        What is to be done with the groups' outcomes.
    group_units : sequence of J str

    Raises
    ------
    UserError
        It is none of them, or compares groups of different units.
    """
    name, _, option = text.partition(":")
    if text in ("", WEIGHTED_SUM):
        return None
    if name not in READY:
        if not is_target(text):
            known = unknown_name("objective", name, [WEIGHTED_SUM, *READY])
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


def unit_of(text: str, group_units: Sequence[str]) -> str | None:
    """The unit of an objective; None where it is that of the weighted sum."""
    if text in ("", WEIGHTED_SUM):
        return None
    if text.partition(":")[0] == "count":
        return "groups"
    return group_units[0] if len(set(group_units)) == 1 else ""


def asked(scenario: Scenario, environment: Environment) -> Environment:
    """The environment as the scenario asks of it; the same where it asks for nothing else."""
    if not (scenario.objective or scenario.weights or scenario.limits):
        return environment
    source, groups = scenario.source, environment.groups
    try:
        other = objective(scenario.objective, environment.sense, environment.group_units)
        limits = [limit_of(spec, groups) for spec in scenario.limits]
    except UserError as error:
        raise UserError(f"{source}: {error}") from error
    for name in scenario.weights:
        if name not in groups:
            raise UserError(f"{source}: weights: {unknown_name('group', name, groups)}")
    try:
        return ReframedEnvironment(
            environment,
            objective=_weights(scenario.weights, groups) if scenario.weights else other,
            limits=limits,
            unit=unit_of(scenario.objective, environment.group_units),
        )
    except ValueError as error:
        raise UserError(f"{source}: {on_one_line(error)}") from error


def _weights(weights: Mapping[str, float], groups: Sequence[str]) -> Reweighing:
    return Reweighing(np.ones(len(groups)), np.array([weights.get(name, np.nan) for name in groups]))


def limit_of(spec: LimitSpec, groups: Sequence[str]) -> Limit:
    """A declared limit; UserError where it names an unknown group or no function."""
    low = -math.inf if spec.at_least is None else spec.at_least
    high = math.inf if spec.at_most is None else spec.at_most
    try:
        if spec.function is not None:
            name = spec.function.rpartition(":")[2]
            return Limit({}, low, high, function("limit", spec.function), name)
        limit = Limit({spec.group: 1.0} if spec.group is not None else spec.weights, low, high)
        limit.row(groups)
        return limit
    except ValueError as error:
        raise UserError(on_one_line(error)) from error
