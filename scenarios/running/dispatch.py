"""Runs what is unfinished of a study, by whatever workforce there is, until all of it is stored."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.running.collector import Collector
from scenarios.running.dask_workers import cluster
from scenarios.running.interrupts import Interrupts
from scenarios.running.local_workers import Processes, WorkersDied, Workforce, call
from scenarios.running.progress import Progress
from scenarios.study.reading import read_progress
from scenarios.study.store import ALL_TRIALS, Store
from scenarios.trial.sink import DriverGone
from scenarios.trial.trial import run_remote, run_trial

GIVE_UP = 3
"""Deaths of workers, without a stored round in between, after which a run ends."""

BACKENDS = ("loky", "dask")

log = logging.getLogger("policyloop")

Share = tuple[int, int]


@contextmanager
def workforce(backend: str, scheduler: str | None, jobs: int) -> Iterator[Workforce]:
    """Provide who does the work: worker processes of this machine, or a Dask cluster.

    Raises
    ------
    UserError
        An unknown backend, a scheduler without the backend that has one, jobs below 1.
    """
    if backend not in BACKENDS:
        raise UserError(f"command line: --backend = {backend}; accepted: {', '.join(BACKENDS)}")
    if scheduler is not None and backend != "dask":
        raise UserError(f"command line: --scheduler = {scheduler}; accepted: only with --backend dask")
    if jobs < 1:
        raise UserError(f"command line: --jobs = {jobs}; accepted: a whole number, 1 or more")
    if backend == "loky":
        yield Processes(jobs)
    else:
        with cluster(scheduler, jobs) as workers:
            yield workers


def world_key(scenario: Scenario, trial: int) -> str:
    """The key under which the world of a trial is stored."""
    return str(trial) if scenario.environment.new_world_each_trial else ALL_TRIALS


def trials_of(scenario: Scenario, share: Share) -> list[int]:
    """The trials of share k of n: k, k + n, k + 2n, .."""
    k, n = share
    return list(range(k, scenario.trials + 1, n))


def unfinished(store: Store, scenario: Scenario, share: Share) -> list[tuple[int, str]]:
    """The (trial, agent) pairs that lack rounds or the recommendation after the last one."""
    done = read_progress(store.read())
    advised = {
        (trial, agent)
        for trial, agent, rounds in store.read().execute("SELECT trial, agent, rounds FROM recommendations")
        if rounds == scenario.rounds
    }
    return [
        (trial, label)
        for trial in trials_of(scenario, share)
        for label in scenario.labels
        if done.get((trial, label), 0) < scenario.rounds or (trial, label) not in advised
    ]


def finish(
    store: Store,
    scenario: Scenario,
    worlds: Mapping[str, Mapping[str, Any]],
    force: Workforce,
    show: Progress,
    seen: Callable[[Mapping[str, Any]], None],
    share: Share,
) -> None:
    """Run all that is unfinished; what dead workers leave is handed to others.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C. After the first one the rounds in flight have ended, and are stored.
    WorkersDied
        Workers died again and again, and nothing was stored in between.
    """
    deaths = 0
    while todo := unfinished(store, scenario, share):
        before = _stored(store)
        died = _attempt(store, scenario, todo, worlds, force, show, seen)
        if died is None:
            return
        deaths = deaths + 1 if _stored(store) == before else 1
        where = _in_flight(store, scenario, share, force)
        if deaths == GIVE_UP:
            died.add_note(f"it happened {GIVE_UP} times in a row{where}{_remedy(scenario)}")
            raise died
        log.info("%s%s; its rounds are handed to another", died, where)
        show.note(f"{died}{where}; its rounds are handed to another")


def _in_flight(store: Store, scenario: Scenario, share: Share, force: Workforce) -> str:
    """In words which trials worker processes were in; they begin them in order."""
    if force.host != "":  # a cluster has workers that nobody here counts
        return ""
    trials = [
        f"trial {trial} of {label}" for trial, label in unfinished(store, scenario, share)[: force.jobs]
    ]
    return f" (in {' or '.join(trials)})" if trials else ""


def _remedy(scenario: Scenario) -> str:
    if scenario.environment.limited:
        return ""
    return (
        "; with step_seconds in [environment], or --step-timeout, child processes take the steps, and the "
        "death of one costs its round alone"
    )


def _attempt(
    store: Store,
    scenario: Scenario,
    todo: list[tuple[int, str]],
    worlds: Mapping[str, Mapping[str, Any]],
    force: Workforce,
    show: Progress,
    seen: Callable[[Mapping[str, Any]], None],
) -> WorkersDied | None:
    """Run the tasks; return how workers died, None where all is done."""

    def stopped() -> None:
        again = "Ctrl-C again" if interrupts.asked == signal.SIGINT else "a second SIGTERM"
        show.note(f"finishing the rounds in flight; {again} stops at once")

    collector = Collector(store, seen, host=force.host, stopped=stopped)
    interrupts = Interrupts(collector.stop, urgent=lambda: collector.error is not None)
    died: WorkersDied | None = None
    try:
        with interrupts, collector:
            try:
                _hand_out(scenario, todo, worlds, force, collector)
            except WorkersDied as error:
                died = error
    except BaseException:  # where writing has failed, everything else follows from that
        if collector.error is None:
            raise
    if collector.error is not None:
        raise collector.error
    if interrupts.asked:
        raise KeyboardInterrupt
    return died


def _stored(store: Store) -> int:
    return sum(read_progress(store.read()).values())


def _hand_out(
    scenario: Scenario,
    todo: list[tuple[int, str]],
    worlds: Mapping[str, Mapping[str, Any]],
    force: Workforce,
    collector: Collector,
) -> None:
    """Run the tasks, in this process or over workers; returns when all their rounds are handed over."""
    children = max(1, min(scenario.batch, force.jobs // len(todo)))
    if force.host is None:
        for trial, label in todo:
            run_trial(scenario, trial, label, worlds[world_key(scenario, trial)], collector, children)
        return
    data, source = scenario.model_dump(mode="json"), scenario.source
    run = _run_here if force.host == "" else run_remote
    calls = [
        call(
            run,
            data,
            source,
            trial,
            label,
            worlds[world_key(scenario, trial)],
            collector.address,
            collector.key,
            children,
        )
        for trial, label in todo
    ]
    for _ in force.spread(calls):
        pass


def _run_here(*arguments: Any) -> Any:
    """Do `trial.run_remote` in a process that has no other purpose than this run."""
    try:
        return run_remote(*arguments)
    except DriverGone:
        _end()


def _end() -> NoReturn:
    os._exit(1)
