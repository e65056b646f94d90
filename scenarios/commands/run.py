"""The commands `policyloop run` and `policyloop resume`."""

from __future__ import annotations

import contextlib
import logging
import re
import shlex
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import INTERRUPTED, Debug, Jobs, Quiet, StudyFile, console, failures, tell
from scenarios.commands.trust import Trust, refuse_strange_code
from scenarios.errors import StudyInterrupted, UserError

if TYPE_CHECKING:
    from scenarios.declaration.schema import Scenario


Trials = Annotated[int | None, typer.Option(help="Trials an agent, in place of the scenario's.")]
Rounds = Annotated[int | None, typer.Option(help="Rounds a trial, in place of the scenario's.")]
Agents = Annotated[str | None, typer.Option(help="Agents, separated by commas, in place of the scenario's.")]
StepTimeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Stop a step that takes longer; its round has failed."),
]
Backend = Annotated[
    str, typer.Option(metavar="loky|dask", help="Processes of this machine, or a Dask cluster.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The Dask scheduler (tcp://..).",
        show_default="a local one, of --jobs workers",
    ),
]
Part = Annotated[
    str,
    typer.Option("--share", metavar="K/N", help="Run share K of N of the trials; `merge` joins the files."),
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="Go on although agents, packages, the machine, data or code have changed; the study says so.",
    ),
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Add lines about the run to this file.")]

# What to do about an error of the study's file before the run can go on.
_FIRST = {
    "SQLITE_FULL": "Free space on its disk first. ",
    "SQLITE_READONLY": "Make it writable first, or copy it. ",
}


def run(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A name of the catalogue, or the path of a .toml file.")
    ],
    trials: Trials = None,
    rounds: Rounds = None,
    agents: Agents = None,
    seed: Annotated[
        int | None, typer.Option(help="Root of all randomness, in place of the scenario's.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(help="Rounds for which an agent is asked at once, in place of the scenario's."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples to learn the kernels from, in place of the scenario's.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The environment's data, in place of the scenario's."),
    ] = None,
    continue_from: Annotated[
        Path | None,
        typer.Option(
            metavar="STUDY",
            help="Begin with the rounds of a study of the same environment learned, whatever it asked.",
        ),
    ] = None,
    step_timeout: StepTimeout = None,
    jobs: Jobs = 1,
    backend: Backend = "loky",
    scheduler: Scheduler = None,
    share: Part = "1/1",
    out: Annotated[
        Path | None,
        typer.Option(metavar="STUDY", help="Study file to write.", show_default="./SCENARIO.study.sqlite"),
    ] = None,
    quiet: Quiet = False,
    log: Log = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the study stopped; it may have grown since.")
    ] = False,
    accept_changes: Accept = False,
    trust: Trust = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the study if it exists.")] = False,
    debug: Debug = False,
) -> int:
    """Run a scenario and compare its agents.

    Every round is stored as it happens. Ctrl-C finishes the rounds in flight, keeps all and prints how to go
    on; twice, it stops at once. The end is the same, bit for bit, as if the run had never stopped. With
    --resume, more --trials, --rounds or --agents make a study grow.

    For example:

      policyloop run flu --trials 5 --rounds 50 --jobs 2

      policyloop run my-scenario.toml --agents d-gpucb,gp-ucb --out first.sqlite

      policyloop run flu --trials 30 --jobs 2 --resume

      policyloop run weather --data my-stations.csv --trials 5

      policyloop run my-scenario.toml --backend dask --scheduler tcp://10.0.0.1:8786
    """
    from scenarios.declaration.catalogue import load

    given = {
        "trials": trials,
        "rounds": rounds,
        "agents": _names(agents),
        "seed": seed,
        "batch": batch,
        "samples": samples,
        # A study is read again from other folders.
        "data": None if data is None else str(data.absolute()),
        "step-timeout": step_timeout,
        "continue-from": None if continue_from is None else str(continue_from.absolute()),
    }
    plan = load(scenario, given)
    refuse_strange_code(plan, trust, typed=_targets(agents))
    if resume and force:
        raise UserError("command line: --resume and --force exclude each other; accepted: one of them")
    path = out if out is not None else Path(f"{plan.name}.study.sqlite")
    shown = {**given, "agents": agents, "data": data, "continue-from": continue_from, "out": out}
    manner = Manner(jobs, backend, scheduler, share)
    words = ["run", scenario, *_options(shown), *manner.words(), "--resume"]
    return _drive(
        plan, path, words, manner, quiet, log, resume=resume, force=force, accept_changes=accept_changes
    )


