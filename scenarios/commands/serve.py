"""The command `policyloop serve`: an environment for clients in any language, by UM-Bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from policyloop.http_guard import is_loopback, token_of
from policyloop.messages import on_one_line
from scenarios.commands.console import ENVIRONMENT, Debug, Options, say, tell
from scenarios.commands.trust import Trust
from scenarios.errors import UserError


def serve(
    target: Annotated[
        str,
        typer.Argument(metavar="ENV", help=ENVIRONMENT),
    ],
    option: Options = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; any other address lets others in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 4242,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name under which it may be asked, besides the loopback's and HOST; repeatable.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with a token that clients have to show (Authorization: Bearer TOKEN).",
            show_default="the environment variable POLICYLOOP_TOKEN, else none",
        ),
    ] = None,
    trust: Trust = False,
    debug: Debug = False,
) -> None:
    """Serve an environment as UM-Bridge models over HTTP, until Ctrl-C: its outcomes, and its objective.

    The models are named after ENV: clinics.py:ward gives ward and ward-objective.

    For example:

      policyloop serve flu-ode

      policyloop serve my_model.py:Clinics --port 5000

      policyloop serve flu-ode --host 0.0.0.0 --allow-host model.example.org --token-file token.txt
    """
    import bridges  # noqa: F401  # its environments are known from now on
    from scenarios.commands.check import environment_of, options_of

    try:
        token = token_of(token_file)
        environment = environment_of(target, options_of(option or []), trust)
        # As the user calls it: a function's environment has no name but its class's, FunctionEnvironment.
        environment.name = Path(target.rpartition(":")[2]).name.removesuffix(".toml")
        from bridges.exports.um_bridge_server import serve as serve_models

        def announce(url: str) -> None:
            if token is None and not is_loopback(host):
                tell("whoever reaches this address can run the model; --token-file asks for a token")
            names = f"{environment.name}, {environment.name}-objective"
            say(f"{names} at {url} (Ctrl-C ends it)")

        serve_models(environment, host, port, announce, allow_hosts=allow_host or [], token=token)
    except ValueError as error:
        raise UserError(on_one_line(error)) from error
