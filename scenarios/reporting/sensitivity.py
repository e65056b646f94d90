"""The fifth section: the course with and without, and what the answer depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from scenarios.questions.estimate import Estimate
from scenarios.reporting import figures
from scenarios.reporting.advising import change, difference, signed, todays_name
from scenarios.reporting.document import Block, Cell, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed
from scenarios.reporting.persons import own_groups
from scenarios.reporting.simulating import CHOSEN, NOTHING, TODAY, Simulated, answer_with
from scenarios.study.study import Study

BUDGETS = (0.9, 1.1)
ENSEMBLE = "ensemble"
SCALES = ((1e6, "sensitivity.infected_millions"), (1e3, "sensitivity.infected_thousands"))


def courses(
    known: Known,
    before: Observed | None,
    after: Observed | None,
    simulated: Simulated | None,
    words: Language,
) -> list[Block]:
    """The curves of what the simulator recorded day by day, under both policies."""
    say = words.say
    seen: dict[str, Observed | None] = {todays_name(known, words): before, say("groups.recommended"): after}
    if simulated is not None and NOTHING in simulated.infos:
        seen = {say("sensitivity.nothing"): simulated.infos[NOTHING], **seen}
    drawn = {name: curve for name, one in seen.items() if (curve := _curve(known.study, one)) is not None}
    if say("groups.recommended") not in drawn:
        return []
    caption = say("sensitivity.courses")
    told = "; ".join(
        say(
            "sensitivity.peak",
            policy=name,
            count=words.persons(float(values.sum(axis=1).max())),
            day=words.whole(float(days[int(values.sum(axis=1).argmax())])),
        )
        for name, (days, values) in drawn.items()
    )
    most = max(float(values.max()) for _, values in drawn.values())
    scale, key = next((one for one in SCALES if most >= one[0]), (1.0, "sensitivity.infected"))
    scaled = {name: (days, values / scale) for name, (days, values) in drawn.items()}
    labels = [say("sensitivity.day"), say(key)]
    svg = inline(lambda: figures.courses(scaled, own_groups(known.study), labels), "courses", caption, told)
    blocks: list[Block] = [Drawing(svg, caption), Paragraph(say("sensitivity.peaks", peaks=told))]
    notes = [
        say("sensitivity.of_nearest", policy=name, distance=words.percent(one.distance), where=one.where)
        for name, one in seen.items()
        if one is not None and one.distance > 0
    ]
    if len(drawn) < len(seen) and simulated is None:
        notes.append(say("sensitivity.no_course"))
    if notes:
        blocks.append(Paragraph(" ".join(notes), "note"))
    return blocks


def _curve(study: Study, one: Observed | None) -> tuple[figures.Array, figures.Array] | None:
    """Days (m,) and persons infected (m, J), where both were recorded."""
    if one is None or "days" not in one.info or "infected" not in one.info:
        return None
    days, infected = (np.asarray(one.info[key], dtype=float) for key in ("days", "infected"))
    if days.ndim != 1 or infected.shape != (len(days), len(own_groups(study))) or len(days) < 2:
        return None
    return (days, infected) if np.isfinite(days).all() and np.isfinite(infected).all() else None


def depending(
    known: Known,
    before: Observed | None,
    after: Observed | None,
    simulated: Simulated | None,
    words: Language,
) -> Section | None:
    """Curves, and how the answer changes with budget, members and options; None where nothing is known."""
    blocks: list[Block] = []
    if known.chosen is not None:
        blocks += courses(known, before, after, simulated, words)
        if simulated is not None:
            blocks += _simulated(known, simulated, words)
        blocks += _budgets(known, words)
        blocks += _members(known, words)
    if blocks and simulated is None:
        blocks.append(Paragraph(words.say("sensitivity.more"), "note"))
    return Section("depends", words.say("sensitivity.heading"), blocks) if blocks else None


def _budgets(known: Known, words: Language) -> list[Block]:
    """What what-if answers for a little less and a little more of the budget."""
    say, facts = words.say, known.study.environment
    constraint = (facts.space or {}).get("constraint")
    highs = [high for high in constraint[2] if high is not None] if constraint else []
    if known.believed is None or known.chosen is None or len(highs) != 1 or highs[0] <= 0:
        return []
    rows: list[list[Cell]] = []
    now = known.believed.answer.best
    for factor in (BUDGETS[0], 1.0, BUDGETS[1]):
        answer = None if factor == 1.0 else answer_with(known, factor * highs[0])
        if factor != 1.0 and answer is None:
            continue
        best = now if answer is None else answer.best
        share = change(now.objective.mean, best.objective.mean)
        far = known.believed.answer.distance if answer is None else answer.distance
        rows.append(
            [
                words.number(factor * highs[0]),
                words.entries(best.policy),
                words.estimate(best.objective),
                "-" if factor == 1.0 else signed(share, words),
                words.percent(far),
            ]
        )
    if len(rows) < 2:
        return []
    unit = facts.objective_unit
    head = [
        say("sensitivity.budget"),
        say("sensitivity.best"),
        words.with_unit(say("groups.objective"), unit),
    ]
    head += [say("groups.change"), say("sensitivity.distance")]
    strong = [i for i, row in enumerate(rows) if row[3] == "-"]
    return [
        Table(say("sensitivity.budget_caption"), head, rows, text_columns=(1,), strong=strong),
        Paragraph(say("sensitivity.budget_note"), "note"),
    ]


def _members(known: Known, words: Language) -> list[Block]:
    """Of an ensemble, the sum of the groups of each of its worlds, before and after."""
    say, chosen, today = words.say, known.chosen, known.today
    if known.study.environment.name != ENSEMBLE or chosen is None or chosen.groups is None:
        return []
    after = by_member(chosen.groups)
    then = None if today is None or today.groups is None else by_member(today.groups)
    if len(after) < 2:
        return []
    rows = []
    for member, one in after.items():
        was = None if then is None else then.get(member)
        cells = ["-", words.estimate(one), "-"]
        if was is not None:
            cells = [words.estimate(was), words.estimate(one), words.estimate(difference(one, was))]
        rows.append([member, *cells])
    head = [
        say("sensitivity.member"),
        todays_name(known, words),
        say("groups.recommended"),
        say("groups.difference"),
    ]
    units = set(known.study.environment.group_units)
    caption = words.with_unit(say("sensitivity.members_caption"), units.pop() if len(units) == 1 else "")
    return [Table(caption, head, rows)]


def by_member(groups: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The sum of the groups of each member, their errors independent; groups are named "member: group"."""
    found: dict[str, list[Estimate]] = {}
    for name, one in groups.items():
        found.setdefault(name.rpartition(": ")[0], []).append(one)
    sums = {}
    for member, these in found.items():
        mean = sum(one.mean for one in these)
        half = math.sqrt(sum(((one.high - one.low) / 2) ** 2 for one in these))
        sums[member] = Estimate(mean, mean - half, mean + half)
    return sums


