"""The command line: `policyloop list | run | resume | show | compare | plot | export | ..`, see `--help`.

Nothing heavy is imported before it is used, so that `--help` answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import Annotated, Any, NoReturn

import typer

from policyloop.messages import on_one_line
from policyloop.plain_text import for_terminal
from scenarios.commands.check import check
from scenarios.commands.console import INTERRUPTED, SIMULATOR, USER, never_refuse, tell
from scenarios.commands.data import data
from scenarios.commands.doctor import doctor
from scenarios.commands.forecast import forecast
from scenarios.commands.list import list_scenarios
from scenarios.commands.new import new
from scenarios.commands.questions import evaluate, frontier, what_if
from scenarios.commands.repair import repair
from scenarios.commands.report import report
from scenarios.commands.reproduce import reproduce
from scenarios.commands.run import resume, run
from scenarios.commands.serve import serve
from scenarios.commands.stations import stations
from scenarios.commands.study import compare, export, merge, plot, show
from scenarios.commands.watch import watch
from scenarios.errors import UserError

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


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Why an output can be written to no more: the disk, and not the simulator, is at its end."""


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


app.command("list")(list_scenarios)
for command in (
    *(run, resume, show, merge, compare, plot, report, export, repair, reproduce),
    *(check, serve, watch, doctor),
):
    app.command()(command)
app.command("what-if")(what_if)
app.command()(frontier)
app.command()(evaluate)
app.command()(stations)
app.command()(forecast)
app.add_typer(new, name="new", rich_help_panel=None)
app.add_typer(data, name="data", rich_help_panel=None)


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
            typer.echo(error.format_message(), err=True)  # the help
        elif error.format_message():
            tell(f"{on_one_line(error.format_message())} (try: {_command_of(arguments)} --help)")
        return USER
    except (KeyboardInterrupt, typer.Abort):
        tell("stopped")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:  # `policyloop compare .. | head`
        # Typer ends the process with exit code 1 then, and leaves outputs that keep quiet about it.
        if isinstance(end, SystemExit) and type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in arguments:
            print(for_terminal(traceback.format_exc()), end="", file=sys.stderr)
        if isinstance(error, UserError):
            tell(on_one_line(error))
            return USER
        if isinstance(error, OSError) and error.errno in FULL:
            tell(f"the output cannot be written ({error.strerror})")
            return _noted(error, USER)
        policy, seed = getattr(error, "policy", None), getattr(error, "seed", None)
        repeat = "" if policy is None and seed is None else f" (policy {policy}, seed {seed})"
        hint = "" if "--debug" in arguments else "; --debug shows where"
        tell(f"{type(error).__name__}: {on_one_line(error)}{repeat}{hint}")
        return _noted(error, SIMULATOR)


def _noted(error: Exception, code: int) -> int:
    """Tell an error's notes; the exit code."""
    for note in getattr(error, "__notes__", []):
        tell(note)
    return code


def _command_of(arguments: list[str]) -> str:
    """The command that a command line names; not every error in arguments knows its own."""
    group: Any = typer.main.get_command(app)
    words = ["policyloop"]
    for word in arguments:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        words.append(word)
    return " ".join(words)


def main() -> NoReturn:
    """Run the command line of this process; a scheduler's SIGTERM ends it as Ctrl-C does."""
    import signal

    from scenarios.running.interrupts import exit_code, interrupt

    never_refuse()
    # Not the handler of SIGINT, which a shell sets to "ignore" for what it runs in the background.
    signal.signal(signal.SIGTERM, interrupt)
    code = invoke(sys.argv[1:])
    sys.exit(exit_code() if code == INTERRUPTED else code)
