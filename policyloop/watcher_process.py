"""Ends what a process has started, once that process has ended. `policyloop.watcher` runs this file.

It stands alone, so that Python starts it within some milliseconds and nothing of ours has to be imported.
"""

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator

LOOK_SECONDS = 0.25
"""How often it is looked whether the process still lives."""

GRACE = 2.0
"""Seconds after its end in which what it has started may end by itself, before it is killed."""

PASSES = 100
"""Looks for what is left: a process that is being killed may start another."""


def main(process: int, mark: str, scratch: str) -> None:
    """Wait for the end of a process, our parent, then end what it has started and remove its scratch folder.

    Its process groups are told on standard input, `+12` of a new one and `-12` of one that is gone. Whatever
    else holds the other end of that pipe is a copy of the process, made by a fork.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    text, told, alive = b"", [0], True
    while alive or told:
        alive = alive and os.getppid() == process  # the kernel gives those whose parent has ended to another
        if not select.select(told, [], [], LOOK_SECONDS if alive else 0)[0]:
            told = told if alive else []
            continue
        more = os.read(0, 4096)
        if not more:  # what the process held open may be closed while it lives
            told = []
        *lines, text = (text + more).split(b"\n")
        for line in lines:
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    until = time.monotonic() + GRACE
    while any(True for _ in marked(mark, 0)) and time.monotonic() < until:
        time.sleep(0.05)
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    kill_marked(mark, 0)
    shutil.rmtree(scratch, ignore_errors=True)


def kill_marked(mark: str, pipe: int | None = None) -> None:
    """Kill all processes that bear a mark, and those that they start meanwhile."""
    for _ in range(PASSES):
        left = list(marked(mark, pipe))
        if not left:
            return
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def marked(mark: str, pipe: int | None = None) -> Iterator[int]:
    """Yield the processes with a mark in their environment, or with a pipe of ours open, but for this one.

    None where the system has no /proc.
    """
    end = None if pipe is None else f"pipe:[{os.fstat(pipe).st_ino}]"
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with contextlib.suppress(OSError):  # gone meanwhile, or another user's
                    if mark.encode() in _read(f"/proc/{name}/environ") or _holds(name, end):
                        yield int(name)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _holds(process: str, end: str | None) -> bool:
    if end is None:
        return False
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            if os.readlink(f"{folder}/{name}") == end:
                return True
    return False


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
