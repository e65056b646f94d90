"""The command `policyloop watch`: a live page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scenarios.commands.console import Debug, say
from scenarios.commands.trust import Trust


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
    from scenarios.watching.following import Follower, newest
    from scenarios.watching.panel import Panel
    from scenarios.watching.site import show
    from scenarios.watching.story import Story

    path = Path(target) if target else newest(Path.cwd())
    if not target:
        say(f"{path.name}, the newest study of this folder")
    story, panel = Story(Follower(path)), Panel(path)

    def announce(address: str) -> None:
        say(f"{path.name} at {address} (Ctrl-C ends it)")

    show(
        "study.html",
        {
            "rounds": story.new_rounds,
            "begin": panel.begin,
            "answer": panel.answer,
            "frontier": panel.trade_offs,
        },
        host=host,
        port=port,
        announce=announce,
        browser=browser,
    )
