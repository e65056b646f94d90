"""What is learned of a world before its first round: kernels and the true optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from threadpoolctl import threadpool_limits

import bridges
from scenarios.declaration.schema import Scenario, revive
from scenarios.study.records import plain
from scenarios.trial.building import (
    GROUPS,
    OWN,
    build_environment,
    environment_options,
    needed_priors,
    prior_means,
    world_seed,
)
from scenarios.trial.step_process import limited


def learn_priors(
    scenario: Scenario, trial: int, told: Callable[[str], None] | None = None, jobs: int = 1
) -> dict[str, Any]:
    """The kernels of a trial's world: learned from samples outside the trial, or named by the world.

    Parameters
    ----------
    scenario : Scenario
    trial : int
    told : callable, optional
        Is told what has been learned, in words.
    jobs : int, default 1
        Processes that learn groups side by side. The result does not depend on it.

    Returns
    -------
    dict
        Prior of the groups, and of the composed value where an agent uses its own kernel; as
        JSON-able dicts. Empty if every trial learns them from its own rounds.
    """
    prior = scenario.prior
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        needed = needed_priors(scenario, environment)
        if not needed:
            return {}
        if prior.source == "environment":
            return {GROUPS: bridges.known_prior(environment).to_dict()}
        settings: dict[str, Any] = {
            "family": prior.family,
            "samples": prior.samples,
            "restarts": prior.restarts,
            "seed": bridges.seed_sequence(scenario.seed, _world_trial(scenario, trial), "samples"),
            "mean_from": prior_means(scenario, environment),
        }
        groups = len(environment.groups)

        def on_group(index: int) -> None:
            if told is not None:
                told(f"group {index + 1} of {groups} done")

        with limited(environment, scenario.environment, environment_options(scenario, trial)):
            by_group = bridges.learn_prior(environment, **settings, jobs=jobs, on_group=on_group)
            learned = {GROUPS: by_group.to_dict()}
            if OWN in needed:
                learned[OWN] = bridges.learn_prior(environment, **settings, own=True).to_dict()
    return learned


def find_optimum(scenario: Scenario, trial: int) -> dict[str, Any] | None:
    """Find the true optimum of a trial's world, `None` where it is unknown, or another in each round."""
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        if environment.lives:
            return None
        seed = bridges.seed_sequence(scenario.seed, _world_trial(scenario, trial), "optimum")
        optimum = bridges.find_optimum(environment, seed=bridges.as_int(seed))
    return None if optimum is None else plain(optimum)


def _world_trial(scenario: Scenario, trial: int) -> int:
    # A world that all trials share has streams of its own, those of "trial 0".
    return trial if scenario.environment.new_world_each_trial else 0


def learn_world(data: Mapping[str, Any], source: str, trial: int) -> dict[str, Any]:
    """Learn all that is stored about the world of a trial; for workers."""
    scenario = revive(data, source)
    return {
        "seed": world_seed(scenario, trial),
        "priors": learn_priors(scenario, trial),
        "optimum": find_optimum(scenario, trial),
    }
