"""What a worker does: build a world, learn about it, and let one agent live through one trial.

Everything here takes and returns plain data (JSON), and depends on the scenario, the trial and the
agent alone: the same task gives the same rounds, bit for bit, in this process or in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

import bridges
import optimizer
import simulators
from optimizer.kernel_learning import ON_GRAPH
from optimizer.named_agents import GP_AGENTS
from scenarios.advice import stored_advice
from scenarios.errors import UserError, name_error, one_line
from scenarios.records import as_optimum, as_round, plain
from scenarios.schema import AgentSpec, Scenario
from scenarios.step_process import StepProcesses, limited
from scenarios.stream import Sink, WorkerSink
from simulators.targets import is_target

if TYPE_CHECKING:
    from simulators import Environment

GROUPS = "groups"  # the prior of one GP a group
OWN = "own"  # the prior of one GP of the composed values


def world_seed(scenario: Scenario, trial: int) -> int | None:
    """Return the seed of the world of a trial, `None` where all trials share the world."""
    if not scenario.environment.new_world_each_trial:
        return None
    return bridges.as_int(bridges.stream(scenario.seed, trial, "world"))


def environment_options(scenario: Scenario, trial: int) -> dict[str, Any]:
    """Return the options with which the environment of a trial is made."""
    options = dict(scenario.environment.options)
    if scenario.prior.family == ON_GRAPH:
        options.setdefault("features", "graph")
    seed = world_seed(scenario, trial)
    if seed is not None:
        options["seed"] = seed
    return options


def build_environment(scenario: Scenario, trial: int) -> Environment:
    """Make the environment that a trial runs in.

    Raises
    ------
    UserError
        Unknown name or option, or a value that the environment refuses.
    """
    spec = scenario.environment
    known = spec.name in simulators.names()
    if not (known or is_target(spec.name)):
        message = name_error("environment", spec.name, simulators.names())
        raise UserError(f"{scenario.source}: environment.name: {message}")
    options = environment_options(scenario, trial)
    if spec.needs_data and "data" not in options:
        raise UserError(
            f"{scenario.source}: environment.options.data is missing; give --data FILE: {spec.needs_data}"
        )
    try:
        return simulators.make(spec.name, **options)
    except simulators.SimulationError:
        raise
    except (ValueError, TypeError, OSError) as error:
        where = "environment.options" if known else "environment"
        raise UserError(f"{scenario.source}: {where}: {one_line(error)}") from error


def build_agent(
    scenario: Scenario, spec: AgentSpec, environment: Environment, trial: int, priors: Mapping[str, Any]
) -> optimizer.Agent:
    """Make one agent of the scenario for a trial, from the stored priors (none: it learns its own)."""
    own = uses_own(scenario, spec, environment)
    which = OWN if own else GROUPS
    try:
        graph = getattr(environment, "graph", None) if scenario.prior.family == ON_GRAPH else None
        prior = optimizer.Prior.from_dict(priors[which], graph) if which in priors else None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{scenario.source}: the study's stored kernels cannot be read ({one_line(error)}); "
            "was it written by another version of policyloop?"
        ) from error
    means = prior_means(scenario, environment) if prior is not None and spec.name in GP_AGENTS else None
    if prior is not None and means is not None:
        prior = means.above(prior, own=own)  # what is stored describes the discrepancy
    explore = scenario.exploration
    return bridges.make_agent(
        spec.name,
        environment,
        prior=prior,
        seed=bridges.as_int(bridges.stream(scenario.seed, trial, "agent")),
        delta=explore.delta if spec.delta is None else spec.delta,
        scale_down=explore.scale_down if spec.scale_down is None else spec.scale_down,
        beta=explore.beta if spec.beta is None else spec.beta,
        propagation=explore.propagation if spec.propagation is None else spec.propagation,
        kernel="own" if own else "composed",
        family=scenario.prior.family,
    )


def prior_means(scenario: Scenario, environment: Environment) -> bridges.PriorOutcomes | None:
    """Return the outcomes that the scenario names as prior means; None where it names none.

    Raises
    ------
    UserError
        They cannot be.
    """
    spec = scenario.prior.mean_from
    if spec is None:
        return None
    where = f"{scenario.source}: prior.mean_from"
    if scenario.prior.source != "samples" or not scenario.prior.given:
        raise UserError(f'{where}: accepted only with prior.source = "samples", and 2 samples or more')
    if spec.name not in simulators.names():
        raise UserError(f"{where}.name: {name_error('environment', spec.name, simulators.names())}")
    try:
        return bridges.prior_outcomes(environment, spec.name, spec.options)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(f"{where}: {one_line(error)}") from error


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
    try:
        bridges.check_composition(environment)
    except ValueError as error:
        raise UserError(f"{scenario.source}: environment: {one_line(error)}") from error
    if scenario.prior.source == "environment":
        try:
            bridges.known_prior(environment)
        except ValueError as error:
            raise UserError(f'{scenario.source}: prior.source = "environment": {one_line(error)}') from error
        if needs_own(scenario, environment):
            raise UserError(
                f'{scenario.source}: prior.source = "environment" names the groups\' kernels; '
                'accepted for an agent\'s kernel: "composed"'
            )
    if environment.has_memory and (scenario.batch > 1 or scenario.environment.limited):
        key = "batch" if scenario.batch > 1 else "environment.step_seconds, environment.step_megabytes"
        raise UserError(
            f"{scenario.source}: {key}: accepted only without memory, but each step of {environment.name} "
            "depends on the steps before it"
        )
    learns = scenario.prior.given and scenario.prior.source == "samples"
    if scenario.prior.family == ON_GRAPH and not (learns and getattr(environment, "graph", None)):
        raise UserError(
            f'{scenario.source}: prior.family = "{ON_GRAPH}" needs an environment with a graph, '
            'and prior.source = "samples"'
        )
    if prior_means(scenario, environment) is not None and environment.set_aside is not None:
        raise UserError(
            f"{scenario.source}: prior.mean_from: accepted only where no measurements are set aside, "
            f"but the kernels of {environment.name} are learned from such"
        )
    for index, spec in enumerate(scenario.agents):
        where = f"{scenario.source}: agents[{index}]"
        if spec.name not in optimizer.agent_names() and not is_target(spec.name):
            raise UserError(f"{where}: {name_error('agent', spec.name, optimizer.agent_names())}")
        try:
            build_agent(scenario, spec, environment, 1, {})
        except (ValueError, TypeError, NotImplementedError) as error:
            raise UserError(f"{where} ({spec.name}): {one_line(error)}") from error
    return environment


def uses_own(scenario: Scenario, spec: AgentSpec, environment: Environment) -> bool:
    """Tell whether an agent uses a kernel fitted to the composed values.

    Without a linear composition the groups' kernels have no composed one.
    """
    if GP_AGENTS.get(spec.name, ("",))[0] != "aggregate":
        return False
    return (spec.kernel or scenario.prior.kernel) == "own" or bridges.is_general(environment)


def needs_own(scenario: Scenario, environment: Environment) -> bool:
    """Tell whether an agent of the scenario uses a kernel fitted to the composed values."""
    return any(uses_own(scenario, spec, environment) for spec in scenario.agents)


def needed_priors(scenario: Scenario, environment: Environment) -> set[str]:
    """Return which priors have to be there before the first round: none where no agent learns."""
    if not scenario.prior.given or not any(spec.name in optimizer.GP_AGENTS for spec in scenario.agents):
        return set()
    return {GROUPS, OWN} if needs_own(scenario, environment) else {GROUPS}


def learn_priors(
    scenario: Scenario, trial: int, told: Callable[[str], None] | None = None, jobs: int = 1
) -> dict[str, Any]:
    """Return the kernels of a trial's world: learned from samples outside the trial, or named by the world.

    Parameters
    ----------
    scenario : Scenario
    trial : int
    told : callable, optional
        Is told what has been learned, in words.
    jobs : int, default 1
        Processes that learn groups side by side. The result does not depend on it.

    Returns
    -------
    dict
        Prior of the groups, and of the composed value where an agent uses its own kernel; as
        JSON-able dicts. Empty if every trial learns them from its own rounds.
    """
    prior = scenario.prior
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        needed = needed_priors(scenario, environment)
        if not needed:
            return {}
        if prior.source == "environment":
            return {GROUPS: bridges.known_prior(environment).to_dict()}
        settings: dict[str, Any] = {
            "family": prior.family,
            "samples": prior.samples,
            "restarts": prior.restarts,
            "seed": bridges.stream(scenario.seed, _world_trial(scenario, trial), "samples"),
            "mean_from": prior_means(scenario, environment),
        }
        groups = len(environment.groups)

        def on_group(index: int) -> None:
            if told is not None:
                told(f"group {index + 1} of {groups} done")

        with limited(environment, scenario.environment, environment_options(scenario, trial)):
            by_group = bridges.learn_prior(environment, **settings, jobs=jobs, on_group=on_group)
            learned = {GROUPS: by_group.to_dict()}
            if OWN in needed:
                learned[OWN] = bridges.learn_prior(environment, **settings, own=True).to_dict()
    return learned


def find_optimum(scenario: Scenario, trial: int) -> dict[str, Any] | None:
    """Find the true optimum of a trial's world, `None` where it is unknown, or another in each round."""
    with threadpool_limits(1):
        environment = build_environment(scenario, trial)
        if environment.lives:
            return None
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
    scenario: Scenario, trial: int, label: str, world: Mapping[str, Any], sink: Sink, children: int = 1
) -> None:
    """Let one agent live through one trial, from where its stored rounds end, unless the run is to stop.

    Parameters
    ----------
    scenario : Scenario
    trial : int
        From 1.
    label : str
        The agent's label.
    world : mapping
        `priors` and `optimum` of the trial's world, as stored.
    sink : Sink
        Knows the stored rounds, which are replayed into the agent; is given every new round as it happens,
        then the recommendation.
    children : int, default 1
        Processes over which the steps of a batch are spread. The result does not depend on it.
    """
    history = sink.claim(trial, label)
    if history is None:
        return
    # Several threads are slower at these sizes, and change the last bits.
    with threadpool_limits(1), _steps(scenario, trial, children) as steps:
        loop = _loop(scenario, trial, label, world, steps)
        past = [as_round(record) for record in history]
        for one in loop.run(scenario.rounds, history=past):
            sink.put({"round": {"trial": trial, "agent": label, **plain(one)}})
            if scenario.stop_at_failure and one.status == "failed":
                raise simulators.SimulationError(f"trial {trial}, {label}, round {one.round}: {one.error}")
            if sink.stopping:
                return
        advice = loop.agent.recommend(**bridges.moment(loop.environment.context))
        with limited(loop.environment, scenario.environment, environment_options(scenario, trial)):
            record = stored_advice(scenario, loop.environment, advice, trial, label, world["optimum"])
        sink.put({"recommendation": record})


