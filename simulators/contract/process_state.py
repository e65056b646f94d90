"""What a model may change in the process it runs in, and what is put back when it is done.

Working folder, environment variables, standard streams, signal handlers, warnings, logging, NumPy's error
handling, global random numbers, the threads of linear algebra: they belong to the process, hence to everybody
in it. A model that changes them, as many do without a thought, must not change what others compute, nor where
they write. All of it takes some tens of microseconds (`benchmarks/bench_misbehaving.py`).
"""

from __future__ import annotations

import gc
import io
import logging
import os
import random
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

Back = Callable[[], None]

STREAMS = ("stdin", "stdout", "stderr")

HANDLED = tuple(getattr(signal, f"SIG{name}") for name in ("INT", "TERM", "HUP", "ALRM", "CHLD", "PIPE"))
"""Signals that end a run, or that programs and time limits use; to look at all takes longer than the rest."""

_global: Any = np.random  # some of its functions are missing in NumPy's own annotations
_seed_python, _seed_numpy = random.seed, np.random.seed  # whatever is put in their place later


@contextmanager
def kept_process_state(*, folder: bool = True) -> Iterator[None]:
    """Put back at the end what is changed inside, but for global random numbers: see `RandomNumbers`.

    Parameters
    ----------
    folder : bool, default True
        Whether the working folder and the environment variables are put back as well. Where a model is made
        they are not: it may count on them in its steps.
    """
    parts = (_streams, _warnings, _interpreter, _logging, _signals, _threads)
    put_back = [part() for part in parts] + ([_folder()] if folder else [])
    try:
        with np.errstate():
            yield
    finally:
        for back in put_back:
            with suppress(Exception):  # one that cannot be put back must not keep the others
                back()


class RandomNumbers:
    """Global random numbers of Python and NumPy for one model: they go on where it left them."""

    def __init__(self) -> None:
        self._python: Any = None
        self._numpy = np.random.MT19937(0)

    @contextmanager
    def used(self, seed: int | None = None) -> Iterator[None]:
        """Let them be the process's own inside, begun anew with a seed below 2**32 if there is one."""
        before = _entered()
        _global.set_bit_generator(self._numpy)
        if seed is not None:
            _seed_numpy(seed)
            _seed_python(seed)
        elif self._python is None:
            _seed_python(0)
        else:
            random.setstate(self._python)
        try:
            yield
        finally:
            self._python = random.getstate()
            python, numpy = _left(before)
            random.setstate(python)
            _global.set_bit_generator(numpy)


_lock = threading.Lock()
_depth = 0
_outside: tuple[Any, Any] = random.getstate(), _global.get_bit_generator()


def _entered() -> tuple[Any, Any]:
    """The numbers of before, to be put back by whoever leaves."""
    global _depth, _outside
    with _lock:
        now = random.getstate(), _global.get_bit_generator()
        if _depth == 0:
            _outside = now
        _depth += 1
        return now


def _left(before: tuple[Any, Any]) -> tuple[Any, Any]:
    """What to put back: by the last to leave the process's own, since threads do not leave in turn."""
    global _depth
    with _lock:
        _depth -= 1
        return before if _depth else _outside


_spare: list[RandomNumbers] = []


