"""What a worker does: build a world, learn about it, and let one agent live through one trial.

Everything here takes and returns plain data (JSON), and depends on the scenario, the trial and the
agent alone: the same task gives the same rounds, bit for bit, in this process or in another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

import bridges
import optimizer
import simulators
from scenarios.declaration.schema import Scenario, revive
from scenarios.study.records import as_optimum, as_round, plain
from scenarios.trial.advice import stored_advice
from scenarios.trial.building import build_agent, build_environment, environment_options
from scenarios.trial.sink import Sink, WorkerSink
from scenarios.trial.step_process import StepProcesses, limited

if TYPE_CHECKING:
    from simulators import Environment


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
    """The loop of an agent's trial, before its first round."""
    environment = build_environment(scenario, trial)
    agent = build_agent(scenario, scenario.agent(label), environment, trial, world["priors"])
    first = 1 if scenario.prior.given else max(5, 2 * environment.policy_space.d)
    return bridges.Loop(
        environment,
        agent,
        bridges.seed_sequence(scenario.seed, trial, "noise"),
        design=bridges.initial_design(environment, first, bridges.seed_sequence(scenario.seed, trial, "design")),
        optimum=as_optimum(world["optimum"]),
        parallel=scenario.batch,
        steps=steps,
    )


def replay(
    scenario: Scenario, trial: int, label: str, world: Mapping[str, Any], history: list[dict[str, Any]]
) -> tuple[Environment, optimizer.Agent]:
    """The environment and the agent of a trial as they are after its stored rounds."""
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
