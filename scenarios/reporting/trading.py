"""The sixth section: trade-offs, the frontier between objectives that was asked for, or limits call for."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.declaration.asked import TOTAL
from scenarios.errors import UserError
from scenarios.figures.frontier import frontier_figure
from scenarios.questions.frontier import frontier
from scenarios.reporting.document import Block, Cell, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.study.records import ALL_TRIALS

USUAL = (TOTAL, "worst-group")
"""Between what a frontier is traced where a study has limits and nothing was asked."""
POINTS = 8


def trading(known: Known, between: Sequence[str], words: Language) -> Section | None:
    """The frontier; None where neither limits nor anybody asked for it.

    UserError where it was asked for and cannot be had.
    """
    say, study = words.say, known.study
    between = between or study.scenario.objectives
    if not between and not study.limits:
        return None
    world = ALL_TRIALS if known.believed is None else known.believed.found.world
    try:
        traced = frontier(
            study, between or USUAL, trial=None if world == ALL_TRIALS else int(world), points=POINTS
        )[0]
    except UserError as error:
        if between:
            raise
        why = str(error).removeprefix(f"{study.path}: ")
        return Section(
            "trade-offs", say("trading.heading"), [Paragraph(say("trading.none", why=why), "note")]
        )
    leading = [one for one in traced.points if one.on_frontier]
    names = words.listed(traced.objectives)
    caption = say("trading.figure", objectives=names)
    told = say("trading.told", count=len(leading))
    blocks: list[Block] = [Paragraph(say("trading.how", objectives=names))]
    blocks.append(Drawing(inline(lambda: frontier_figure(traced), "frontier", caption, told), caption))
    head = [say("advice.policy")]
    for name, unit in zip(traced.objectives, traced.units, strict=True):
        head.append(words.with_unit(name, unit))
    head += [say("trading.simulated"), say("trading.remark")]
    rows: list[list[Cell]] = [
        [
            words.entries(one.policy),
            *(words.estimate(one.objectives[name]) for name in traced.objectives),
            words.times(one.tried),
            say("trading.knee") if one.knee else "",
        ]
        for one in leading
    ]
    strong = [i for i, one in enumerate(leading) if one.knee]
    blocks.append(Table(say("trading.caption"), head, rows, text_columns=(len(head) - 1,), strong=strong))
    blocks += [Paragraph(line, "note") for line in traced.remarks]
    return Section("trade-offs", say("trading.heading"), blocks)
