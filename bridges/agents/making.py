"""Agents for an environment: its policy space and composition become the agent's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridges.feedback import composition, current_policy, search_space
from bridges.kept_noise import kept_noise
from bridges.reframed import outcome_limits, several
from optimizer.acquisition.acquisition import Acquisition
from optimizer.acquisition.names import acquisition_names, register_acquisition
from optimizer.agents import names
from optimizer.agents.agent import Agent, Feedback, Recommendation
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.plugins import accepts, brought_names, register_agent
from optimizer.agents.recommending import within as objective_ends
from optimizer.agents.settings import AgentSettings
from optimizer.arrays import Policies
from optimizer.composition.general import GeneralComposition
from optimizer.composition.propagation import make_propagation
from optimizer.prior.families import family_names, register_family
from optimizer.space.search_space import SearchSpace
from simulators.contract.environment import Environment
from simulators.contract.targets import is_target, load_target
from simulators.contract.validation import expected_ranges


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
        `family`, `acquisition`, `propagation`, `seed` .. A general composition has no composed kernel: there
        `kernel` is always "own". `acquisition` and `family` may be targets as well: an
        `optimizer.Acquisition`, and a function as `optimizer.register_family` takes it.

    Raises
    ------
    ValueError
        If the name is unknown or a setting out of range.
    TypeError
        If a setting is unknown.
    """
    _know(name)
    know_acquisition(settings.get("acquisition", ""))
    know_family(settings.get("family", ""))
    space, g = search_space(environment), composition(environment)
    if isinstance(g, GeneralComposition):
        settings["kernel"] = "own"
    ranges = expected_ranges(environment)
    meant = AgentSettings(
        current=current_policy(environment),
        context=environment.lives,
        kept_noise=kept_noise(environment, _feedback(name)),
        outcome_range=ranges,
        limits=outcome_limits(environment),
        objectives=[composition(one) for one in several(environment)],
        blocks=getattr(environment, "blocks", None),
        query_costs=getattr(environment, "query_costs", None),
        query_budget=getattr(environment, "query_budget", None),
        **(names.AUTO if name == "auto" else {}) | settings,
    )
    return names.make_agent(name, space, g, meant)


def asked(
    agent: GPAgent,
    environment: Environment,
    *,
    within: SearchSpace | None = None,
    limit_probability: float = 0.95,
    near: Sequence[Any] = (),
) -> GPAgent:
    """An agent that believes what this one does of the groups, and pursues another environment's objective.

    Parameters
    ----------
    agent : GPAgent
        One that models every group.
    environment : Environment
        With the same groups and policies; its composition and its limits are asked for.
    within, limit_probability, near
        As for `GPAgent.asked`.
    """
    g = composition(environment)
    if isinstance(g, GeneralComposition):
        meant = agent.settings
        g = g.propagated(make_propagation(meant.propagation, g.groups, meant.seed, meant.correlation))
    limits = outcome_limits(environment)
    return agent.asked(g, within=within, limits=limits, limit_probability=limit_probability, near=near)


def objective_range(environment: Environment, policy: Any) -> tuple[float, float]:
    """What the noise-free objective of a policy (d,), or a candidate's row, cannot lie below or above.

    Infinite where nothing is known: no range of the groups, or a general composition.
    """
    ranges = expected_ranges(environment)
    if ranges is None:
        return -np.inf, np.inf
    return objective_ends(composition(environment), ranges, np.asarray([policy]))


def kept_in_range(environment: Environment, advice: Recommendation) -> Recommendation:
    """A recommendation whose mean and interval end where the objective of noise-free outcomes does.

    Agents with a model of the groups see to it themselves; a mean of noisy observations knows no range.
    """
    if not np.isfinite(advice.low):
        return advice
    ends = objective_range(environment, advice.policy)
    mean, low, high = (float(np.clip(one, *ends)) for one in (advice.mean, advice.low, advice.high))
    return replace(advice, mean=mean, low=low, high=high)


def modelled(name: str, environment: Environment, **settings: Any) -> Feedback | None:
    """Of what an agent can be given a prior, by what it is told: of groups, or of the composed value.

    Parameters
    ----------
    name, environment, **settings
        As for `make_agent`, without a prior.

    Returns
    -------
    {"decomposed", "aggregate"} or None
        None where it is given none, because it has no model that begins with one. An agent that others bring
        can be given one where it accepts a `prior`; to see what it is told, it is made.
    """
    if (feedback := _feedback(name)) is not None:
        return feedback
    try:
        _know(name)
        if name not in brought_names() or not accepts(name, "prior"):
            return None
        return make_agent(name, environment, **settings).feedback
    except Exception:  # whoever makes it in earnest says why: it may only do with a prior
        return "decomposed"


def _feedback(name: str) -> Feedback | None:
    """What an agent of our own with a model is told; None of all others."""
    if name == names.MUTUAL_INFORMATION:
        return "decomposed"
    return names.GP_AGENTS[name][0] if name in names.GP_AGENTS else None


def _know(name: str) -> None:
    if name not in names.agent_names() and is_target(name):
        register_agent(name, load_target(name, _may_be_agent))


def _may_be_agent(found: Any) -> bool:
    return issubclass(found, Agent) if isinstance(found, type) else callable(found)


def _is_acquisition(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Acquisition)


def know_acquisition(name: str) -> None:
    """Import an acquisition that is named as a target, unless it is known."""
    if is_target(name) and name not in acquisition_names():
        register_acquisition(name, load_target(name, _is_acquisition))


def know_family(name: str) -> None:
    """Import a kernel family that is named as a target, unless it is known."""
    if is_target(name) and name not in family_names():
        register_family(name, load_target(name))


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
