"""The command line: `policyloop list | run | show | compare | plot | export | reproduce`.

Nothing heavy is imported before it is used, so that `--help` answers at once.
"""

from __future__ import annotations

import enum
import os
import shlex
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from scenarios.errors import StudyInterrupted, UserError, one_line
from scenarios.reproduction.command import reproduce

if TYPE_CHECKING:
    from rich.console import Console

    from scenarios.study import Study

USER, SIMULATOR, INTERRUPTED = 2, 1, 130  # exit codes

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
    """List the scenarios of the catalogue, the environments and the agents.

    Any scenario can be run by its name; your own scenario file is run by its path.
    """
    from rich.table import Table

    import optimizer
    import simulators
    from scenarios.catalogue import load, names

    table = Table()
    for column in ("scenario", "what it asks", "rounds", "trials", "agents"):
        table.add_column(column, justify="right" if column in ("rounds", "trials") else "left")
    for name in names():
        one = load(name)
        table.add_row(name, one.title, str(one.rounds), str(one.trials), ", ".join(one.labels))
    _console().print(table)
    typer.echo(f"environments: {', '.join(simulators.names())}")
    typer.echo(f"agents:       {', '.join(optimizer.agent_names())}")


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A name of the catalogue, or the path of a .toml file.")
    ],
    trials: Annotated[int | None, typer.Option(help="Trials an agent, in place of the scenario's.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds a trial, in place of the scenario's.")] = None,
    agents: Annotated[
        str | None, typer.Option(help="Agents, separated by commas, in place of the scenario's.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Root of all randomness, in place of the scenario's.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples to learn the kernels from, in place of the scenario's.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes. The results do not depend on it.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="STUDY", help="Study file to write.", show_default="./SCENARIO.study.sqlite"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the study stopped; it may have grown since.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the study if it exists.")] = False,
    debug: Debug = False,
) -> int:
    """Run a scenario and compare its agents.

    Every round is stored as it happens. Ctrl-C keeps all finished rounds and prints how to go on; the end
    is the same, bit for bit, as if the run had never stopped. With --resume, more --trials, --rounds or
    --agents make a study grow.

    For example:

      policyloop run flu --trials 5 --rounds 50 --jobs 2

      policyloop run my-scenario.toml --agents d-gpucb,gp-ucb --out first.sqlite

      policyloop run flu --trials 30 --jobs 2 --resume
    """
    from scenarios.catalogue import load

    chosen = None if agents is None else [name.strip() for name in agents.split(",")]
    given = {"trials": trials, "rounds": rounds, "agents": chosen, "seed": seed, "samples": samples}
    plan = load(scenario, given)
    if jobs < 1:
        raise UserError(f"command line: --jobs = {jobs}; accepted: a whole number, 1 or more")
    if resume and force:
        raise UserError("command line: --resume and --force exclude each other; accepted: one of them")
    path = out if out is not None else Path(f"{plan.name}.study.sqlite")

    from scenarios import progress, runner

    words = ["policyloop", "run", scenario]
    for option, value in {**given, "agents": agents}.items():
        words += [] if value is None else [f"--{option}", str(value)]
    words += ["--jobs", str(jobs)] if jobs > 1 else []
    words += ["--out", str(path)] if out is not None else []
    go_on = shlex.join([*words, "--resume"])
    try:
        study = runner.run(
            plan, out=path, jobs=jobs, resume=resume, force=force, progress=progress.choose(quiet)
        )
    except StudyInterrupted as stop:
        if not stop.stored and not path.exists():
            _tell("stopped before the first round; nothing was written")
            return INTERRUPTED
        _tell(f"stopped; {stop.stored} rounds are stored in {path}. Go on with:\n  {go_on}")
        return INTERRUPTED
    except Exception as error:
        if not isinstance(error, UserError) and path.exists():
            error.add_note(f"finished rounds are kept in {path}. Go on with:\n  {go_on}")
        raise
    console = _console()
    _report(study, console)
    file = shlex.quote(str(path))
    console.print(f"\nThe study is in {path}. Next:", soft_wrap=True)
    for command in (f"plot {file}", f"compare {file} --format json", f"export {file}"):
        console.print(f"  policyloop {command}", soft_wrap=True)
    return _failures(study)


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
        _report(found, _console())
        for line in report.failure_lines(found):
            _tell(line)
    else:
        text = report.as_json(found) if format is CompareFormat.json else report.as_csv(found)
        typer.echo(text.rstrip("\n"))


@app.command()
def plot(
    study: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for the figures.", show_default="SCENARIO-figures beside the study"
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
            metavar="FILE", help="A .csv or .parquet file.", show_default="SCENARIO.csv beside the study"
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


def _open(path: Path) -> Study:
    from scenarios.study import Study

    return Study(path)


def _report(study: Study, console: Console) -> None:
    from scenarios import report

    report.print_report(study, console)


def _failures(study: Study) -> int:
    """Tell of failed simulations; return the exit code."""
    from scenarios import report

    lines = report.failure_lines(study)
    for line in lines:
        _tell(line)
    return SIMULATOR if lines else 0


def _stem(study: Path) -> str:
    return study.name.removesuffix(".sqlite").removesuffix(".study") or "study"


def _console() -> Console:
    from rich.console import Console

    # Without a terminal rich would fold tables to 80 columns. Names of a user's file are no markup.
    return Console(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False)


def _tell(text: str) -> None:
    typer.echo(f"policyloop: {text}", err=True)


def invoke(arguments: list[str]) -> int:
    """Run one command line and return its exit code: 0, 1 (simulator), 2 (user), 130 (Ctrl-C).

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
            _tell(f"{one_line_of(error.format_message())} (try: policyloop --help)")
        return USER
    except (KeyboardInterrupt, typer.Abort):
        _tell("stopped")
        return INTERRUPTED
    except BrokenPipeError:  # `policyloop compare .. | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        if isinstance(error, UserError):
            _tell(one_line(error))
            return USER
        policy, seed = getattr(error, "policy", None), getattr(error, "seed", None)
        repeat = "" if policy is None and seed is None else f" (policy {policy}, seed {seed})"
        hint = "" if "--debug" in arguments else "; --debug shows where"
        _tell(f"{type(error).__name__}: {one_line(error)}{repeat}{hint}")
        for note in getattr(error, "__notes__", []):
            _tell(note)
        return SIMULATOR


def one_line_of(text: str) -> str:
    """Return a text with all white space folded."""
    return " ".join(text.split())


def main() -> NoReturn:
    """Run the command line of this process; a scheduler's SIGTERM ends it as Ctrl-C does."""
    import signal

    # Not the handler of SIGINT, which a shell sets to "ignore" for what it runs in the background.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(invoke(sys.argv[1:]))
