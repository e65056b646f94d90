"""The command `policyloop report`: a study as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import Debug, Force, Jobs, Quiet, StudyFile, say, tell
from scenarios.commands.trust import Trust, refuse_strange_code


def report(
    study: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The HTML file.", show_default="NAME.html beside NAME.study.sqlite"
        ),
    ] = None,
    frontier: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Show the trade-offs between two or three objectives: total, worst-group, group-gap, "
            "cvar:0.5, count:0.05, or a group.",
            show_default="total,worst-group where the study has limits",
        ),
    ] = "",
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Run the recommended policy and today's, and those of other budgets, also with R0 and "
            "efficacy 10 % up and down.",
        ),
    ] = False,
    seeds: Annotated[int, typer.Option(help="Seeds of the noise, with --simulate.")] = 20,
    jobs: Jobs = 1,
    trust: Trust = False,
    quiet: Quiet = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Write a study as one HTML file, for who decides and for who checks.

    It has the question, the recommendation and how sure it is, every group before and after, how it was
    learned, what is not known, and how to repeat it. It opens offline in any browser, prints well, and runs
    nothing. Nothing is simulated for it without --simulate.

    For example:

      policyloop report flu.study.sqlite

      policyloop report flu.study.sqlite --out flu.html --force

      policyloop report flu.study.sqlite --simulate --frontier total,worst-group
    """
    from scenarios.reporting.report import check_report, default_target
    from scenarios.reporting.report import report as write
    from scenarios.running.progress import choose
    from scenarios.study.study import Study

    opened = Study(study, damaged=True)
    check_report(out or default_target(study), force)
    if opened.damage:
        tell(f"{study}: the study is damaged ({opened.damage}): the report says so, and is of what is whole")
    if simulate:
        refuse_strange_code(opened.scenario, trust)
    between = [name.strip() for name in frontier.split(",")] if frontier else []
    with choose(quiet).stage("writing the report") as seen:
        made = write(
            opened, out, frontier=between, simulate=simulate, seeds=seeds, jobs=jobs, force=force, seen=seen
        )
    say(made)
