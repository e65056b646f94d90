"""The command `policyloop forecast`: the next hours at the recommended station of a world that lives."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer

from scenarios.commands.console import Debug, Quiet, StudyFile, console, say
from scenarios.commands.trust import Trust, refuse_strange_code


class ForecastFormat(enum.StrEnum):
    """How `forecast` prints."""

    table = "table"
    json = "json"


def forecast(
    study: StudyFile,
    hours: Annotated[int, typer.Option(help="How many, after the last reading.")] = 6,
    agent: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Whose.", show_default="the first with a model")
    ] = None,
    trial: Annotated[int | None, typer.Option(help="Which.", show_default="the agent's median one")] = None,
    kernel: Annotated[
        str, typer.Option(metavar="NAME", help="climate, or a family over places times one over time.")
    ] = "climate",
    format: Annotated[ForecastFormat, typer.Option(help="What to print.")] = ForecastFormat.table,
    trust: Trust = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Forecast the next hours at the station that an agent recommends, with the skill of such forecasts.

    Of a study of a world that lives, such as weather-live. The skill is 1 - MSE / MSE of persistence over the
    study's own rounds: above 0 a forecast is better than the station's latest reading.

    For example:

      policyloop forecast weather-live.study.sqlite --hours 12
    """
    from scenarios.questions.forecast import forecast as ask
    from scenarios.running.progress import choose
    from scenarios.study.study import Study

    opened = Study(study)
    refuse_strange_code(opened.scenario, trust)
    progress = choose(quiet)
    try:
        with progress.stage("forecasting") as seen:
            found = ask(opened, hours=hours, agent=agent, trial=trial, kernel=kernel, seen=seen)
    finally:
        progress.stop()
    if format is ForecastFormat.json:
        from scenarios.study.records import without_nan

        say(json.dumps(without_nan(found.to_dict()), indent=2, allow_nan=False))
        return
    from rich.table import Table

    from scenarios.questions import forecast as told
    from scenarios.tables import print_table

    unit = found.unit or "objective"
    head = f"{opened.scenario.name}: {found.agent}, trial {found.trial}, after {found.rounds} rounds"
    for title, heads, rows in (
        (f"{head}\n95 % credible intervals of the truth", told.HOUR_HEADS, told.hour_rows(found)),
        (
            "Forecasts of the study's own rounds against persistence, the station's latest reading by then",
            told.SKILL_HEADS,
            told.skill_rows(found),
        ),
    ):
        table = Table(title=title, title_justify="left", title_style="bold")
        for name in heads:
            words = name.format(objective=unit)
            table.add_column(words, justify="left" if name in ("recommended now", "best then") else "right")
        for row in rows:
            table.add_row(*row)
        print_table(table, console())
