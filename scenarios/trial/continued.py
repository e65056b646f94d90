"""A study that continues from another: its agents begin with the other's rounds already learned.

The outcomes of the groups are the same whatever is asked of them; so the other study may have asked for
another objective, other weights, other limits. Its rounds count for no regret here.
"""

from __future__ import annotations

import numpy as np

import bridges
from optimizer.agents.agent import Agent
from optimizer.agents.gp_agent import GPAgent
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study.compatibility import lever_changes
from scenarios.study.evidence import Evidence, evidence
from scenarios.study.facts import Facts
from scenarios.study.study import Study
from simulators import Environment, Outcomes, SimulationError


def earlier_rounds(scenario: Scenario, environment: Environment, trial: int) -> Evidence | None:
    """What the study that a scenario continues from knows of a trial's world; None where it knows nothing.

    Raises
    ------
    UserError
        It is of another environment, or other levers or groups.
    """
    study = Study(scenario.continue_from)
    where = f"{scenario.source}: continue_from: {study.path}"
    before, now = study.scenario.environment, scenario.environment
    facts = study.environment
    if list(facts.groups) != list(environment.groups):
        raise UserError(f"{where}: has the groups {', '.join(facts.groups)}")
    levers = lever_changes(facts, Facts.of(environment))
    if levers:
        raise UserError(f"{where}: has other levers: {'; '.join(levers)}")
    if before.name != now.name or before.options != now.options:
        raise UserError(
            f"{where}: its environment is {before.name} with {before.options}, and not {now.name} with "
            f"{now.options}: outcomes of another world teach nothing of this one"
        )
    if before.new_world_each_trial != now.new_world_each_trial:
        raise UserError(f"{where}: environment.new_world_each_trial is {before.new_world_each_trial} there")
    if now.new_world_each_trial and study.scenario.seed != scenario.seed:
        raise UserError(f"{where}: seed = {study.scenario.seed} there, which drew other worlds")
    known = {found.world: found for found in evidence(study)}
    return known.get(str(trial) if now.new_world_each_trial else "all")


def teach(agent: Agent, environment: Environment, found: Evidence) -> None:
    """Tell an agent that models outcomes of rounds that were run before; others begin with none."""
    if not isinstance(agent, GPAgent) or not found.rounds:
        return
    told, noises = [], []
    for one in found.rounds:
        values = np.array(one.outcomes, dtype=float)
        stated = None if one.noise_variance is None else np.array(one.noise_variance, dtype=float)
        asked = one.policy if one.row is None else one.row
        try:
            objective = bridges.composed(environment, values, asked)
        except SimulationError:
            objective = float("nan")
        seen, noise = bridges.observation(agent, environment, Outcomes(values, stated), asked, objective)
        told.append(seen)
        noises.append(np.full(np.shape(seen), np.nan) if noise is None else noise)
    agent.tell(found.policies, np.concatenate(told), np.concatenate(noises))
