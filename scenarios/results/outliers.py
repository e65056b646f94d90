"""Observations of a study that lie far from what its agents had predicted of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from optimizer.agents.surprises import SURPRISE
from optimizer.arrays import Array
from scenarios.numbers import significant
from scenarios.study.records import StoredRound
from scenarios.study.study import Study

FAR = 100.0
"""Robust deviations of all others in the design, beyond which one of its observations is pointed out.

Nothing is predicted of a design, and functions may be as skewed as they like: of five values of a normal
distribution one is beyond it in 0.1 % of designs, of five cubes of uniform ones in 5 %; a slip of the
decimal point by four places is.
"""
LEAST = 4
"""Others that a design needs, for one of its observations to be held against."""


class Outlier(NamedTuple):
    """An observation beyond four predictive standard deviations when it came, or far from its design.

    Attributes
    ----------
    trial, agent, round
        Where.
    group : str or None
        Of which group; None of the composed value, for an agent that is told no other.
    value : float
        What was observed.
    predicted, deviation : float
        What the agent had predicted of it, with its standard deviation, noise included; in the design the
        median of the others, with their median absolute deviation times 1.4826.
    of_design : bool
        Whether it is one of the design, of which nothing was predicted.
    """

    trial: int
    agent: str
    round: int
    group: str | None
    value: float
    predicted: float
    deviation: float
    of_design: bool = False

    @property
    def distance(self) -> float:
        """How far, in predictive standard deviations."""
        return abs(self.value - self.predicted) / self.deviation if self.deviation > 0 else float("inf")


def outliers(study: Study) -> list[Outlier]:
    """Those of a study, the furthest first: as the run stored them, and those in designs."""
    found = [
        Outlier(one.trial, one.agent, one.round, **value)
        for one in study.details("surprises")
        for value in one.value
    ]
    if not study.scenario.prior.given:
        found += _in_designs(study)
    return sorted(found, key=lambda one: (-one.distance, one.trial, one.agent, one.round))


def _in_designs(study: Study) -> Iterator[Outlier]:
    """Those in the first rounds of trials, of which agents that learn on the way predict nothing."""
    first = max(5, 2 * len(study.environment.labels))
    designs: dict[tuple[int, str], list[StoredRound]] = defaultdict(list)
    for one in study.rounds():
        if one.round <= first:
            designs[one.trial, one.agent].append(one)
    for (trial, agent), rounds in designs.items():
        Y, n = np.array([one.outcomes for one in rounds], dtype=np.float64), len(rounds)
        if n <= LEAST:
            continue
        others = Y[[np.delete(np.arange(n), i) for i in range(n)]]  # (n, n - 1, J)
        others[~np.isfinite(others)] = np.nan
        enough = np.isfinite(Y) & (np.isfinite(others).sum(axis=1) >= LEAST)
        others = np.where(enough[:, None], others, 0.0)
        middle = np.nanmedian(others, axis=1)
        spread = _robust_deviation(others, middle)
        for i, j in np.argwhere(enough & (spread > 0) & (np.abs(Y - middle) > FAR * spread)).tolist():
            value, rest, deviation = (float(one[i, j]) for one in (Y, middle, spread))
            group = study.environment.groups[j]
            yield Outlier(trial, agent, rounds[i].round, group, value, rest, deviation, True)


def _robust_deviation(values: Array, middle: Array) -> Array:
    """The median absolute deviation, times what makes it the standard deviation of a normal distribution."""
    deviation: Array = 1.4826 * np.nanmedian(np.abs(values - middle[:, None]), axis=1)
    return deviation


def outlier_lines(found: Sequence[Outlier]) -> list[str]:
    """A line that names the furthest and says how many there are; none where there is none."""
    if not found:
        return []
    first, n = max(found, key=lambda one: one.distance), len(found)
    what = "1 observation lies" if n == 1 else f"{n} observations lie"
    group = "the composed value" if first.group is None else first.group
    designs = f", or {FAR:g} of the rest of its design" if any(one.of_design for one in found) else ""
    known = "the rest" if first.of_design else "predicted"
    return [
        f"{what} beyond {SURPRISE:g} standard deviations of what was predicted{designs}; the furthest: trial "
        f"{first.trial}, {first.agent}, round {first.round}, {group} {significant(first.value)}, {known} "
        f"{significant(first.predicted)} +- {significant(first.deviation, 2)}"
    ]
