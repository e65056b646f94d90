"""What the simulator says of the policies that a report is about: the only part of it that runs anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import bridges
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.questions.answer import Answer, answered
from scenarios.questions.estimate import Estimate
from scenarios.questions.evaluation import mean_of
from scenarios.questions.framing import framed, of_study
from scenarios.questions.question import Question
from scenarios.reporting.judging import Point
from scenarios.reporting.known import Known
from scenarios.reporting.observed import Observed
from scenarios.reporting.said import mean_info, of_worlds
from scenarios.trial.world import World
from simulators import Environment, Outcomes, SimulationError

VARIED = ("r0", "efficacy")
"""Options of an environment, of the same name as what it says of itself, that are moved up and down."""
AROUND = 0.1
CHOSEN, TODAY, NOTHING = "chosen", "today", "nothing"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A policy in a variant of the world.

    Attributes
    ----------
    variant : str
        "", or the option that is another: "r0".
    share : float
        By how much of it: 0.1, -0.1, or 0.
    policy : str
        `CHOSEN`, `TODAY` or `NOTHING`; in variants of the budget the chosen one is that of what-if.
    entries : dict
    objective : Estimate
        Over seeds.
    difference : Estimate or None
        From today's on the same seeds.
    failed : int
        Steps that failed.
    """

    variant: str
    share: float
    policy: str
    entries: dict[str, Any]
    objective: Estimate
    difference: Estimate | None
    failed: int


@dataclass(frozen=True)
class Simulated:
    """All that was simulated for a report."""

    seeds: int
    rows: list[Row]
    infos: dict[str, Observed]


def simulate(
    known: Known, *, seeds: int, jobs: int = 1, seen: Callable[[int, int], None] = lambda done, total: None
) -> Simulated:
    """Simulate the recommended policy, today's, and nothing at all; and in worlds that are a little others.

    Every policy on the same seeds. Whoever calls this has accepted the code that the study names.

    Raises
    ------
    UserError
        There is no policy to simulate, the environment cannot be made, or its world lives.
    """
    study = known.study
    if known.chosen is None:
        raise UserError(f"{study.path}: there is no recommendation to simulate")
    if study.environment.lives:
        raise UserError(f"{study.path}: its world lives: the same policy is another one an hour later")
    trial = 1 if known.advice is None else known.advice.trial
    base = World.of(study.scenario, trial)
    points = {CHOSEN: known.chosen.point}
    if known.today is not None and known.today.point != known.chosen.point:
        points[TODAY] = known.today.point
    asked: list[tuple[str, float, World, dict[str, Point]]] = [
        ("", 0.0, base, points | _nothing(base, points))
    ]
    for name in VARIED:
        for share in (-AROUND, AROUND):
            world = _variant(study.scenario, trial, base, name, share)
            if world is not None:
                asked.append((name, share, world, points))
    asked += _budgets(known, base, trial)
    total = seeds * sum(len(policies) for *_, policies in asked)
    rows: list[Row] = []
    infos: dict[str, Observed] = {}
    done = 0
    for variant, share, world, policies in asked:
        objectives: dict[str, Array] = {}
        failed = dict.fromkeys(policies, 0)
        said: dict[str, list[dict[str, Any]]] = {name: [] for name in policies}
        for name, number, outcomes in _stepped(study.scenario, world, policies, seeds, jobs):
            done += 1
            seen(done, total)
            values = objectives.setdefault(name, np.full(seeds, np.nan))
            value = _value(world.environment, outcomes, policies[name].travels)
            if value is None or isinstance(outcomes, Exception):
                failed[name] += 1
                continue
            values[number] = value
            said[name].append(of_worlds(study, dict(outcomes.info or {})))
        for name, point in policies.items():
            apart = (
                mean_of(objectives[name] - objectives[TODAY]) if TODAY in policies and name != TODAY else None
            )
            entries = study.environment.named(point.policy)
            ends = bridges.objective_range(world.environment, point.travels)
            mean = mean_of(objectives[name], ends)
            rows.append(Row(variant, share, name, entries, mean, apart, failed[name]))
            if not variant and said[name]:
                infos[name] = Observed(mean_info(said[name]), 0.0, 0, "")
    return Simulated(seeds, rows, infos)


