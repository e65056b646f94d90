"""The commands that answer questions: what-if of a study, without a simulation; evaluate, with some."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import SIMULATOR, Debug, Force, Jobs, StudyFile, console, counted, say, tell
from scenarios.commands.trust import Trust, refuse_strange_code


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


def evaluate(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario's name or .toml file, as `run` takes it.")
    ],
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="POLICY",
            help="Entries in order, '0.5,0.5,0', or by label, 'nurses=4,tariff=flat'; a candidate's row; "
            "current, today's practice; STUDY.sqlite:AGENT, what an agent recommends. Repeatable; others "
            "are compared with the first.",
        ),
    ],
    seeds: Annotated[int, typer.Option(help="Seeds of the noise, the same for all policies.")] = 20,
    worlds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=V,V",
            help="A world for each value of an option, such as r0=1.3,1.6,2.0; repeatable.",
        ),
    ] = None,
    jobs: Jobs = 1,
    format: Annotated[AnswerFormat, typer.Option(help="What to print.")] = AnswerFormat.table,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it as well: FILE.png and FILE.svg."),
    ] = None,
    trust: Trust = False,
    force: Force = False,
    debug: Debug = False,
) -> int:
    """Simulate named policies side by side.

    What would my policy do? All are simulated on the same random numbers, so that small differences show.
    Printed are each group's mean with its 95 % interval, the paired differences to the first policy, and the
    probability to be best.

    For example:

      policyloop evaluate flu --policy current --policy 1,0.5,0,0,0

      policyloop evaluate flu --policy current --policy flu.study.sqlite:d-gpucb --worlds r0=1.2,1.4,1.6
    """
    from scenarios.declaration.catalogue import load
    from scenarios.questions import tables
    from scenarios.questions.evaluate import evaluate as simulate
    from scenarios.questions.evaluation import rows
    from scenarios.study.records import without_nan
    from scenarios.study.study import check_target

    declared = load(scenario)
    refuse_strange_code(declared, trust)
    if figure is not None:
        for ending in (".png", ".svg"):
            check_target(figure.with_name(f"{figure.name}{ending}"), force)
    with counted("simulating") as seen:
        found = simulate(declared, policy, seeds=seeds, worlds=worlds or (), jobs=jobs, seen=seen)
    if format is AnswerFormat.table:
        tables.print_evaluation(found, console())
    elif format is AnswerFormat.json:
        say(json.dumps(without_nan(found.to_dict()), indent=2, allow_nan=False))
    else:
        import pandas as pd

        say(pd.DataFrame(rows(found)).to_csv(index=False).rstrip("\n"))
    if figure is not None:
        from scenarios.figures.evaluation import draw

        for path in draw(found, figure):
            tell(f"wrote {path}")
    if any(one.failed for one in found.policies):
        for line in found.remarks:
            tell(line)
        return SIMULATOR
    return 0
