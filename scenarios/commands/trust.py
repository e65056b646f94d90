"""Whether code that a file names may be run: asked once, and remembered for as long as it does not change.

A scenario or a study may come from anybody. What was typed on the command line is the user's own wish; what
stands in a file is run only where somebody here has looked at it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policyloop.plain_text import for_terminal
from scenarios.commands.console import tell
from scenarios.errors import UserError

if TYPE_CHECKING:
    from scenarios.declaration.schema import Scenario


Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Run the code that the file names, and remember it for as long as it does not change."
    ),
]


def refuse_strange_code(scenario: Scenario, trust: bool, typed: Collection[str] = ()) -> None:
    """Check that the code that a scenario names may be run; UserError where it may not.

    Parameters
    ----------
    scenario : Scenario
    trust : bool
        Whether the user has said so.
    typed : collection of str
        What was named on the command line.
    """
    from scenarios.declaration.code import code_of, digest

    code = code_of(scenario)
    if not code:
        return
    known = folder() / digest(code)
    asked = [one.named for one in code if one.named not in typed]
    if asked and not trust and not known.is_file() and not _agreed(scenario, asked):
        raise UserError(
            f"{scenario.source}: running it runs code that nobody here has accepted: {'; '.join(asked)}. "
            "Look at it, then give --trust (it is asked for again when the code changes)"
        )
    _remember(known, [one.named for one in code])


def folder() -> Path:
    """Where it stands which code was accepted, one file each."""
    return Path(typer.get_app_dir("policyloop")) / "trusted"


def _agreed(scenario: Scenario, named: list[str]) -> bool:
    """Ask on a terminal; elsewhere nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    tell(f"{scenario.source} runs this code, with all that you may do on this machine:")
    for one in named:
        print(for_terminal(f"  {one}"), file=sys.stderr)
    return typer.confirm("Run it, now and for as long as it does not change?", err=True)


def _remember(known: Path, named: list[str]) -> None:
    try:
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text("\n".join(named) + "\n", encoding="utf-8", errors="backslashreplace")
    except OSError:  # it is asked again next time
        pass
