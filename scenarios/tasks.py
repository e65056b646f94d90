"""What a worker does: build a world, learn about it, and let one agent live through one trial.

Everything here takes and returns plain data (JSON), and depends on the scenario, the trial and the
agent alone: the same task gives the same rounds, bit for bit, in this process or in another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
import optimizer
import simulators
from optimizer.named_agents import GP_AGENTS
from scenarios.errors import UserError, name_error, one_line
from scenarios.schema import AgentSpec, Scenario
from scenarios.stream import Sink, WorkerSink

if TYPE_CHECKING:
    from simulators import Environment

GROUPS = "groups"  # the prior of one GP a group
OWN = "own"  # the prior of one GP of the composed values


def world_seed(scenario: Scenario, trial: int) -> int | None:
    """Return the seed of the world of a trial, `None` where all trials share the world."""
    if not scenario.environment.new_world_each_trial:
        return None
    return bridges.as_int(bridges.stream(scenario.seed, trial, "world"))


def build_environment(scenario: Scenario, trial: int) -> Environment:
    """Make the environment that a trial runs in.

    Raises
    ------
    UserError
        Unknown name or option, or a value that the environment refuses.
    """
    spec = scenario.environment
    if spec.name not in simulators.names():
        message = name_error("environment", spec.name, simulators.names())
        raise UserError(f"{scenario.source}: environment.name: {message}")
    options = dict(spec.options)
    seed = world_seed(scenario, trial)
    if seed is not None:
        options["seed"] = seed
    try:
        return simulators.make(spec.name, **options)
    except simulators.SimulationError:
        raise
    except (ValueError, TypeError) as error:
        raise UserError(f"{scenario.source}: environment.options: {one_line(error)}") from error


def build_agent(
    scenario: Scenario, spec: AgentSpec, environment: Environment, trial: int, priors: Mapping[str, Any]
) -> optimizer.Agent:
    """Make one agent of the scenario for a trial, from the stored priors (none: it learns its own)."""
    kernel = spec.kernel or scenario.prior.kernel
    own = kernel == "own" and GP_AGENTS.get(spec.name, ("",))[0] == "aggregate"
    which = OWN if own else GROUPS
    try:
        prior = optimizer.Prior.from_dict(priors[which]) if which in priors else None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{scenario.source}: the study's stored kernels cannot be read ({one_line(error)}); "
            "was it written by another version of policyloop?"
        ) from error
    explore = scenario.exploration
    return bridges.make_agent(
        spec.name,
        environment,
        prior=prior,
        seed=bridges.as_int(bridges.stream(scenario.seed, trial, "agent")),
        delta=explore.delta if spec.delta is None else spec.delta,
        scale_down=explore.scale_down if spec.scale_down is None else spec.scale_down,
        beta=explore.beta if spec.beta is None else spec.beta,
        kernel="own" if own else "composed",
        family=scenario.prior.family,
    )


def check(scenario: Scenario) -> Environment:
    """Find every mistake in a scenario that can be found before its first round.

    Returns
    -------
    Environment
        The environment of the first trial.

    Raises
    ------
    UserError
        An unknown or impossible environment or agent.
    """
    environment = build_environment(scenario, trial=1)
    if scenario.prior.source == "environment":
        try:
            bridges.known_prior(environment)
        except ValueError as error:
            raise UserError(f'{scenario.source}: prior.source = "environment": {one_line(error)}') from error
        if needs_own(scenario):
            raise UserError(
                f'{scenario.source}: prior.source = "environment" names the groups\' kernels; '
                'accepted for an agent\'s kernel: "composed"'
            )
    for index, spec in enumerate(scenario.agents):
        where = f"{scenario.source}: agents[{index}]"
        if spec.name not in optimizer.agent_names():
            raise UserError(f"{where}: {name_error('agent', spec.name, optimizer.agent_names())}")
        try:
            build_agent(scenario, spec, environment, 1, {})
        except (ValueError, TypeError, NotImplementedError) as error:
            raise UserError(f"{where} ({spec.name}): {one_line(error)}") from error
    return environment


def needs_own(scenario: Scenario) -> bool:
    """Tell whether an agent of the scenario uses a kernel fitted to the composed values."""
    return any((spec.kernel or scenario.prior.kernel) == "own" for spec in scenario.agents)


def needed_priors(scenario: Scenario) -> set[str]:
    """Return which priors have to be there before the first round: none where no agent learns."""
    if not scenario.prior.given or not any(spec.name in optimizer.GP_AGENTS for spec in scenario.agents):
        return set()
    return {GROUPS, OWN} if needs_own(scenario) else {GROUPS}


def learn_priors(scenario: Scenario, trial: int, told: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Return the kernels of a trial's world: learned from samples outside the trial, or named by the world.

    Parameters
    ----------
    scenario : Scenario
    trial : int
    told : callable, optional
        Is told what has been learned, in words.

    Returns
    -------
    dict
        Prior of the groups, and of the composed value where an agent uses its own kernel; as
        JSON-able dicts. Empty if every trial learns them from its own rounds.
    """
    prior = scenario.prior
    if not needed_priors(scenario):
        return {}
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        if prior.source == "environment":
            return {GROUPS: bridges.known_prior(environment).to_dict()}
        settings: dict[str, Any] = {
            "family": prior.family,
            "samples": prior.samples,
            "restarts": prior.restarts,
            "seed": bridges.stream(scenario.seed, _world_trial(scenario, trial), "samples"),
        }
        groups = len(environment.groups)

        def on_group(index: int) -> None:
            if told is not None:
                told(f"group {index + 1} of {groups} done")

        learned = {GROUPS: bridges.learn_prior(environment, **settings, on_group=on_group).to_dict()}
        if needs_own(scenario):
            learned[OWN] = bridges.learn_prior(environment, **settings, own=True).to_dict()
    return learned


