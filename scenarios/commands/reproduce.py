"""The command `policyloop reproduce`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import INTERRUPTED, Bound, Debug, Jobs, Quiet, console, tell
from scenarios.errors import UserError


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...",
            help="Figures of the paper: 1, 2a to 2d, 3a to 3c, 4a to 4c.",
            show_default="all of them",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for figures, numbers and the report.",
            show_default="./reproduction, with --quick ./reproduction-quick",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer runs, trials, rounds and samples: about a minute.")
    ] = False,
    jobs: Jobs = 1,
    seed: Annotated[int, typer.Option(help="Root of all randomness.")] = 0,
    bound: Bound = False,
    quiet: Quiet = False,
    force: Annotated[
        bool, typer.Option("--force", help="Start again where the folder holds a reproduction.")
    ] = False,
    debug: Debug = False,
) -> int:
    """Reproduce the paper's figures, and set our values beside its claims.

    Writes every figure (SVG and PNG) with its numbers (CSV), and reproduction.md: the paper's claims, our
    values with 95 % intervals, and the verdicts. What is finished is kept: the same command goes on after
    Ctrl-C.

    For example:

      policyloop reproduce --quick --jobs 2

      policyloop reproduce --jobs 2

      policyloop reproduce 3a 4a --bound
    """
    if jobs < 1:
        raise UserError(f"command line: --jobs = {jobs}; accepted: a whole number, 1 or more")
    if seed < 0:
        raise UserError(f"command line: --seed = {seed}; accepted: a whole number, 0 or more")
    from scenarios.reproduction import settings as amounts

    wanted, left_out = amounts.resolve(figures or [])
    if not wanted:
        raise UserError("; ".join(left_out))
    for line in left_out:
        tell(line)

    from scenarios.reproduction import report, run
    from scenarios.running import progress

    folder = out if out is not None else Path("reproduction-quick" if quick else "reproduction")
    words = ["policyloop", "reproduce", *(figures or [])]
    words += ["--quick"] if quick else []
    words += ["--jobs", str(jobs)] if jobs > 1 else []
    words += ["--seed", str(seed)] if seed else []
    words += ["--bound"] if bound else []
    command = shlex.join(words)
    go_on = shlex.join([*words, "--out", str(out)]) if out is not None else command
    try:
        made = run.reproduce(
            figures or [],
            folder,
            amounts.quick(seed) if quick else amounts.paper(seed),
            jobs=jobs,
            bound=bound,
            force=force,
            progress=lambda: progress.choose(quiet),
            command=command,
        )
    except KeyboardInterrupt:
        tell(f"stopped; what is finished is kept in {folder}. Go on with:\n  {go_on}")
        return INTERRUPTED
    report.show(made, console())
    return 0
