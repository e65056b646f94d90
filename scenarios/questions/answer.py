"""The answer to a question: a policy, every group's outcome, the limits, and what is not known of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bridges import current_policy
from optimizer.acquisition.improvement import ExpectedImprovement
from optimizer.acquisition.search import posterior_means
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.recommending import SLACK
from optimizer.arrays import Policies
from optimizer.composition.linear import Composition
from optimizer.composition.propagation import Sampled
from scenarios.declaration.rates import by_size
from scenarios.questions.estimate import Estimate
from scenarios.questions.framing import Framed
from scenarios.questions.question import Question
from scenarios.study.evidence import Evidence
from scenarios.study.levers import Entry, policy_in_words
from scenarios.study.study import Study

SAMPLES = 1024
FAR, UNSURE = 0.2, 0.5
"""A policy further than this from all that was simulated, as a share of the box's diagonal, or of which any
group is less known than this, as a share of its deviation before any round: the answer says so."""
PAYS = 0.01
"""Expected improvement, as a share of the objective, from which more rounds are said to pay."""


@dataclass(frozen=True)
class LimitAnswer:
    """A limit, the predicted mean of its value, and the probability that it is kept."""

    limit: str
    mean: float
    probability: float


@dataclass(frozen=True)
class Prediction:
    """What is believed of one policy under the question.

    Attributes
    ----------
    policy : dict
        Entries by label.
    row : int or None
        Its candidate row in a finite space.
    tried : int
        Rounds that observed it.
    objective : Estimate
    groups : dict of Estimate
        By group.
    limits : list of LimitAnswer
    probability : float
        That all limits are kept; 1 without any.
    """

    policy: dict[str, Entry]
    row: int | None
    tried: int
    objective: Estimate
    groups: dict[str, Estimate]
    limits: list[LimitAnswer]
    probability: float


@dataclass(frozen=True)
class Answer:
    """The answer to a question from the rounds of one world.

    Attributes
    ----------
    question : str
        In one line.
    world : str
        "all", or the trial whose world it is.
    trials, agents, rounds
        Whose rounds it is from, and how many.
    unit, sense : str
        Of the objective.
    group_units : dict of str
    best : Prediction
        The policy that answers the question.
    kept : bool
        Whether it keeps the limits with the probability asked for.
    best_tried : Prediction
        Of the policies that were simulated and may be chosen, the one that answers it best.
    current : Prediction or None
        Today's practice, where the study knows it.
    distance : float
        From the answer to the nearest policy that was simulated, as a share of the box's diagonal.
    unsure : float
        The largest share of any group's prior standard deviation that is left at the answer.
    next_policy : dict
        The simulation that would improve the answer most; empty where it was not asked for.
    expected_improvement : float
        By how much, in the objective's unit; nan then.
    remarks : list of str
        What has to be known besides.
    """

    question: str
    world: str
    trials: list[int]
    agents: list[str]
    rounds: int
    unit: str
    sense: str
    group_units: dict[str, str]
    best: Prediction
    kept: bool
    best_tried: Prediction | None
    current: Prediction | None
    distance: float
    unsure: float
    next_policy: dict[str, Entry]
    expected_improvement: float
    remarks: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def answered(
    study: Study, question: Question, bound: Framed, found: Evidence, agent: GPAgent, *, ahead: bool = True
) -> Answer:
    """What an agent that knows the evidence answers; without a look `ahead` no next simulation is named."""
    space = bound.within or agent.space
    advice = agent.recommend()
    best = predicted(study, bound, agent, advice.policy)
    tried = agent.belief.history.tried()[0]
    tried = tried[space.contains(tried)]
    leader = _leader(agent, question, tried)
    today = current_policy(bound.environment)
    following, gain = next_simulation(agent, best) if ahead else (None, float("nan"))
    distance, unsure = extrapolation(agent, advice.policy)
    kept = best.probability >= question.probability - SLACK
    answer = Answer(
        question=question.words,
        world=found.world,
        trials=found.trials,
        agents=found.agents,
        rounds=len(found.rounds),
        unit=bound.environment.objective_unit,
        sense=bound.environment.sense,
        group_units=dict(zip(study.environment.groups, study.environment.group_units, strict=True)),
        best=best,
        kept=kept,
        best_tried=None if leader is None else predicted(study, bound, agent, leader),
        current=None if today is None else predicted(study, bound, agent, today),
        distance=distance,
        unsure=unsure,
        next_policy={} if following is None else _named(study, agent, following),
        expected_improvement=gain,
        remarks=[],
    )
    answer.remarks.extend(remarks(study, question, found, answer))
    if today is not None and not space.contains(np.asarray([today]))[0]:
        answer.remarks.append("Today's practice lies outside the budget or the fixed levers asked for.")
    return answer


def predicted(study: Study, bound: Framed, agent: GPAgent, policy: Any) -> Prediction:
    """What an agent believes of a policy under the question."""
    said, names = agent.predicted(policy), study.environment.groups
    assert said.group_means is not None and said.group_low is not None and said.group_high is not None
    ends = zip(said.group_means.tolist(), said.group_low.tolist(), said.group_high.tolist(), strict=True)
    limits, at = agent.settings.limits, np.asarray([policy])
    each, together = [], 1.0
    if limits is not None:
        means, variances = agent.belief.at(None).predict_groups(at)
        values, single = limits.values(means)[0], limits.each(means, variances)[0]
        together = float(limits.probability(means, variances)[0])
        each = [LimitAnswer(*one) for one in zip(limits.names, values.tolist(), single.tolist(), strict=True)]
    return Prediction(
        policy=_named(study, agent, policy),
        row=int(policy) if agent.space.finite else None,
        tried=said.tried,
        objective=Estimate(said.mean, said.low, said.high),
        groups={name: Estimate(*three) for name, three in zip(names, ends, strict=True)},
        limits=each,
        probability=together,
    )


def _named(study: Study, agent: GPAgent, policy: Any) -> dict[str, Entry]:
    return study.environment.titled(agent.space.resolve(np.asarray([policy]))[0].tolist())


def _leader(agent: GPAgent, question: Question, policies: Policies) -> Any:
    """The best policy that was simulated: it keeps the limits, or most probably does; None without any."""
    if not len(policies):
        return None
    model = agent.belief.at(None)
    means = np.nan_to_num(posterior_means(model, policies), nan=-np.inf)
    if agent.settings.limits is not None:
        keeps = agent.settings.limits.probability(*model.predict_groups(policies))
        if keeps.max() < question.probability:
            return policies[np.argmax(keeps)]
        means = np.where(keeps >= question.probability, means, -np.inf)
    return policies[np.argmax(means)]


def next_simulation(agent: GPAgent, best: Prediction) -> tuple[Any, float]:
    """The policy whose simulation promises most, and by how much it is expected to improve the answer.

    Expected improvement over the answer's own mean, times the probability that limits are kept (Gardner et
    al. 2014): what a perfect observation of that one policy would be worth.
    """
    model, composition = agent.belief.at(None), agent.composition
    search = agent.search()
    incumbent = composition.sign * best.objective.mean
    chosen = ExpectedImprovement(incumbent).choose(search)
    at = np.asarray([chosen])
    means, variances = model.predict_groups(at)
    if isinstance(composition, Composition):
        improvement = ExpectedImprovement(incumbent)
        gain = float(np.exp(improvement.score_moments(*composition.moments(means, variances, at)))[0])
    else:
        drawn = Sampled(composition.groups, samples=SAMPLES).outcomes(means, variances)
        gain = float(np.maximum(composition.compose(drawn, at)[:, 0] - incumbent, 0.0).mean())
    if agent.settings.limits is not None:
        gain *= float(agent.settings.limits.probability(means, variances)[0])
    return chosen, gain


def extrapolation(agent: GPAgent, policy: Any) -> tuple[float, float]:
    """How far a policy is from all that was simulated, and how much of any group is still unknown there."""
    space, at = agent.space, np.asarray([policy])
    steps = space.to_unit(agent.belief.history.tried()[0]) - space.to_unit(at)
    distance = float(np.sqrt((steps**2).sum(axis=1).min() / space.d))
    before = np.maximum(agent.belief.prior_variances(at, None), 1e-300)
    _, variances = agent.belief.at(None).predict_groups(at)
    return distance, float(np.sqrt((variances / before).max()))


def too_good(study: Study, question: Question, found: Evidence, answer: Answer) -> list[str]:
    """That an answer to the study's own question is predicted to be better than the best there is."""
    if question.objective or question.weights or question.budget is not None:
        return []
    optimum = study.optimum(found.trials[0]) if found.trials else None
    sign = 1.0 if answer.sense == "maximize" else -1.0
    if optimum is None or sign * (answer.best.objective.mean - optimum.value) <= 1e-9 * abs(optimum.value):
        return []
    value = f"{optimum.value:.4g} {answer.unit}".rstrip()
    return [
        f"The true optimum, which the study knows, is {value}: no policy is as good as is predicted here."
    ]


