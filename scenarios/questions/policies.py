"""Policies as they are named on a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import bridges
from policyloop.messages import did_you_mean, unknown_name
from scenarios.declaration.asked import NUMBER
from scenarios.errors import UserError
from scenarios.results.statistics import typical_advice
from scenarios.study.levers import read_levers
from scenarios.study.study import Study
from simulators import Environment

CURRENT = "current"


def policy_of(text: str, environment: Environment) -> Any:
    """A policy as the environment takes it; UserError where it cannot."""
    space = environment.policy_space
    where = f"policy {text!r}"
    if text == CURRENT:
        current = bridges.current_policy(environment)
        if current is None:
            raise UserError(f"{where}: {environment.name} names no practice of today")
        return current
    study, _, agent = text.rpartition(":")
    if study.endswith(".sqlite"):
        return _recommended(where, study, agent, environment)
    try:
        if space.finite:
            return space.check(int(text))
        return space.check(_entries(text, space.labels))
    except ValueError as error:
        hint = did_you_mean(text, [CURRENT]) if "," not in text and "=" not in text else ""
        raise UserError(f"{where}: {error}{hint}") from error


def _entries(text: str, labels: Sequence[str]) -> list[Any]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == len(labels) and not all("=" in part for part in parts):
        return [_entry(part) for part in parts]
    found = {}
    for part in parts:
        label = _label(part, labels)
        if label is None:
            name = part.partition("=")[0]
            raise ValueError(
                unknown_name("lever", name, labels)
                if "=" in part
                else f"{len(labels)} entries are needed ({', '.join(labels)}), and it has {len(parts)}"
            )
        found[label] = _entry(part[len(label) + 1 :])
    lacking = [label for label in labels if label not in found]
    if lacking:
        raise ValueError(f"{', '.join(lacking)} lacking")
    return [found[label] for label in labels]


def _label(part: str, labels: Sequence[str]) -> str | None:
    """Which label stands before a = ; labels may have one themselves."""
    return next((label for label in labels if part.startswith(f"{label}=")), None)


def _entry(text: str) -> Any:
    return float(text) if re.fullmatch(NUMBER, text.strip()) else text.strip()


def _recommended(where: str, path: str, agent: str, environment: Environment) -> Any:
    """What an agent recommends in a study, of its median trial."""
    study = Study(path)
    if agent not in study.scenario.labels:
        raise UserError(f"{where}: {unknown_name('agent', agent, study.scenario.labels)}")
    advice = typical_advice(study, agent)
    if advice is None:
        raise UserError(f"{where}: {agent} has not recommended anything yet")
    space, facts = environment.policy_space, study.environment
    if list(facts.labels) != list(space.labels):
        raise UserError(
            f"{where}: its levers are {', '.join(facts.labels)}, and not {', '.join(space.labels)}"
        )
    try:
        if space.finite:
            return space.check(advice.row)
        names = read_levers(facts.labels, facts.levers)
        return space.check([lever.value(x) for lever, x in zip(names, advice.policy, strict=True)])
    except (ValueError, TypeError) as error:
        raise UserError(f"{where}: {error}") from error
