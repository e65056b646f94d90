"""What readers of a study must know of several objectives: their units, senses and the reference point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import bridges
from bridges.reframed import several
from scenarios.declaration.asked import first_reported
from simulators import Environment
from simulators.contract.process_state import kept_process_state

SAMPLES = 256
"""Policies of a space of numbers at which the worst of every objective is looked for."""


def objectives_of(environment: Environment, names: Sequence[str]) -> list[dict[str, Any]] | None:
    """Each of several objectives as plain data, the one that rounds report first; None where there is one.

    `name`, `unit`, `sense`, and `reference`, its worst noise-free value over random policies, or all
    candidates if they are few: the corner from which a hypervolume is measured. None where that is unknown.
    """
    each = several(environment)
    if not each:
        return None
    space = environment.policy_space
    few = space.candidates is not None and len(space.candidates) <= SAMPLES
    policies: Any = (
        np.arange(len(space.candidates))
        if few and space.candidates is not None
        else bridges.search_space(environment).sample(SAMPLES, np.random.default_rng(0))
    )
    try:
        with kept_process_state():
            outcomes = bridges.known_outcomes(environment, policies)
            worst = [_worst(one, outcomes, policies) for one in each]
    except Exception:  # unknown, or a composition that fails
        worst = [None] * len(each)
    return [
        {"name": name, "unit": one.objective_unit, "sense": one.sense, "reference": value}
        for name, one, value in zip(first_reported(names), each, worst, strict=True)
    ]


def _worst(environment: Environment, outcomes: Any, policies: Any) -> float | None:
    values = np.asarray(environment.compose(outcomes, policies), dtype=float)
    known = environment.sign * values[np.isfinite(values)]
    return float(environment.sign * known.min()) if len(known) else None
