"""The section of a study whose policies are stations: the map, and the best of them by name."""

from __future__ import annotations

import numpy as np

from scenarios.declaration.code import is_own
from scenarios.errors import UserError
from scenarios.figures.station_map import View, draw_view, has_map, view_of
from scenarios.questions.estimate import Estimate
from scenarios.reporting.document import Block, Cell, Drawing, Paragraph, Section, Table
from scenarios.reporting.drawing import inline
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language

MOST = 10
"""Stations in the table."""


def placing(known: Known, words: Language) -> Section | None:
    """The map; None where policies are no places, or the environment is not policyloop's own code."""
    study, say = known.study, words.say
    if not (is_own(study.scenario) and has_map(study)):
        return None
    try:
        view = view_of(study)
    except UserError as error:
        why = str(error).removeprefix(f"{study.path}: ")
        return Section("places", say("placing.heading"), [Paragraph(say("placing.none", why=why), "warning")])
    if view is None:
        return None
    caption = say("placing.figure", title=view.title)
    drawing = Drawing(inline(lambda: draw_view(view), "places", caption, say("placing.told")), caption)
    blocks: list[Block] = [drawing, *_remarks(view, words), _table(view, words)]
    return Section("places", say("placing.heading"), blocks)


def _names(view: View, rows: list[int], words: Language) -> str:
    return words.listed([view.names[row] or str(row) for row in rows])


def _remarks(view: View, words: Language) -> list[Block]:
    texts = []
    if len(view.optima) > 1:
        names = _names(view, view.optima.tolist(), words)
        texts.append(words.say("placing.ties", count=len(view.optima), names=names))
    if len(view.silent):
        texts.append(words.say("placing.silent", names=_names(view, view.silent.tolist(), words)))
    if view.left_out is not None:
        left = zip(view.left_out.ids.tolist(), view.left_out.names.tolist(), strict=True)
        names = words.listed([f"{one} {name}".strip() for one, name in left])
        texts.append(words.say("placing.left_out", names=names))
    return [Paragraph(text, "note") for text in texts]


def _table(view: View, words: Language) -> Table:
    """The best stations by the posterior mean, best first."""
    say = words.say
    head = [say("placing.station"), words.with_unit(say("placing.believed"), view.unit)]
    exact = bool(np.isfinite(view.objective).any())
    head += [say("placing.noise_free")] * exact + [say("placing.asked")]
    order = np.argsort(-view.sign * np.nan_to_num(view.mean, nan=-view.sign * np.inf), kind="stable")[:MOST]
    rows: list[list[Cell]] = []
    for row in order.tolist():
        mean, half = float(view.mean[row]), 1.96 * float(view.deviation[row])
        rows.append(
            [
                view.names[row] or str(row),
                words.estimate(Estimate(mean, mean - half, mean + half)),
                *([words.number(float(view.objective[row]))] if exact else []),
                words.times(int((view.queries == row).sum())),
            ]
        )
    strong = [i for i, row in enumerate(order.tolist()) if row == view.advice]
    return Table(say("placing.caption"), head, rows, strong=strong)
