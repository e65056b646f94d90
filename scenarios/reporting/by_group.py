"""The third section: every group before and after, in its own unit and, where it can be said, in persons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenarios.questions.answer import predicted
from scenarios.questions.estimate import Estimate
from scenarios.reporting import figures
from scenarios.reporting.advising import change, difference, kind_of, signed, todays_name
from scenarios.reporting.counting import (
    CASES,
    DOSES,
    Counted,
    capital,
    compared,
    counts,
    less,
    name_of,
    told_by_objective,
)  # fmt: skip
from scenarios.reporting.document import Block, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.judging import Valued
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed, noisy, nothing
from scenarios.reporting.persons import counted_unit, in_persons, over_worlds, own_groups, population
from scenarios.study.members import members_of
from scenarios.study.study import Study

MOST_BARS = 30
MOST_COLUMNS = 7
"""Of numbers beside the persons of groups; of more, two tables are made."""

Array = NDArray[np.float64]


def by_group(
    known: Known,
    before: Observed | None,
    after: Observed | None,
    without: Observed | None,
    words: Language,
) -> Section:
    """What the recommendation means for every group; `without` was observed with every lever at zero."""
    say, chosen, today = words.say, known.chosen, known.today
    blocks: list[Block] = []
    if chosen is None or chosen.groups is None:
        blocks.append(Paragraph(say("groups.unknown"), "note"))
        return Section("groups", say("groups.heading"), blocks)
    apart = today is not None and today.groups is not None and today.point != chosen.point
    then = today.groups if apart and today is not None else None
    name = todays_name(known, words)
    blocks.append(
        Paragraph(_source(chosen.best, None if then is None or today is None else today.best, name, words))
    )
    if today is not None and known.study.environment.current_policy is None:
        blocks.append(Paragraph(say("groups.no_practice"), "note"))
    drawn = _figure(known, then, chosen.groups, name, words)
    blocks += [*drawn, _table(known, then, chosen.groups, name, words)]
    found = compared(known, before, after)
    in_all = _in_all(found, name, words)
    blocks += [] if in_all is None else [in_all]
    blocks += _persons(known, then, chosen.groups, found, name, words)
    for note in [*_notes(known, before, after, words), *_against_nothing(known, after, without, words)]:
        blocks.append(Paragraph(note, "note"))
    return Section("groups", say("groups.heading"), blocks)


def _source(chosen: Valued, today: Valued | None, name: str, words: Language) -> str:
    """Of what kind the groups' outcomes are."""
    told = {"kind": kind_of(chosen, words)}
    key = "groups.source_alone"
    if today is not None:
        key = (
            "groups.source_same"
            if today == chosen or told["kind"] == kind_of(today, words)
            else "groups.source"
        )
        told |= {"today": name, "today_kind": kind_of(today, words)}
    text = words.say(key, **told)
    if {"exact"} != {one.kind for one in (chosen, today) if one is not None}:
        text += " " + words.say("groups.intervals")
    return text


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
        key = "groups.alone" if then is None else "groups.figure"
        text = words.say(key, today=name, unit=unit or words.say("groups.outcome"))
        if any(one.low < one.high for values in (before, after) if values for one in values.values()):
            text += words.say("groups.thin_lines")
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
    # What the rounds predicted stands beside what was simulated, for who checks.
    also = chosen.predicted if chosen.best.kind != "predicted" else None
    foretold = None if also is None else also.groups
    head = [say("groups.group")]
    if before is not None:
        head += [name, say("groups.recommended"), say("groups.difference"), say("groups.change")]
    else:
        head += [say("groups.recommended")]
    if foretold is not None:
        head.append(say("groups.recommended_predicted"))
    rows = []
    for group, unit in zip(facts.groups, facts.group_units, strict=True):
        was = None if before is None else before[group]
        label = group if len(set(facts.group_units)) == 1 else words.with_unit(group, unit)
        told = [] if foretold is None else [words.estimate(foretold[group])]
        rows.append([label, *_cells(was, after[group], unit, words), *told])
    if chosen.objective is not None:
        was = today.objective if before is not None and today is not None else None
        own = {facts.objective_unit} != set(facts.group_units)
        label = (
            words.with_unit(say("groups.objective"), facts.objective_unit) if own else say("groups.objective")
        )
        cells = _cells(was, chosen.objective, facts.objective_unit, words, before is not None)
        told = [] if foretold is None or also is None else [words.estimate(also.objective)]
        rows.append([label, *cells, *told])
    shared = facts.group_units[0] if len(set(facts.group_units)) == 1 else ""
    caption = words.with_unit(say("groups.caption"), shared)
    return Table(caption, head, rows, strong=[len(rows) - 1] if chosen.objective else ())


def _cells(
    before: Estimate | None, after: Estimate, unit: str, words: Language, two: bool = False
) -> list[str]:
    if before is None:
        return ["-", words.estimate(after), "-", "-"] if two else [words.estimate(after)]
    percent = signed(change(before.mean, after.mean, unit), words)
    return [words.estimate(before), words.estimate(after), words.estimate(difference(after, before)), percent]


