"""No process outlives the one that it works for, not even where that one is killed by `kill -9`.

A process that starts others has a watcher, a small process beside it, which waits for its end and then kills
what is left of all that it has started. What is started is known by a mark in its environment, which its own
children inherit, whatever session or process group they make of themselves; a copy made by a fork by the pipe
that it holds open. Where the system shows no environments (/proc), only process groups that were told are
known.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from policyloop import watcher_process

VARIABLE = "POLICYLOOP_PROCESSES"
"""The environment variable that holds the marks of a process: those of all that it works for."""

_lock = threading.RLock()
_watcher: Watcher | None = None
_inside = 0  # how many `watched` blocks are open
_before: str | None = None  # the variable's value outside of them


class Watcher:
    """The watcher of this process.

    Attributes
    ----------
    mark : str
    scratch : Path
        A folder that goes with the process; not there before it is made.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.mark = f"{self.process}-{secrets.token_hex(8)}"
        self.scratch = Path(tempfile.gettempdir()).absolute() / f"policyloop-{self.mark}"
        told, self._tell = os.pipe()
        words = [sys.executable, "-I", "-S", watcher_process.__file__, str(self.process), self.mark]
        try:
            self._child = subprocess.Popen(
                [*words, str(self.scratch)],
                stdin=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # Without marks: who watches for a process above this one must not end its watcher first,
                # which still has this one's folder to remove.
                env={name: value for name, value in os.environ.items() if name != VARIABLE},
                start_new_session=True,
            )
        finally:
            os.close(told)

    def tell(self, word: str) -> None:
        """Tell of a process group, `+12` or `-12`."""
        with contextlib.suppress(OSError):  # a watcher that was killed watches no more
            os.write(self._tell, f"{word}\n".encode())

    def marks(self) -> str:
        """The marks of a process that this one starts: its own, and those of all that it works for."""
        given = os.environ.get(VARIABLE, "")
        return given if self.mark in given else f"{given} {self.mark}".lstrip()


def watcher() -> Watcher:
    """The watcher of this process, begun unless it is there."""
    global _watcher
    with _lock:
        if _watcher is None or _watcher.process != os.getpid():  # after a fork it is the parent's
            _watcher = Watcher()
        return _watcher


def marks() -> dict[str, str]:
    """The environment variable of a process to be started, which then ends with this one."""
    return {VARIABLE: watcher().marks()}


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Let whatever is started inside, by whomever, end with this process."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = os.environ.get(VARIABLE)
        _inside += 1
        os.environ.update(marks())
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                os.environ.pop(VARIABLE)
                if _before is not None:
                    os.environ[VARIABLE] = _before


def watch_always() -> None:
    """Let whatever this process starts from now on end with it."""
    os.environ.update(marks())


def end_all() -> None:
    """Kill what this process has started and watches, and what that has started."""
    with _lock:
        if _watcher is not None and _watcher.process == os.getpid():
            watcher_process.kill_marked(_watcher.mark)
