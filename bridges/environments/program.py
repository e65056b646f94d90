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

PAUSE = 0.05
"""Seconds after which it is looked whether the program has ended, though its outputs are open."""

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

    The answer is that of the program itself: a child that it leaves behind, with the outputs open, is not
    waited for.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    message : str
        What it reads; it need not.
    seconds : float
        Its time limit.
    folder : Path
        Where it runs.
    variables : mapping
        Its environment variables.

    Raises
    ------
    OSError
        If it cannot be started.
    OverLimit
        If it takes or writes too much.
    """
    with TemporaryFile() as told:  # a pipe may be full, and nobody reads it
        told.write(message.encode())
        told.seek(0)
        program = subprocess.Popen(
            command,
            stdin=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=variables,
            start_new_session=True,  # so that all it starts can be killed with it
        )
    out, err = bytearray(), bytearray()
    with program:
        try:
            _listen(program, out, err, monotonic() + seconds)
        except subprocess.TimeoutExpired:
            raise OverLimit(f"took longer than {seconds:g} s", _text(err)) from None
        except OverflowError:
            raise OverLimit(f"wrote more than {MOST >> 20} MB to standard output", _text(err)) from None
        finally:
            _kill_group(program)
    return Ended(_text(out), _text(err), program.returncode)


def _listen(program: "subprocess.Popen[bytes]", out: bytearray, err: bytearray, until: float) -> None:
    """Gather the outputs until the program ends or the time is over."""
    with DefaultSelector() as streams:
        for stream, kept in ((program.stdout, out), (program.stderr, err)):
            assert stream is not None
            streams.register(stream, EVENT_READ, kept)
        while streams.get_map():
            ended = program.poll() is not None  # first: then all that it wrote is there to be read
            for key, _ in streams.select(0 if ended else PAUSE):
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    streams.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(out) > MOST:
                raise OverflowError
            del err[:-TAIL]
            if ended:
                return
            if monotonic() > until:
                break
    program.wait(max(0.0, until - monotonic()))


def _kill_group(program: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)


def _text(output: bytearray) -> str:
    return output.decode("utf-8", errors="replace")
