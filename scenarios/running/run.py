"""Runs a scenario into a study: every trial of every agent, each round stored as it happens."""

from __future__ import annotations

import datetime
import logging
import os
import signal
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from policyloop.messages import on_one_line
from policyloop.watcher import watched
from scenarios.declaration.schema import Scenario
from scenarios.errors import StudyInterrupted, UserError
from scenarios.running.collector import Collector
from scenarios.running.dispatch import hand_out, workforce
from scenarios.running.interrupts import Interrupts
from scenarios.running.local_workers import WorkersDied, Workforce, call, workers
from scenarios.running.progress import Progress
from scenarios.study.compatibility import refuse_changes, refuse_other_levers
from scenarios.study.facts import Facts
from scenarios.study.inputs import input_changes, inputs_of, refuse_input_changes
from scenarios.study.reading import read_advised, read_meta, read_progress, read_runs, read_worlds
from scenarios.study.records import NOTHING, StoredRound, WorldRecord
from scenarios.study.several import objectives_of
from scenarios.study.store import Store
from scenarios.study.stored_environment import facts_of
from scenarios.study.study import Study
from scenarios.study.versions import versions
from scenarios.trial.building import at_once, needed_priors, world_seed
from scenarios.trial.check import refuse_mistakes
from scenarios.trial.trial import Trial
from scenarios.trial.world import World, Worlds, world_key

GIVE_UP = 3
"""Deaths of workers, without a stored round in between, after which a run ends."""