@contextmanager
def _steps(scenario: Scenario, trial: int, children: int) -> Iterator[bridges.Steps | None]:
    """Who takes the steps of a trial; None: the environment itself."""
    if children == 1 and not scenario.environment.limited:
        yield None
        return
    with StepProcesses(scenario.environment, environment_options(scenario, trial), children) as steps:
        yield steps


def _loop(
    scenario: Scenario, trial: int, label: str, world: Mapping[str, Any], steps: bridges.Steps | None = None
) -> bridges.Loop:
    """Return the loop of an agent's trial, before its first round."""
    environment = build_environment(scenario, trial)
    agent = build_agent(scenario, scenario.agent(label), environment, trial, world["priors"])
    first = 1 if scenario.prior.given else max(5, 2 * environment.policy_space.d)
    return bridges.Loop(
        environment,
        agent,
        bridges.stream(scenario.seed, trial, "noise"),
        design=bridges.initial_design(environment, first, bridges.stream(scenario.seed, trial, "design")),
        optimum=as_optimum(world["optimum"]),
        parallel=scenario.batch,
        steps=steps,
    )


def replay(
    scenario: Scenario, trial: int, label: str, world: Mapping[str, Any], history: list[dict[str, Any]]
) -> tuple[Environment, optimizer.Agent]:
    """Return the environment and the agent of a trial as they are after its stored rounds."""
    with threadpool_limits(1):
        loop = _loop(scenario, trial, label, world)
        for _ in loop.run(len(history), history=[as_round(record) for record in history]):
            pass
    return loop.environment, loop.agent


def run_remote(
    data: Mapping[str, Any],
    source: str,
    trial: int,
    label: str,
    world: Mapping[str, Any],
    address: Any,
    key: bytes,
    children: int,
) -> tuple[int, str]:
    """Do `run_trial` in a worker, with rounds sent to the driving process."""
    sink = WorkerSink(address, key)
    try:
        run_trial(revive(data, source), trial, label, world, sink, children)
    finally:
        sink.close()
    return trial, label


def revive(data: Mapping[str, Any], source: str) -> Scenario:
    """Rebuild a scenario from its dump."""
    scenario = Scenario.model_validate(data)
    scenario._source = source
    return scenario