def remarks(study: Study, question: Question, found: Evidence, answer: Answer) -> list[str]:
    """What has to be known to use an answer."""
    lines = []
    best, sure = answer.best, question.probability
    if not answer.kept:
        values = ", ".join(f"{one.mean:.3g} where {one.limit} is asked" for one in best.limits)
        lines.append(
            f"No policy is known to keep the limits with probability {sure:g}: the nearest by its "
            f"prediction, {policy_in_words(best.policy)}, "
            f"does with {best.probability:.3g} (predicted: {values})."
        )
    if best.tried == 0 and answer.distance > FAR:
        lines.append(
            f"It is a prediction, and {100 * answer.distance:.0f} % of the space's diagonal away from all "
            "that was simulated: simulate it before you rely on it."
        )
    elif best.tried == 0:
        lines.append("It is a prediction: no round has simulated this policy.")
    if answer.unsure > UNSURE:
        lines.append(
            f"The rounds say little of it: {100 * answer.unsure:.0f} % of what was unknown of a group before "
            "the first round is still unknown there."
        )
    scale = abs(best.objective.mean)
    if scale > 0 and answer.expected_improvement > PAYS * scale:
        gain = answer.expected_improvement
        # More than all there is, of what cannot be less than nothing, is no percentage.
        share = f" ({100 * gain / scale:.0f} %)" if gain <= scale else ""
        lines.append(
            f"More rounds would pay: the best next simulation is expected to improve the objective by "
            f"{gain:.2g} {answer.unit}".rstrip()
            + f"{share}."
        )
    lines += too_good(study, question, found, answer)
    facts = study.environment
    asked = question.objective or ("" if question.weights else study.scenario.objective)
    if told := by_size(asked, facts.group_units, facts.persons, facts.groups):
        lines.append(told)
    silent = [
        name
        for name, known in zip(study.environment.groups, np.isfinite(found.outcomes).sum(axis=0), strict=True)
        if known < len(found.rounds) / 2
    ]
    if silent:
        lines.append(f"Seldom observed: {', '.join(silent)}.")
    if found.forgotten:
        lines.append(
            f"Its agents began with the rounds of {study.scenario.continue_from}, which is gone or has "
            "changed: they are not used."
        )
    if study.damage:
        lines.append(f"The study is damaged ({study.damage}): what could be read of it was used.")
    return lines
