"""A program run to its end, within limits on its time and on what it writes."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from time import monotonic
from typing import NamedTuple

MOST = 16 << 20
"""Bytes of standard output; more than any answer needs."""

TAIL = 4096
"""Bytes of standard error that are kept, its last ones."""

PAUSE, SOON = 0.05, 0.001
"""Seconds after which it is looked whether the program has ended, while its outputs are open, and then."""

CHUNK = 1 << 20
"""Bytes read at once: more than a pipe holds, so that one reading empties it."""


class Ended(NamedTuple):
    """A program that has ended: what it wrote, and its exit code; below 0, the signal that killed it."""

    out: str
    err: str
    code: int


class OverLimit(Exception):
    """The program was killed: why, and the end of what it wrote to standard error."""

    def __init__(self, why: str, err: str) -> None:
        super().__init__(why)
        self.why, self.err = why, err


def run_program(
    command: Sequence[str], message: str, seconds: float, folder: Path, variables: Mapping[str, str]
) -> Ended:
    """Run a program on a message on its standard input, and kill what is left of its process group.

    It need not read the message. The answer is that of the program itself: a child that it leaves behind,
    with the outputs open, is not waited for.
    """
    with TemporaryFile() as given:  # a pipe may be full, and nobody reads it
        given.write(message.encode())
        given.seek(0)
        program = subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=variables,
            start_new_session=True,  # so that all it starts can be killed with it
        )
    out, err, ended, until = bytearray(), bytearray(), False, monotonic() + seconds
    with program, DefaultSelector() as streams:
        try:
            for stream, kept in ((program.stdout, out), (program.stderr, err)):
                assert stream is not None
                streams.register(stream, EVENT_READ, kept)
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
    return Ended(_text(out), _text(err), program.returncode)


def _text(output: bytearray) -> str:
    return output.decode("utf-8", errors="replace")
