"""What a worker does: let one agent live through one trial.

A trial depends on the scenario, its number, the agent and what was learned of its world, and on nothing
else: it gives the same rounds, bit for bit, in this process or in another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from threadpoolctl import threadpool_limits

import bridges
import optimizer
import simulators
from optimizer.agents.confirmation import Confirming
from optimizer.prior.learned import Learned
from policyloop.watcher import end_all, watched
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study.info import plain_info
from scenarios.study.records import NOTHING, Detail, StoredRound, WorldRecord
from scenarios.trial.advice import stored_advice
from scenarios.trial.sink import Record, Sink, WorkerSink
from scenarios.trial.world import World, Worlds
from simulators.contract.process_state import kept_process_state

if TYPE_CHECKING:
    from simulators import Environment


class Trial(NamedTuple):
    """A trial of one agent, as it is handed to whoever runs it.

    Attributes
    ----------
    scenario : Scenario
    number : int
        From 1.
    label : str
        The agent's.
    learned : WorldRecord
        What is known of its world.
    children : int
        Processes over which the steps of a batch are spread. The result does not depend on it.
    compare : bool
        Whether the agent has to ask again for what it asked for last, before it goes on.
    """

    scenario: Scenario
    number: int
    label: str
    learned: WorldRecord
    children: int = 1
    compare: bool = True


def run_trial(trial: Trial, worlds: Worlds, sink: Sink) -> None:
    """Run a trial from where its stored rounds end, unless the run is to stop.

    The sink knows the stored rounds, which are replayed into the agent; it is given every new round as it
    happens, then the recommendation.
    """
    scenario, number, label, learned, children, compare = trial
    past = sink.claim(number, label)
    if past is None:
        return
    world = worlds.of(number)
    # Several threads are slower at these sizes, and change the last bits.
    with threadpool_limits(1), world.steps(children) as steps:
        loop = world.loop(label, learned, steps)
        history = past.as_rounds()
        try:
            for one in loop.run(scenario.rounds, history, _by_round(past.learned), compare):
                for record in _records(trial, loop, one):
                    sink.put(record)
                if scenario.stop_at_failure and one.status in NOTHING:
                    raise simulators.SimulationError(
                        f"trial {number}, {label}, round {one.round}: {one.error}"
                    )
                if sink.stopping:
                    return
        except bridges.Parted as error:
            raise UserError(
                f"trial {number}, {label}: {error}: the study was changed, or something computes otherwise "
                "than when it was written. Give --accept-changes to go on all the same, or another --out to "
                "run it anew"
            ) from error
        with kept_process_state():
            advice = stored_advice(world, loop, label, learned.optimum, steps)
        sink.put(advice)


def _records(trial: Trial, loop: bridges.Loop, one: bridges.Round) -> Iterator[Record]:
    """A round as it is stored, and what it leaves beside its numbers."""
    whose = trial.number, trial.label
    if trial.scenario.keep_info and (info := plain_info(one.info)):
        yield Detail(*whose, one.round, "info", info)
    if one.runs is not None:
        yield Detail(*whose, one.round, "runs", one.runs.tolist())
    yield StoredRound.of(*whose, one)
    whole = loop.agent.feedback == "aggregate"  # of what it models, the composed value comes first
    for t, found in loop.surprises:
        values = [
            one._asdict() | {"group": None if whole else loop.environment.groups[one.group]}
            for one in found
            if not (whole and one.group)
        ]
        if values:
            yield Detail(*whose, t, "surprises", values)
    loop.surprises.clear()
    if loop.learned is not None:
        t, learned = loop.learned
        loop.learned = None
        yield Detail(*whose, t, "kernels", learned.most_probable().to_dict())
        yield Detail(*whose, t, "learned", learned.to_dict())


def _by_round(learned: Sequence[Detail]) -> dict[int, Learned]:
    """What an agent had learned, by the rounds after which it had."""
    return {one.round: Learned.from_dict(one.value) for one in learned}


def replay(
    scenario: Scenario,
    trial: int,
    label: str,
    learned: WorldRecord,
    history: Sequence[StoredRound],
    states: Sequence[Detail] = (),
) -> tuple[Environment, optimizer.Agent]:
    """The environment and the agent of a trial as they are after its stored rounds.

    With the stored states of what it had learned, it does not learn again.
    """
    with threadpool_limits(1):
        loop = World.of(scenario, trial).loop(label, learned)
        for _ in loop.run(len(history), [stored.as_round() for stored in history], _by_round(states)):
            pass
    agent = loop.agent.agent if isinstance(loop.agent, Confirming) else loop.agent
    return loop.environment, agent


_worlds: dict[bytes, Worlds] = {}  # of the run for which this process works, by the run's key


def run_remote(trial: Trial, address: Any, key: bytes) -> None:
    """Run a trial in a worker, with rounds sent to the driving process.

    Where that is gone in the middle of a step, the programs and child processes of the step are ended: its
    round would be stored by nobody. A step in this very process goes on to its end.
    """
    if key not in _worlds:
        _worlds.clear()
        _worlds[key] = Worlds(trial.scenario)
    sink = WorkerSink(address, key)
    try:
        with watched(), sink.when_gone(end_all):
            run_trial(trial, _worlds[key], sink)
    finally:
        sink.close()
