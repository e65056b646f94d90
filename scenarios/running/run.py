"""Runs a scenario into a study: every trial of every agent, each round stored as it happens."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.errors import StudyInterrupted, UserError
from scenarios.running.dispatch import Share, finish, log, trials_of, unfinished, workforce, world_key
from scenarios.running.local_workers import WorkersDied, Workforce, call, workers
from scenarios.running.progress import Progress, Silent
from scenarios.study.compatibility import refuse_changes
from scenarios.study.facts import _versions, describe
from scenarios.study.reading import read_meta, read_progress, read_worlds
from scenarios.study.store import Store
from scenarios.study.study import Study
from scenarios.trial import building, check
from scenarios.trial.world import find_optimum, learn_priors, learn_world

if TYPE_CHECKING:
    from simulators import Environment


def run(
    scenario: Scenario,
    *,
    out: str | Path,
    jobs: int = 1,
    resume: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    share: Share = (1, 1),
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
    backend : {"loky", "dask"}, default "loky"
        Worker processes of this machine, or the workers of a Dask cluster.
    scheduler : str, optional
        Address of the Dask scheduler; default: a local cluster of `jobs` workers.
    share : (int, int), default (1, 1)
        Run share k of n alone, the trials k, k + n, k + 2n, ..: n machines share a study this way, and
        `scenarios.study.merging.merge` joins their files.

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
    k, n = share
    if not 1 <= k <= n:
        raise UserError(f"command line: --share = {k}/{n}; accepted: K/N with whole numbers, 1 <= K <= N")
    if n > scenario.trials:
        raise UserError(f"command line: --share = {k}/{n}; accepted: N up to {scenario.trials}, the trials")
    path = Path(out)
    show = progress or Silent()
    environment = check.check(scenario)
    with workforce(backend, scheduler, jobs) as force_of_workers:
        store = Store(path, resume=resume, force=force)
        try:
            _run(store, scenario, environment, force_of_workers, show, share)
        finally:
            show.stop()
    return Study(path)


def _run(
    store: Store, scenario: Scenario, environment: Environment, force: Workforce, show: Progress, share: Share
) -> None:
    """Do the work of `run` with an open store, and close it."""
    stored = 0

    def seen(record: Mapping[str, Any]) -> None:
        nonlocal stored
        stored += 1
        if record["status"] == "failed":
            where = f"{record['agent']}, trial {record['trial']}, round {record['round']}"
            log.info("%s failed: %s", where, record["error"])
        show.seen(record)

    try:
        _open(store, scenario, environment)
        done = read_progress(store.read())
        stored = sum(done.values())
        log.info("%s: %d rounds are stored in %s", scenario.name, stored, store.path)
        worlds = _learn_worlds(store, scenario, environment, force, show, share)
        if unfinished(store, scenario, share):
            trials = trials_of(scenario, share)
            total = scenario.rounds * len(trials) * len(scenario.agents)
            there = sum(count for (trial, _), count in done.items() if trial in trials)
            show.start(scenario.name, total, there, environment.sense)
            finish(store, scenario, worlds, force, show, seen, share)
        log.info("%s: finished with %d rounds in %s", scenario.name, stored, store.path)
    except KeyboardInterrupt:
        log.info("%s: stopped with %d rounds in %s", scenario.name, stored, store.path)
        raise StudyInterrupted(stored) from None
    except sqlite3.Error as error:
        reason = "another program holds it locked" if "locked" in str(error) else on_one_line(error)
        raise OSError(f"{store.path}: {reason}; what was stored before is kept") from error
    finally:
        store.close(discard=not store.paid)


def _open(store: Store, scenario: Scenario, environment: Environment) -> None:
    """Write a new study's facts, or check that a stored one goes with the scenario."""
    now, versions = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), _versions()
    meta = read_meta(store.read())
    if "scenario" in meta:
        refuse_changes(Scenario.model_validate(meta["scenario"]), scenario, str(store.path))
    else:
        meta = {"created": now, "versions": versions, "environment": describe(environment)}
    store.set_meta({**meta, "scenario": scenario.model_dump(mode="json"), "source": scenario.source})
    store.log_run(now, versions)


def _learn_worlds(
    store: Store,
    scenario: Scenario,
    environment: Environment,
    force: Workforce,
    show: Progress,
    share: Share,
) -> dict[str, dict[str, Any]]:
    """Learn and store the kernels and the optimum of every world that is not stored yet."""
    worlds = read_worlds(store.read())
    needed = building.needed_priors(scenario, environment)
    trials = {world_key(scenario, trial): trial for trial in reversed(trials_of(scenario, share))}
    missing = [
        (key, trial)
        for key, trial in sorted(trials.items(), key=lambda item: item[1])
        if key not in worlds or not needed <= set(worlds[key]["priors"])
    ]
    if len(missing) == 1:
        key, trial = missing[0]
        prior = scenario.prior
        origin = f"{prior.samples} samples" if prior.source == "samples" else f"the {prior.source}"
        side_by_side = min(force.jobs, len(environment.groups)) if needed else 1
        with show.stage(f"learning the kernels from {origin}") as told, workers(side_by_side):
            priors = learn_priors(scenario, trial, told, side_by_side)
        with show.stage("searching the true optimum"):
            optimum = find_optimum(scenario, trial)
        store.set_world(key, building.world_seed(scenario, trial), priors, optimum)
    elif missing:
        data, source = scenario.model_dump(mode="json"), scenario.source
        calls = [call(_learn_keyed, key, data, source, trial) for key, trial in missing]
        with show.stage(f"learning the kernels and the optimum of {len(missing)} worlds") as told:
            try:
                for count, (key, world) in enumerate(force.spread(calls), start=1):
                    told(f"{count} done")
                    store.set_world(key, world["seed"], world["priors"], world["optimum"])
            except WorkersDied:
                if read_worlds(store.read()) == worlds:
                    raise
                show.note("a worker died; its worlds are handed to another")
                return _learn_worlds(store, scenario, environment, force, show, share)
    return read_worlds(store.read())


def _learn_keyed(key: str, data: Mapping[str, Any], source: str, trial: int) -> tuple[str, dict[str, Any]]:
    return key, learn_world(data, source, trial)
