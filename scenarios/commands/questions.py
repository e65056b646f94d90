"""The commands that answer questions: what-if of a study, without a simulation; evaluate, with some."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenarios.commands.console import (
    SIMULATOR,
    USER,
    Debug,
    Force,
    Jobs,
    Quiet,
    StudyFile,
    console,
    say,
    tell,
)
from scenarios.commands.trust import Trust, refuse_strange_code

if TYPE_CHECKING:
    import pandas as pd

    from scenarios.questions.question import Question

Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GROUP*N",
        help="Other weights of the weighted sum: 70+*10 multiplies today's, 70+=10 sets it, a CSV or "
        "workbook with a group and its weight in each row sets those it names; repeatable.",
    ),
]
LimitsAsked = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="'GROUP <= X'",
        help="What a policy must keep: '70+ <= 0.02', 'A + 2*B >= 1', 'every <= 0.05' (each group), "
        "'total <= 0.4'; repeatable.",
    ),
]
LimitProbability = Annotated[
    float | None,
    typer.Option(
        metavar="P", help="The joint probability of keeping all limits.", show_default="the study's, 0.95"
    ),
]
Budget = Annotated[
    float | None, typer.Option(metavar="X", help="Another budget, in the unit of the study's.")
]
Fixed = Annotated[
    list[str] | None,
    typer.Option("--fix", metavar="LEVER=VALUE", help="A lever that is not free; repeatable."),
]
Teacher = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Whose rounds teach.",
        show_default="the first that models every group; all where nothing is noisy",
    ),
]
OneTrial = Annotated[
    int | None,
    typer.Option("--trial", metavar="N", help="Answer from one trial's rounds.", show_default="all trials"),
]
Relearn = Annotated[
    bool, typer.Option("--relearn", help="Learn the kernels anew from these rounds together.")
]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it as well: FILE.png and FILE.svg.")]


class AnswerFormat(enum.StrEnum):
    """How answers are printed."""

    table = "table"
    json = "json"
    csv = "csv"


Format = Annotated[AnswerFormat, typer.Option(help="What to print.")]


def what_if(
    study: StudyFile,
    weights: Weights = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="weighted-sum, worst-group, worst-rate (the worst per person of the group, "
            "where outcomes are per person of all), group-gap (largest minus smallest), cvar:0.5 (mean of "
            "the worst half of the groups), count:0.05 (groups beyond it), or a function FILE.py:g.",
        ),
    ] = "",
    limits: LimitsAsked = None,
    limit_probability: LimitProbability = None,
    budget: Budget = None,
    fix: Fixed = None,
    agent: Teacher = None,
    trial: OneTrial = None,
    relearn: Relearn = False,
    format: Format = AnswerFormat.table,
    debug: Debug = False,
) -> int:
    """Ask a study another question, without a simulation: other weights, objective, limits, budget.

    A study of an agent knows every group's outcome, and so the answer to questions that were not asked when
    it was run. It may be asked while it still runs; nothing of it is changed. Where no policy is known to
    keep the limits, the exit code is 2.

    For example:

      policyloop what-if flu.study.sqlite --weights '70+*10'

      policyloop what-if flu.study.sqlite --objective worst-group --budget 0.3

      policyloop what-if flu.study.sqlite --limit '70+ <= 0.02' --fix '0-19=0.5'
    """
    from scenarios.questions import tables
    from scenarios.questions.what_if import what_if as ask

    question = _question(weights, limits, limit_probability, budget, fix, objective)
    answers = ask(study, question, agent=agent, trial=trial, relearn=relearn, say=tell)
    if format is AnswerFormat.table:
        tables.print_answers(answers, console())
    elif format is AnswerFormat.json:
        _say_json([answer.to_dict() for answer in answers])
    else:
        _say_csv(tables.to_dataframe(answers))
    broken = [answer for answer in answers if not answer.kept]
    for answer in broken:
        tell(f"{study}: {answer.remarks[0]}")
    return USER if broken else 0


def frontier(
    study: StudyFile,
    between: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="total (the study's objective), a group, worst-group, worst-rate (per person of the group), "
            "group-gap, cvar:0.5 or count:0.05.",
            show_default="the study's own objectives, where it has several",
        ),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--and", metavar="NAME", help="Another objective; a third one may follow."),
    ] = None,
    weights: Weights = None,
    limits: LimitsAsked = None,
    limit_probability: LimitProbability = None,
    budget: Budget = None,
    fix: Fixed = None,
    agent: Teacher = None,
    trial: OneTrial = None,
    relearn: Relearn = False,
    points: Annotated[int, typer.Option(min=2, max=500, help="How finely it is traced.")] = 16,
    format: Format = AnswerFormat.table,
    figure: Figure = None,
    quiet: Quiet = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Show the trade-offs between objectives that a study knows, without a simulation.

    A policy is on the frontier where no other is predicted to be better in all of them. The knee is the point
    that has most of all together. Limits, a budget and fixed levers hold for every policy shown.

    For example:

      policyloop frontier flu.study.sqlite --between total --and worst-group

      policyloop frontier flu.study.sqlite --between 0-19 --and 70+ --figure trade-off
    """
    from scenarios.questions import tables
    from scenarios.questions.frontier import frontier as trace

    _check_figure(figure, force)
    question = _question(weights, limits, limit_probability, budget, fix)
    with _counted("tracing the frontier", quiet) as seen:
        found = trace(
            study,
            [*([between] if between else ()), *(others or ())],
            question,
            agent=agent,
            trial=trial,
            relearn=relearn,
            points=points,
            seen=seen,
        )
    if format is AnswerFormat.table:
        for one in found:
            tables.print_frontier(one, console())
    elif format is AnswerFormat.json:
        _say_json([one.to_dict() for one in found])
    else:
        import pandas as pd

        _say_csv(pd.DataFrame(tables.frontier_rows(found)))
    if figure is not None:
        from scenarios.figures.frontier import draw

        for path in draw(found[0], figure):
            tell(f"wrote {path}")


