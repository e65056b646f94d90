"""Who does the work of a run, and how trials are handed to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scenarios.errors import UserError
from scenarios.running.collector import Collector
from scenarios.running.dask_workers import cluster
from scenarios.running.local_workers import Processes, Workforce, call
from scenarios.trial.sink import DriverGone
from scenarios.trial.trial import Trial, run_remote, run_trial
from scenarios.trial.world import Worlds

BACKENDS = ("loky", "dask")


@contextmanager
def workforce(backend: str, scheduler: str | None, jobs: int) -> Iterator[Workforce]:
    """Worker processes of this machine, or a Dask cluster; UserError where the options do not fit."""
    if backend not in BACKENDS:
        raise UserError(f"command line: --backend = {backend}; accepted: {', '.join(BACKENDS)}")
    if scheduler is not None and backend != "dask":
        raise UserError(f"command line: --scheduler = {scheduler}; accepted: only with --backend dask")
    if jobs < 1:
        raise UserError(f"command line: --jobs = {jobs}; accepted: a whole number, 1 or more")
    if backend == "loky":
        yield Processes(jobs)
    else:
        with cluster(scheduler, jobs) as dask:
            yield dask


def hand_out(trials: list[Trial], worlds: Worlds, workforce: Workforce, collector: Collector) -> None:
    """Run trials, in this process or over workers; returns when all their rounds are handed over."""
    if workforce.host is None:
        for trial in trials:
            run_trial(trial, worlds, collector)
        return
    run = _run_here if workforce.host == "" else run_remote
    calls = [call(run, trial, collector.address, collector.key) for trial in trials]
    for _ in workforce.spread(calls):
        pass


def _run_here(*arguments: Any) -> None:
    """Do `run_remote` in a process that has no other purpose than this run."""
    try:
        run_remote(*arguments)
    except DriverGone:
        os._exit(1)
