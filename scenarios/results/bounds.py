"""What the theory says that an agent's cumulative regret stays below, for every round of a study."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import bridges
from optimizer import Composition, Prior
from optimizer.acquisition.exploration import default_exploration
from optimizer.theory import RegretBounds, regret_bounds
from scenarios.declaration.code import is_own
from scenarios.declaration.schema import AgentSpec
from scenarios.errors import UserError
from scenarios.study.stored_environment import StoredEnvironment
from scenarios.study.study import Study
from scenarios.trial.building import GROUPS, uses_own
from scenarios.trial.world import World
from simulators import Environment

BOUNDED = {"d-gpucb": "decomposed", "gp-ucb": "entire"}
"""Agents with a bound (Theorem 2; GP-UCB with the composed kernel), and its name in `RegretBounds`."""


def study_bounds(study: Study) -> dict[str, NDArray[np.float64]]:
    """The bounds on the cumulative regret of a study's UCB agents, by label, (T,).

    Each trial's regret exceeds them with probability delta at most; they are averaged over the worlds of the
    trials. They are those of the theorem's beta_t, even where the agent's was scaled down, and assume that
    the given prior is true. UserError where the theory, as implemented, has none: it wants a finite policy
    space, a linear composition, and agents that were given their prior.
    """
    scenario = study.scenario
    specs = [spec for spec in scenario.agents if spec.name in BOUNDED]
    if not specs:
        raise UserError(f"{study.path}: no bound to draw: it has no agent of {', '.join(BOUNDED)}")
    trials = range(1, scenario.trials + 1) if scenario.apart else (1,)
    found: dict[str, list[NDArray[np.float64]]] = {spec.label: [] for spec in specs}
    for trial in trials:
        environment = _environment(study, trial)
        known: dict[tuple[float | None, float | None], RegretBounds] = {}
        for spec in specs:
            settings = (spec.delta, spec.scale_down)
            if settings not in known:
                known[settings] = _bounds(study, environment, trial, spec)
            found[spec.label].append(getattr(known[settings], BOUNDED[spec.name]))
    return {label: np.mean(bounds, axis=0) for label, bounds in found.items()}


def _environment(study: Study, trial: int) -> Environment:
    """The environment of a trial: made anew where it is policyloop's own, else as the study knows it."""
    if is_own(study.scenario):
        return World.of(study.scenario, trial).environment
    try:
        return StoredEnvironment(study.environment)
    except ValueError as error:
        raise UserError(f"{study.path}: no bound to draw: {error}") from error


def _bounds(study: Study, environment: Environment, trial: int, spec: AgentSpec) -> RegretBounds:
    scenario, learned = study.scenario, study.world(trial)
    priors = {} if learned is None else learned.priors
    space = bridges.search_space(environment)
    composition = bridges.composition(environment)
    if not isinstance(composition, Composition):
        raise UserError(f"{study.path}: no bound to draw: its composition is not linear")
    if GROUPS not in priors or uses_own(scenario, spec, environment):
        raise UserError(
            f"{study.path}: no bound to draw: it needs priors of the groups, given from the start"
        )
    explore = scenario.exploration_of(spec)
    exploration = default_exploration(space, explore.delta, explore.scale_down)
    with threadpool_limits(1):
        try:
            prior = Prior.from_dict(priors[GROUPS])
            return regret_bounds(prior, composition, space, exploration, scenario.rounds)
        except ValueError as error:
            raise UserError(f"{study.path}: no bound to draw: {error}") from error
