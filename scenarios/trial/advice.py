"""An agent's final advice, as it is stored: the policy, what the agent predicts of it, and what it is worth.

What it is worth is its noise-free value and regret where they are known. Elsewhere the policy is simulated
again, on held-out seeds: the same for all agents of a trial, and never used for a round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

import bridges
from scenarios.declaration.schema import Scenario
from scenarios.study.records import plain
from simulators import SimulationError

if TYPE_CHECKING:
    from optimizer.agents.agent import Recommendation
    from simulators import Environment


PATIENCE = 3
"""Held-out seeds that may fail before any succeeds: a model that hangs is not waited for on all of them."""


def stored_advice(
    scenario: Scenario,
    environment: Environment,
    advice: Recommendation,
    trial: int,
    label: str,
    optimum: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """An agent's recommendation as a record of the study.

    Parameters
    ----------
    scenario : Scenario
    environment : Environment
        As it is after the last round. In a living world advice, value and regret are for the step that would
        have come next.
    advice : Recommendation
    trial : int
    label : str
        The agent's.
    optimum : mapping or None
        The true optimum of the trial's world, as stored.
    """
    space = environment.policy_space
    value = plain(advice)
    value["row"] = None
    for name in ("policy", "best_observed"):
        policy = getattr(advice, name)
        if policy is not None:
            rows = np.asarray(policy)[None]
            value[name] = space.resolve(rows)[0].tolist()
            if name == "policy" and space.finite:
                value["row"] = int(policy)
    expected = math.nan
    try:
        rows = np.asarray(advice.policy)[None]
        outcomes = environment.expected(rows)
        expected = float(environment.compose(outcomes, rows)[0])
        value["expected_outcomes"] = outcomes[0].tolist()
    except NotImplementedError:
        value["expected_outcomes"] = None
    regret = math.nan
    if environment.lives:
        now = bridges.find_optimum(environment)
        optimum = None if now is None else plain(now)
    elif optimum is None and scenario.held_out:
        value["held_out"] = simulated_again(scenario, environment, advice.policy, trial)
    if optimum is not None:
        regret = -environment.sign * (expected - optimum["value"])
    return {
        "trial": trial,
        "agent": label,
        "rounds": scenario.rounds,
        "value": value,
        "expected": expected,
        "simple_regret": regret,
    }


def simulated_again(
    scenario: Scenario, environment: Environment, policy: Any, trial: int
) -> dict[str, list[Any]]:
    """Simulate a policy once on each of the trial's held-out seeds; a memory begins afresh each time.

    Returns
    -------
    dict
        `outcomes`, a list of J numbers a seed, and `objective`, one number a seed; None where a group is
        missing or the step failed, and on all seeds after the first three if these failed.
    """
    outcomes, objective = [], []
    seen = False
    for i in range(scenario.held_out):
        values, value = np.full(len(environment.groups), math.nan), math.nan
        if seen or i < PATIENCE:
            seed = bridges.as_int(bridges.seed_sequence(scenario.seed, trial, "held-out", i))
            with suppress(SimulationError):
                values, seen = bridges.observe(environment, policy, seed).values, True
        if not np.isnan(values).any():
            value = environment.compose(values[None], np.asarray([policy]))[0]
        outcomes.append([_or_none(one) for one in values])
        objective.append(_or_none(value))
    return {"outcomes": outcomes, "objective": objective}


def _or_none(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
