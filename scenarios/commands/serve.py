"""The command `policyloop serve`: an environment for clients in any language, by UM-Bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import ENVIRONMENT, Debug, Options
from scenarios.errors import UserError


def serve(
    target: Annotated[
        str,
        typer.Argument(metavar="ENV", help=ENVIRONMENT),
    ],
    option: Options = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; any other address lets others in, without a password.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 4242,
    debug: Debug = False,
) -> None:
    """Serve an environment as UM-Bridge models over HTTP, until Ctrl-C: its outcomes, and its objective.

    The models are named after ENV: clinics.py:ward gives ward and ward-objective.

    For example:

      policyloop serve flu-ode

      policyloop serve my_model.py:Clinics --port 5000
    """
    import bridges  # noqa: F401  # its environments are known from now on
    from scenarios.commands.check import environment_of, options_of

    environment = environment_of(target, options_of(option or []))
    # As the user calls it: a function's environment has no name but its class's, FunctionEnvironment.
    environment.name = Path(target.rpartition(":")[2]).name.removesuffix(".toml")
    try:
        from bridges.exports.um_bridge_server import serve as serve_models

        def announce(url: str) -> None:
            names = f"{environment.name}, {environment.name}-objective"
            typer.echo(f"{names} at {url} (Ctrl-C ends it)")

        serve_models(environment, host, port, announce)
    except ValueError as error:
        raise UserError(on_one_line(error)) from error
