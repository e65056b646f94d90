"""What was read, dropped, assumed and fitted of an environment's data, as it said when the study was run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.reporting.document import Block, Paragraph, Points, Table
from scenarios.reporting.language import Language
from scenarios.study.study import Study

MOST_ROWS = 12
MOST_POINTS = 40


def data_of(study: Study, words: Language) -> list[Block]:
    """The sentences of the environment, and the findings and the flags of an import's report."""
    report = study.environment.data_report
    points = [str(one) for one in study.environment.findings or ()]
    if isinstance(report, Mapping):
        points += _imported(report, words)
    if not points:
        return []
    if len(points) > MOST_POINTS:
        more = words.say("number.more", count=len(points) - MOST_POINTS)
        points = [*points[:MOST_POINTS], more]
    return [Paragraph(words.say("doubts.data")), Points(points), *_flags(report, words)]


def _imported(report: Mapping[str, Any], words: Language) -> list[str]:
    """How many rows an import read and kept, and what it did to the others."""
    counts = {name: _count(report.get(name), words) for name in ("rows", "stations")}
    found = [words.say("doubts.read", source=report.get("source", "-"), **counts)]
    for one in _mappings(report.get("findings")):
        rows = ", ".join(str(row) for row in one.get("rows") or ())
        told = {name: one.get(name, "-") for name in ("action", "reason")}
        row = words.say("doubts.rows", rows=rows)
        found.append(words.say("doubts.finding", count=_count(one.get("count"), words), row=row, **told))
    return found


def _flags(report: Any, words: Language) -> list[Block]:
    """The stations in which the quality control found something."""
    flags = _mappings(report.get("flags")) if isinstance(report, Mapping) else []
    if not flags:
        return []
    say = words.say
    rows = [[str(one.get(name, "-")) for name in ("station", "rule", "why", "done")] for one in flags]
    head = [say(f"doubts.{name}") for name in ("station", "rule", "reason", "done")]
    count = _count(report.get("flagged", len(flags)), words)
    caption = say("doubts.flags_caption", count=count, shown=min(len(flags), MOST_ROWS))
    return [Table(caption, head, rows[:MOST_ROWS], text_columns=(1, 2, 3))]


def _count(value: Any, words: Language) -> str:
    return words.whole(value) if isinstance(value, int | float) else "-"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
