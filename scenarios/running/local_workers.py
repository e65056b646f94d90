"""Worker processes on this machine, which leave Ctrl-C to the process that drives them."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any, Protocol

import joblib
from joblib.externals.loky.backend import resource_tracker as loky_tracker

from policyloop.watcher import watch_always
from scenarios.running.quiet_stop import quiet_stop

WATCH_SECONDS = 0.5
"""How often a worker looks whether the driving process still lives."""


class WorkersDied(RuntimeError):
    """Worker processes were killed, or ran out of memory; what they worked on is to be done by others."""


class Workforce(Protocol):
    """Who does the work of a run.

    Attributes
    ----------
    jobs : int
        Calls that are made at the same time; 1: in this process, one after the other.
    host : str or None
        The address of this machine at which they find the driving process: "" where they are on it, too;
        None where they are this process.
    """

    jobs: int
    host: str | None

    def spread(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of calls, made by `call`, in the order in which they end.

        `WorkersDied` where some were not finished.
        """


class Processes:
    """Worker processes on this machine, by joblib's loky; with one job, this process itself."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.host = "" if jobs > 1 else None

    def spread(self, calls: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of calls in the order in which they end."""
        return spread(calls, self.jobs)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call to be made by `spread`."""
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
        **_begin(),
    )
    # A worker inherits what is blocked while it is started, before it can ignore anything itself. The
    # resource trackers unblock the signal when they start, so they start first.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    with quiet_stop(), ExitStack() as stack:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            results = parallel(calls)
            stack.callback(_stop, results)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)  # Ctrl-C that has come meanwhile acts here
        try:
            # No `yield from`: that would pass on to joblib that nobody wants more, and it would warn of it.
            for result in results:  # noqa: UP028
                yield result
        except BrokenExecutor as error:
            raise WorkersDied("a worker process died: killed, or out of memory") from error


def _stop(results: Generator[Any]) -> None:
    """End the workers, unless all results have been taken, without a warning that some have not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()


@contextmanager
def workers(jobs: int) -> Iterator[None]:
    """Let what runs inside find `jobs` worker processes, should it use joblib itself."""
    if jobs == 1:
        yield
        return
    for _ in spread([call(_nothing)] * jobs, jobs):  # starts them
        pass
    with quiet_stop(), joblib.parallel_config("loky", max_nbytes=None, **_begin()):
        yield


def _nothing() -> None:
    pass


def _begin() -> dict[str, Any]:
    """How joblib begins a worker."""
    return {"initializer": _start_worker, "initargs": (os.getpid(),)}


def _start_worker(driver: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch_always()
    threading.Thread(target=_end_with, args=(driver,), name="driver-watch", daemon=True).start()


def _end_with(driver: int) -> None:
    """End this process soon after its driver: loky's workers wait 300 s for another task first.

    The driver's own watcher does the same where no thread can, as one that another keeps from running.
    """
    while os.getppid() == driver:
        time.sleep(WATCH_SECONDS)
    os._exit(1)
