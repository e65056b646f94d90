"""The command `policyloop watch`: a live page in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from policyloop.messages import unknown_name
from scenarios.commands.console import Debug, say, tell
from scenarios.commands.trust import Trust, refuse_strange_code
from scenarios.errors import UserError

if TYPE_CHECKING:
    from scenarios.watching.site import Call


def watch(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY | SCENARIO]",
            help="A study file, finished or still running; or a scenario whose model can be stepped.",
            show_default="the newest study in this folder",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen: an address of this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    trust: Trust = False,
    debug: Debug = False,
) -> None:
    """Watch a study round by round, and ask it what-if, on a page in the browser, until Ctrl-C.

    For example:

      policyloop watch flu.sqlite

      policyloop watch flu-abm
    """
    from scenarios.declaration.catalogue import names

    if target is not None and (target in names() or target.endswith(".toml")):
        page, calls, named = _of_scenario(target, trust)
    else:
        page, calls, named = _of_study(target, names())
    from scenarios.watching.site import show

    def announce(address: str) -> None:
        say(f"{named} at {address} (Ctrl-C ends it)")

    show(page, calls, host=host, port=port, announce=announce, browser=browser)


def _of_study(target: str | None, scenarios: Sequence[str]) -> tuple[str, dict[str, Call], str]:
    """The page of a study, what it may ask, and how it is called."""
    from scenarios.watching.following import Follower, newest
    from scenarios.watching.panel import Panel
    from scenarios.watching.story import Story

    if target is None:
        path = newest(Path.cwd())
        say(f"{path.name} is the newest study of this folder")
    else:
        path = Path(target)
        if not path.exists() and not path.suffix:
            known = unknown_name("scenario", target, scenarios)
            raise UserError(f"{target}: there is no such study file; {known}")
    story, panel = Story(Follower(path)), Panel(path)
    calls = {"rounds": story.new_rounds, "begin": panel.begin, "answer": panel.answer}
    return "study.html", calls | {"frontier": panel.trade_offs}, path.name


def _of_scenario(target: str, trust: bool) -> tuple[str, dict[str, Call], str]:
    """The page of a scenario's model; its code is run where somebody has accepted it."""
    from scenarios.declaration.catalogue import load
    from scenarios.watching.stepping import Stepping

    scenario = load(target)
    refuse_strange_code(scenario, trust)
    tell(f"making the environment {scenario.environment.name} ..")
    stepping = Stepping(scenario)
    calls: dict[str, Call] = {"about": stepping.about, "begin": stepping.begin, "step": stepping.step}
    return "model.html", calls, scenario.name
