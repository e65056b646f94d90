"""What a study knows that a report needs, gathered once: what is recommended, and held against what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS
from optimizer.agents.recommending import probably_better
from scenarios.errors import UserError
from scenarios.questions.answer import Answer, Prediction, answered, predicted
from scenarios.questions.estimate import Estimate
from scenarios.questions.framing import Framed, framed, of_study
from scenarios.questions.question import Question
from scenarios.questions.what_if import believer
from scenarios.results.intervals import mean_interval
from scenarios.results.statistics import compare, typical_advice
from scenarios.study.evidence import Evidence, evidence
from scenarios.study.records import ALL_TRIALS, NOTHING, Advice, Numbers, StoredRound
from scenarios.study.study import Study

CURRENT = "current"


@dataclass(frozen=True)
class Believed:
    """What the rounds of one world teach, as `what_if` has it where nothing else is asked.

    Attributes
    ----------
    question : Question
    bound : Framed
    found : Evidence
    agent : GPAgent
        Has been told all of it.
    answer : Answer
    """

    question: Question
    bound: Framed
    found: Evidence
    agent: GPAgent
    answer: Answer


class Point(NamedTuple):
    """A policy as it is stored."""

    policy: list[float]
    row: int | None

    @property
    def travels(self) -> Any:
        """As agents take it."""
        return self.row if self.row is not None else np.array(self.policy)


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
    objective : Estimate or None
        Predicted by all rounds, or else by its agent, or else observed.
    groups : dict of Estimate, or None
    probability : float or None
        That it keeps the limits; None without limits or where it is unknown.
    exact : float or None
        Noise-free objective.
    exact_groups : list or None
    again : Estimate or None
        Its objective, simulated again on held-out seeds.
    """

    point: Point
    entries: dict[str, Any]
    tried: int
    objective: Estimate | None
    groups: dict[str, Estimate] | None
    probability: float | None
    exact: float | None
    exact_groups: Numbers | None
    again: Estimate | None


@dataclass(frozen=True)
class Known:
    """All that a report needs of a study.

    Attributes
    ----------
    study : Study
    comparison : dict
        As `compare --format json` prints it.
    leader : str or None
        The agent whose recommendation is the report's; None where no trial is complete.
    advice : Advice or None
        That recommendation, of its median trial.
    believed : Believed or None
    unasked : str
        Why there is no `believed`.
    chosen : Judged or None
        The policy that the report recommends.
    today : Judged or None
        What it is held against.
    todays_name : str
        Of that: the environment's words for today's practice, "" where it is the first policy tried.
    better : float or None
        The probability that `chosen` is better than `today`, by their joint posterior.
    """

    study: Study
    comparison: dict[str, dict[str, Any]]
    leader: str | None
    advice: Advice | None
    believed: Believed | None
    unasked: str
    chosen: Judged | None
    today: Judged | None
    todays_name: str
    better: float | None

    @property
    def sign(self) -> float:
        """1.0 where more of the objective is better."""
        return self.study.environment.sign


def gathered(study: Study) -> Known:
    """Gather it; nothing is simulated, and no code that the study names is run."""
    leader = leading(study)
    advice = None if leader is None else typical_advice(study, leader)
    believed, unasked = _believed(study, None if advice is None else advice.trial)
    chosen = None
    if advice is not None and advice.mean is not None:
        chosen = _judged(study, believed, Point(advice.policy, advice.row), advice)
    elif believed is not None:
        chosen = _answered(study, believed)
    today, name = (None, "") if chosen is None else _today(study, believed, leader, advice)
    if advice is not None and advice.mean is None:
        leader = advice = None  # whoever advised has no model yet: the report's policy is not theirs
    better = None
    if (
        believed is not None
        and chosen is not None
        and today is not None
        and not believed.bound.environment.limits
    ):
        model = believed.agent.belief.at(None)
        better = probably_better(model, chosen.point.travels, today.point.travels)
    return Known(study, compare(study), leader, advice, believed, unasked, chosen, today, name, better)


def leading(study: Study) -> str | None:
    """The agent whose recommendation leads: the first that models every group, or a model, or any at all."""

    def place(label: str) -> tuple[bool, bool, bool]:
        name = study.scenario.agent(label).name
        return GP_AGENTS.get(name, ("",))[0] != "decomposed", name not in GP_AGENTS, name == CURRENT

    advised = [label for label in study.scenario.labels if typical_advice(study, label) is not None]
    return min(advised, key=place, default=None)  # the first of equals


