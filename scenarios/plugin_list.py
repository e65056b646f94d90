"""Which plug-ins are installed, where each comes from, and which of them cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from optimizer import brought_agents
from optimizer.brought_agents import agent_plugins, registered_names
from optimizer.named_agents import BASELINES, GP_AGENTS
from scenarios.errors import one_line
from simulators import registry as environments


class Plugin(NamedTuple):
    """What `policyloop list` says of a plug-in.

    Attributes
    ----------
    name, kind : str
        Its name, and "environment" or "agent".
    source : str
        Package, version and what is imported.
    state : str
        "ready", or why it cannot be used.
    """

    name: str
    kind: str
    source: str
    state: str


def plugins() -> list[Plugin]:
    """Return all plug-ins of other packages, each imported to see whether it can be."""
    own = {*GP_AGENTS, *BASELINES, *registered_names()}
    used_agents = {name: point for name, point in agent_plugins().items() if name not in own}
    return [
        *_looked_at(environments.PLUGINS, "environment", environments.plugins()),
        *_looked_at(brought_agents.PLUGINS, "agent", used_agents),
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
        return f"cannot be imported: {type(error).__name__}: {one_line(error)}"
    return "ready"
