"""Runs a scenario into a study: every trial of every agent, each round stored as it happens."""

from __future__ import annotations

import datetime
import platform
import signal
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from joblib.externals.loky.backend import resource_tracker as loky_tracker

from scenarios import tasks
from scenarios.errors import StudyInterrupted, UserError, one_line
from scenarios.progress import Progress, Silent
from scenarios.schema import Scenario
from scenarios.store import ALL_TRIALS, Store, read_meta, read_progress, read_rounds, read_worlds
from scenarios.stream import Collector
from scenarios.study import Study

if TYPE_CHECKING:
    from simulators import Environment

_PACKAGES = ("policyloop", "numpy", "scipy", "scikit-learn")
_MAY_DIFFER = {"title", "description"}


def run(
    scenario: Scenario,
    *,
    out: str | Path,
    jobs: int = 1,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Study:
    """Run every trial of every agent of a scenario, and store the study.

    Parameters
    ----------
    scenario : Scenario
        From `load`.
    out : str or Path
        The study file to write.
    jobs : int, default 1
        Worker processes. The results do not depend on it.
    resume : bool, default False
        Go on with the study in `out`, if there is one: its stored rounds are replayed, and the end is
        the same, bit for bit, as if it had never stopped. Rounds, trials and agents may have grown.
    force : bool, default False
        Replace a study in `out`.
    progress : Progress, optional
        Is told what happens; default: nothing is shown.

    Returns
    -------
    Study
        The finished study, opened for reading. Rounds whose simulation failed are in it as "failed".

    Raises
    ------
    UserError
        A mistake in the scenario, an `out` that exists or cannot be written, a study of another
        scenario. Nothing has been written then.
    StudyInterrupted
        Ctrl-C: every finished round is stored. Nothing is left if there was none.
    """
    if jobs < 1:
        raise UserError(f"jobs = {jobs}; accepted: a whole number, 1 or more")
    path = Path(out)
    show = progress or Silent()
    environment = tasks.check(scenario)
    store = Store(path, resume=resume, force=force)
    unpaid = store.created  # nothing worth keeping is in the file yet
    stored = 0
    try:
        done = _open(store, scenario, environment)
        stored = sum(done.values())
        worlds = _learn_worlds(store, scenario, jobs, show)
        unpaid = False
        total = scenario.rounds * scenario.trials * len(scenario.agents)
        todo = _unfinished(store, scenario, done)
        if todo:
            show.start(scenario.name, total, stored, environment.sense)

            def seen(record: Mapping[str, Any]) -> None:
                nonlocal stored
                stored += 1
                show.seen(record)

            with Collector(store, seen, remote=jobs > 1) as collector:
                try:
                    _run_tasks(store, scenario, todo, worlds, collector, jobs)
                except KeyboardInterrupt:
                    if collector.error is None:
                        raise
            if collector.error is not None:
                raise collector.error
    except KeyboardInterrupt:
        raise StudyInterrupted(stored) from None
    except sqlite3.Error as error:
        raise OSError(f"{path}: {one_line(error)}; what was stored before is kept") from error
    finally:
        show.stop()
        store.close(discard=unpaid)
    return Study(path)


def _open(store: Store, scenario: Scenario, environment: Environment) -> dict[tuple[int, str], int]:
    """Write a new study's facts, or check that a stored one goes with the scenario; return its progress."""
    meta = read_meta(store.read())
    if "scenario" in meta:
        refuse_changes(Scenario.model_validate(meta["scenario"]), scenario, str(store.path))
    else:
        meta = {
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "versions": _versions(),
            "environment": describe(environment),
        }
    store.set_meta({**meta, "scenario": scenario.model_dump(mode="json"), "source": scenario.source})
    return read_progress(store.read())


def refuse_changes(stored: Scenario, now: Scenario, where: str) -> None:
    """Check that a scenario goes on with a stored one: rounds, trials and agents may only grow.

    Raises
    ------
    UserError
        One line with every difference.
    """
    changes = []
    for name in ("rounds", "trials"):
        if getattr(now, name) < getattr(stored, name):
            changes.append(
                f"{name}: {getattr(stored, name)} stored, {getattr(now, name)} now (may only grow)"
            )
    for spec in stored.agents:
        if spec.label not in now.labels:
            changes.append(f"agents: {spec.label} is stored, but not in the scenario now")
        else:
            changes += _changes(spec.model_dump(), now.agent(spec.label).model_dump(), f"agents {spec.label}")
    skip = _MAY_DIFFER | {"rounds", "trials", "agents"}
    changes += _changes(stored.model_dump(exclude=skip), now.model_dump(exclude=skip), "")
    if changes:
        raise UserError(
            f"{where}: holds another scenario, --resume cannot go on with it: {'; '.join(changes)}"
        )


def _changes(stored: Any, now: Any, path: str) -> list[str]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        found = []
        for key in dict.fromkeys([*stored, *now]):
            place = f"{path}.{key}" if path else str(key)
            found += _changes(stored.get(key), now.get(key), place)
        return found
    return [] if stored == now else [f"{path}: {stored!r} stored, {now!r} now"]


def describe(environment: Environment) -> dict[str, Any]:
    """Return what readers of a study must know about its environment: names, units, sense."""
    space = environment.policy_space
    current = environment.current_policy
    return {
        "name": environment.name,
        "labels": list(space.labels),
        "units": list(space.units),
        "groups": list(environment.groups),
        "group_units": list(environment.group_units),
        "objective_unit": environment.objective_unit,
        "sense": environment.sense,
        "finite": bool(space.finite),
        "current_policy": None if current is None else space.resolve(np.asarray(current)[None])[0].tolist(),
        "current_policy_label": environment.current_policy_label,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a checkout that is not installed
            continue
    return found


def _world_key(scenario: Scenario, trial: int) -> str:
    return str(trial) if scenario.environment.new_world_each_trial else ALL_TRIALS


def _learn_worlds(store: Store, scenario: Scenario, jobs: int, show: Progress) -> dict[str, dict[str, Any]]:
    """Learn and store the kernels and the optimum of every world that is not stored yet."""
    worlds = read_worlds(store.read())
    needed = tasks.needed_priors(scenario)
    trials = {_world_key(scenario, trial): trial for trial in range(scenario.trials, 0, -1)}
    missing = [
        (key, trial)
        for key, trial in sorted(trials.items(), key=lambda item: item[1])
        if key not in worlds or not needed <= set(worlds[key]["priors"])
    ]
    if len(missing) == 1:
        key, trial = missing[0]
        prior = scenario.prior
        origin = f"{prior.samples} samples" if prior.source == "samples" else f"the {prior.source}"
        with show.stage(f"learning the kernels from {origin}") as told:
            priors = tasks.learn_priors(scenario, trial, told)
        with show.stage("searching the true optimum"):
            optimum = tasks.find_optimum(scenario, trial)
        store.set_world(key, tasks.world_seed(scenario, trial), priors, optimum)
    elif missing:
        data, source = scenario.model_dump(mode="json"), scenario.source
        calls = [call(_learn_keyed, key, data, source, trial) for key, trial in missing]
        with show.stage(f"learning the kernels and the optimum of {len(missing)} worlds") as told:
            for count, (key, world) in enumerate(spread(calls, jobs), start=1):
                told(f"{count} done")
                store.set_world(key, world["seed"], world["priors"], world["optimum"])
    return read_worlds(store.read())


def _learn_keyed(key: str, data: Mapping[str, Any], source: str, trial: int) -> tuple[str, dict[str, Any]]:
    return key, tasks.learn_world(data, source, trial)


def _unfinished(
    store: Store, scenario: Scenario, done: Mapping[tuple[int, str], int]
) -> list[tuple[int, str]]:
    """Return the (trial, agent) pairs that lack rounds or the recommendation after the last one."""
    advised = {
        (trial, agent)
        for trial, agent, rounds in store.read().execute("SELECT trial, agent, rounds FROM recommendations")
        if rounds == scenario.rounds
    }
    return [
        (trial, label)
        for trial in range(1, scenario.trials + 1)
        for label in scenario.labels
        if done.get((trial, label), 0) < scenario.rounds or (trial, label) not in advised
    ]


def _run_tasks(
    store: Store,
    scenario: Scenario,
    todo: list[tuple[int, str]],
    worlds: Mapping[str, Mapping[str, Any]],
    collector: Collector,
    jobs: int,
) -> None:
    """Run the tasks, in this process or over workers; returns when all their rounds are handed over."""
    histories = {key: read_rounds(store.read(), *key) for key in todo}
    if jobs == 1:
        for trial, label in todo:
            world = worlds[_world_key(scenario, trial)]
            tasks.run_trial(scenario, trial, label, world, histories[trial, label], collector)
        return
    data, source = scenario.model_dump(mode="json"), scenario.source
    calls = [
        call(
            tasks.run_remote,
            data,
            source,
            trial,
            label,
            worlds[_world_key(scenario, trial)],
            histories[trial, label],
            collector.address,
            collector.key,
        )
        for trial, label in todo
    ]
    try:
        for _ in spread(calls, jobs):
            pass
    except BrokenExecutor as error:
        raise RuntimeError("a worker process died: killed, or out of memory") from error


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a call to be made by `spread`."""
    return joblib.delayed(function)(*arguments)


def spread(calls: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Yield the results of calls in the order in which they end, over `jobs` worker processes."""
    if jobs == 1:
        for function, arguments, options in calls:
            yield function(*arguments, **options)
        return
    # Ctrl-C reaches the workers too; only the driving process may act on it, by stopping them.
    parallel = joblib.Parallel(
        n_jobs=jobs,
        backend="loky",
        batch_size=1,
        max_nbytes=None,
        return_as="generator_unordered",
        initializer=_ignore_interrupts,
    )
    # A worker inherits what is blocked while it is started, before it can ignore anything itself. The
    # resource trackers unblock the signal when they start, so they start first.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        results = parallel(calls)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    yield from results


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
