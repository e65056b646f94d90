"""An agent's final advice, as it is stored: the policy, what the agent predicts of it, and what it is worth.

What it is worth is its noise-free value and regret where they are known. Elsewhere the policy is simulated
again, on held-out seeds: the same for all agents of a trial, and never used for a round.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

import bridges
from scenarios.study.records import Advice, HeldOut, StoredOptimum
from scenarios.trial.world import World
from simulators import SimulationError

PATIENCE = 3
"""Held-out seeds that may fail before any succeeds: a model that hangs is not waited for on all of them."""


def stored_advice(
    world: World, loop: bridges.Loop, label: str, optimum: StoredOptimum | None, steps: bridges.Steps | None
) -> Advice:
    """What the agent of a loop recommends after the last round, as a record of the study.

    In a living world advice, value and regret are for the step that would have come next.

    Parameters
    ----------
    world : World
    loop : Loop
    label : str
        The agent's.
    optimum : StoredOptimum or None
        The true optimum of the world.
    steps : Steps or None
        Who takes the steps on held-out seeds; None: the environment itself.
    """
    environment = loop.environment
    advice = bridges.kept_in_range(environment, loop.recommend())
    space = environment.policy_space
    asked = np.asarray(advice.policy)[None]
    best = advice.best_observed
    expected, outcomes = math.nan, None
    try:
        noise_free = bridges.known_outcomes(environment, asked)[0]
        if not np.isnan(noise_free).any():
            outcomes = noise_free.tolist()
            expected = bridges.composed(environment, noise_free, asked[0])
    except (NotImplementedError, SimulationError):
        pass
    if environment.lives:
        now = bridges.find_optimum(environment)
        optimum = None if now is None else StoredOptimum.of(now)
    unknown = optimum is None and not environment.lives and not world.scenario.objectives
    return Advice.of(
        advice,
        trial=world.trial,
        agent=label,
        rounds=world.scenario.rounds,
        policy=space.resolve(asked)[0].tolist(),
        best_observed=None if best is None else space.resolve(np.asarray(best)[None])[0].tolist(),
        row=int(advice.policy) if space.finite else None,
        expected_outcomes=outcomes,
        held_out=simulated_again(world, loop, advice.policy, steps) if unknown else None,
        expected=expected,
        simple_regret=math.nan
        if optimum is None
        else bridges.regret(
            environment,
            optimum.as_optimum(),
            loop.worst,
            expected,
            None if outcomes is None else np.array(outcomes),
        ),
    )


def simulated_again(
    world: World, loop: bridges.Loop, policy: Any, steps: bridges.Steps | None
) -> HeldOut | None:
    """Simulate a policy once on each of the trial's held-out seeds; a memory begins afresh each time.

    None where there are no such seeds. After three that failed, with no other before, the rest is left out.
    """
    environment, scenario = loop.environment, world.scenario
    outcomes, objective = [], []
    seen = False
    for i in range(scenario.held_out):
        values, value = np.full(len(environment.groups), math.nan), math.nan
        if seen or i < PATIENCE:
            seed = bridges.as_int(bridges.seed_sequence(scenario.seed, world.trial, "held-out", i))
            with suppress(SimulationError):
                values, seen = bridges.observe(environment, policy, seed, steps).values, True
        with suppress(SimulationError):
            value = bridges.composed(environment, values, policy)
        outcomes.append([_or_none(one) for one in values])
        objective.append(_or_none(value))
    return HeldOut(outcomes, objective) if scenario.held_out else None


def _or_none(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
