"""What all commands share: exit codes, and how they speak."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policyloop.plain_text import for_terminal, plain_console

if TYPE_CHECKING:
    from rich.console import Console

    from scenarios.study.study import Study


USER, SIMULATOR, INTERRUPTED = 2, 1, 130  # exit codes

Bound = Annotated[bool, typer.Option("--bound", help="Draw the theory's bounds over the cumulative regret.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Jobs = Annotated[int, typer.Option(help="Worker processes. The results do not depend on it.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress, only the result.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the environment; repeatable."),
]
StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY", help="A study file, as written by `policyloop run`.")
]
ENVIRONMENT = "An environment's name, package.module:Class, file.py:Class, or a scenario's .toml file."


def tell(text: str) -> None:
    """Write a line to standard error, made plain."""
    print(for_terminal(f"policyloop: {text}"), file=sys.stderr, flush=True)


def say(text: object) -> None:
    """Write a line to standard output, made plain."""
    print(for_terminal(str(text)), flush=True)


def console() -> Console:
    """The console of standard output, which makes all text plain."""
    # Without a terminal rich takes 80 columns, unless COLUMNS says how many there are.
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return plain_console(width=None if known else 160)


def never_refuse() -> None:
    """Have both outputs escape a character that their encoding has not, as in `PYTHONIOENCODING=ascii`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def failures(study: Study) -> int:
    """Tell of failed simulations; return the exit code."""
    from scenarios.results import report

    lines = report.failure_lines(study)
    for line in lines:
        tell(line)
    # In a world that lives, a sensor that falls silent is no fault of the simulator.
    return SIMULATOR if lines and not study.environment.lives else 0
