"""Agents for an environment: its policy space and composition become the agent's."""

from typing import Any

import numpy as np

from bridges.feedback import composition, current_policy, search_space
from bridges.reframed import outcome_limits
from optimizer.agents import names
from optimizer.agents.agent import Agent
from optimizer.agents.plugins import register_agent
from optimizer.agents.settings import AgentSettings
from optimizer.arrays import Policies
from optimizer.composition.general import GeneralComposition
from simulators.contract.environment import Environment
from simulators.contract.targets import is_target, load_target
from simulators.contract.validation import outcome_ranges


def make_agent(name: str, environment: Environment, **settings: Any) -> Agent:
    """Build an agent that learns on an environment.

    Parameters
    ----------
    name : str
        One of `optimizer.agent_names()`, or a target: `package.module:Class` or `folder/file.py:Class`, as
        `optimizer.register_agent` takes them.
    environment : Environment
        Gives the policy space, the composition and today's practice.
    **settings
        By their names in `optimizer.AgentSettings`: `prior`, `kernel`, `delta`, `scale_down`, `beta`,
        `family`, `propagation`, `seed` .. A general composition has no composed kernel: there `kernel` is
        always "own".

    Raises
    ------
    ValueError
        If the name is unknown or a setting out of range.
    TypeError
        If a setting is unknown.
    """
    if name not in names.agent_names() and is_target(name):
        register_agent(name, load_target(name))
    space, g = search_space(environment), composition(environment)
    if isinstance(g, GeneralComposition):
        settings["kernel"] = "own"
    ranges = outcome_ranges(environment.outcome_range, environment.groups)
    meant = AgentSettings(
        current=current_policy(environment),
        context=environment.lives,
        outcome_range=ranges,
        limits=outcome_limits(environment),
        blocks=getattr(environment, "blocks", None),
        **settings,
    )
    return names.make_agent(name, space, g, meant)


def initial_design(environment: Environment, n: int, seed: int | np.random.SeedSequence) -> Policies:
    """The first policies of a trial, the same for all its agents: a Sobol design of n feasible policies.

    Parameters
    ----------
    environment : Environment
        Gives the policy space.
    n : int
        1 where the prior is given; max(5, 2 d) where agents learn it.
    seed : int or SeedSequence
        The trial's.
    """
    return search_space(environment).sobol(n, seed)
