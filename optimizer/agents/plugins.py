"""Agents that others bring: registered by a program, or offered by an installed package's entry points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from policyloop.messages import failure

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from optimizer.agents.agent import Agent
    from optimizer.agents.settings import AgentSettings
    from optimizer.space.search_space import SearchSpace

AgentFactory = Callable[..., "Agent"]
PLUGINS = "policyloop.agents"

_factories: dict[str, AgentFactory] = {}


@cache
def agent_plugins() -> dict[str, EntryPoint]:
    """What installed packages offer by entry points, by name. Nothing of theirs is imported.

    Returns
    -------
    dict of str to importlib.metadata.EntryPoint
    """
    from importlib.metadata import entry_points  # slow to import

    return {point.name: point for point in entry_points(group=PLUGINS)}


def registered_names() -> list[str]:
    """Names that were registered; an entry point of the same name is not used."""
    return sorted(_factories)


def brought_names() -> list[str]:
    """Names of the agents that others bring."""
    return sorted({*_factories, *agent_plugins()})


def register_agent(name: str, factory: AgentFactory) -> None:
    """Add an agent to those that `make_agent` knows.

    Parameters
    ----------
    name : str
        The name for scenario files. One of our own agents cannot be replaced.
    factory : callable
        A class or function that returns an `Agent`. It is called with the search space and the composition,
        and with those settings of `AgentSettings` by name that it accepts, such as `seed` or `prior`; as
        `settings` with all of them.

    Raises
    ------
    ValueError
        If the name is empty or belongs to another factory, or the factory cannot be called.
    """
    if not name:
        raise ValueError("an agent's name must not be empty")
    if not callable(factory):
        raise ValueError(f"agent {name!r} must be a class or a function, not {factory!r}")
    if _factories.get(name, factory) is not factory:
        raise ValueError(f"agent {name!r} is already registered")
    _factories[name] = factory


def accepts(name: str, setting: str) -> bool:
    """Whether the agent of a name of `brought_names()` can be given a setting, alone or among all."""
    parameters = inspect.signature(_factory(name)).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return anything or setting in parameters or "settings" in parameters


def make_brought(name: str, space: SearchSpace, composition: Any, settings: AgentSettings) -> Agent:
    """Build an agent of `brought_names()` with those settings that it accepts.

    `settings` are all of them, `exploration` is the schedule that is meant, and `own_prior` whether `kernel`
    is "own". Who accepts the propagation is given a general composition that has it.
    """
    # With these comes SciPy, which names alone need not wait for.
    from optimizer.agents.agent import Agent
    from optimizer.composition.general import GeneralComposition
    from optimizer.composition.propagation import make_propagation

    factory = _factory(name)
    parameters = inspect.signature(factory).parameters
    options = {field.name: getattr(settings, field.name) for field in fields(settings)}
    options |= {"exploration": settings.schedule(space), "own_prior": settings.kernel == "own"}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    chosen = {k: v for k, v in options.items() if anything or k in parameters}
    if "settings" in parameters:
        chosen["settings"] = settings
    if isinstance(composition, GeneralComposition) and accepts(name, "propagation"):
        through = make_propagation(settings.propagation, composition.groups, settings.seed)
        composition = composition.propagated(through)
    agent = factory(space, composition, **chosen)
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {name!r} must be an optimizer.Agent, not of type {type(agent).__name__}")
    return agent


def _factory(name: str) -> AgentFactory:
    return _factories[name] if name in _factories else _imported(name)


def _imported(name: str) -> AgentFactory:
    point = agent_plugins()[name]
    try:
        factory: AgentFactory = point.load()
    except (Exception, SystemExit) as error:
        package = point.dist.name if point.dist else point.module
        why = failure(error)
        raise ValueError(f"agent {name!r}, a plug-in of {package}, cannot be imported: {why}") from error
    return factory
