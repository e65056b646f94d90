"""The command `policyloop list`: what there is, and which plug-ins can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, NamedTuple

import typer

from policyloop.messages import on_one_line
from scenarios.commands.console import Debug, console, say


class Plugin(NamedTuple):
    """What `policyloop list` says of a plug-in."""

    name: str
    kind: str  # "environment" or "agent"
    source: str  # package, version and what is imported
    state: str  # "ready", or why it cannot be used


def plugins() -> list[Plugin]:
    """All plug-ins of other packages, each imported to see whether it can be."""
    from optimizer.agents import plugins as agents
    from optimizer.agents.names import BASELINES, GP_AGENTS, MUTUAL_INFORMATION
    from simulators.contract import registry as environments

    own = {*GP_AGENTS, MUTUAL_INFORMATION, *BASELINES, *agents.registered_names()}
    used_agents = {name: point for name, point in agents.agent_plugins().items() if name not in own}
    return [
        *_looked_at(environments.PLUGINS, "environment", environments.plugins()),
        *_looked_at(agents.PLUGINS, "agent", used_agents),
    ]


def _looked_at(group: str, kind: str, used: Mapping[str, EntryPoint]) -> Iterator[Plugin]:
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "?"
        if point.dist and point.dist.name == "policyloop":
            continue
        state = _state(point) if point in used.values() else "not used: its name is taken"
        yield Plugin(point.name, kind, f"{package} ({point.value})", state)


def _state(point: EntryPoint) -> str:
    try:
        point.load()
    except (Exception, SystemExit) as error:  # somebody else's code, which may do anything
        return f"cannot be imported: {type(error).__name__}: {on_one_line(error)}"
    return "ready"


def list_scenarios(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A scenario, an environment or an agent, to be told more of."),
    ] = None,
    debug: Debug = False,
) -> None:
    """List the scenarios of the catalogue, the environments and the agents, and where plug-ins come from.

    With a name: a scenario's file, and every option of an environment or an agent with its type, default,
    unit and meaning. Any scenario can be run by its name; your own scenario file is run by its path.

    For example:

      policyloop list flu-ode

      policyloop list d-gpucb
    """
    if name is not None:
        from scenarios.commands.describe import describe

        describe(name)
        return
    from rich.table import Table

    import bridges  # noqa: F401 - its agents are known from now on
    import optimizer
    import simulators
    from scenarios.declaration.catalogue import load, names
    from scenarios.tables import print_table

    table = Table()
    for column in ("scenario", "what it asks", "rounds", "trials", "agents"):
        table.add_column(column, justify="right" if column in ("rounds", "trials") else "left")
    for name in names():
        one = load(name)
        table.add_row(name, one.title, str(one.rounds), str(one.trials), ", ".join(one.labels))
    print_table(table, console())
    say(f"environments: {', '.join(simulators.names())}")
    say(f"agents:       {', '.join(optimizer.agent_names())}")
    say("More of one: policyloop list NAME")
    if found := plugins():
        table = Table("plug-in", "kind", "from", "state")
        for plugin in found:
            table.add_row(*plugin)
        print_table(table, console())
