"""The fourth section: the policy with its uncertainty, how far each lever may move at a small loss."""

from __future__ import annotations

from matplotlib.figure import Figure

from scenarios.reporting import figures
from scenarios.reporting.document import Block, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.reaching import LOSS, Reach, reaches
from scenarios.results.statistics import complete_advice
from simulators.contract.levers import Whole

MOST_BARS = 40


def moving(known: Known, words: Language) -> Section | None:
    """How much room the recommendation leaves; None where nothing is known of it."""
    say, chosen, believed = words.say, known.chosen, known.believed
    if chosen is None or believed is None or chosen.predicted is None or chosen.predicted.objective is None:
        return None
    study = known.study
    facts, found = study.environment, reaches(study, believed, chosen.point)
    share, unit = words.percent(LOSS, 1), facts.objective_unit
    key = "moving.how_candidates" if facts.finite else "moving.how"
    blocks: list[Block] = [
        Paragraph(
            say(
                key,
                share=share,
                allowed=words.number(found.allowed, 2) + words.after(unit),
                count=words.whole(found.candidates or 0),
            )
        )
    ]
    predicted = chosen.predicted.objective
    half = (predicted.high - predicted.low) / 2
    if half > found.allowed:
        blocks.append(
            Paragraph(say("moving.unsure", half=words.number(half, 2), unit=words.after(unit)), "note")
        )
    numbers = [(i, one) for i, one in enumerate(found.each) if not one.names][:MOST_BARS]
    if numbers:
        blocks.append(_figure(known, numbers, share, words))
    blocks.append(_table(known, found.each, share, words))
    return Section("room", say("moving.heading", share=share), blocks)


def _figure(known: Known, numbers: list[tuple[int, Reach]], share: str, words: Language) -> Drawing:
    study = known.study
    advised = [] if known.advice is None else complete_advice(study, known.advice.agent)
    caption = words.say("moving.figure" if len(advised) > 1 else "moving.figure_one_trial", share=share)
    names = [one.label for _, one in numbers]
    ends = [(one.low, one.high) for _, one in numbers]
    told = "; ".join(
        f"{one.label}: {words.number(one.chosen)}, {words.number(one.low)} - {words.number(one.high)}"
        for _, one in numbers
    )

    def draw() -> Figure:
        return figures.reaches(
            names,
            ends,
            [one.within for _, one in numbers],
            [one.chosen for _, one in numbers],
            [[advice.policy[i] for advice in advised] for i, _ in numbers],
            [one.unit for _, one in numbers],
        )

    return Drawing(inline(draw, "reach", caption, told), caption)


def _table(known: Known, each: list[Reach], share: str, words: Language) -> Table:
    say = words.say
    facts = known.study.environment
    shared = facts.units[0] if len(set(facts.units)) == 1 else ""
    rows = []
    for one, lever in zip(each, facts.kinds, strict=True):
        name = one.label if shared else words.with_unit(one.label, one.unit)
        if one.names:
            rows.append([name, str(lever.value(one.chosen)), words.listed(one.names), "-", "-"])
            continue
        width = one.within[1] - one.within[0]
        numbers = [
            words.entry(lever.value(x)) if isinstance(lever, Whole) else words.entry(float(x))
            for x in (one.chosen, one.low, one.high)
        ]
        rows.append([name, *numbers, words.percent((one.high - one.low) / width if width > 0 else 0.0)])
    head = [
        say("question.lever"),
        say("moving.recommended"),
        say("moving.from"),
        say("moving.to"),
        say("moving.share"),
    ]
    return Table(words.with_unit(say("moving.caption", share=share), shared), head, rows)