log: logging.Logger = logging.getLogger("policyloop")


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
    share: tuple[int, int] = (1, 1),
    accept_changes: bool = False,
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
    accept_changes : bool, default False
        Go on with a study even where the agents' version, packages, the machine, data files or a model's code
        have changed since, or an agent would not have asked for what is stored. The study says so.

    Returns
    -------
    Study
        The finished study, opened for reading. Rounds whose simulation failed are in it as "failed".

    Raises
    ------
    UserError
        A mistake in the scenario, an `out` that exists or cannot be written, a study of another
        scenario, or made from something that has changed. Nothing has been written then.
    StudyInterrupted
        Ctrl-C: every finished round is stored. Nothing is left if there was none.
    """
    k, n = share
    if not 1 <= k <= n:
        raise UserError(f"command line: --share = {k}/{n}; accepted: K/N with whole numbers, 1 <= K <= N")
    if n > scenario.trials:
        raise UserError(f"command line: --share = {k}/{n}; accepted: N up to {scenario.trials}, the trials")
    path, folder = Path(out), Path.cwd()
    progress = progress or Progress()
    with watched():
        worlds = Worlds(scenario)
        try:
            with progress.stage(_making(scenario)):
                first = worlds.of(1)
            refuse_mistakes(first)
            for sentence in first.environment.findings:
                progress.note(sentence)
            with workforce(backend, scheduler, jobs) as found:
                # A model may have changed the working folder when it was imported, and count on it.
                store = Store(folder / path if Path.cwd() != folder else path, resume=resume, force=force)
                try:
                    Run(scenario, store, worlds, found, progress, share, accept_changes).complete()
                finally:
                    progress.stop()
        finally:
            os.chdir(folder)
    return Study(path)


def _making(scenario: Scenario) -> str:
    """What is done before the first world is there, in words: files of data may be large."""
    data = scenario.environment.options.get("data")
    return f"reading {data}" if isinstance(data, str) else f"making {scenario.environment.name}"


@dataclass
class Run:
    """A run of a scenario without mistakes into an open study.

    Attributes
    ----------
    share : (int, int)
        k and n of the trials that are run: k, k + n, k + 2n, ..
    stored : int
        Rounds that the study holds.
    """

    scenario: Scenario
    store: Store
    worlds: Worlds
    workforce: Workforce
    progress: Progress
    share: tuple[int, int]
    accept_changes: bool = False
    stored: int = 0

    @property
    def trials(self) -> range:
        """The trials that are run."""
        k, n = self.share
        return range(k, self.scenario.trials + 1, n)

    def complete(self) -> None:
        """Do all that is not done yet, and close the store."""
        name, store = self.scenario.name, self.store
        try:
            facts = self._begin()
            done = read_progress(store.read())
            self.stored = sum(done.values())
            log.info("%s: %d rounds are stored in %s", name, self.stored, store.path)
            learned = self._learn_worlds()
            todo = self._unfinished()
            if todo and self.workforce.host is None:
                self._prepare(todo[0][0])
            if todo:
                total = self.scenario.rounds * len(self.trials) * len(self.scenario.agents)
                there = sum(count for (trial, _), count in done.items() if trial in self.trials)
                self.progress.start(name, total, there, facts.sign)
                self._finish(learned)
            elif done:
                log.info("%s: nothing was left to do", name)
                self.progress.note(
                    f"{store.path}: nothing is left to run, all {self.stored} rounds are stored; "
                    "more --trials, --rounds or --agents make it grow"
                )
            log.info("%s: finished with %d rounds in %s", name, self.stored, store.path)
        except KeyboardInterrupt:
            log.info("%s: stopped with %d rounds in %s", name, self.stored, store.path)
            raise StudyInterrupted(self.stored) from None
        except sqlite3.Error as error:
            reason = "another program holds it locked" if "locked" in str(error) else on_one_line(error)
            raise OSError(f"{store.path}: {reason}; what was stored before is kept") from error
        finally:
            store.close(discard=not store.paid)

    def _begin(self) -> Facts:
        """Write a new study's facts, or check that a stored one goes with the scenario."""
        scenario, store = self.scenario, self.store
        now, packages = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), versions()
        environment, inputs = self.worlds.of(1).environment, inputs_of(scenario)
        facts = facts_of(environment)
        meta, accepted = read_meta(store.read()), []
        if "scenario" in meta:
            refuse_changes(Scenario.model_validate(meta["scenario"]), scenario, str(store.path))
            refuse_other_levers(Facts.stored(meta["environment"]), facts, str(store.path))
            before = read_runs(store.read())[-1]["inputs"]
            found = input_changes(before, inputs)
            if self.accept_changes:
                accepted = found
            elif self._unfinished():
                refuse_input_changes(found, str(store.path))
            else:  # nothing is added to what was written
                inputs = before
        else:
            facts = facts._replace(objectives=objectives_of(environment, scenario.objectives))
            meta = {"created": now, "versions": packages, "environment": facts._asdict()}
            meta["auto"] = {
                spec.label: scenario.exploration_of(spec).model_dump()
                for spec in scenario.agents
                if spec.name == "auto"
            }
        # The run first: a study that says what it is about has one, wherever a kill comes between.
        store.log_run({"began": now, "versions": packages, "inputs": inputs, "accepted": accepted})
        store.set_meta({**meta, "scenario": scenario.model_dump(mode="json"), "source": scenario.source})
        return facts

    def _learn_worlds(self) -> dict[str, WorldRecord]:
        """Learn and store the kernels and the optimum of every world that is not stored yet."""
        scenario, progress, store = self.scenario, self.progress, self.store
        learned = read_worlds(store.read())
        environment = self.worlds.of(1).environment
        needed = needed_priors(scenario, environment)
        first: dict[str, int] = {}  # trial of a world
        for trial in self.trials:
            first.setdefault(world_key(scenario, trial), trial)
        missing = [
            trial
            for key, trial in first.items()
            if key not in learned or not needed <= set(learned[key].priors)
        ]
        if len(missing) == 1:
            world = self.worlds.of(missing[0])
            prior = scenario.prior
            origin = f"{prior.samples} samples" if prior.source == "samples" else f"the {prior.source}"
            side_by_side = min(self.workforce.jobs, len(environment.groups)) if needed else 1
            if needed:
                self._prepare(missing[0])
            with progress.stage(f"learning the kernels from {origin}") as say, workers(side_by_side):
                priors = world.priors(say, side_by_side)
            with progress.stage("searching the true optimum"):
                optimum = world.optimum()
            store.set_world(world.key, WorldRecord(world_seed(scenario, world.trial), priors, optimum))
        elif missing:
            calls = [call(_learned, scenario, trial) for trial in missing]
            if needed:
                self._prepare(missing[0])
            with progress.stage(f"learning the kernels and the optimum of {len(missing)} worlds") as say:
                try:
                    for count, (key, record) in enumerate(self.workforce.spread(calls), start=1):
                        say(f"{count} done")
                        store.set_world(key, record)
                except WorkersDied:
                    if read_worlds(store.read()) == learned:
                        raise
                    progress.note("a worker died; its worlds are handed to another")
                    return self._learn_worlds()
        return read_worlds(store.read())

    def _prepare(self, trial: int) -> None:
        """Show the long work that a simulator may do before its first step."""
        world = self.worlds.of(trial)
        with self.progress.stage(f"preparing {world.environment.name}") as say:
            world.prepare(say)

    def _unfinished(self) -> list[tuple[int, str]]:
        """The (trial, agent) pairs that lack rounds or the recommendation after the last one."""
        rounds = self.scenario.rounds
        done, advised = read_progress(self.store.read()), read_advised(self.store.read())
        return [
            (trial, label)
            for trial in self.trials
            for label in self.scenario.labels
            if done.get((trial, label), 0) < rounds or advised.get((trial, label)) != rounds
        ]

    def _finish(self, learned: dict[str, WorldRecord]) -> None:
        """Run all that is unfinished; what dead workers leave is handed to others.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. After the first one the rounds in flight have ended, and are stored.
        WorkersDied
            Workers died again and again, and nothing was stored in between.
        """
        scenario, deaths = self.scenario, 0
        while todo := self._unfinished():
            before = self._count()
            spare, children = self.workforce.jobs // len(todo), 1
            if spare > 1:
                children = min(at_once(scenario, self.worlds.of(todo[0][0]).environment), spare)
            died = self._attempt(
                [
                    Trial(
                        scenario,
                        trial,
                        label,
                        learned[world_key(scenario, trial)],
                        children,
                        compare=not self.accept_changes,
                    )
                    for trial, label in todo
                ]
            )
            if died is None:
                return
            deaths = deaths + 1 if self._count() == before else 1
            where = self._in_flight()
            if deaths == GIVE_UP:
                died.add_note(f"it happened {GIVE_UP} times in a row{where}{self._remedy()}")
                raise died
            log.info("%s%s; its rounds are handed to another", died, where)
            self.progress.note(f"{died}{where}; its rounds are handed to another")

    def _attempt(self, trials: list[Trial]) -> WorkersDied | None:
        """Run trials; how workers died, None where all is done."""

        def stopped() -> None:
            again = "Ctrl-C again" if interrupts.asked == signal.SIGINT else "a second SIGTERM"
            self.progress.note(f"finishing the rounds in flight; {again} stops at once")

        collector = Collector(self.store, self._seen, host=self.workforce.host, stopped=stopped)
        interrupts = Interrupts(collector.stop, urgent=lambda: collector.error is not None)
        died: WorkersDied | None = None
        try:
            with interrupts, collector:
                try:
                    hand_out(trials, self.worlds, self.workforce, collector)
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

    def _seen(self, record: StoredRound) -> None:
        """Count a round that has been stored."""
        self.stored += 1
        if record.status in NOTHING:
            where = f"{record.agent}, trial {record.trial}, round {record.round}"
            log.info("%s failed: %s", where, record.error)
        self.progress.seen(record)

    def _count(self) -> int:
        return sum(read_progress(self.store.read()).values())

    def _in_flight(self) -> str:
        """In words which trials worker processes were in; they begin them in order."""
        if self.workforce.host != "":  # a cluster has workers that nobody here counts
            return ""
        found = self._unfinished()[: self.workforce.jobs]
        trials = [f"trial {trial} of {label}" for trial, label in found]
        return f" (in {' or '.join(trials)})" if trials else ""

    def _remedy(self) -> str:
        if self.scenario.environment.limited:
            return ""
        return (
            "; with step_seconds in [environment], or --step-timeout, child processes take the steps, and "
            "the death of one costs its round alone"
        )


def _learned(scenario: Scenario, trial: int) -> tuple[str, WorldRecord]:
    """What a worker learns of the world of a trial, and the key to store it under."""
    world = World.of(scenario, trial)
    return world.key, world.learned()
