"""The commands that ask a study other questions, without a simulation: what-if."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer

from scenarios.commands.console import Debug, StudyFile, console, say, tell


class AnswerFormat(enum.StrEnum):
    """How answers are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def what_if(
    study: StudyFile,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP*N",
            help="Other weights of the weighted sum: 70+*10 multiplies today's, 70+=10 sets it; repeatable.",
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="weighted-sum, worst-group, group-gap (largest minus smallest), cvar:0.5 (mean of the worst "
            "half of the groups), count:0.05 (groups beyond it), or a function FILE.py:g.",
        ),
    ] = "",
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'GROUP <= X'",
            help="What a policy must keep: '70+ <= 0.02', 'A + 2*B >= 1', 'every <= 0.05' (each group), "
            "'total <= 0.4'; repeatable.",
        ),
    ] = None,
    limit_probability: Annotated[
        float, typer.Option(metavar="P", help="The joint probability of keeping all limits.")
    ] = 0.95,
    budget: Annotated[
        float | None, typer.Option(metavar="X", help="Another budget, in the unit of the study's.")
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="LEVER=VALUE", help="A lever that is not free; repeatable."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose rounds teach.",
            show_default="the first that models every group; all where nothing is noisy",
        ),
    ] = None,
    relearn: Annotated[
        bool, typer.Option("--relearn", help="Learn the kernels anew from these rounds together.")
    ] = False,
    format: Annotated[AnswerFormat, typer.Option(help="What to print.")] = AnswerFormat.table,
    debug: Debug = False,
) -> None:
    """Ask a study another question, without a simulation: other weights, objective, limits, budget.

    A study of an agent knows every group's outcome, and so the answer to questions that were not asked when
    it was run. It may be asked while it still runs. Nothing of it is changed.

    For example:

      policyloop what-if flu.study.sqlite --weights '70+*10'

      policyloop what-if flu.study.sqlite --objective worst-group --budget 0.3

      policyloop what-if flu.study.sqlite --limit '70+ <= 0.02' --fix '0-19=0.5'
    """
    from scenarios.questions import tables
    from scenarios.questions.question import Question
    from scenarios.questions.what_if import what_if as ask

    question = Question(
        weights=tuple(weights or ()),
        objective=objective,
        limits=tuple(limit or ()),
        limit_probability=limit_probability,
        budget=budget,
        fix=tuple(fix or ()),
    )
    answers = ask(study, question, agent=agent, relearn=relearn, say=tell)
    if format is AnswerFormat.table:
        tables.print_answers(answers, console())
    elif format is AnswerFormat.json:
        say(json.dumps([answer.to_dict() for answer in answers], indent=2, allow_nan=False))
    else:
        say(tables.to_dataframe(answers).to_csv(index=False).rstrip("\n"))
