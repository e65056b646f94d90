"""What a policy is worth, by the best that a study holds of it: without noise, simulated, or predicted.

What was simulated goes before what is predicted. Rounds count only of a policy that nobody chose by them, as
today's practice is: of one that was chosen they are the luckiest, and its held-out seeds are asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from scenarios.questions.estimate import Estimate
from scenarios.results.intervals import FEWEST, UNLIMITED, mean_interval
from scenarios.study.records import NOTHING, Advice, Numbers, StoredRound
from scenarios.study.study import Study

Kind = Literal["exact", "again", "simulated", "predicted", "observed"]
"""Without noise; on seeds that no agent has seen; the mean of its rounds; by a model; the mean of too few
rounds for an interval."""


class Point(NamedTuple):
    """A policy as it is stored."""

    policy: list[float]
    row: int | None

    @property
    def travels(self) -> Any:
        """As agents take it."""
        return self.row if self.row is not None else np.array(self.policy)


class Valued(NamedTuple):
    """What is known of a policy from one source.

    Attributes
    ----------
    kind : Kind
    steps : int
        Simulations that it is the mean of; 0 where it is no mean.
    objective : Estimate or None
    groups : dict of Estimate, or None
    """

    kind: Kind
    steps: int
    objective: Estimate | None
    groups: dict[str, Estimate] | None


@dataclass(frozen=True)
class Judged:
    """A policy that the report is about, with all that is known of it.

    Attributes
    ----------
    point : Point
    entries : dict
        By label.
    tried : int
        Rounds of the whole study that observed it.
    best : Valued
        The surest of what is known.
    predicted : Valued or None
        By all rounds, or else by its agent.
    probability : float or None
        That it keeps the limits; None without limits or where it is unknown.
    exact : float or None
        Noise-free objective.
    exact_groups : list or None
    """

    point: Point
    entries: dict[str, Any]
    tried: int
    best: Valued
    predicted: Valued | None
    probability: float | None
    exact: float | None
    exact_groups: Numbers | None

    @property
    def objective(self) -> Estimate | None:
        """The surest value of its objective."""
        return self.best.objective

    @property
    def groups(self) -> dict[str, Estimate] | None:
        """The same of its groups."""
        return self.best.groups


def judged(
    study: Study,
    point: Point,
    trial: int | None,
    *,
    prediction: Valued | None,
    advice: Advice | None,
    given: bool = False,
    probability: float | None = None,
) -> Judged:
    """Judge a policy.

    Parameters
    ----------
    study : Study
    point : Point
    trial : int or None
        Whose world it is judged in, where every trial has one of its own.
    prediction : Valued or None
    advice : Advice or None
        The recommendation that it is.
    given : bool, default False
        Whether it was there before the first round, so that nobody chose it for its rounds.
    probability : float, optional
        That limits are kept, as predicted.
    """
    here = study.scenario.environment.new_world_each_trial
    same = [
        one
        for one in study.rounds()
        if one.policy == point.policy and one.status not in NOTHING and (not here or one.trial == trial)
    ]
    advised = [one for one in study.recommendations() if one.policy == point.policy]
    advised = [one for one in advised if not here or one.trial == trial]
    exact, groups = _noise_free(study, same, advised, advice)
    found = [
        _exactly(study, exact, groups),
        _again(study, advised),
        _simulated(study, same) if given else None,
        prediction,
        _simulated(study, same, fewest=1),
    ]
    best = next((one for one in found if one is not None), Valued("observed", 0, None, None))
    entries = study.environment.titled(point.policy)
    return Judged(point, entries, len(same), best, prediction, probability, exact, groups)


def of_advice(study: Study, advice: Advice | None) -> Valued | None:
    """What an agent predicts of the policy that it recommends; None without a model."""
    if advice is None or advice.mean is None:
        return None
    objective = Estimate(*_three(advice.mean, advice.low, advice.high))
    if advice.group_means is None or advice.group_low is None or advice.group_high is None:
        return Valued("predicted", 0, objective, None)
    threes = zip(advice.group_means, advice.group_low, advice.group_high, strict=True)
    estimates = [Estimate(*_three(*three)) for three in threes]
    names = study.environment.groups
    return Valued("predicted", 0, objective, dict(zip(names, estimates, strict=True)))


def surely(one: Judged, other: Judged, sign: float) -> float | None:
    """The probability that one policy is better than another, their errors normal and independent.

    None where of one of them there is no interval. `sign` is 1 where more is better.
    """
    if one.objective is None or other.objective is None:
        return None
    halves = [(each.high - each.low) / 2 for each in (one.objective, other.objective)]
    apart = sign * (one.objective.mean - other.objective.mean)
    deviation = math.hypot(*halves) / 1.96
    if not (math.isfinite(deviation) and math.isfinite(apart)):
        return None
    if deviation == 0:
        return 1.0 if apart > 0 else 0.5 if apart == 0 else 0.0
    return float(ndtr(apart / deviation))


def _three(*ends: float | None) -> list[float]:
    return [math.nan if one is None else one for one in ends]


def _noise_free(
    study: Study, same: Sequence[StoredRound], advised: Sequence[Advice], advice: Advice | None
) -> tuple[float | None, Numbers | None]:
    """The noise-free objective and outcomes of a policy; in a living world those of its last moment."""
    known: list[tuple[float | None, Sequence[float | None] | None]] = []
    if advice is not None:
        known.append((advice.expected, advice.expected_outcomes))
    if not study.environment.lives:
        known += [(one.expected, one.expected_outcomes) for one in same]
        known += [(one.expected, one.expected_outcomes) for one in advised]
    for exact, outcomes in known:
        if exact is not None:
            return exact, None if outcomes is None else [*outcomes]
    return None, None


def _exactly(study: Study, exact: float | None, groups: Numbers | None) -> Valued | None:
    """A noise-free value as one that no interval is left of; None of a world that lives."""
    if exact is None or study.environment.lives:
        return None
    each = None
    if groups is not None and all(one is not None for one in groups):
        values = [float(one) for one in groups if one is not None]
        each = {name: Estimate(x, x, x) for name, x in zip(study.environment.groups, values, strict=True)}
    return Valued("exact", 0, Estimate(exact, exact, exact), each)


def _again(study: Study, advised: Sequence[Advice]) -> Valued | None:
    """The mean over held-out seeds, of every trial once: agents of a trial share them."""
    by_trial = {one.trial: one.held_out for one in advised if one.held_out is not None}
    values = [value for held in by_trial.values() for value in held.objective]
    outcomes = [row for held in by_trial.values() for row in held.outcomes]
    return _mean(study, "again", values, outcomes, FEWEST)


def _simulated(study: Study, same: Sequence[StoredRound], fewest: int = FEWEST) -> Valued | None:
    """The mean of rounds; agents of a trial meet the same noise in a round, which counts once."""
    once = list({(one.trial, one.round): one for one in same}.values())
    kind: Kind = "simulated" if len(once) >= FEWEST else "observed"
    return _mean(study, kind, [one.objective for one in once], [one.outcomes for one in once], fewest)


def _mean(
    study: Study, kind: Kind, values: Numbers, outcomes: Sequence[Numbers], fewest: int
) -> Valued | None:
    known: Numbers = [one for one in values if one is not None]
    if len(known) < fewest:
        return None
    objective, facts = _over(known), study.environment
    ranges = facts.outcome_range or [[None, None]] * len(facts.groups)
    each = [
        _over(
            [row[j] for row in outcomes],
            (-math.inf if low is None else low, math.inf if high is None else high),
        )
        for j, (low, high) in enumerate(ranges)
    ]
    groups = {name: one for name, one in zip(facts.groups, each, strict=True) if one is not None}
    return Valued(kind, len(known), objective, groups if len(groups) == len(each) else None)


def _over(values: Numbers, within: tuple[float, float] = UNLIMITED) -> Estimate | None:
    """The mean of some values, with its interval where they are enough."""
    over = mean_interval([math.nan if one is None else one for one in values], within)
    if over["mean"] is None:
        return None
    return Estimate(*(math.nan if end is None else end for end in over.values()))
