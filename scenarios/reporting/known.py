"""What a study knows that a report needs, gathered once: what is recommended, and held against what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS
from optimizer.agents.recommending import probably_better
from scenarios.errors import UserError
from scenarios.questions.answer import Answer, Prediction, answered, predicted
from scenarios.questions.framing import Framed, framed, of_study
from scenarios.questions.question import Question
from scenarios.questions.what_if import believer
from scenarios.reporting.judging import Judged, Point, Valued, judged, of_advice, surely
from scenarios.results.statistics import compare, typical_advice
from scenarios.study.evidence import Evidence, evidence
from scenarios.study.records import ALL_TRIALS, NOTHING, Advice
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
        The probability that `chosen` is better than `today`: by their joint posterior where both are
        predicted, else by what is known of each; 0 or 1 where no noise is left.
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
    def world(self) -> str:
        """The world that the report is about: "all" trials', or that of a trial where each has its own."""
        if not self.study.scenario.environment.new_world_each_trial:
            return ALL_TRIALS
        return (
            str(1 if self.advice is None else self.advice.trial)
            if self.believed is None
            else self.believed.found.world
        )

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
        chosen = _of(study, believed, Point(advice.policy, advice.row), advice.trial, advice)
    elif believed is not None:
        chosen = _answered(study, believed)
    today, name = (None, "") if chosen is None else _today(study, believed, leader, advice)
    if advice is not None and advice.mean is None:
        leader = advice = None  # whoever advised has no model yet: the report's policy is not theirs
    better = None
    if chosen is not None and today is not None and not study.limits:
        better = _better(study, believed, chosen, today)
    return Known(study, compare(study), leader, advice, believed, unasked, chosen, today, name, better)


def _better(study: Study, believed: Believed | None, chosen: Judged, today: Judged) -> float | None:
    if {chosen.best.kind, today.best.kind} != {"predicted"}:
        return surely(chosen, today, study.environment.sign)
    if believed is None:
        return None
    model = believed.agent.belief.at(None)
    return float(probably_better(model, chosen.point.travels, today.point.travels))


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
    return _of(study, believed, point, None, None, best)


def _numbers(study: Study, entries: dict[str, Any]) -> list[float]:
    """Named entries as they are stored."""
    levers = study.environment.kinds
    return [float(lever.number(x)) for lever, x in zip(levers, entries.values(), strict=True)]


def _today(
    study: Study, believed: Believed | None, leader: str | None, advice: Advice | None
) -> tuple[Judged | None, str]:
    """Today's practice; where the study knows none, the first policy that was tried in the trial."""
    facts, trial = study.environment, 1 if advice is None else advice.trial
    if facts.current_policy is not None:
        row = None
        if facts.finite:
            row = next((one.row for one in study.rounds() if one.policy == facts.current_policy), None)
        if not facts.finite or row is not None:
            point = Point(facts.current_policy, row)
            return _of(study, believed, point, trial, None, given=True), facts.current_policy_label
    label = leader or study.scenario.labels[0]
    first = next((one for one in study.history(trial, label) if one.status not in NOTHING), None)
    if first is None:
        return None, ""
    return _of(study, believed, Point(first.policy, first.row), trial, None, given=True), ""


def _of(
    study: Study,
    believed: Believed | None,
    point: Point,
    trial: int | None,
    advice: Advice | None,
    prediction: Prediction | None = None,
    given: bool = False,
) -> Judged:
    """A policy, judged in the world of the recommendation."""
    if believed is not None and believed.found.world != ALL_TRIALS:
        trial = int(believed.found.world)
    if prediction is None and believed is not None:
        with threadpool_limits(1):
            prediction = predicted(study, believed.bound, believed.agent, point.travels)
    valued, chance = of_advice(study, advice), None
    if prediction is not None:
        valued = Valued("predicted", 0, prediction.objective, prediction.groups)
        chance = prediction.probability if prediction.limits else None
    return judged(study, point, trial, prediction=valued, advice=advice, given=given, probability=chance)
