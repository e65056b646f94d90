"""Agents for an environment: its policy space and composition become the agent's."""

from typing import Literal

import numpy as np

from bridges.feedback import composition, search_space
from optimizer.acquisition.exploration import ConstantBeta, Exploration
from optimizer.agents.agent import Agent
from optimizer.agents.names import (
    DEFAULT_DELTA,
    DEFAULT_SCALE_DOWN,
    agent_names,
    default_exploration,
    groups_in_beta,
)
from optimizer.agents.names import make_agent as build_agent
from optimizer.agents.plugins import register_agent
from optimizer.arrays import Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.propagation import PropagationName
from optimizer.prior.prior import Prior
from simulators.contract.environment import Environment
from simulators.contract.targets import is_target, load_target


def make_agent(
    name: str,
    environment: Environment,
    *,
    prior: Prior | None = None,
    kernel: Literal["composed", "own"] = "composed",
    delta: float = DEFAULT_DELTA,
    scale_down: float = DEFAULT_SCALE_DOWN,
    beta: float | Literal["auto"] = "auto",
    family: str = "rbf",
    seed: int = 0,
    propagation: PropagationName = "default",
) -> Agent:
    """Build an agent that learns on an environment.

    Parameters
    ----------
    name : str
        One of `optimizer.agent_names()`, or a target: `package.module:Class` or `folder/file.py:Class`, as
        `optimizer.register_agent` takes them.
    environment : Environment
        Gives the policy space, the composition and today's practice.
    prior : Prior, optional
        Priors of the groups (`bridges.learn_prior`), or with `kernel="own"` of the composed value. Without
        one, the agent learns from its own rounds.
    kernel : {"composed", "own"}, default="composed"
        What `prior` is for an aggregate agent: group priors to be composed, or one of the composed values. A
        general composition has no composed kernel: there it is always "own".
    delta, scale_down : float
        Of the paper's beta_t: failure probability, and what divides beta_t.
    beta : float or "auto", default="auto"
        A constant beta (still scaled down), or the paper's schedule for the space.
    family : str, default="rbf"
        Kernel family where the agent learns from its own rounds.
    seed : int, default=0
        Of all that the agent draws.
    propagation : {"default", "bound", "delta", "sampled"}, default="default"
        How decomposed agents carry their posterior through a general composition.

    Raises
    ------
    ValueError
        If the name is unknown or an option out of range.
    """
    if name not in agent_names() and is_target(name):
        register_agent(name, load_target(name))
    space, g = search_space(environment), composition(environment)
    exploration: Exploration = (
        default_exploration(space, delta, scale_down, groups_in_beta(name, g))
        if beta == "auto"
        else ConstantBeta(beta, scale_down)
    )
    return build_agent(
        name,
        space,
        g,
        prior=prior,
        own_prior=kernel == "own" or isinstance(g, GeneralComposition),
        exploration=exploration,
        family=family,
        current=environment.current_policy,
        seed=seed,
        propagation=propagation,
        context=environment.lives,
    )


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
