"""What the simulator said of a policy besides its outcomes, as stored: of it, or of the nearest one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import bridges
from scenarios.reporting.judging import Point
from scenarios.reporting.said import Said, mean_info
from scenarios.study.stored_environment import StoredEnvironment
from scenarios.study.study import Study

NEAR = 0.05
"""Of the space's diagonal: what is further from a policy says nothing of it."""


class Observed(NamedTuple):
    """The mean of what was said of a policy.

    Attributes
    ----------
    info : dict
        Arrays and numbers by name.
    distance : float
        From the policy that was asked about, as a share of the space's diagonal; 0: it is that one.
    rounds : int
        How many said so; 0: they were simulated for the report.
    where : str
        The first of them.
    """

    info: dict[str, Any]
    distance: float
    rounds: int
    where: str


def observed(study: Study, said: Sequence[Said], point: Point | None, where: str) -> Observed | None:
    """What was said of a policy, or of the nearest one; None where nothing near enough was kept.

    `where` is a format of trial, agent and round.
    """
    if point is None or not said:
        return None
    distances = _distances(study, [one.point for one in said], point)
    nearest = float(distances.min())
    if nearest > NEAR:
        return None
    first = said[int(distances.argmin())]
    # Agents of a trial meet the same noise in a round: it counts once.
    same = list({(one.trial, one.round): one.info for one in said if one.point == first.point}.values())
    place = where.format(trial=first.trial, agent=first.agent, round=first.round)
    return Observed(mean_info(same), nearest if first.point != point else 0.0, len(same), place)


def noisy(study: Study, seen: Observed) -> bool:
    """Whether what was said is of single steps, which would be others with other noise."""
    return seen.rounds > 0 and not any(one.expected is not None for one in study.rounds())


def nothing(study: Study) -> Point | None:
    """The policy whose every lever is at zero, where that is its least and may be."""
    facts = study.environment
    if facts.finite or not facts.kinds or any(getattr(one, "low", 1.0) != 0.0 for one in facts.kinds):
        return None
    try:
        space = bridges.search_space(StoredEnvironment(facts, composed=False))
    except ValueError:  # the study is from before spaces were stored
        return None
    zeros = [0.0] * len(facts.labels)
    return Point(zeros, None) if bool(space.contains(np.array([zeros]))[0]) else None


def _distances(study: Study, points: Sequence[Point], point: Point) -> NDArray[np.float64]:
    """Distances (n,) as shares of the diagonal of the space."""
    try:
        space = bridges.search_space(StoredEnvironment(study.environment, composed=False))
        steps = space.to_unit(np.array([one.travels for one in points])) - space.to_unit(
            np.array([point.travels])
        )
        distances: NDArray[np.float64] = np.sqrt((steps**2).mean(axis=1))
        return distances
    except ValueError:  # the study is from before spaces were stored: only what is the same is near
        return np.array([0.0 if one == point else np.inf for one in points])