def _simulated(known: Known, simulated: Simulated, words: Language) -> list[Block]:
    """The policies in the world as it is, and in worlds that are a little others."""
    say, unit = words.say, known.study.environment.objective_unit
    names: dict[str, str] = {
        CHOSEN: say("groups.recommended"),
        TODAY: todays_name(known, words),
        NOTHING: say("sensitivity.nothing"),
    }
    rows: list[list[str]] = []
    strong = []
    for one in simulated.rows:
        if not one.variant:
            strong.append(len(rows))
        where = say("sensitivity.as_it_is")
        if one.variant:
            sign = "+" if one.share > 0 else "\N{MINUS SIGN}"
            where = f"{one.variant} {sign}{words.percent(abs(one.share))}"
        name = (
            say("sensitivity.of_what_if", policy=words.policy(one.entries))
            if one.variant == "budget"
            else names[one.policy]
        )
        row = [where, name, words.estimate(one.objective), words.estimate(one.difference)]
        rows.append([*row, words.whole(one.failed)])
    head: list[Any] = [
        say("sensitivity.world"),
        say("advice.policy"),
        words.with_unit(say("groups.objective"), unit),
    ]
    head += [say("sensitivity.minus_today"), say("sensitivity.failed")]
    if not any(one.failed for one in simulated.rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    caption = say("sensitivity.simulated", seeds=simulated.seeds)
    return [Table(caption, head, rows, text_columns=(1,), strong=strong)]
