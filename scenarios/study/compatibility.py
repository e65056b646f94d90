"""Whether a scenario goes on with a stored one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study import levers
from scenarios.study.facts import Facts

_MAY_DIFFER = {"title", "description", "keep_info"}
_LIMITS = {"step_seconds", "step_megabytes"}  # they decide what fails, not what a step returns


def refuse_changes(stored: Scenario, now: Scenario, where: str) -> None:
    """Check that a scenario goes on with a stored one: rounds, trials and agents may only grow.

    UserError, one line with every change, where it does not.
    """
    found = []
    for name in ("rounds", "trials"):
        if getattr(now, name) < getattr(stored, name):
            found.append(f"{name}: {getattr(stored, name)} stored, {getattr(now, name)} now (may only grow)")
    for spec in stored.agents:
        if spec.label not in now.labels:
            found.append(f"agents: {spec.label} is stored, but not in the scenario now")
        else:
            found += _changes(spec.model_dump(), now.agent(spec.label).model_dump(), f"agents {spec.label}")
    found += changes(stored, now)
    if found:
        raise UserError(f"{where}: holds another scenario, --resume cannot go on with it: {'; '.join(found)}")


def refuse_rounded(scenario: Scenario, facts: Facts, where: str) -> None:
    """Refuse to go on with a study whose environment rounded the entries that `whole` names; UserError."""
    options = scenario.environment.options
    policy, whole = options.get("policy"), options.get("whole")
    if facts.levers is None and isinstance(policy, Mapping) and isinstance(whole, list) and whole:
        now = ", ".join(f"{label} = {{ whole = {policy.get(label)} }}" for label in whole)
        raise UserError(
            f"{where}: was made when whole = {whole} were real numbers, rounded behind agents, and cannot "
            f"be resumed; in place of whole write policy = {{ {now} }} in the scenario, and run it with "
            "another --out"
        )


def refuse_other_levers(stored: Facts, now: Facts, where: str) -> None:
    """Check that an environment has the levers that a study's was made with; UserError where it has not."""
    found = lever_changes(stored, now)
    if found:
        raise UserError(
            f"{where}: was made with other levers, --resume cannot go on with it: {'; '.join(found)}; run it "
            "anew, with another --out"
        )


def lever_changes(stored: Facts, now: Facts) -> list[str]:
    """In words how the levers of two environments differ."""
    return levers.changes(stored.labels, stored.levers, now.labels, now.levers)


def changes(stored: Scenario, now: Scenario) -> list[str]:
    """In words what has changed in a scenario, besides its words, limits, rounds, trials and agents."""
    skip: dict[str, Any] = dict.fromkeys(_MAY_DIFFER | {"rounds", "trials", "agents"}, True)
    skip["environment"] = _LIMITS
    return _changes(stored.model_dump(exclude=skip), now.model_dump(exclude=skip), "")


def _changes(stored: Any, now: Any, path: str) -> list[str]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        found = []
        for key in dict.fromkeys([*stored, *now]):
            place = f"{path}.{key}" if path else str(key)
            found += _changes(stored.get(key), now.get(key), place)
        return found
    return [] if stored == now else [f"{path}: {stored!r} stored, {now!r} now"]
