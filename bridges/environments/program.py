"""A program run to its end, within caps on its time and memory and on what it writes."""

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from time import monotonic
from typing import NamedTuple

from policyloop.watcher import marks, watcher

MOST = 16 << 20
"""Bytes of an answer; more than any needs."""

TAIL = 4096
"""Bytes of standard error that are kept, its last ones."""

PAUSE, SOON = 0.05, 0.001
"""Seconds after which it is looked whether the program has ended, while its outputs are open, and then."""

CHUNK = 1 << 20
"""Bytes read at once: more than a pipe holds, so that one reading empties it."""


class Ended(NamedTuple):
    """A program that has ended: what it wrote, and its exit code; below 0, the signal that killed it."""

    out: bytes
    err: str
    code: int


class Caps(NamedTuple):
    """What a program may take: seconds, and where the system enforces it processor seconds and megabytes.

    The last two are each process's own: what it starts begins to count anew.
    """

    seconds: float
    cpu_seconds: int | None = None
    megabytes: int | None = None


class OverLimit(Exception):
    """The program was killed: why, and the end of what it wrote to standard error."""

    def __init__(self, why: str, err: str) -> None:
        super().__init__(why)
        self.why: str
        self.err: str
        self.why, self.err = why, err


def run_program(
    command: Sequence[str],
    message: str,
    caps: Caps,
    folder: Path,
    variables: Mapping[str, str],
    answers_here: bool = True,
) -> Ended:
    """Run a program on a message on its standard input, and kill what is left of its process group.

    It need not read the message. The answer is that of the program itself: a child that it leaves behind,
    with the outputs open, is not waited for. It ends with this process, too, even by `kill -9`. Where it
    answers elsewhere than on standard output, that counts as standard error.
    """
    with TemporaryFile() as given:  # a pipe may be full, and nobody reads it
        given.write(message.encode())
        given.seek(0)
        program = subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if answers_here else subprocess.STDOUT,
            cwd=folder,
            env={**variables, **marks()},
            start_new_session=True,  # so that all it starts can be killed with it
        )
    watcher().tell(f"+{program.pid}")
    _cap(program.pid, caps)
    seconds = caps.seconds
    out, err, ended, until = bytearray(), bytearray(), False, monotonic() + seconds
    with program, DefaultSelector() as streams:
        try:
            kept = (
                ((program.stdout, out), (program.stderr, err)) if answers_here else ((program.stdout, err),)
            )
            for stream, to in kept:
                assert stream is not None
                streams.register(stream, EVENT_READ, to)
            while not ended:
                ended = program.poll() is not None  # first: then all that it wrote is there to be read
                pause = PAUSE if streams.get_map() else SOON
                for key, _ in streams.select(0 if ended else pause):
                    key.data.extend(chunk := os.read(key.fd, CHUNK))
                    if not chunk:
                        streams.unregister(key.fileobj)
                del err[:-TAIL]
                if len(out) > MOST:
                    raise OverLimit(f"wrote more than {MOST >> 20} MB to standard output", _text(err))
                if not ended and monotonic() > until:
                    raise OverLimit(f"took longer than {seconds:g} s", _text(err))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            watcher().tell(f"-{program.pid}")
    return Ended(bytes(out), _text(err), program.returncode)


def _cap(process: int, caps: Caps) -> None:
    """Cap a program that has just begun; what it starts from now on inherits the caps."""
    if not hasattr(resource, "prlimit"):  # Linux has it
        return
    # First the signal that says why; who does not listen to it is killed a second later.
    kinds = (
        (resource.RLIMIT_CPU, caps.cpu_seconds, 1),
        (resource.RLIMIT_DATA, (caps.megabytes or 0) << 20, 0),
    )
    for kind, most, more in kinds:
        if most:
            with contextlib.suppress(ProcessLookupError):  # it has ended already
                _, hard = resource.prlimit(process, kind)
                least = most if hard == resource.RLIM_INFINITY else min(most, hard)
                above = least + more if hard == resource.RLIM_INFINITY else min(least + more, hard)
                resource.prlimit(process, kind, (least, above))


def _text(output: bytearray) -> str:
    return output.decode("utf-8", errors="replace")
