"""Ctrl-C, and SIGTERM alike: once asks a run to finish its rounds in flight, twice ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

_received = [signal.SIGINT]  # the last one counts


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal as Python handles Ctrl-C; `exit_code` tells them apart."""
    _received.append(signal.Signals(number))
    raise KeyboardInterrupt


def exit_code() -> int:
    """The exit code of an interrupted process: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + _received[-1]


class Interrupts:
    """Handles Ctrl-C, and a scheduler's SIGTERM where `interrupt` handles it.

    Parameters
    ----------
    ask : callable
        Asks the run to stop; called by the first interrupt.
    urgent : callable, optional
        Whether to stop at once even so, by KeyboardInterrupt. The second interrupt always does.

    Attributes
    ----------
    asked : signal.Signals or None
        The first interrupt.
    """

    def __init__(self, ask: Callable[[], None], urgent: Callable[[], bool] = lambda: False) -> None:
        self._ask = ask
        self._urgent = urgent
        self._before: dict[signal.Signals, Any] = {}
        self.asked: signal.Signals | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others cannot handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                # A shell lets its background jobs ignore SIGINT; a caller's own handler stays as well.
                if signal.getsignal(number) in (signal.default_int_handler, interrupt):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self._urgent():
            interrupt(number, frame)
        self.asked = signal.Signals(number)
        _received.append(self.asked)
        self._ask()
