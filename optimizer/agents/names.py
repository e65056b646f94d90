"""The agents by name: each is a combination of feedback, acquisition and model, or a baseline."""

from dataclasses import replace
from typing import Any

from optimizer.agents.agent import Agent, Feedback
from optimizer.agents.baselines import FixedAgent, RandomAgent, uniform_policy
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.mutual_information import MutualInformationAgent
from optimizer.agents.plugins import accepts, brought_names, make_brought
from optimizer.agents.settings import AgentSettings
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition
from optimizer.composition.propagation import make_propagation
from optimizer.space.search_space import SearchSpace
from policyloop.messages import unknown_name

GP_AGENTS: dict[str, tuple[Feedback, str]] = {
    "gp-ucb": ("aggregate", "ucb"),
    "ei": ("aggregate", "ei"),
    "mpi": ("aggregate", "mpi"),
    "d-gpucb": ("decomposed", "ucb"),
    "d-ei": ("decomposed", "ei"),
    "d-mpi": ("decomposed", "mpi"),
    "d-ts": ("decomposed", "ts"),
    "auto": ("decomposed", "ucb"),
}
"""Feedback, and acquisition by its name in `optimizer.acquisition.names`."""

AUTO = {"scale_down": 25.0}
"""In what "auto" differs from "d-gpucb": chosen on problems on which it is not judged, see docs/agents.md."""

MUTUAL_INFORMATION = "mutual-information"
"""The agent that observes where sensors tell most of all other places, whatever they read."""

BASELINES = {
    "random": "uniformly random policies",
    "uniform": "the same share to every group",
    "current": "today's practice, as the environment names it",
}


def agent_names() -> list[str]:
    """Names that `make_agent` knows: our own, then those that others bring."""
    own = [*GP_AGENTS, MUTUAL_INFORMATION, *BASELINES]
    return own + [name for name in brought_names() if name not in own]


def make_agent(
    name: str,
    space: SearchSpace,
    composition: BaseComposition,
    settings: AgentSettings | None = None,
    **changes: Any,
) -> Agent:
    """Build an agent by name.

    Parameters
    ----------
    name : str
        One of `agent_names()`: "auto" (what to take without a reason for another: "d-gpucb" with the settings
        `AUTO`), "d-gpucb", "d-ei", "d-mpi", "d-ts" (decomposed feedback), "gp-ucb", "ei",
        "mpi" (aggregate), "mutual-information" (greedy placement), "random", "uniform", "current", or one
        that others bring (`register_agent`).
    space : SearchSpace
        Where policies come from.
    composition : Composition, or GeneralComposition
        The known g and the sense of the objective.
    settings : AgentSettings, optional
        All else.
    **changes
        Single settings by their names in `AgentSettings`, such as `prior` or `seed`.

    Raises
    ------
    ValueError
        If the name, the acquisition or the propagation is unknown, g lacks what it needs, or the baseline
        does not fit the space.
    TypeError
        If a setting is unknown.
    """
    if settings is None and name == "auto":
        changes = AUTO | changes
    settings = replace(settings or AgentSettings(), **changes)
    through = make_propagation(settings.propagation, composition.groups, settings.seed, settings.correlation)
    if name in GP_AGENTS:
        feedback, acquisition = GP_AGENTS[name]
        if isinstance(composition, GeneralComposition) and feedback == "decomposed":
            composition = composition.propagated(through)
        return GPAgent(name, space, composition, settings, feedback=feedback, acquisition=acquisition)
    if settings.acquisition and not (name in brought_names() and accepts(name, "acquisition")):
        raise ValueError(f"agent {name!r} has no acquisition to replace by {settings.acquisition!r}")
    if name == MUTUAL_INFORMATION:
        if isinstance(composition, GeneralComposition):
            composition = composition.propagated(through)
        return MutualInformationAgent(name, space, composition, settings)
    if name == "random":
        return RandomAgent(
            name, space, composition.sign, settings.seed, settings.spending(space, parts=False)
        )
    if name == "uniform":
        return FixedAgent(name, space, composition.sign, settings.seed, uniform_policy(space))
    if name == "current":
        if settings.current is None:
            raise ValueError("agent 'current' needs an environment that names today's practice")
        return FixedAgent(name, space, composition.sign, settings.seed, settings.current)
    if name in brought_names():
        return make_brought(name, space, composition, settings)
    raise ValueError(unknown_name("agent", name, agent_names()))
