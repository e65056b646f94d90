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

MISSED, MOST_MISSED = 0.1, 8
"""The share of an observed value from which a fit is said to miss it, and how many of them are named."""


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
    prints goes to standard error. The exit code is 1 where something is found. Where data were fitted
    (calibrate), those that the fit misses by more than a tenth are named; the exit code is 0 then.

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
    cautions = misses(environment) + compared_by_size(target, environment)
    for finding in (*findings, *cautions):
        say(f"- {finding}")
    if findings:
        say(f"{len(findings)} found")
        return SIMULATOR
    if cautions:
        say(f"it is ready, with {len(cautions)} caution{'s' * (len(cautions) > 1)}")
        return 0
    say("nothing found: it is ready")
    return 0


def compared_by_size(target: str, environment: Environment) -> list[str]:
    """Where a scenario's objectives compare groups of different sizes by what all persons have."""
    import numpy as np

    from scenarios.declaration.catalogue import load
    from scenarios.declaration.rates import by_size

    persons = environment.group_persons
    if not target.endswith(".toml") or persons is None:
        return []
    scenario, units, groups = load(target), environment.group_units, environment.groups
    texts = [scenario.objective, *scenario.objectives]
    each = [by_size(text, units, np.asarray(persons).tolist(), groups) for text in texts]
    return [line for line in each if line]


def misses(environment: Environment) -> list[str]:
    """Which data a fitted simulator misses by more than `MISSED` of them, beyond what chance explains."""
    import numpy as np

    fit: Any = getattr(environment, "fit", None)
    observed, expected = (np.asarray(getattr(fit, name, ())) for name in ("observed", "expected"))
    if not len(observed) or observed.shape != expected.shape or not getattr(fit, "misfit", 0.0) > 1:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(observed > 0, (expected - observed) / observed, np.where(expected > 0, np.inf, 0.0))
    far = np.flatnonzero(np.abs(shares) > MISSED)
    if not len(far):
        return []
    worst = far[np.argsort(-np.abs(shares[far]), kind="stable")][:MOST_MISSED]
    told = ", ".join(
        f"{fit.labels[i]} {observed[i]:.3g} (fitted {expected[i]:.3g}, {100 * shares[i]:+.0f} %)"
        for i in worst
    )
    more = f", and {len(far) - len(worst)} more" if len(far) > len(worst) else ""
    return [
        f"calibrate: {len(far)} of {len(observed)} values observed are missed by more than {MISSED:.0%}: "
        f'{told}{more}; check the data and the contacts, or try fit = "susceptibility" (attack rates)'
    ]


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
