"""A question bound to a study: the environment that it asks about, and where policies are looked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

import bridges
from bridges.reframed import ReframedEnvironment, Reweighing
from optimizer.space.search_space import SearchSpace
from policyloop.messages import on_one_line
from scenarios.declaration.asked import TOTAL, group_named, is_ready, limits_of, objective, unit_of
from scenarios.declaration.code import is_own
from scenarios.errors import UserError
from scenarios.questions.question import Question, fixed, limits, reweighing
from scenarios.study.evidence import refuse_living
from scenarios.study.facts import Facts
from scenarios.study.members import members_of
from scenarios.study.stored_environment import StoredEnvironment
from scenarios.study.study import Study
from scenarios.trial.building import build_environment
from simulators import Environment, SimulationError
from simulators.contract.outcome_limit import Limit

NO_WEIGHTS = (
    "weights are of a weighted sum of groups, and the study's objective is none whose weights it holds; "
    "what-if can ask for --objective worst-group, or another one"
)
Row = tuple[NDArray[np.float64], float, float]
"""A row of a linear constraint: its weights (d,), lower and upper limit."""


@dataclass(frozen=True)
class Framed:
    """A question, bound.

    Attributes
    ----------
    environment : ReframedEnvironment
        What the study tells of its environment, with the objective and the limits asked for.
    within : SearchSpace or None
        The policies that meet the budget and the fixed levers; None where all do.
    """

    environment: ReframedEnvironment
    within: SearchSpace | None


def of_study(study: Study, question: Question) -> Question:
    """The question, with the probability of keeping limits that the study asked for where it names none."""
    if question.limit_probability is not None:
        if not question.limits and not study.limits:
            raise UserError(
                f"limit probability {question.limit_probability:g}: neither the study nor the question has a "
                "limit; name one, --limit 'GROUP <= NUMBER'"
            )
        return question
    return replace(question, limit_probability=study.scenario.limit_probability)


def framed(study: Study, question: Question) -> Framed:
    """Bind a question to a study; UserError where the study cannot be asked it."""
    refuse_living(study)
    facts = study.environment
    if question.objective == TOTAL and not group_named(TOTAL, facts.groups):
        question = replace(question, objective="")
    named = question.objective or (_own_objective(study) if not question.weights else "")
    # An objective that counts groups is made small, whatever is to be done with the groups' outcomes.
    sense = facts.group_sense or facts.sense
    members = members_of(study)
    worlds = 1 if members is None else len(members.names)
    other = objective(named, sense, facts.group_units, facts.groups, facts.persons, worlds)
    if question.weights and other is not None:
        raise UserError(f"weights are of the weighted sum, and not of the objective {question.objective}")
    asked = reweighing(question.weights, facts.groups) if question.weights else other
    if isinstance(asked, Reweighing) and not asked.of(np.ones(len(facts.groups))).any():
        raise UserError(f"weights {', '.join(question.weights)}: all groups weigh nothing")
    known = facts.composition is not None and "over" not in facts.composition
    if question.weights and not known:
        raise UserError(f"{study.path}: {NO_WEIGHTS}")
    composing = _itself(study) if asked is None and facts.composition is None else None
    try:
        own = StoredEnvironment(facts, composed=False, composing=composing)
    except ValueError as error:
        raise UserError(f"{study.path}: {error}: it cannot be asked; run it anew") from error
    own.sense = sense
    constant = own.constant_terms
    sums = None
    if constant is not None and constant[1] == 0:
        sums = {name: w for name, w in zip(facts.groups, constant[0].tolist(), strict=True) if w}
    environment = ReframedEnvironment(
        own,
        objective=asked,
        limits=[*_own_limits(study), *limits(question.limits, facts.groups, sums)],
        unit=unit_of(named, facts.group_units, facts.groups),
    )
    return Framed(environment, restricted(environment, question, facts))


def _itself(study: Study) -> Environment:
    """The environment of a study whose composition is known to nobody else, made anew.

    Only where it is policyloop's own: nothing that somebody's file names is run to answer a question.
    UserError elsewhere, or where it cannot be made.
    """
    where, scenario = f"{study.path}: the objective of its environment", study.scenario
    other = "what-if can ask for --objective worst-group, or another one"
    if not is_own(scenario) or scenario.objective:
        raise UserError(
            f"{where} is code, which is not run to read a study, and no sum of groups with known weights; "
            f"{other}"
        )
    if scenario.environment.new_world_each_trial:
        raise UserError(f"{where} is no sum of groups, and every trial has a world of its own; {other}")
    try:
        return build_environment(scenario, 1)
    except (UserError, SimulationError) as error:
        raise UserError(f"{where} cannot be made anew ({on_one_line(error)}); {other}") from error


def _own_objective(study: Study) -> str:
    """The objective that the study's scenario names; code is not run for it."""
    return study.scenario.objective if is_ready(study.scenario.objective) else ""


def _own_limits(study: Study) -> list[Limit]:
    """The limits of the study's environment, and those that its scenario names."""
    specs = study.limits
    if any(spec.function is not None for spec in specs):
        raise UserError(
            f"{study.path}: one of its limits is a function, which is code that the study does not hold"
        )
    return [limit for spec in specs for limit in limits_of(spec, study.environment.groups)]


def restricted(environment: ReframedEnvironment, question: Question, facts: Facts) -> SearchSpace | None:
    """Where policies meet the question's budget and fixed levers; UserError where none does."""
    held = fixed(question.fix, facts)
    if question.budget is None and not held:
        return None
    space = bridges.search_space(environment)
    rows = space.constraint_rows()
    if question.budget is not None:
        rows = _with_budget(rows, question.budget)
    bounds = space.bounds
    if space.finite:
        rows += [(np.eye(space.d)[i], value, value) for i, value in held.items()]
    elif held:
        lower, upper = space.lower.copy(), space.upper.copy()
        for i, value in held.items():
            lower[i] = upper[i] = value
        bounds = Bounds(lower, upper)
    constraint = None
    if rows:
        matrix, low, high = (np.array(part) for part in zip(*rows, strict=True))
        constraint = LinearConstraint(matrix, low, high)
    try:
        return SearchSpace(
            bounds=bounds,
            constraint=constraint,
            candidates=environment.policy_space.candidates,
            embed=space.embed,
            steps=space.steps,
            categories=space.categories,
        )
    except ValueError as error:
        what = [] if question.budget is None else [f"a budget of {question.budget:g}"]
        what += [f"fixed {text}" for text in question.fix]
        raise UserError(f"no policy has {' and '.join(what)}: {on_one_line(error)}") from error


def _with_budget(rows: list[Row], budget: float) -> list[Row]:
    """The rows of the constraint, of which the one with an upper limit has another."""
    limited = [i for i, (_, _, high) in enumerate(rows) if np.isfinite(high)]
    if len(limited) != 1:
        have = "no upper limit" if not limited else f"{len(limited)} upper limits"
        raise UserError(f"budget {budget:g}: the study's policies have {have}, and not one budget")
    weights, low, high = rows[limited[0]]
    found = list(rows)
    # A budget that had to be used up is to be used up again.
    found[limited[0]] = (weights, budget if low == high else min(low, budget), budget)
    return found