def _believed(study: Study, trial: int | None) -> tuple[Believed | None, str]:
    """The posterior of the world of a trial, or of the first; or why there is none."""
    try:
        question = of_study(study, Question())
        bound = framed(study, question)
        worlds = evidence(study)
        found = next((one for one in worlds if one.world in (ALL_TRIALS, str(trial))), worlds[0])
        with threadpool_limits(1):
            agent = believer(study, question, bound, found)
            return Believed(question, bound, found, agent, answered(study, question, bound, found, agent)), ""
    except UserError as error:
        return None, str(error).removeprefix(f"{study.path}: ")


def _answered(study: Study, believed: Believed) -> Judged:
    """What the rounds so far say is best, where no trial is complete."""
    best = believed.answer.best
    point = Point(_numbers(study, best.policy), best.row)
    return _judged(study, believed, point, None, best)


def _numbers(study: Study, entries: dict[str, Any]) -> list[float]:
    """Named entries as they are stored."""
    levers = study.environment.kinds
    return [float(lever.number(x)) for lever, x in zip(levers, entries.values(), strict=True)]


def _today(
    study: Study, believed: Believed | None, leader: str | None, advice: Advice | None
) -> tuple[Judged | None, str]:
    """Today's practice; where the study knows none, the first policy that was tried in the trial."""
    facts = study.environment
    if facts.current_policy is not None:
        row = None
        if facts.finite:
            row = next((one.row for one in study.rounds() if one.policy == facts.current_policy), None)
        if not facts.finite or row is not None:
            return _judged(
                study, believed, Point(facts.current_policy, row), None
            ), facts.current_policy_label
    trial = 1 if advice is None else advice.trial
    label = leader or study.scenario.labels[0]
    first = next((one for one in study.history(trial, label) if one.status not in NOTHING), None)
    if first is None:
        return None, ""
    return _judged(study, believed, Point(first.policy, first.row), None), ""


def _judged(
    study: Study,
    believed: Believed | None,
    point: Point,
    advice: Advice | None,
    prediction: Prediction | None = None,
) -> Judged:
    same = [one for one in study.rounds() if one.policy == point.policy and one.status not in NOTHING]
    if prediction is None and believed is not None:
        with threadpool_limits(1):
            prediction = predicted(study, believed.bound, believed.agent, point.travels)
    exact, exact_groups = next(
        ((one.expected, one.expected_outcomes) for one in same if one.expected is not None), (None, None)
    )
    if exact is None and advice is not None and advice.expected is not None:
        exact, exact_groups = advice.expected, _copied(advice.expected_outcomes)
    held = advice.held_out if advice is not None else None
    again = None if held is None else _over(held.objective)
    if prediction is not None:
        objective: Estimate | None = prediction.objective
        groups: dict[str, Estimate] | None = prediction.groups
        probability = prediction.probability if prediction.limits else None
    else:
        objective, groups = _without_model(study, advice, same)
        probability = None
    return Judged(
        point,
        study.environment.titled(point.policy),
        len(same),
        objective,
        groups,
        probability,
        exact,
        exact_groups,
        again,
    )


def _copied(values: Sequence[float] | None) -> Numbers | None:
    return None if values is None else [*values]


def _without_model(
    study: Study, advice: Advice | None, observed: Sequence[StoredRound]
) -> tuple[Estimate | None, dict[str, Estimate] | None]:
    """What the agent itself predicts, or what was observed."""
    if advice is None or advice.mean is None:
        # Agents of a trial meet the same noise in a round: it counts once.
        once = list({(one.trial, one.round): one for one in observed}.values())
        each = [_over([one.outcomes[j] for one in once]) for j in range(len(study.environment.groups))]
        known = {g: e for g, e in zip(study.environment.groups, each, strict=True) if e is not None}
        return _over([one.objective for one in once]), known if len(known) == len(each) else None
    nan = math.nan
    ends = [nan if one is None else one for one in (advice.mean, advice.low, advice.high)]
    if advice.group_means is None or advice.group_low is None or advice.group_high is None:
        return Estimate(*ends), None
    threes = zip(advice.group_means, advice.group_low, advice.group_high, strict=True)
    estimates = [Estimate(*(nan if end is None else end for end in three)) for three in threes]
    return Estimate(*ends), dict(zip(study.environment.groups, estimates, strict=True))


def _over(values: Numbers) -> Estimate | None:
    """The mean of some values, with its interval where they are enough."""
    over = mean_interval([math.nan if one is None else one for one in values])
    if over["mean"] is None:
        return None
    return Estimate(*(math.nan if end is None else end for end in over.values()))