def find_optimum(scenario: Scenario, trial: int) -> dict[str, Any] | None:
    """Find the true optimum of a trial's world, `None` where it cannot be known."""
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        seed = bridges.stream(scenario.seed, _world_trial(scenario, trial), "optimum")
        optimum = bridges.find_optimum(environment, seed=bridges.as_int(seed))
    return None if optimum is None else plain(optimum)


def _world_trial(scenario: Scenario, trial: int) -> int:
    # A world that all trials share has streams of its own, those of "trial 0".
    return trial if scenario.environment.new_world_each_trial else 0


def learn_world(data: Mapping[str, Any], source: str, trial: int) -> dict[str, Any]:
    """Learn all that is stored about the world of a trial; for workers."""
    scenario = revive(data, source)
    return {
        "seed": world_seed(scenario, trial),
        "priors": learn_priors(scenario, trial),
        "optimum": find_optimum(scenario, trial),
    }


def run_trial(
    scenario: Scenario,
    trial: int,
    label: str,
    world: Mapping[str, Any],
    history: list[dict[str, Any]],
    sink: Sink,
) -> None:
    """Let one agent live through one trial, from where its stored rounds end.

    Parameters
    ----------
    scenario : Scenario
    trial : int
        From 1.
    label : str
        The agent's label.
    world : mapping
        `priors` and `optimum` of the trial's world, as stored.
    history : list of dict
        The trial's stored rounds, which are replayed into the agent.
    sink : Sink
        Is given every new round as it happens, then the recommendation.
    """
    with threadpool_limits(1):  # several threads are slower at these sizes, and change the last bits
        environment = build_environment(scenario, trial)
        agent = build_agent(scenario, scenario.agent(label), environment, trial, world["priors"])
        first = 1 if world["priors"] else max(5, 2 * environment.policy_space.d)
        loop = bridges.Loop(
            environment,
            agent,
            bridges.stream(scenario.seed, trial, "noise"),
            design=bridges.initial_design(environment, first, bridges.stream(scenario.seed, trial, "design")),
            optimum=_optimum(world["optimum"]),
        )
        past = [as_round(record) for record in history]
        for one in loop.run(scenario.rounds, history=past):
            sink.put({"round": {"trial": trial, "agent": label, **plain(one)}})
        sink.put(
            {"recommendation": _recommendation(scenario, environment, agent, trial, label, world["optimum"])}
        )


def run_remote(
    data: Mapping[str, Any],
    source: str,
    trial: int,
    label: str,
    world: Mapping[str, Any],
    history: list[dict[str, Any]],
    address: Any,
    key: bytes,
) -> tuple[int, str]:
    """Do `run_trial` in a worker, with rounds sent to the driving process."""
    sink = WorkerSink(address, key)
    try:
        run_trial(revive(data, source), trial, label, world, history, sink)
    finally:
        sink.close()
    return trial, label


def revive(data: Mapping[str, Any], source: str) -> Scenario:
    """Rebuild a scenario from its dump."""
    scenario = Scenario.model_validate(data)
    scenario._source = source
    return scenario


def plain(value: Any) -> Any:
    """Return a dataclass, array or number as plain Python data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def as_round(record: Mapping[str, Any]) -> bridges.Round:
    """Return a stored round as the loop's record."""

    def number(name: str) -> float:
        return math.nan if record[name] is None else float(record[name])

    def array(name: str) -> Any:
        return None if record[name] is None else np.array(record[name], dtype=np.float64)

    return bridges.Round(
        round=record["round"],
        policy=array("policy"),
        row=record["row"],
        outcomes=array("outcomes"),
        noise_variance=array("noise_variance"),
        objective=number("objective"),
        expected=number("expected"),
        regret=number("regret"),
        seconds=number("seconds"),
        step_seconds=number("step_seconds"),
        status=record["status"],
        error=record["error"],
    )


def _optimum(stored: Mapping[str, Any] | None) -> bridges.Optimum | None:
    if stored is None:
        return None
    return bridges.Optimum(
        policy=np.array(stored["policy"], dtype=np.float64),
        row=stored["row"],
        value=float(stored["value"]),
        outcomes=np.array(stored["outcomes"], dtype=np.float64),
    )


def _recommendation(
    scenario: Scenario,
    environment: Environment,
    agent: optimizer.Agent,
    trial: int,
    label: str,
    optimum: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return an agent's final advice, with its noise-free value and its regret where they are known."""
    advice = agent.recommend()
    space = environment.policy_space
    value = plain(advice)
    value["row"] = None
    for name in ("policy", "best_observed"):
        policy = getattr(advice, name)
        if policy is not None:
            rows = np.asarray(policy)[None]
            value[name] = space.resolve(rows)[0].tolist()
            if name == "policy" and space.finite:
                value["row"] = int(policy)
    expected = math.nan
    try:
        rows = np.asarray(advice.policy)[None]
        outcomes = environment.expected(rows)
        expected = float(environment.compose(outcomes, rows)[0])
        value["expected_outcomes"] = outcomes[0].tolist()
    except NotImplementedError:
        value["expected_outcomes"] = None
    regret = math.nan
    if optimum is not None:
        sign = 1.0 if environment.sense == "minimize" else -1.0
        regret = sign * (expected - optimum["value"])
    return {
        "trial": trial,
        "agent": label,
        "rounds": scenario.rounds,
        "value": value,
        "expected": expected,
        "simple_regret": regret,
    }
