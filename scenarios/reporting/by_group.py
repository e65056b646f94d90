"""The third section: every group before and after, in its own unit and, where it can be said, in persons."""

from __future__ import annotations

import numpy as np

from scenarios.questions.estimate import Estimate
from scenarios.reporting import figures
from scenarios.reporting.advising import change, difference, todays_name
from scenarios.reporting.document import Block, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed
from scenarios.reporting.persons import PER_PERSON, cases, counted_unit, doses, doses_by_group, population
from scenarios.reporting.simulating import NOTHING, Simulated

MOST_BARS = 30


def by_group(
    known: Known,
    before: Observed | None,
    after: Observed | None,
    simulated: Simulated | None,
    words: Language,
) -> Section:
    """What the recommendation means for every group."""
    say, chosen, today = words.say, known.chosen, known.today
    blocks: list[Block] = []
    if chosen is None or chosen.groups is None:
        blocks.append(Paragraph(say("groups.unknown"), "note"))
        return Section("groups", say("groups.heading"), blocks)
    apart = today is not None and today.groups is not None and today.point != chosen.point
    then = today.groups if apart and today is not None else None
    name = todays_name(known, words)
    source = "groups.predicted" if known.believed is not None else "groups.by_agent"
    blocks.append(Paragraph(say(source)))
    if today is not None and known.study.environment.current_policy is None:
        blocks.append(Paragraph(say("groups.no_practice"), "note"))
    drawn = _figure(known, then, chosen.groups, name, words)
    blocks += [*drawn, _table(known, then, chosen.groups, name, words)]
    counted = _persons(known, then, chosen.groups, before, after, name, words)
    if counted is not None:
        blocks.append(counted)
    for note in [*_notes(before, after, words), *_against_nothing(known, after, simulated, words)]:
        blocks.append(Paragraph(note, "note"))
    return Section("groups", say("groups.heading"), blocks)


def _figure(
    known: Known, before: dict[str, Estimate] | None, after: dict[str, Estimate], name: str, words: Language
) -> list[Block]:
    facts = known.study.environment
    drawn: list[Block] = []
    for number, unit in enumerate(dict.fromkeys(facts.group_units)):
        names = [g for g, one in zip(facts.groups, facts.group_units, strict=True) if one == unit][:MOST_BARS]
        names = [g for g in names if np.isfinite(after[g].mean)]
        if not names:
            continue
        then = None if before is None else [before[g] for g in names]
        series = [name, words.say("groups.recommended")]
        text = words.say("groups.figure", today=name, unit=unit or words.say("groups.outcome"))
        told = "; ".join(
            f"{g}: "
            + (f"{words.number(before[g].mean)} → " if before is not None else "")
            + words.number(after[g].mean)
            for g in names
        )
        svg = inline(
            lambda then=then, names=names, series=series, unit=unit: figures.bars(  # type: ignore[misc]
                names, then, [after[g] for g in names], series, unit, words
            ),
            f"groups{number}",
            text,
            told,
        )
        drawn.append(Drawing(svg, text))
    return drawn


def _table(
    known: Known, before: dict[str, Estimate] | None, after: dict[str, Estimate], name: str, words: Language
) -> Table:
    facts, say = known.study.environment, words.say
    chosen, today = known.chosen, known.today
    assert chosen is not None
    exact = chosen.exact_groups is not None
    exact_before = before is not None and today is not None and today.exact_groups is not None
    head = [say("groups.group")]
    if before is not None:
        head += [name, say("groups.recommended"), say("groups.difference"), say("groups.change")]
    else:
        head += [say("groups.recommended")]
    if exact_before and exact:
        head.append(say("groups.noise_free_both"))
    elif exact:
        head.append(say("groups.noise_free"))
    rows = []
    for j, (group, unit) in enumerate(zip(facts.groups, facts.group_units, strict=True)):
        was = None if before is None else before[group]
        truth = []
        if exact:
            assert chosen.exact_groups is not None
            now = words.number(chosen.exact_groups[j])
            then = (
                today.exact_groups[j] if exact_before and today is not None and today.exact_groups else None
            )
            truth = [f"{words.number(then)} → {now}" if exact_before else now]
        rows.append(
            [
                group if len(set(facts.group_units)) == 1 else words.with_unit(group, unit),
                *_cells(was, after[group], words),
                *truth,
            ]
        )
    if chosen.objective is not None:
        was = today.objective if before is not None and today is not None else None
        truth = []
        if exact:
            now = words.number(chosen.exact)
            truth = [f"{words.number(today.exact)} → {now}" if exact_before and today is not None else now]
        own = {facts.objective_unit} != set(facts.group_units)
        label = (
            words.with_unit(say("groups.objective"), facts.objective_unit) if own else say("groups.objective")
        )
        rows.append([label, *_cells(was, chosen.objective, words, before is not None), *truth])
    shared = facts.group_units[0] if len(set(facts.group_units)) == 1 else ""
    caption = words.with_unit(say("groups.caption"), shared)
    return Table(caption, head, rows, strong=[len(rows) - 1] if chosen.objective else ())


