"""Every mistake in a scenario that can be found before its first round."""

from __future__ import annotations

import numpy as np

import bridges
import optimizer
from optimizer.agents.aggregate import composed_of
from optimizer.agents.settings import AgentSettings
from optimizer.prior.families import CLIMATE, ON_GRAPH
from policyloop.messages import on_one_line, unknown_name
from scenarios.errors import UserError
from scenarios.trial.building import build_agent, kernel_family, needs_own, prior_means, replication
from scenarios.trial.world import World, design_size
from simulators.contract.targets import is_target


def refuse_mistakes(world: World) -> None:
    """Raise UserError, in one line, where the scenario of a world is impossible."""
    scenario, environment = world.scenario, world.environment
    try:
        bridges.check_composition(environment)
    except ValueError as error:
        raise UserError(f"{scenario.source}: environment: {on_one_line(error)}") from error
    try:
        bridges.current_policy(environment)
    except (TypeError, ValueError) as error:
        raise UserError(f"{scenario.source}: environment: current_policy: {on_one_line(error)}") from error
    if scenario.prior.source == "environment":
        try:
            bridges.known_prior(environment)
        except ValueError as error:
            raise UserError(
                f'{scenario.source}: prior.source = "environment": {on_one_line(error)}'
            ) from error
        if needs_own(scenario, environment):
            raise UserError(
                f'{scenario.source}: prior.source = "environment" names the groups\' kernels; '
                'accepted for an agent\'s kernel: "composed"'
            )
    together = environment.steps_at_once
    if environment.has_memory and (together % scenario.batch or scenario.environment.limited):
        odd = together % scenario.batch
        key = "batch" if odd else "environment.step_seconds, environment.step_megabytes"
        raise UserError(
            f"{scenario.source}: {key}: accepted only without memory, but each step of {environment.name} "
            "depends on the steps before it"
            + (f"; {together} of them are taken at once, or parts of these" if odd and together > 1 else "")
        )
    _refuse_poverty(world)
    if scenario.confirm:
        most = (scenario.rounds - design_size(scenario, environment)) // scenario.batch * scenario.batch
        if scenario.confirm > most:
            raise UserError(
                f"{scenario.source}: confirm = {scenario.confirm}; accepted: at most {max(most, 0)}, "
                "the rounds that the design leaves, in whole batches"
            )
        if environment.has_memory:
            raise UserError(
                f"{scenario.source}: confirm: accepted only without memory, but a policy that is tried again "
                f"in {environment.name} meets another world"
            )
    if scenario.objectives and environment.lives:
        raise UserError(
            f"{scenario.source}: objectives: accepted only where the world does not live, but the frontier "
            f"of {environment.name} is another one in every round"
        )
    if environment.limits and environment.lives:
        raise UserError(
            f"{scenario.source}: limits: accepted only where the world does not live, but what "
            f"{environment.name} answers changes from round to round"
        )
    replication(scenario, environment)
    _ = world.earlier  # refuses a study of another world
    learns = scenario.prior.given and scenario.prior.source == "samples"
    if kernel_family(scenario) == ON_GRAPH and not (learns and getattr(environment, "graph", None)):
        raise UserError(
            f'{scenario.source}: prior.family = "{ON_GRAPH}" needs an environment with a graph, '
            'and prior.source = "samples"'
        )
    if kernel_family(scenario) == CLIMATE and not (learns and environment.lives):
        raise UserError(
            f'{scenario.source}: prior.family = "{CLIMATE}" needs a world that lives, and '
            'prior.source = "samples"'
        )
    if scenario.prior.goes_on and environment.lives:
        raise UserError(f"{scenario.source}: prior.goes_on: accepted only where the world does not live")
    if scenario.prior.correlated and not bridges.is_general(environment):
        raise UserError(
            f"{scenario.source}: prior.correlated: accepted only where the composition is not linear"
        )
    if prior_means(scenario, environment) is not None and environment.set_aside is not None:
        raise UserError(
            f"{scenario.source}: prior.mean_from: accepted only where no measurements are set aside, "
            f"but the kernels of {environment.name} are learned from such"
        )
    for index, spec in enumerate(scenario.agents):
        where = f"{scenario.source}: agents[{index}]"
        if spec.name not in optimizer.agent_names() and not is_target(spec.name):
            raise UserError(f"{where}: {unknown_name('agent', spec.name, optimizer.agent_names())}")
        try:
            agent = build_agent(scenario, spec, environment, world.trial, {})
            if agent.beside is not None and scenario.prior.given:  # its prior is of the groups, not there yet
                composed_of(spec.name, bridges.composition(environment), AgentSettings(limits=agent.beside))
        except (ValueError, TypeError, NotImplementedError) as error:
            raise UserError(f"{where} ({spec.name}): {on_one_line(error)}") from error


def _refuse_poverty(world: World) -> None:
    """Refuse a budget of a round that does not pay for the cheapest whole policies of a batch."""
    scenario, environment = world.scenario, world.environment
    costs, budget = getattr(environment, "query_costs", None), getattr(environment, "query_budget", None)
    if costs is None or budget is None:
        return
    candidates = environment.policy_space.candidates
    if candidates is None:
        raise UserError(f"{scenario.source}: a budget of {budget:g} a batch: accepted only with candidates")
    least = np.sort(np.asarray(costs(np.arange(len(candidates)))).sum(axis=1))[: scenario.batch].sum()
    if least > budget:
        raise UserError(
            f"{scenario.source}: batch = {scenario.batch}: a budget of {budget:g} does not pay for as many "
            f"whole policies, of which the cheapest cost {least:g} together; accepted: a smaller batch, or a "
            "larger budget"
        )