@contextmanager
def seeded_globals(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global random numbers (below 2**32), and put the former ones back at the end.

    So a model that draws from them, as many do without knowing, repeats itself, and disturbs nobody.
    """
    numbers = _spare.pop() if _spare else RandomNumbers()
    try:
        with numbers.used(seed):
            yield
    finally:
        _spare.append(numbers)


def _streams() -> Back:
    """Standard streams: as Python knows them, and the files below them; closed ones are opened again."""
    known = [getattr(sys, name) for name in STREAMS]
    files = [_kept_file(number) for number in range(3)]

    def back() -> None:
        for number, file in enumerate(files):
            if file is not None:
                _put_file_back(number, *file)
        for number, (name, stream) in enumerate(zip(STREAMS, known, strict=True)):
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
            own = getattr(sys, f"__{name}__")
            if isinstance(own, io.TextIOWrapper) and own.closed:
                _open_again(own, number)

    return back


def _kept_file(number: int) -> tuple[int, tuple[int, int]] | None:
    """A second descriptor of an open file, and which file it is."""
    try:
        found = os.fstat(number)
        return os.dup(number), (found.st_dev, found.st_ino)
    except OSError:
        return None


def _put_file_back(number: int, kept: int, which: tuple[int, int]) -> None:
    try:
        found = os.fstat(number)
        same = (found.st_dev, found.st_ino) == which
    except OSError:
        same = False
    if not same:
        os.dup2(kept, number)
    os.close(kept)


def _open_again(stream: io.TextIOWrapper, number: int) -> None:
    """Open a closed stream in place: whoever holds it (a logger, a display) can go on writing."""
    with suppress(OSError, ValueError):
        file = open(number, "rb" if number == 0 else "wb", closefd=False)  # noqa: SIM115
        stream.__init__(file, stream.encoding, stream.errors, line_buffering=stream.line_buffering)  # type: ignore[misc]


def _warnings() -> Back:
    filters, show = warnings.filters, warnings.showwarning
    kept = [*filters]

    def back() -> None:
        warnings.showwarning = show
        if warnings.filters is not filters or filters != kept:
            with warnings.catch_warnings():  # at its end the filters count as changed
                pass
            warnings.filters = filters
            warnings.filters[:] = kept  # type: ignore[index]

    return back


def _interpreter() -> Back:
    collects, depth, hook = gc.isenabled(), sys.getrecursionlimit(), sys.excepthook
    timeout = socket.getdefaulttimeout()

    def back() -> None:
        sys.excepthook = hook
        if collects != gc.isenabled():
            (gc.enable if collects else gc.disable)()
        if depth != sys.getrecursionlimit():
            sys.setrecursionlimit(depth)
        if timeout != socket.getdefaulttimeout():
            socket.setdefaulttimeout(timeout)

    return back


def _logging() -> Back:
    loggers = (logging.root, logging.getLogger("policyloop"))
    kept = [(one.level, one.disabled, one.propagate, [*one.handlers]) for one in loggers]
    disabled = logging.root.manager.disable

    def back() -> None:
        if logging.root.manager.disable != disabled:
            logging.disable(disabled)
        for one, (level, off, propagate, handlers) in zip(loggers, kept, strict=True):
            one.disabled, one.propagate = off, propagate
            if one.level != level:
                one.setLevel(level)
            if one.handlers != handlers:
                one.handlers[:] = handlers

    return back


def _signals() -> Back:
    """Handlers, blocked signals and a pending alarm; of a thread, which can set no handler, nothing."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    handlers = [signal.getsignal(number) for number in HANDLED]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    alarm = signal.getitimer(signal.ITIMER_REAL)[0]

    def back() -> None:
        if not alarm and signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, 0)  # before its handler goes: without one it kills
        for number, handler in zip(HANDLED, handlers, strict=True):
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()) != blocked:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    return back


@cache
def _linear_algebra() -> list[Any]:
    return list(ThreadpoolController().lib_controllers)


def _threads() -> Back:
    """Threads of linear algebra, on which the last bits depend."""
    kept = [(library, library.get_num_threads()) for library in _linear_algebra()]

    def back() -> None:
        for library, count in kept:
            if library.get_num_threads() != count:
                library.set_num_threads(count)

    return back


def _folder() -> Back:
    folder, variables = _working_folder(), os.environ
    kept = dict(_plain(variables))

    def back() -> None:
        if folder is not None and _working_folder() != folder:
            with suppress(OSError):  # it is gone
                os.chdir(folder)
        os.environ = variables  # noqa: B003  # the same object, which has its own keys put back
        if _plain(variables) != kept:
            for name in _plain(variables).keys() - kept.keys():
                del os.environb[name]
            os.environb.update(kept)

    return back


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return None


def _plain(variables: Any) -> dict[bytes, bytes]:
    """What environment variables are kept in: to copy that takes a hundredth of the public way."""
    plain: dict[bytes, bytes] = variables._data
    return plain
