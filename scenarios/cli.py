"""The command line: `policyloop list | run | resume | show | compare | plot | export | ..`, see `--help`.

Nothing heavy is imported before it is used, so that `--help` answers at once.
"""

from __future__ import annotations

import enum
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from scenarios.check_command import check
from scenarios.console import INTERRUPTED, SIMULATOR, USER, console, tell
from scenarios.errors import UserError, one_line
from scenarios.new_command import new
from scenarios.reproduction.command import reproduce
from scenarios.run_command import resume, run
from scenarios.serve_command import serve

if TYPE_CHECKING:
    from scenarios.study import Study

app = typer.Typer(
    help="""Close the loop between a simulation and an optimizer.

Run a scenario (an environment, the agents that learn on it, how long and how often), and see who
learned fastest and which policy each agent recommends.

Start with:  policyloop list,  then:  policyloop run flu --trials 2 --rounds 20
""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help, without loading rich
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study file, as written by `policyloop run`.")
]


class CompareFormat(enum.StrEnum):
    """How `compare` prints."""

    table = "table"
    json = "json"
    csv = "csv"


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"policyloop {version('policyloop')}")
        except PackageNotFoundError:
            typer.echo("policyloop (run from a checkout that is not installed)")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("list")
def list_scenarios(debug: Debug = False) -> None:
    """List the scenarios of the catalogue, the environments and the agents, and where plug-ins come from.

    Any scenario can be run by its name; your own scenario file is run by its path.
    """
    from rich.table import Table

    import bridges  # noqa: F401 - its agents are known from now on
    import optimizer
    import simulators
    from scenarios.catalogue import load, names
    from scenarios.plugin_list import plugins

    table = Table()
    for column in ("scenario", "what it asks", "rounds", "trials", "agents"):
        table.add_column(column, justify="right" if column in ("rounds", "trials") else "left")
    for name in names():
        one = load(name)
        table.add_row(name, one.title, str(one.rounds), str(one.trials), ", ".join(one.labels))
    console().print(table)
    typer.echo(f"environments: {', '.join(simulators.names())}")
    typer.echo(f"agents:       {', '.join(optimizer.agent_names())}")
    if found := plugins():
        table = Table("plug-in", "kind", "from", "state")
        for plugin in found:
            table.add_row(*plugin)
        console().print(table)


app.command()(run)
app.command()(resume)


@app.command()
def show(study: StudyFile, debug: Debug = False) -> None:
    """Show what a study holds, and how far it is."""
    found = _open(study)
    scenario, frame = found.scenario, found.to_dataframe()
    versions = ", ".join(f"{name} {value}" for name, value in found.meta["versions"].items())
    lines = [
        f"scenario    {scenario.name}: {scenario.title}",
        f"environment {found.environment['name']}, seed {scenario.seed}",
        f"created     {found.meta['created']} with {versions}",
        f"runs        {len(found.runs)}, the last began {found.runs[-1]['began']}",
        f"rounds      {len(frame)} of {scenario.rounds * scenario.trials * len(scenario.agents)} stored, "
        f"{len(found.failures)} failed",
    ]
    for label in scenario.labels:
        own = frame[frame["agent"] == label]
        complete = int((own.groupby("trial").size() >= scenario.rounds).sum())
        lines.append(f"  {label}: {len(own)} rounds, {complete} of {scenario.trials} trials complete")
    for line in lines:
        typer.echo(line)


@app.command()
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
    from scenarios.merging import merge as join

    join(studies, out, force=force)
    typer.echo(out)


@app.command()
def compare(
    study: StudyFile,
    format: Annotated[CompareFormat, typer.Option(help="What to print.")] = CompareFormat.table,
    debug: Debug = False,
) -> None:
    """Compare the agents of a study: regrets, paired gain over GP-UCB, recommended policies.

    Means over complete trials with 95 % intervals. A study may be compared while it still runs.

    For example:

      policyloop compare flu.study.sqlite

      policyloop compare flu.study.sqlite --format json
    """
    from scenarios import report

    found = _open(study)
    if format is CompareFormat.table:
        report.print_report(found, console())
        for line in report.failure_lines(found):
            tell(line)
    else:
        text = report.as_json(found) if format is CompareFormat.json else report.as_csv(found)
        typer.echo(text.rstrip("\n"))


@app.command()
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
    bound: Annotated[
        bool, typer.Option("--bound", help="Draw the theory's bounds over the cumulative regret.")
    ] = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Draw a study: cumulative regret, average regret, recommended policy, each as PNG and SVG.

    For example:

      policyloop plot flu.study.sqlite --out figures
    """
    from scenarios import figures

    found = _open(study)
    folder = out if out is not None else study.with_name(f"{_stem(study)}-figures")
    for path in figures.plot(found, folder, force=force, bound=bound):
        typer.echo(path)


@app.command()
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
    typer.echo(found.export(out if out is not None else study.with_name(f"{_stem(study)}.csv"), force=force))


app.command()(reproduce)
app.command()(check)
app.command()(serve)
app.add_typer(new, name="new", rich_help_panel=None)


def _open(path: Path) -> Study:
    from scenarios.study import Study

    study = Study(path, damaged=True)
    if study.damage:
        tell(
            f"{path}: the study is damaged ({study.damage}): going on with the {len(study.rounds())} rounds "
            "that can be read; some of these may have changed"
        )
    return study


def _stem(study: Path) -> str:
    return study.name.removesuffix(".sqlite").removesuffix(".study") or "study"


def invoke(arguments: list[str]) -> int:
    """Run one command line and return its exit code: 0, 1 (simulator), 2 (user), 130 (interrupted).

    An error is one line on standard error; `--debug` shows its traceback before.
    """
    click_error: Any = typer.BadParameter.__mro__[2]  # the base class of all errors in arguments
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="policyloop")
        return code if isinstance(code, int) else 0
    except click_error as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message(), err=True)
        elif error.format_message():
            tell(f"{one_line_of(error.format_message())} (try: {_command_of(arguments)} --help)")
        return USER
    except (KeyboardInterrupt, typer.Abort):
        tell("stopped")
        return INTERRUPTED
    except BrokenPipeError:  # `policyloop compare .. | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        if isinstance(error, UserError):
            tell(one_line(error))
            return USER
        policy, seed = getattr(error, "policy", None), getattr(error, "seed", None)
        repeat = "" if policy is None and seed is None else f" (policy {policy}, seed {seed})"
        hint = "" if "--debug" in arguments else "; --debug shows where"
        tell(f"{type(error).__name__}: {one_line(error)}{repeat}{hint}")
        for note in getattr(error, "__notes__", []):
            tell(note)
        return SIMULATOR


def _command_of(arguments: list[str]) -> str:
    """Return the command that a command line names; not every error in arguments knows its own."""
    group: Any = typer.main.get_command(app)
    words = ["policyloop"]
    for word in arguments:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        words.append(word)
    return " ".join(words)


def one_line_of(text: str) -> str:
    """Return a text with all white space folded."""
    return " ".join(text.split())


def main() -> NoReturn:
    """Run the command line of this process; a scheduler's SIGTERM ends it as Ctrl-C does."""
    import signal

    from scenarios.interrupts import exit_code, interrupt

    # Not the handler of SIGINT, which a shell sets to "ignore" for what it runs in the background.
    signal.signal(signal.SIGTERM, interrupt)
    code = invoke(sys.argv[1:])
    sys.exit(exit_code() if code == INTERRUPTED else code)
