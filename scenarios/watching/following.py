"""A study followed while it is written: read whole once, then its new rounds only.

Between two looks no connection is open, so that nothing of the writer's is held; where the files have not
changed since the last look, none is opened.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import deque
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.study.checksums import UNREADABLE
from scenarios.study.file import connect
from scenarios.study.reading import (
    read_advised,
    read_meta,
    read_progress,
    read_recommendations,
    read_rounds,
)
from scenarios.study.records import Advice, StoredRound
from scenarios.study.study import Study

PACE_SECONDS = 120.0
"""The time over which the pace of a run is measured."""
LEAST_SECONDS = 0.3
"""Between two looks at the file, however many pages ask."""


class Seen(NamedTuple):
    """What a look at a study found.

    Attributes
    ----------
    generation : int
        Changes when the file is another study than before: all that was known of it is void.
    known : int
        How many rounds are known.
    seconds_left : float or None
        Until the last round at the present pace; None where no pace is known.
    silent_seconds : float
        Since a new round was seen.
    problem : str
        Why the file cannot be read at the moment, "" where it can.
    """

    generation: int
    known: int
    seconds_left: float | None
    silent_seconds: float
    problem: str


class Follower:
    """A study file, and its rounds in the order in which they were seen.

    Parameters
    ----------
    path : str or Path

    Attributes
    ----------
    study : Study
        As it was when it was read whole: its scenario and its environment.
    rounds : list of StoredRound
        All that were seen.
    advice : list of Advice
        What agents recommended at the end of their trials.

    Raises
    ------
    UserError
        There is no such study, or it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)
        self._lock = threading.Lock()
        self._generation = 0
        self._problem = ""
        self._begin()

    def _begin(self) -> None:
        """Read the study whole."""
        self._state = self._files()
        self.study: Study = Study(self.path)
        self.rounds: list[StoredRound] = self.study.rounds()
        self.advice: list[Advice] = self.study.recommendations()
        self._keys = {(one.trial, one.agent, one.round) for one in self.rounds}
        self._counts: dict[tuple[int, str], int] = {}
        for one in self.rounds:
            self._counts[one.trial, one.agent] = self._counts.get((one.trial, one.agent), 0) + 1
        now = monotonic()
        self._looked = self._grew = now
        self._pace: deque[tuple[float, int]] = deque([(now, len(self.rounds))])

    @property
    def total(self) -> int:
        """Rounds of the whole study, by its scenario when it was last read whole."""
        scenario = self.study.scenario
        return scenario.rounds * scenario.trials * len(scenario.labels)

    def look(self) -> Seen:
        """Read what is new, unless somebody has looked just now."""
        with self._lock:
            now = monotonic()
            if now - self._looked >= LEAST_SECONDS:
                self._looked = now
                self._read()
            left = self.total - len(self.rounds)
            return Seen(
                self._generation, len(self.rounds), self._left(left), monotonic() - self._grew, self._problem
            )

    def _files(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when the study or its log is written."""
        found = []
        for name in (self.path.name, f"{self.path.name}-wal"):
            with contextlib.suppress(FileNotFoundError):
                about = self.path.with_name(name).stat()
                found.append((about.st_ino, about.st_size, about.st_mtime_ns))
        return tuple(found)

    def _read(self) -> None:
        try:
            state = self._files()
            if state == self._state and not self._problem:
                return
            new = self._new_rounds()
            if new is None:
                self._begin()
                self._generation += 1
            elif new:
                self._add(new)
            # Reading may touch the log itself: what it leaves is what is compared with next time, unless
            # something was written meanwhile, which is then read one look later.
            self._state, self._problem = state, ""
        except (UserError, OSError, ValueError, *UNREADABLE) as error:
            self._problem = on_one_line(error)

    def _new_rounds(self) -> list[StoredRound] | None:
        """The rounds that are not known yet; None where it is another study, or one that was extended."""
        with contextlib.closing(connect(self.path, write=False)) as connection:
            connection.execute("BEGIN")
            meta = read_meta(connection)
            if any(meta.get(key) != self.study.meta.get(key) for key in ("created", "scenario")):
                return None
            found: list[StoredRound] = []
            advised = read_advised(connection)
            if len(advised) != len(self.advice):
                self.advice = read_recommendations(connection)
            counts = read_progress(connection)
            if any(counts.get(key, 0) < count for key, count in self._counts.items()):
                return None
            for key, count in counts.items():
                if count > self._counts.get(key, 0):
                    found += self._unknown(connection, *key)
            return found

    def _unknown(self, connection: sqlite3.Connection, trial: int, agent: str) -> list[StoredRound]:
        stored = read_rounds(connection, trial, agent)
        return [one for one in stored if (one.trial, one.agent, one.round) not in self._keys]

    def _add(self, new: list[StoredRound]) -> None:
        for one in new:
            self._keys.add((one.trial, one.agent, one.round))
            self._counts[one.trial, one.agent] = self._counts.get((one.trial, one.agent), 0) + 1
        self.rounds = [*self.rounds, *new]
        self._grew = monotonic()
        self._pace.append((self._grew, len(self.rounds)))
        while len(self._pace) > 2 and self._grew - self._pace[1][0] > PACE_SECONDS:
            self._pace.popleft()

    def _left(self, left: int) -> float | None:
        (began, first), now = self._pace[0], monotonic()
        done = len(self.rounds) - first
        return left * (now - began) / done if done > 0 and left > 0 else None


def newest(folder: Path) -> Path:
    """The study in a folder that was written last; UserError where there is none."""
    found = [one for one in folder.glob("*.sqlite") if one.is_file()]
    for path in sorted(found, key=_written, reverse=True):
        try:
            connect(path, write=False).close()
        except UserError:
            continue
        return path
    raise UserError(f"{folder}: there is no study in this folder; give a STUDY, or a SCENARIO")


def _written(path: Path) -> int:
    """When a study was last written, as far as its files tell."""
    log = path.with_name(f"{path.name}-wal")
    times = [one.stat().st_mtime_ns for one in (path, log) if one.exists()]
    return max(times, default=0)
