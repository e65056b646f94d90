"""How to repeat it: the scenario, seeds, versions, the fingerprints of what it depends on, the commands."""

from __future__ import annotations

import json
import shlex
from typing import Any

from scenarios.reporting.document import Block, Paragraph, Section, Table, Verbatim
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language

DIGITS = 16
"""Of a SHA-256, as shown."""


def repeating(known: Known, words: Language) -> Section:
    """What somebody else needs to come to the same numbers."""
    study, say = known.study, words.say
    blocks: list[Block] = [Paragraph(say("repeat.seeds", seed=study.scenario.seed))]
    rows = []
    for number, run in enumerate(study.runs, start=1):
        inputs: dict[str, Any] = run.get("inputs") or {}
        versions = [f"{name} {value}" for name, value in (run.get("versions") or {}).items()]
        packages = [f"{name} {value}" for name, value in (inputs.get("packages") or {}).items()]
        all_of_it = words.listed(list(dict.fromkeys([*versions, *packages])), 20)
        rows.append(
            [
                str(number),
                str(run.get("began", "-")).replace("T", " ", 1),
                all_of_it,
                str(inputs.get("platform", "-")),
            ]
        )
    if rows:
        head = [say("repeat.run"), say("repeat.began"), say("repeat.versions"), say("repeat.platform")]
        blocks.append(Table(say("repeat.runs"), head, rows, text_columns=(1, 2, 3)))
    files = {
        path: sha
        for run in study.runs
        for path, sha in ((run.get("inputs") or {}).get("files") or {}).items()
    }
    if files:
        head = [say("repeat.file"), say("repeat.sha")]
        prints = [[path, str(sha)[:DIGITS]] for path, sha in files.items()]
        blocks.append(Table(say("repeat.files"), head, prints, text_columns=(1,)))
    path = shlex.quote(str(study.path))
    commands = [
        f"policyloop show {path}",
        f"policyloop compare {path} --format json",
        f"policyloop what-if {path}",
        f"policyloop resume {path}",
    ]
    blocks.append(Verbatim(say("repeat.commands"), "\n".join(commands)))
    scenario = study.scenario.model_dump(mode="json", exclude_defaults=True)
    blocks.append(Verbatim(say("repeat.scenario"), json.dumps(scenario, indent=2, ensure_ascii=False)))
    return Section("repeat", say("repeat.heading"), blocks)
