"""Observations of a study that lie far from what its agents had predicted of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from optimizer.agents.surprises import SURPRISE
from scenarios.numbers import significant
from scenarios.study.study import Study


class Outlier(NamedTuple):
    """An observation beyond four predictive standard deviations when it came.

    Attributes
    ----------
    trial, agent, round
        Where.
    group : str or None
        Of which group; None of the composed value, for an agent that is told no other.
    value : float
        What was observed.
    predicted, deviation : float
        What the agent had predicted of it, with its standard deviation, noise included.
    """

    trial: int
    agent: str
    round: int
    group: str | None
    value: float
    predicted: float
    deviation: float

    @property
    def distance(self) -> float:
        """How far, in predictive standard deviations."""
        return abs(self.value - self.predicted) / self.deviation if self.deviation > 0 else float("inf")


def outliers(study: Study) -> list[Outlier]:
    """Those of a study, the furthest first, as the run stored them: nothing is computed again."""
    found = [
        Outlier(one.trial, one.agent, one.round, **value)
        for one in study.details("surprises")
        for value in one.value
    ]
    return sorted(found, key=lambda one: (-one.distance, one.trial, one.agent, one.round))


def outlier_lines(found: Sequence[Outlier]) -> list[str]:
    """A line that names the furthest and says how many there are; none where there is none."""
    if not found:
        return []
    first, n = max(found, key=lambda one: one.distance), len(found)
    what = "1 observation lies" if n == 1 else f"{n} observations lie"
    group = "the composed value" if first.group is None else first.group
    return [
        f"{what} beyond {SURPRISE:g} standard deviations of what was predicted; the furthest: trial "
        f"{first.trial}, {first.agent}, round {first.round}, {group} {significant(first.value)}, predicted "
        f"{significant(first.predicted)} +- {significant(first.deviation, 2)}"
    ]
