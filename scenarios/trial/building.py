"""The environment, the agents and the prior means that a scenario declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import bridges
import optimizer
import simulators
from bridges.members import ensemble_of
from bridges.replication import FIRST
from optimizer.prior.learning import ON_GRAPH
from policyloop.messages import on_one_line, unknown_name
from scenarios.declaration.asked import asked
from scenarios.declaration.schema import AgentSpec, Scenario
from scenarios.errors import UserError
from simulators.contract.targets import is_target

if TYPE_CHECKING:
    from optimizer.agents.agent import Feedback
    from simulators import Environment


GROUPS = "groups"  # the prior of one GP a group
OWN = "own"  # the prior of one GP of the composed values


def world_seed(scenario: Scenario, trial: int) -> int | None:
    """The seed of the world of a trial, `None` where all trials share the world."""
    if not scenario.environment.new_world_each_trial:
        return None
    return bridges.as_int(bridges.seed_sequence(scenario.seed, trial, "world"))


def environment_options(scenario: Scenario, trial: int) -> dict[str, Any]:
    """The options with which the environment of a trial is made."""
    options = dict(scenario.environment.options)
    if scenario.prior.family == ON_GRAPH:
        options.setdefault("features", "graph")
    seed = world_seed(scenario, trial)
    if seed is not None:
        options["seed"] = seed
    return options


def build_environment(scenario: Scenario, trial: int) -> Environment:
    """Make the environment that a trial runs in; UserError where its name or an option is impossible."""
    spec = scenario.environment
    known = spec.name in simulators.names()
    if not (known or is_target(spec.name)):
        message = unknown_name("environment", spec.name, simulators.names())
        raise UserError(f"{scenario.source}: environment.name: {message}")
    options = environment_options(scenario, trial)
    if spec.needs_data and "data" not in options:
        raise UserError(
            f"{scenario.source}: environment.options.data is missing; give --data FILE: {spec.needs_data}"
        )
    try:
        made = simulators.make(spec.name, **options)
    except simulators.SimulationError:
        raise
    except (ValueError, TypeError, OSError) as error:
        where = "environment.options" if known else "environment"
        raise UserError(f"{scenario.source}: {where}: {on_one_line(error)}") from error
    return asked(scenario, made)


def at_once(scenario: Scenario, environment: Environment) -> int:
    """How many steps a trial may take side by side: rounds of a batch, their runs, members of an ensemble."""
    if environment.has_memory:
        return 1
    ensemble, spec = ensemble_of(environment), scenario.environment
    runs = spec.replicates or (FIRST if spec.standard_error is not None else 1)
    return scenario.batch * runs * (1 if ensemble is None or ensemble.blocks else len(ensemble.members))


OBJECTIVE = "objective"
"""In `standard_error`: the objective, and no group."""


def replication(scenario: Scenario, environment: Environment) -> bridges.Replication | None:
    """How often a round repeats its step; None where it takes one. UserError where that is impossible."""
    spec = scenario.environment
    if not spec.repeated:
        return None
    where = f"{scenario.source}: environment: "
    if environment.has_memory:
        raise UserError(
            f"{where}replicates: accepted only without memory, but each step of {environment.name} depends "
            "on the steps before it"
        )
    asked = spec.standard_error
    if asked is None:
        return bridges.Replication(spec.replicates or 1)
    if not isinstance(asked, Mapping):
        if len(set(environment.group_units)) > 1:
            raise UserError(
                f"{where}standard_error = {asked:g}: its groups have different units "
                f"({', '.join(environment.group_units)}); give a table by group"
            )
        return bridges.Replication(spec.most_replicates, np.full(len(environment.groups), asked))
    for name in asked:
        if name not in (*environment.groups, OBJECTIVE):
            known = unknown_name("group", name, [*environment.groups, OBJECTIVE])
            raise UserError(f"{where}standard_error: {known}")
    errors = np.array([asked.get(name, np.nan) for name in environment.groups])
    of_objective = np.inf if OBJECTIVE in environment.groups else asked.get(OBJECTIVE, np.inf)
    return bridges.Replication(spec.most_replicates, errors, of_objective)


def build_agent(
    scenario: Scenario, spec: AgentSpec, environment: Environment, trial: int, priors: Mapping[str, Any]
) -> optimizer.Agent:
    """Make one agent of the scenario for a trial, from the stored priors (none: it learns its own)."""
    family = kernel_family(scenario)
    own = uses_own(scenario, spec, environment)
    which = OWN if own else GROUPS
    try:
        graph = getattr(environment, "graph", None) if scenario.prior.family == ON_GRAPH else None
        prior = optimizer.Prior.from_dict(priors[which], graph) if which in priors else None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{scenario.source}: the study's stored kernels cannot be read ({on_one_line(error)}); "
            "was it written by another version of policyloop?"
        ) from error
    if prior is not None and _modelled(scenario, spec, environment) is None:
        prior = None
    if prior is not None and (means := prior_means(scenario, environment)) is not None:
        prior = means.above(prior, own=own)  # what is stored describes the discrepancy
    return bridges.make_agent(
        spec.name,
        environment,
        prior=prior,
        kernel="own" if own else "composed",
        family=family,
        acquisition=spec.acquisition,
        seed=bridges.as_int(bridges.seed_sequence(scenario.seed, trial, "agent")),
        limit_probability=scenario.limit_probability,
        goes_on=scenario.prior.goes_on,
        **scenario.exploration_of(spec).model_dump(),
    )


def kernel_family(scenario: Scenario) -> str:
    """The name of the scenario's kernel family, imported where it is code; UserError if that fails."""
    family = scenario.prior.family
    try:
        bridges.know_family(family)
    except ValueError as error:
        raise UserError(f"{scenario.source}: prior.family: {on_one_line(error)}") from error
    return family