def _in_all(found: Sequence[Counted], name: str, words: Language) -> Table | None:
    """What both policies bring in all: cases, days of illness, deaths, cost, QALYs, doses."""
    say = words.say
    rows = []
    for one in found:
        now = float(one.after.sum())
        if one.before is None or one.averted is None:
            continue
        was = float(one.before.sum())
        numbers = [words.persons(x) for x in (was, now, now - was)]
        rows.append([name_of(one.key, words), *numbers, signed(change(was, now), words)])
    if not rows:
        return None
    head = [say("groups.counted"), name, say("groups.recommended")]
    head += [say("groups.difference"), say("groups.change")]
    return Table(say("groups.in_all_caption"), head, rows)


def _persons(
    known: Known,
    before: dict[str, Estimate] | None,
    after: dict[str, Estimate],
    found: Sequence[Counted],
    name: str,
    words: Language,
) -> list[Table]:
    """By group how many persons it has, what is averted of it, cases and doses."""
    study, say = known.study, words.say
    facts, persons = study.environment, population(study)
    if persons is None or before is None:
        return []
    own = dict[str, Array]()
    averted = dict[str, Array]()
    counted = counted_unit(facts.group_units[0]) if len(set(facts.group_units)) == 1 else None
    if counted is not None:
        what, share = counted
        fewer = (over_worlds(study, before) - over_worlds(study, after)) * persons.sum() * share
        averted[capital(less(what, 1.0, words))] = fewer
    for one in found:
        if one.before is None:
            continue
        what = name_of(one.key, words)
        if one.key in (CASES, DOSES):
            own[say("groups.before", what=what, policy=name)] = one.before
            own[say("groups.after", what=what)] = one.after
        if one.key not in (DOSES, told_by_objective(study) if counted is not None else ""):
            averted[capital(less(one.key, 1.0, words))] = one.before - one.after
    parts = [(say("groups.persons_caption"), averted | own)]
    if len(averted) + len(own) > MOST_COLUMNS:
        parts = [(say("groups.averted_caption"), averted), (say("groups.persons_caption"), own)]
    return [_by_person(study, caption, persons, columns, words) for caption, columns in parts if columns]


def _by_person(
    study: Study, caption: str, persons: Array, columns: dict[str, Array], words: Language
) -> Table:
    """A row a group, and one for all."""
    say, shown = words.say, {words.say("groups.persons"): persons, **columns}
    rows = [
        [group, *(words.persons(float(x[j])) for x in shown.values())]
        for j, group in enumerate(own_groups(study))
    ]
    rows.append([say("groups.total"), *(words.persons(float(x.sum())) for x in shown.values())])
    return Table(caption, [say("groups.group"), *shown], rows, strong=[len(rows) - 1])


def _notes(known: Known, before: Observed | None, after: Observed | None, words: Language) -> list[str]:
    """Where what the simulator said is of another policy, of a trial and round; that it is a mean."""
    found = []
    for seen, key in ((before, "groups.today_seen"), (after, "groups.chosen_seen")):
        if seen is not None and seen.distance > 0:
            found.append(words.say(key, distance=words.percent(seen.distance), where=seen.where))
    names = (todays_name(known, words), words.say("groups.recommended"))
    for seen, name in zip((before, after), names, strict=True):
        if seen is not None and noisy(known.study, seen) and counts(known.study, seen, None):
            key = "groups.one_season" if seen.rounds == 1 else "groups.seasons"
            found.append(words.say(key, policy=name, count=words.whole(seen.rounds)))
    if before is None and after is not None and known.today is not None and counts(known.study, after, None):
        found.append(words.say("groups.not_counted"))
    if members_of(known.study) is not None and (before is not None or after is not None):
        found.append(words.say("groups.over_worlds"))
    return found


def _against_nothing(
    known: Known, after: Observed | None, without: Observed | None, words: Language
) -> list[str]:
    """Doses a case averted against a season without any, or for what the objective counts, predicted."""
    study, chosen, believed = known.study, known.chosen, known.believed
    none, zeros = counts(study, without, None).get(CASES), nothing(study)
    found = counts(study, after, None if chosen is None else chosen.point)
    given = found.get(DOSES)
    if given is None or chosen is None or zeros is None or given.sum() <= 0:
        return []
    if none is not None and CASES in found and (averted := float((none - found[CASES]).sum())) > 0:
        ends = {"cases": words.persons(averted), "doses": words.number(float(given.sum()) / averted)}
        return [words.say("groups.against_nothing", **ends)]
    if believed is None or chosen.predicted is None or chosen.predicted.objective is None:
        return []
    at_zero = predicted(study, believed.bound, believed.agent, zeros.travels).objective
    counted = in_persons(study, difference(at_zero, chosen.predicted.objective))
    if counted is None or counted[1].low <= 0:  # nothing is averted for sure
        return []
    what, less_of = counted
    each = Estimate(*(float(given.sum()) / one for one in (less_of.mean, less_of.high, less_of.low)))
    return [
        words.say(
            "groups.predicted_against_nothing",
            what=what,
            averted=words.persons(less_of.mean),
            doses=words.number(each.mean),
            low=words.number(each.low),
            high=words.number(each.high),
        )
    ]
