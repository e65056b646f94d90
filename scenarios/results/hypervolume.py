"""How much of the trade-offs between several objectives an agent has found: the hypervolume, by trial.

It is the volume of all that one of the policies tried is at least as good as, down to the reference point
(Zitzler & Thiele 1999): the larger the better, and the largest only where the whole frontier was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optimizer.composition.scalarised import nondominated
from scenarios.declaration.asked import TOTAL, group_named, objective
from scenarios.results.limits import known_limits
from scenarios.study.records import StoredRound
from scenarios.study.study import Study

Array = NDArray[np.float64]


def hypervolume(values: Array, reference: Array) -> float:
    """The volume that values (n, K) dominate above a reference (K,), all to be maximised; K is 1, 2 or 3.

    Rows that do not reach above the reference in all columns add nothing.
    """
    points = values[(values > reference).all(axis=1)] - reference
    if not len(points):
        return 0.0
    points = np.unique(points[nondominated(points)], axis=0)
    if points.shape[1] == 1:
        return float(points.max())
    order = points[np.argsort(-points[:, -1], kind="stable")]
    if points.shape[1] == 2:  # down the second column the first grows, a step of a staircase each
        reached = np.concatenate([[0.0], np.maximum.accumulate(order[:, 0])])
        return float((np.diff(reached) * order[:, 1]).sum())
    # Of three, in slices along the last, in each of which those above it count.
    ends = np.append(order[1:, -1], 0.0)
    nothing = np.zeros(points.shape[1] - 1)
    return float(
        sum(
            (top - end) * hypervolume(order[: i + 1, :-1], nothing)
            for i, (top, end) in enumerate(zip(order[:, -1], ends, strict=True))
            if top > end
        )
    )


class Measured(NamedTuple):
    """The hypervolumes of a study.

    Attributes
    ----------
    by_agent : dict of Series
        By label, of its complete trials.
    reference : dict of float
        The reference point by objective.
    noise_free : bool
        Whether the objectives are noise-free; else they are as observed.
    """

    by_agent: dict[str, pd.Series]
    reference: dict[str, float]
    noise_free: bool


def hypervolumes(study: Study) -> Measured | None:
    """What the agents of a study have found; None where it has one objective, or nothing was observed.

    The reference point is the stored one. Where that is unknown, it is the worst that a round has observed.
    Policies that break a limit do not count.
    """
    declared = study.environment.objectives
    rounds = study.rounds()
    if not declared or not rounds:
        return None
    signs = np.array([1.0 if one["sense"] == "maximize" else -1.0 for one in declared])
    noise_free = all(one["reference"] is not None for one in declared)
    values = signs * objective_values(study, rounds, noise_free)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(values).all(axis=1))
    if noise_free:
        reference = signs * np.array([one["reference"] for one in declared], dtype=float)
    elif known.any():
        reference = values[known].min(axis=0)
    else:
        return None
    limits = known_limits(study)
    if limits is not None:
        kept = [limits.kept(one.expected_outcomes or one.outcomes) for one in rounds]
        known &= np.array([one is True for one in kept])
    own: dict[tuple[str, int], list[int]] = {}
    for i, one in enumerate(rounds):
        own.setdefault((one.agent, one.trial), []).append(i)
    found: dict[str, dict[int, float]] = {label: {} for label in study.scenario.labels}
    for (label, trial), rows in own.items():
        if len(rows) >= study.scenario.rounds and label in found:
            found[label][trial] = hypervolume(values[rows][known[rows]], reference)
    point = dict(zip([one["name"] for one in declared], (signs * reference).tolist(), strict=True))
    series = {label: pd.Series(trials, dtype=float) for label, trials in found.items()}
    return Measured(series, point, noise_free)


def objective_values(study: Study, rounds: Sequence[StoredRound], noise_free: bool) -> Array:
    """Every objective (n, K) of rounds, in its own sign, in the order of `Facts.objectives`; nan: unknown."""
    facts = study.environment
    sense = facts.group_sense or facts.sense
    seen = [one.expected_outcomes if noise_free else one.outcomes for one in rounds]
    unknown = [None] * len(facts.groups)
    outcomes = np.array([one or unknown for one in seen], dtype=float)
    columns = []
    for one in facts.objectives or ():
        name = one["name"]
        if name == TOTAL and not group_named(name, facts.groups):
            total = [stored.expected if noise_free else stored.objective for stored in rounds]
            columns.append(np.array(total, dtype=float))
            continue
        g = objective(name, sense, facts.group_units, facts.groups)
        assert g is not None
        with np.errstate(invalid="ignore"):
            columns.append(np.asarray(g(outcomes), dtype=float))
    return np.stack(columns, axis=1)
