"""The commands that read a study: show, compare, plot, export, merge."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import Bound, Debug, Force, StudyFile, console, say, tell

if TYPE_CHECKING:
    from scenarios.study.study import Study


class CompareFormat(enum.StrEnum):
    """How `compare` prints."""

    table = "table"
    json = "json"
    csv = "csv"


def show(study: StudyFile, debug: Debug = False) -> None:
    """Show what a study holds, and how far it is."""
    from scenarios.results.outliers import outlier_lines, outliers

    found = _open(study)
    scenario, frame = found.scenario, found.to_dataframe()
    versions = ", ".join(f"{name} {value}" for name, value in found.meta.get("versions", {}).items())
    lines = [
        f"scenario    {scenario.name}: {on_one_line(scenario.title)}",
        f"environment {found.environment.name}, seed {scenario.seed}",
        *_levers(found),
        *_data(found),
        f"created     {found.meta.get('created', 'unknown')} with {versions}",
        *[f"runs        {len(found.runs)}, the last began {run['began']}" for run in found.runs[-1:]],
        *[
            f"repaired    {found.meta[key]['when']} from {found.meta[key]['from']}"
            for key in ("repaired",)
            if key in found.meta
        ],
        *[
            f"auto        {label} is d-gpucb with scale_down {settings['scale_down']:g}"
            for label, settings in found.meta.get("auto", {}).items()
        ],
        *[f"accepted    {change}" for run in found.runs for change in run["accepted"]],
        f"rounds      {len(frame)} of {scenario.rounds * scenario.trials * len(scenario.agents)} stored, "
        f"{len(found.failures)} failed",
    ]
    for label in scenario.labels:
        own = frame[frame["agent"] == label]
        complete = int((own.groupby("trial").size() >= scenario.rounds).sum())
        line = f"  {label}: {len(own)} rounds, {complete} of {scenario.trials} trials complete"
        lines.append(line + _station(found, label))
    for line in [*lines, *[f"outliers    {line}" for line in outlier_lines(outliers(found))]]:
        say(line)


def _data(study: Study) -> list[str]:
    """What the import of the environment's data reported, in a few lines."""
    report = study.environment.data_report
    if not isinstance(report, dict) or not isinstance(report.get("lines"), list):
        return []
    first, *others = [on_one_line(str(line)) for line in report["lines"][:5]] or [""]
    return [f"data        {first}", *(f"            {line.strip()}" for line in others)]


def _station(study: Study, label: str) -> str:
    """The station that an agent recommends in its median trial, where policies are stations."""
    from scenarios.results.statistics import typical_advice

    advice = typical_advice(study, label) if study.environment.stations else None
    station = None if advice is None else study.environment.station(advice.policy)
    return "" if station is None else f", recommends {on_one_line(str(station))}"


def _levers(study: Study) -> list[str]:
    """A line a lever: its name, and what it may be; in one line the entries of candidates."""
    from scenarios.study.levers import in_words

    facts = study.environment
    if facts.finite:
        of = f" of {len(facts.stations)} stations" if facts.stations else ""
        return [f"policy      candidates{of} by {', '.join(facts.labels)}"]
    named = zip(facts.labels, facts.kinds, facts.units, strict=True)
    return ["policy", *(f"  {label}: {in_words(lever, unit)}" for label, lever, unit in named)]


def merge(
    studies: Annotated[list[Path], typer.Argument(metavar="STUDY STUDY..", help="Study files to join.")],
    out: Annotated[Path, typer.Option(metavar="STUDY", help="Study file to write.")],
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Join studies of one scenario that were run apart: their trials, agents and rounds, each once.

    For example:

      policyloop run flu --share 1/2 --out first.sqlite        (on one machine)

      policyloop run flu --share 2/2 --out second.sqlite       (on another)

      policyloop merge first.sqlite second.sqlite --out flu.study.sqlite
    """
    from scenarios.study.merging import merge as join

    join(studies, out, force=force)
    say(out)


def compare(
    study: StudyFile,
    format: Annotated[CompareFormat, typer.Option(help="What to print.")] = CompareFormat.table,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT",
            help="Whom the others are compared with, by label.",
            show_default="gp-ucb, or else the first",
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Compare the agents of a study: regrets, paired gain over a reference, recommended policies.

    Means over complete trials with 95 % intervals. A study may be compared while it still runs. In CSV a text
    that a spreadsheet would run, such as =A1, has an apostrophe before it.

    For example:

      policyloop compare flu.study.sqlite

      policyloop compare flu.study.sqlite --reference current --format json
    """
    from scenarios.results import report

    found = _open(study)
    if format is CompareFormat.table:
        report.print_report(found, console(), reference)
        for line in report.failure_lines(found):
            tell(line)
    else:
        write = report.as_json if format is CompareFormat.json else report.as_csv
        say(write(found, reference).rstrip("\n"))


def plot(
    study: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the figures.",
            show_default="NAME-figures beside NAME.study.sqlite",
        ),
    ] = None,
    bound: Bound = False,
    info: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Draw only this: an entry of what steps say besides, such as infected, by policy.",
        ),
    ] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Draw a study: cumulative regret, average regret, recommended policy, each as PNG and SVG.

    Where rounds keep curves, such as those of an epidemic, they are drawn for the first policy, the best, and
    today's where somebody tried it.

    For example:

      policyloop plot flu.study.sqlite --out figures

      policyloop plot flu.study.sqlite --info infected
    """
    from scenarios.figures import plot

    found = _open(study)
    folder = out if out is not None else study.with_name(f"{_stem(study)}-figures")
    for path in plot.plot(found, folder, force=force, bound=bound, info=info):
        say(path)


def export(
    study: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A .csv or .parquet file.", show_default="NAME.csv beside NAME.study.sqlite"
        ),
    ] = None,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Write a study's table, one row a (trial, agent, round), to a CSV or Parquet file.

    For example:

      policyloop export flu.study.sqlite

      policyloop export flu.study.sqlite --out flu.parquet
    """
    found = _open(study)
    say(found.export(out if out is not None else study.with_name(f"{_stem(study)}.csv"), force=force))


def _open(path: Path) -> Study:
    from scenarios.study.study import Study

    study = Study(path, damaged=True)
    if study.damage:
        tell(
            f"{path}: the study is damaged ({study.damage}): going on with the {len(study.rounds())} rounds "
            "that can be read, each of them as it was written; policyloop repair makes a sound study of them"
        )
    return study


def _stem(study: Path) -> str:
    return study.name.removesuffix(".sqlite").removesuffix(".study") or "study"
