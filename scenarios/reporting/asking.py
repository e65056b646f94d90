"""The first section: what was asked, of what, within which limits, and what is done today."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scenarios.declaration.asked import is_ready, limits_of
from scenarios.reporting.document import Block, Paragraph, Points, Section, Table
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.persons import SHARE, population
from scenarios.study.levers import in_words
from scenarios.study.members import members_of
from scenarios.study.study import Study

MOST_LEVERS = 60


def asking(known: Known, words: Language) -> Section:
    """The question."""
    study, say = known.study, words.say
    facts = study.environment
    unit = facts.objective_unit
    size = len((facts.space or {}).get("candidates") or ())
    blocks: list[Block] = [
        Paragraph(
            say(
                f"question.{'candidates' if facts.finite else 'levers'}.{facts.sense}",
                count=words.whole(size if facts.finite else len(facts.labels)),
                levers=words.listed(facts.labels),
                objective=objective_in_words(study, words),
                unit=f" ({unit})" if unit else "",
                environment=_simulator(study, words),
            ),
            "lead",
        )
    ]
    if study.scenario.description.strip():
        blocks.append(Paragraph(" ".join(study.scenario.description.split())))
    blocks.append(_levers(known, words))
    rules = [*budgets(study, words), *_limits(study, words)]
    if rules:
        blocks += [Paragraph(say("question.rules")), Points(rules)]
    if facts.lives:
        blocks.append(Paragraph(say("question.lives"), "note"))
    return Section("question", say("question.heading"), blocks)


def objective_in_words(study: Study, words: Language) -> str:
    """What is to be made small or large."""
    scenario, facts = study.scenario, study.environment
    if scenario.objectives:
        return words.say("question.several", names=words.listed(scenario.objectives))
    if scenario.objective:
        key = "question.named" if is_ready(scenario.objective) else "question.function"
        return words.say(key, name=scenario.objective)
    members = members_of(study)
    if members is not None:
        over = scenario.environment.options.get("objective", "mean")
        told = {"count": words.whole(len(members.names)), "worlds": words.listed(members.names)}
        key = "question.worlds" if over == "mean" else "question.worst_worlds"
        return words.say(key, objective=over, groups=words.listed(members.groups), **told)
    terms = facts.composition
    if terms is None or not terms["weights"] or isinstance(terms["weights"][0], list):
        return words.say("question.composed", groups=words.listed(facts.groups))
    if all(w == 1 for w in terms["weights"]) and terms["offset"] == 0:
        return words.say("question.total", groups=words.listed(facts.groups))
    pairs = zip(facts.groups, terms["weights"], strict=True)
    parts = [f"{words.number(w)} × {group}" for group, w in pairs if w]
    return words.say("question.weighted", terms=words.listed(parts))


def _simulator(study: Study, words: Language) -> str:
    """The name of the simulator; of an ensemble that of its worlds'."""
    name = study.environment.name
    if members_of(study) is None:
        return words.say("question.simulator", name=name)
    return words.say("question.ensemble", name=study.scenario.environment.options.get("of", name))


def budgets(study: Study, words: Language) -> list[str]:
    """The linear constraints on policies, in words."""
    facts = study.environment
    constraint = (facts.space or {}).get("constraint")
    if not constraint:
        return []
    found = []
    for row, low, high in zip(*constraint, strict=True):
        terms = [
            name if a == 1 else f"{words.number(a)} × {name}"
            for a, name in zip(row, facts.labels, strict=True)
            if a
        ]
        text = words.say("number.plus").join(terms)
        if (people := _people(study, row)) is not None and high is not None and low is None:
            doses = words.persons(high * people)
            found.append(words.say("question.doses", doses=doses, limit=words.number(high, 3)))
            continue
        if high is not None and low == high:
            found.append(words.say("question.exactly", terms=text, limit=words.number(high, 4)))
            continue
        if high is not None:
            key = "question.budget" if len(constraint[0]) == 1 else "question.at_most"
            found.append(words.say(key, terms=text, limit=words.number(high, 4)))
        if low is not None:
            found.append(words.say("question.at_least", terms=text, limit=words.number(low, 4)))
    return found


def _people(study: Study, row: Sequence[float]) -> float | None:
    """How many persons there are, where a constraint counts shares of the groups' persons."""
    persons = population(study)
    if persons is None or len(persons) != len(row) or study.environment.units[0] != SHARE:
        return None
    total = float(persons.sum())
    alike = bool(np.allclose(row, persons / total, rtol=0, atol=1e-9))
    return total if alike else None


def limits_in_words(study: Study) -> list[str]:
    """The limits on outcomes; of a function, which is code, its name alone."""
    groups = study.environment.groups
    return [
        text
        for spec in study.limits
        for text in (
            [spec.function] if spec.function is not None else [one.text for one in limits_of(spec, groups)]
        )
    ]


def _limits(study: Study, words: Language) -> list[str]:
    texts = limits_in_words(study)
    if not texts:
        return []
    chance = words.percent(study.scenario.limit_probability)
    return [words.say("question.limits", limits="; ".join(texts), probability=chance)]


def _levers(known: Known, words: Language) -> Table:
    facts, say = known.study.environment, words.say
    today = [] if facts.current_policy is None else facts.entries(facts.current_policy)
    shared = facts.units[0] if len(set(facts.units)) == 1 else ""
    head = [say("question.lever"), *([] if shared else [say("question.unit")]), say("question.may_be")]
    if today:
        head.append(facts.current_policy_label or say("question.today"))
    rows = []
    named = list(zip(facts.labels, facts.units, facts.kinds, strict=True))[:MOST_LEVERS]
    for place, (label, unit, lever) in enumerate(named):
        may_be = say("question.of_candidates") if facts.finite else in_words(lever).replace("..", " to ")
        unit_cell = [] if shared else [unit or "-"]
        rows.append([label, *unit_cell, may_be, *([words.entry(today[place])] if today else [])])
    columns = (1,) if shared else (1, 2)
    return Table(words.with_unit(say("question.caption"), shared), head, rows, text_columns=columns)
