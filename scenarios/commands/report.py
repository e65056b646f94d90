"""The command `policyloop report`: a study as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import Debug, Force, StudyFile, say, tell


def report(
    study: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The HTML file.", show_default="NAME.html beside NAME.study.sqlite"
        ),
    ] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Write a study as one HTML file, for who decides and for who checks.

    It has the question, the recommendation and how sure it is, every group before and after, how it was
    learned, what is not known, and how to repeat it. It opens offline in any browser, prints well, and runs
    nothing.

    For example:

      policyloop report flu.study.sqlite

      policyloop report flu.study.sqlite --out flu.html --force
    """
    from scenarios.reporting.report import report as write
    from scenarios.study.study import Study

    opened = Study(study, damaged=True)
    if opened.damage:
        tell(f"{study}: the study is damaged ({opened.damage}): the report says so, and is of what is whole")
    say(write(opened, out, force=force))