def prior_means(scenario: Scenario, environment: Environment) -> bridges.PriorOutcomes | None:
    """The outcomes that the scenario names as prior means; None where it names none."""
    spec = scenario.prior.mean_from
    if spec is None:
        return None
    where = f"{scenario.source}: prior.mean_from"
    if scenario.prior.source != "samples" or not scenario.prior.given:
        raise UserError(f'{where}: accepted only with prior.source = "samples", and 2 samples or more')
    if spec.name not in simulators.names():
        raise UserError(f"{where}.name: {unknown_name('environment', spec.name, simulators.names())}")
    try:
        return bridges.prior_outcomes(environment, spec.name, spec.options)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(f"{where}: {on_one_line(error)}") from error


def uses_own(scenario: Scenario, spec: AgentSpec, environment: Environment) -> bool:
    """Whether an agent uses a kernel fitted to the composed values.

    Without a linear composition the groups' kernels have no composed one.
    """
    if (spec.kernel or scenario.prior.kernel) != "own" and not bridges.is_general(environment):
        return False
    return _modelled(scenario, spec, environment) == "aggregate"


def _modelled(scenario: Scenario, spec: AgentSpec, environment: Environment) -> Feedback | None:
    """Of what an agent can be given a prior; None: of nothing."""
    return bridges.modelled(
        spec.name, environment, family=scenario.prior.family, **scenario.exploration_of(spec).model_dump()
    )


def needs_own(scenario: Scenario, environment: Environment) -> bool:
    """Whether an agent of the scenario uses a kernel fitted to the composed values."""
    return any(uses_own(scenario, spec, environment) for spec in scenario.agents)


def needed_priors(scenario: Scenario, environment: Environment) -> set[str]:
    """Which priors have to be there before the first round: none where no agent learns."""
    if not scenario.prior.given or not any(
        _modelled(scenario, spec, environment) for spec in scenario.agents
    ):
        return set()
    return {GROUPS, OWN} if needs_own(scenario, environment) else {GROUPS}
