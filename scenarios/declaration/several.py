"""What several objectives do not go with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scenarios.declaration.schema import Scenario

AGGREGATE = ("gp-ucb", "ei", "mpi")
"""Agents that model each objective, and not the groups."""


def refuse_several(scenario: Scenario) -> None:
    """Raise ValueError where a scenario of several objectives asks for what has a meaning with one only."""
    names = scenario.objectives
    if not 2 <= len(names) <= 3 or len(set(names)) < len(names):
        raise ValueError("of objectives two or three different ones")
    if scenario.objective:
        raise ValueError("objective or objectives, and not both")
    if any(name.rpartition(":")[0].endswith(".py") for name in names):
        raise ValueError("objectives by name: code can be the one objective of a scenario only")
    if scenario.confirm:
        raise ValueError("confirm does not go with objectives: there is no one policy to confirm")
    if scenario.weights and "total" not in names:
        raise ValueError('weights are of the total, and "total" is none of the objectives')
    aggregate = [one.label for one in scenario.agents if one.name in AGGREGATE]
    if aggregate and scenario.prior.given:
        raise ValueError(
            f"prior.samples = 0 with objectives and an agent of aggregate feedback ({aggregate[0]}), which "
            "learns each objective from its own rounds"
        )
