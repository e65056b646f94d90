"""What a run tells while it runs: a live display on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

from policyloop.plain_text import for_terminal, plain_console
from scenarios.numbers import duration, significant
from scenarios.study.records import NOTHING

if TYPE_CHECKING:
    from rich.progress import TaskID

    from scenarios.study.records import StoredRound


Say = Callable[[str], None]  # adds to what is shown of a stage: "group 2 of 5 done"

_SLOW = 2.0  # seconds after which a stage is worth a line
_EVERY = 10.0  # seconds between plain lines
_ENOUGH = 10  # rounds after which the time left can be told
_ENDING = "recommending, and simulating again"


class Progress:
    """What a run tells while it runs; this one shows nothing. Any method may be called from any thread."""

    @contextlib.contextmanager
    def stage(self, text: str) -> Iterator[Say]:
        """Show that a piece of work before the first round goes on, for as long as the context lasts.

        The context's value is a function that adds a detail in words.
        """
        yield lambda detail: None

    def start(self, name: str, total: int, done: int, sign: float) -> None:
        """Begin to count rounds: `done` of `total` are stored already; the best one is so by `sign`."""

    def seen(self, record: StoredRound) -> None:
        """Count a round that has been stored."""

    def note(self, text: str) -> None:
        """Tell of something that happens in between."""

    def stop(self) -> None:
        """End the display."""


class _Counter:
    """Counts rounds, failures, the time left, and the best value of every agent so far."""

    def __init__(self) -> None:
        self.name, self.total, self.done, self.failed = "", 0, 0, 0
        self._sign = 1.0
        self._best: dict[str, float] = {}
        self._times: deque[float] = deque(maxlen=1000)  # when the last rounds came

    def begin(self, name: str, total: int, done: int, sign: float) -> None:
        self.name, self.total, self.done, self._sign = name, total, done, sign
        self._times.clear()

    def count(self, record: StoredRound) -> None:
        self.done += 1
        self._times.append(time.monotonic())
        self.failed += record.status in NOTHING
        # The noise-free value where it is known: the best of noisy values is luck.
        value = record.expected if _known(record.expected) else record.objective
        if record.status not in NOTHING and value is not None and _known(value):
            best = self._best.get(record.agent, value)
            self._best[record.agent] = max(best, value, key=lambda one: self._sign * one)

    def left(self) -> str:
        """What is left in words: the time, at the pace of the later half of the rounds seen.

        "" where too few have been seen.
        """
        if self.done >= self.total:
            return _ENDING
        if len(self._times) < _ENOUGH:
            return ""
        recent = list(self._times)[len(self._times) // 2 :]
        return f"{duration((recent[-1] - recent[0]) / (len(recent) - 1) * (self.total - self.done))} left"

    def best(self) -> str:
        return ", ".join(f"{agent} {significant(value)}" for agent, value in sorted(self._best.items()))

    def failures(self) -> str:
        return f", {self.failed} failed" if self.failed else ""


def _known(value: float | None) -> bool:
    return value is not None and value == value


class PlainLines(Progress):
    """Writes a line now and then: where there is no terminal.

    Parameters
    ----------
    stream : text stream, optional
        Default standard error.
    every : float, default 10
        Seconds between lines.
    """

    def __init__(self, stream: TextIO | None = None, every: float = _EVERY) -> None:
        self._stream = stream or sys.stderr
        self._every = every
        self._counter = _Counter()
        self._last = time.monotonic()
        self._active = False
        self._ending: threading.Timer | None = None

    @contextlib.contextmanager
    def stage(self, text: str) -> Iterator[Say]:
        """Write a line once the work takes over two seconds, and one when it ends."""
        began = time.monotonic()
        timer = threading.Timer(_SLOW, self._line, (f"{text} ...",))
        timer.daemon = True
        timer.start()
        last = began

        def say(detail: str) -> None:
            nonlocal last
            if time.monotonic() - last >= self._every:
                last = time.monotonic()
                self._line(f"{text}: {detail}")

        try:
            yield say
        finally:
            timer.cancel()
        if time.monotonic() - began > _SLOW:
            self._line(f"{text}: done in {duration(time.monotonic() - began)}")

    def start(self, name: str, total: int, done: int, sign: float) -> None:
        """Write how much there is to do."""
        self._counter.begin(name, total, done, sign)
        self._active = True
        self._last = time.monotonic()
        known = f", {done} stored already" if done else ""
        self._line(f"{name}: {total} rounds{known}")
        self._watch_end()

    def seen(self, record: StoredRound) -> None:
        """Write a line if the last one is some seconds old."""
        counter = self._counter
        counter.count(record)
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            left = counter.left()
            self._line(
                f"{counter.name}: {counter.done} of {counter.total} rounds{counter.failures()}"
                f"{left and ', '}{left}, best so far: {counter.best()}"
            )
        self._watch_end()

    def _watch_end(self) -> None:
        if self._counter.done == self._counter.total:
            self._ending = threading.Timer(_SLOW, self._line, (f"all rounds are stored; {_ENDING}",))
            self._ending.daemon = True
            self._ending.start()

    def note(self, text: str) -> None:
        """Write a line."""
        self._line(text)

    def stop(self) -> None:
        """Write how many rounds are stored."""
        if self._ending is not None:
            self._ending.cancel()
        if self._active:
            self._active = False
            counter = self._counter
            self._line(f"{counter.name}: {counter.done} of {counter.total} rounds stored{counter.failures()}")

    def _line(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed pipe must not stop a study
            print(for_terminal(text), file=self._stream, flush=True)


class LiveDisplay(Progress):
    """A bar with rounds done, the time left and the best value so far by agent, on a terminal."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._counter = _Counter()
        self._console = plain_console(stderr=True)
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self._bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(width=24, min_width=4)),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[left]}", markup=False, table_column=Column(no_wrap=True)),
            # What a narrow terminal has no room for is left out here, and not of the count.
            TextColumn("{task.fields[best]}", style="dim", markup=False, table_column=rest),
            console=self._console,
            expand=True,
            transient=True,
        )
        self._task: TaskID | None = None

    @contextlib.contextmanager
    def stage(self, text: str) -> Iterator[Say]:
        """Show a spinner and the seconds that have passed."""
        from rich.progress import Progress as RichProgress
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        began = time.monotonic()
        with RichProgress(*columns, console=self._console, transient=True) as shown:
            task = shown.add_task(for_terminal(text), total=None)
            yield lambda detail: shown.update(task, description=for_terminal(f"{text}: {detail}"))
        if time.monotonic() - began > _SLOW:
            self._console.print(f"{text}: done in {duration(time.monotonic() - began)}", style="dim")

    def start(self, name: str, total: int, done: int, sign: float) -> None:
        """Show the bar."""
        self._counter.begin(name, total, done, sign)
        self._task = self._bar.add_task(
            for_terminal(name), total=total, completed=done, left=self._counter.left(), best=""
        )
        self._bar.start()

    def seen(self, record: StoredRound) -> None:
        """Move the bar by one round."""
        counter = self._counter
        counter.count(record)
        if self._task is not None:
            self._bar.update(
                self._task,
                completed=counter.done,
                left=f"{counter.left()}{counter.failures()}",
                best=for_terminal(f"best {counter.best()}"),
            )

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._console.print(text)

    def stop(self) -> None:
        """Remove the bar and say how many rounds are stored."""
        if self._task is not None:
            self._task = None
            self._bar.stop()
            counter = self._counter
            self._console.print(
                f"{counter.name}: {counter.done} of {counter.total} rounds stored{counter.failures()}",
                style="dim",
            )


def choose(quiet: bool) -> Progress:
    """The display that fits: none if `quiet`, a live one on a terminal, else plain lines."""
    if quiet:
        return Progress()
    return LiveDisplay() if sys.stderr.isatty() else PlainLines()