def _cells(before: Estimate | None, after: Estimate, words: Language, two: bool = False) -> list[str]:
    if before is None:
        return ["-", words.estimate(after), "-", "-"] if two else [words.estimate(after)]
    share = change(before.mean, after.mean)
    sign = "" if share is None else "+" if share > 0 else "\N{MINUS SIGN}"
    percent = "-" if share is None else f"{sign}{words.percent(abs(share))}"
    return [words.estimate(before), words.estimate(after), words.estimate(difference(after, before)), percent]


def _persons(
    known: Known,
    before: dict[str, Estimate] | None,
    after: dict[str, Estimate],
    seen_before: Observed | None,
    seen_after: Observed | None,
    name: str,
    words: Language,
) -> Table | None:
    """Persons and what is counted per person, doses, and cases where the simulator said how many fell ill."""
    study, say = known.study, words.say
    facts, persons = study.environment, population(known.study)
    if persons is None or before is None or known.chosen is None or known.today is None:
        return None
    total = float(persons.sum())
    what = {unit: counted_unit(unit) for unit in facts.group_units if unit.endswith(PER_PERSON)}
    given, now = (
        doses_by_group(study, known.chosen.point.policy),
        doses_by_group(study, known.today.point.policy),
    )
    ill = cases(study, seen_before), cases(study, seen_after)
    shown_cases = ill[0] is not None and ill[1] is not None
    if not (what or shown_cases or given is not None):
        return None
    head = [say("groups.group"), say("groups.persons")]
    names = list(dict.fromkeys(one for one in what.values() if one))
    head += [say("groups.fewer", what=one) for one in names]
    if shown_cases:
        head += [say("groups.cases", policy=name), say("groups.cases_after"), say("groups.fewer_cases")]
    if given is not None and now is not None:
        head += [say("groups.doses", policy=name), say("groups.doses_after")]
    rows, sums = [], np.zeros(len(head) - 1)
    for j, (group, unit) in enumerate(zip(facts.groups, facts.group_units, strict=True)):
        numbers = [persons[j]]
        numbers += [
            (before[group].mean - after[group].mean) * total if what.get(unit) == one else 0.0
            for one in names
        ]
        if ill[0] is not None and ill[1] is not None:
            numbers += [ill[0][j], ill[1][j], ill[0][j] - ill[1][j]]
        if given is not None and now is not None:
            numbers += [now[j], given[j]]
        sums += numbers
        rows.append([group, *map(words.persons, numbers)])
    rows.append([say("groups.total"), *map(words.persons, sums.tolist())])
    return Table(say("groups.persons_caption"), head, rows, strong=[len(rows) - 1])


def _notes(before: Observed | None, after: Observed | None, words: Language) -> list[str]:
    """Where what the simulator said is of another policy, of a trial and round."""
    found = []
    for seen, key in ((before, "groups.today_seen"), (after, "groups.chosen_seen")):
        if seen is not None and seen.distance > 0:
            found.append(words.say(key, distance=words.percent(seen.distance), where=seen.where))
    return found


def _against_nothing(
    known: Known, after: Observed | None, simulated: Simulated | None, words: Language
) -> list[str]:
    """Doses a case averted, against a season without any, where that was simulated."""
    if simulated is None or known.chosen is None:
        return []
    without, ill = cases(known.study, simulated.infos.get(NOTHING)), cases(known.study, after)
    given = doses(known.study, known.chosen.point.policy)
    if without is None or ill is None or given is None or (averted := float((without - ill).sum())) <= 0:
        return []
    counts = {"cases": words.persons(averted), "doses": words.number(given / averted)}
    return [words.say("groups.against_nothing", **counts)]