def resume(
    study: StudyFile,
    trials: Trials = None,
    rounds: Rounds = None,
    agents: Agents = None,
    step_timeout: StepTimeout = None,
    jobs: Jobs = 1,
    backend: Backend = "loky",
    scheduler: Scheduler = None,
    share: Part = "1/1",
    quiet: Quiet = False,
    log: Log = None,
    accept_changes: Accept = False,
    trust: Trust = False,
    debug: Debug = False,
) -> int:
    """Go on with a study where it stopped; more trials, rounds or agents make it grow.

    The scenario is the one in the study. The end is the same, bit for bit, as if it had never stopped.

    For example:

      policyloop resume flu.study.sqlite --jobs 2

      policyloop resume flu.study.sqlite --trials 60
    """
    from scenarios.declaration.parse import parse
    from scenarios.study.compatibility import refuse_rounded
    from scenarios.study.study import Study

    found = Study(study)
    refuse_rounded(found.scenario, found.environment, str(study))
    given = {"trials": trials, "rounds": rounds, "agents": _names(agents), "step-timeout": step_timeout}
    plan = parse(found.scenario.model_dump(mode="json"), found.meta.get("source", str(study)), given)
    refuse_strange_code(plan, trust, typed=_targets(agents))
    manner = Manner(jobs, backend, scheduler, share)
    words = ["resume", str(study), *_options({**given, "agents": agents}), *manner.words()]
    return _drive(plan, study, words, manner, quiet, log, resume=True, accept_changes=accept_changes)


def _names(agents: str | None) -> list[str] | None:
    return None if agents is None else [name.strip() for name in agents.split(",")]


def _targets(agents: str | None) -> set[str]:
    """The agents of a command line, as a scenario names them: files by their whole paths."""
    from simulators.contract.targets import absolute, is_target

    return {absolute(name, Path.cwd()) for name in _names(agents) or [] if is_target(name)}


def _options(given: dict[str, Any]) -> list[str]:
    words = []
    for option, value in given.items():
        words += [] if value is None else [f"--{option}", str(value)]
    return words


class Manner(NamedTuple):
    """How the work of a run is done."""

    jobs: int
    backend: str
    scheduler: str | None
    share: str

    def words(self) -> list[str]:
        """The options of a command line that say so."""
        usual = Manner(1, "loky", None, "1/1")._asdict()
        return _options({name: value for name, value in self._asdict().items() if value != usual[name]})

    def options(self) -> dict[str, Any]:
        """The options of `scenarios.run` that say so."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", self.share)
        if found is None:
            raise UserError(
                f"command line: --share = {self.share}; accepted: K/N with whole numbers, such as 2/4"
            )
        return {**self._asdict(), "share": (int(found[1]), int(found[2]))}


def _drive(
    plan: Scenario,
    path: Path,
    words: list[str],
    manner: Manner,
    quiet: bool,
    log: Path | None,
    **existing: Any,
) -> int:
    """Run a scenario, and tell how it went, and with which words to go on; return the exit code."""
    from scenarios.results import report
    from scenarios.running import progress, run

    options = manner.options()
    _log_to(log)
    go_on = shlex.join(["policyloop", *words])
    try:
        study = run.run(plan, out=path, progress=progress.choose(quiet), **options, **existing)
    except StudyInterrupted as stop:
        if not stop.stored and not path.exists():
            tell("stopped before the first round; nothing was written")
            return INTERRUPTED
        tell(f"stopped; {stop.stored} rounds are stored in {path}. Go on with:\n  {go_on}")
        return INTERRUPTED
    except Exception as error:
        if not isinstance(error, UserError) and (stored := _stored(path)):
            first = _FIRST.get(getattr(error.__cause__, "sqlite_errorname", ""), "")
            error.add_note(f"{stored} rounds are kept in {path}. {first}Go on with:\n  {go_on}")
        raise
    for line in (study.environment.data_report or {}).get("lines", []) if not quiet else []:
        tell(on_one_line(line))
    out = console()
    report.print_report(study, out)
    file = shlex.quote(str(path))
    out.print(f"\nThe study is in {path}. Next:", soft_wrap=True)
    for command in (f"plot {file}", f"compare {file} --format json", f"export {file}"):
        out.print(f"  policyloop {command}", soft_wrap=True)
    return failures(study)


def _stored(path: Path) -> int:
    """How many rounds a study holds, 0 where there is none."""
    from scenarios.study.file import connect
    from scenarios.study.reading import read_progress

    try:
        with contextlib.closing(connect(path, write=False)) as connection:
            return sum(read_progress(connection).values())
    except (UserError, sqlite3.Error):
        return 0


def _log_to(path: Path | None) -> None:
    logger = logging.getLogger("policyloop")  # without a handler, warnings alone go to standard error
    if path is None:
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise UserError(f"command line: --log = {path}: cannot be written ({on_one_line(error)})") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