def _stepped(scenario: Scenario, world: World, policies: Mapping[str, Point], seeds: int, jobs: int) -> Any:
    """Steps of all policies on all seeds: (policy's name, seed's number, outcomes or what went wrong)."""
    environment = world.fresh()
    pairs = [(name, number) for number in range(seeds) for name in policies]
    asked = [(_seed(scenario, number), policies[name].travels) for name, number in pairs]
    with world.steps(1 if environment.has_memory else jobs) as steps:
        for taken in (steps or bridges.OneByOne(environment)).take(asked):
            yield *pairs[taken.which], taken.outcomes


def _seed(scenario: Scenario, number: int) -> int:
    """As `evaluate` has it, so that both tell the same numbers."""
    return bridges.as_int(bridges.seed_sequence(scenario.seed, 0, "evaluate", number))


def _value(environment: Environment, outcomes: Outcomes | Exception, policy: Any) -> float | None:
    if isinstance(outcomes, Exception):
        return None
    try:
        return float(bridges.composed(environment, outcomes.values, policy))
    except SimulationError:
        return None


def _nothing(world: World, points: Mapping[str, Point]) -> dict[str, Point]:
    """The policy whose every lever is at its lowest, where that is zero and may be."""
    space = world.environment.policy_space
    if space.finite or space.bounds is None:
        return {}
    low = np.asarray(space.bounds.lb, dtype=float)
    if low.any() or not space.contains(low[None])[0]:
        return {}
    point = Point(low.tolist(), None)
    return {} if point in points.values() else {NOTHING: point}


def _variant(scenario: Scenario, trial: int, base: World, name: str, share: float) -> World | None:
    """A world in which an option is moved by a share of what it is; None where the environment has none."""
    try:
        now = np.asarray(getattr(base.environment, name), dtype=float)
    except (AttributeError, TypeError, ValueError):
        return None
    if now.size == 0 or now.ndim > 1 or not np.isfinite(now).all() or not (now > 0).any():
        return None
    moved = now * (1 + share)
    if name == "efficacy":
        moved = np.minimum(moved, 1.0)
    return _with_option(scenario, trial, name, moved.tolist())


def _with_option(scenario: Scenario, trial: int, name: str, value: Any) -> World | None:
    options = {**scenario.environment.options, name: value}
    spec = scenario.environment.model_copy(update={"options": options})
    changed = scenario.model_copy(update={"environment": spec})
    changed._source = scenario.source
    try:
        return World.of(changed, trial)
    except UserError:  # it has no such option
        return None


def budget_of(space: Any) -> float | None:
    """The one upper limit of a policy space's constraint; None where there is none, or more than one."""
    if space is None or space.constraint is None:
        return None
    highs = np.atleast_1d(np.asarray(space.constraint.ub, dtype=float))
    highs = highs[np.isfinite(highs)]
    return float(highs[0]) if len(highs) == 1 and highs[0] > 0 else None


def _budgets(known: Known, base: World, trial: int) -> Sequence[tuple[str, float, World, dict[str, Point]]]:
    """What what-if answers for a little more and a little less, in a world with that budget."""
    now, study = budget_of(base.environment.policy_space), known.study
    if now is None or known.believed is None:
        return []
    found = []
    for share in (-AROUND, AROUND):
        world = _with_option(study.scenario, trial, "budget", now * (1 + share))
        if world is None or not np.isclose(
            budget_of(world.environment.policy_space) or np.nan, now * (1 + share)
        ):
            continue
        answer = answer_with(known, now * (1 + share))
        if answer is None:
            continue
        point = Point(_entries(known, answer.best.policy), answer.best.row)
        found.append(("budget", share, world, {CHOSEN: point}))
    return found


def answer_with(known: Known, budget: float) -> Answer | None:
    """What what-if answers with another budget, of the world of the recommendation; None where it cannot.

    What is believed of the groups is the same whatever is asked: only the search for a policy runs again.
    """
    study, believed = known.study, known.believed
    assert believed is not None
    try:
        question = of_study(study, Question(budget=budget))
        bound = framed(study, question)
        agent = bridges.asked(
            believed.agent,
            bound.environment,
            within=bound.within,
            limit_probability=question.probability,
            near=() if believed.agent.space.finite else (_entries(known, believed.answer.best.policy),),
        )
        with threadpool_limits(1):
            return answered(study, question, bound, believed.found, agent, ahead=False)
    except UserError:
        return None


def _entries(known: Known, policy: Mapping[str, Any]) -> list[float]:
    """A policy by label as numbers, categories by their number."""
    levers = zip(known.study.environment.kinds, policy.values(), strict=True)
    return [float(lever.number(entry)) for lever, entry in levers]