def _question(
    weights: list[str] | None,
    limits: list[str] | None,
    limit_probability: float | None,
    budget: float | None,
    fix: list[str] | None,
    objective: str = "",
) -> Question:
    from scenarios.questions.question import Question

    asked = tuple(weights or ()), objective, tuple(limits or ()), limit_probability, budget, tuple(fix or ())
    return Question(*asked)


@contextmanager
def _counted(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many of all are done; the context's value is told of them."""
    from scenarios.running.progress import choose

    with choose(quiet).stage(what) as say:
        yield lambda done, total: say(f"{done} of {total}")


def _say_csv(frame: pd.DataFrame) -> None:
    from scenarios.study.study import for_spreadsheets

    say(for_spreadsheets(frame).to_csv(index=False).rstrip("\n"))


def _say_json(value: object) -> None:
    from scenarios.study.records import without_nan

    say(json.dumps(without_nan(value), indent=2, allow_nan=False))


def _check_figure(figure: Path | None, force: bool) -> None:
    """Refuse, before any work, a figure that may not be written."""
    from scenarios.study.study import check_target

    if figure is not None:
        for ending in (".png", ".svg"):
            check_target(figure.with_name(f"{figure.name}{ending}"), force)


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
    format: Format = AnswerFormat.table,
    figure: Figure = None,
    quiet: Quiet = False,
    trust: Trust = False,
    force: Force = False,
    debug: Debug = False,
) -> int:
    """Simulate named policies side by side.

    What would my policy do? All are simulated on the same random numbers, so that small differences show.
    Printed are each group's mean with its 95 % interval, the paired differences to the first policy, and the
    probability to be best. The noise of every seed (of a season, say) is in the means: their intervals are of
    the mean over seeds, and get narrower with more of them; a single season may lie further off.

    For example:

      policyloop evaluate flu --policy current --policy 1,0.5,0,0,0

      policyloop evaluate flu --policy current --policy flu.study.sqlite:d-gpucb --worlds r0=1.2,1.4,1.6
    """
    from scenarios.declaration.catalogue import load
    from scenarios.questions import tables
    from scenarios.questions.evaluate import evaluate as simulate

    declared = load(scenario)
    refuse_strange_code(declared, trust)
    _check_figure(figure, force)
    with _counted("simulating", quiet) as seen:
        found = simulate(declared, policy, seeds=seeds, worlds=worlds or (), jobs=jobs, seen=seen)
    if format is AnswerFormat.table:
        tables.print_evaluation(found, console())
    elif format is AnswerFormat.json:
        _say_json(found.to_dict())
    else:
        import pandas as pd

        _say_csv(pd.DataFrame(tables.evaluation_rows(found)))
    if figure is not None:
        from scenarios.figures.evaluation import draw

        for path in draw(found, figure):
            tell(f"wrote {path}")
    if any(one.failed for one in found.policies):
        for line in found.remarks:
            tell(line)
        return SIMULATOR
    return 0
