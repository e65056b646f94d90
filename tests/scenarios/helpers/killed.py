"""Runs in processes of their own that are killed.

They are forked from a process that has only imported what a run needs: pytest's own has threads, and a fork
of it may wait for ever for what one of them held, or be slow to begin.
"""

import multiprocessing
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from scenarios import run
from scenarios.declaration.schema import Scenario
from scenarios.running.progress import Progress
from scenarios.study.records import StoredRound

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["killed", "scenarios.running.run", "scenarios.study.study"])

BEGUN = b"begun"


class Telling(Progress):
    """Tells of every stored round through a pipe, as soon as the run knows of it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def seen(self, record: StoredRound) -> None:
        self._pipe.send_bytes(f"{record.trial}/{record.agent}/{record.round}".encode())


def _run(scenario: Scenario, out: Path, pipe: Connection) -> None:
    pipe.send_bytes(BEGUN)
    run(scenario, out=out, resume=True, progress=Telling(pipe))


def killed(scenario: Scenario, out: Path, after: float) -> tuple[bool, set[str]]:
    """Begin a run, or go on with it, and kill it some seconds later: whether it lived, and what it told."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(scenario, out, theirs))
    process.start()
    theirs.close()
    assert ours.recv_bytes() == BEGUN
    timer = threading.Timer(after, process.kill)
    timer.start()
    told = set()
    try:
        while True:
            told.add(ours.recv_bytes().decode())
    except (EOFError, OSError):  # it has ended; a kill in the midst of a message leaves a part of it
        ours.close()
    process.join()
    timer.cancel()
    assert process.exitcode in (0, -9)
    return process.exitcode != 0, told
