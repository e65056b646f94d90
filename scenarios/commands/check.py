"""The command `policyloop check`: what an environment gets wrong, in plain words."""

from __future__ import annotations

import sys
import tomllib
from contextlib import redirect_stdout
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import ENVIRONMENT, SIMULATOR, Debug, Options, say
from scenarios.commands.trust import Trust, refuse_strange_code
from scenarios.errors import UserError

if TYPE_CHECKING:
    from simulators import Environment


def check(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help=ENVIRONMENT),
    ],
    option: Options = None,
    trust: Trust = False,
    debug: Debug = False,
) -> int:
    """Check that a simulator keeps the contract: seeds, shapes, limits, composition, noise, copies, speed.

    Takes a few dozen steps. Of a scenario, it tells too what `policyloop run` would refuse. What the model
    prints goes to standard error. The exit code is 1 where something is found.

    For example:

      policyloop check my_model.py:Clinics

      policyloop check flu-ode --option groups=9

      policyloop check my-scenario.toml
    """
    import bridges  # noqa: F401  # its environments are known from now on
    from scenarios.study.facts import report_of
    from simulators import check_environment

    options = options_of(option or [])
    with redirect_stdout(sys.stderr):  # what the model itself prints is no finding
        environment = environment_of(target, options, trust)
        began = perf_counter()
        again = partial(environment_of, target, options, trust=True)
        findings = refusals(target) + check_environment(environment, again)
        seconds = perf_counter() - began
    groups, labels = getattr(environment, "groups", ()), environment.policy_space.labels
    say(f"{target}: {len(groups)} groups, {len(labels)} policy entries, checked in {seconds:.1f} s")
    for line in (report_of(environment) or {}).get("lines", []):
        say(on_one_line(line) if line[:1] != " " else f"  {on_one_line(line)}")
    for sentence in environment.findings:
        say(sentence)
    for finding in findings:
        say(f"- {finding}")
    if findings:
        say(f"{len(findings)} found")
        return SIMULATOR
    say("nothing found: it is ready")
    return 0


def environment_of(target: str, options: dict[str, Any], trust: bool) -> Environment:
    """Make the environment that a command names; options are given beside all but a scenario."""
    import simulators
    from scenarios.declaration.catalogue import load
    from scenarios.trial.building import build_environment

    if target.endswith(".toml") and options:
        raise UserError("command line: --option is accepted only without a scenario, which has its own")
    try:
        if target.endswith(".toml"):
            scenario = load(target)
            refuse_strange_code(scenario, trust)
            return build_environment(scenario, trial=1)
        return simulators.make(target, **options)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(on_one_line(error)) from error


def refusals(target: str) -> list[str]:
    """Why a run of a scenario would be refused before its first round; none without a scenario."""
    from scenarios.declaration.catalogue import load
    from scenarios.trial.check import refuse_mistakes
    from scenarios.trial.world import World

    if target.endswith(".toml"):
        try:
            refuse_mistakes(World.of(load(target), trial=1))
        except UserError as error:
            return [str(error)]
        except SystemExit as end:
            return [f"{target}: something asked to exit ({end.code}) before the first round"]
    return []


def options_of(given: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE pairs, values as in a scenario file; a word needs no quotes."""
    options: dict[str, Any] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UserError(f"command line: --option {pair}; accepted: KEY=VALUE")
        try:
            options[key] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, KeyError, RecursionError):
            options[key] = value
    return options
