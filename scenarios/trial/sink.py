"""Where a trial finds its stored rounds and puts new ones: the worker's end of the way to the study."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from typing import Any, NamedTuple, Protocol

from bridges import Round
from scenarios.study.records import Advice, Detail, StoredRound, to_json


class Claim(NamedTuple):
    """Asks for the trial of an agent."""

    trial: int
    agent: str


class Past(NamedTuple):
    """What is stored of the trial of an agent.

    Attributes
    ----------
    rounds : list of StoredRound
        In order.
    learned : list of Detail
        What the agent had learned last.
    runs : list of Detail
        The runs of each round, where steps are repeated.
    """

    rounds: list[StoredRound]
    learned: list[Detail]
    runs: list[Detail]

    def as_rounds(self) -> list[Round]:
        """The rounds as the loop is told them."""
        runs = {one.round: one.value for one in self.runs}
        return [stored.as_round(runs.get(stored.round)) for stored in self.rounds]


Record = StoredRound | Advice | Detail
Message = Claim | Record


class Sink(Protocol):
    """Where a trial finds its stored rounds, and puts new ones as they happen."""

    def claim(self, trial: int, agent: str) -> Past | None:
        """Take over the trial of an agent: what is stored of it, or None where the run is to stop."""

    def put(self, record: Record) -> None:
        """Hand over one round, a detail of it, or the recommendation."""

    @property
    def stopping(self) -> bool:
        """Whether no further round is to begin."""


def to_wire(message: Message) -> bytes:
    """A message as a worker sends it, JSON."""
    values = message.columns() if isinstance(message, Advice) else message
    return to_json([type(message).__name__, values]).encode()


def from_wire(data: bytes) -> Message:
    """What `to_wire` was given; an error of any kind where that cannot be."""
    kind, values = json.loads(data)
    if kind == Claim.__name__:
        return Claim(*values)
    if kind == Advice.__name__:
        return Advice.stored(values)
    return Detail(*values) if kind == Detail.__name__ else StoredRound(*values)


LOOK_SECONDS = 0.5
"""How often a worker looks whether its trial has ended, while it watches the driving process."""


class DriverGone(ConnectionError):
    """The driving process has ended, or has given the trial to another worker."""


class WorkerSink:
    """The worker's end: sends every record at once; a recommendation waits until it is stored.

    Its methods raise `DriverGone` where nobody would store the work any more.
    """

    def __init__(self, address: Any, key: bytes) -> None:
        self._stop = False
        try:
            self._connection = Client(address, authkey=key)
        except (EOFError, OSError, AuthenticationError) as error:
            raise DriverGone("the run that this work belongs to has ended") from error

    def claim(self, trial: int, agent: str) -> Past | None:
        """Take over the trial of an agent: what is stored of it, or None where the run is to stop."""
        self._send(Claim(trial, agent))
        past = json.loads(self._receive())
        if past is None:
            return None
        rounds, *details = past
        learned, runs = ([Detail(*one) for one in each] for each in details)
        return Past([StoredRound(*one) for one in rounds], learned, runs)

    def put(self, record: Record) -> None:
        """Send one record."""
        self._send(record)
        if isinstance(record, Advice):
            while self._receive() != b"stored":
                self._stop = True

    @property
    def stopping(self) -> bool:
        """Whether the driving process has asked to stop."""
        try:
            while not self._stop and self._connection.poll():
                self._stop = self._receive() == b"stop"
        except (EOFError, OSError):
            raise DriverGone("the run that this work belongs to has ended") from None
        return self._stop

    @contextmanager
    def when_gone(self, act: Callable[[], None]) -> Iterator[None]:
        """Do something from a thread, as soon as the driving process is gone while the block lasts."""
        over = threading.Event()

        def watch() -> None:
            poll = select.poll()
            # Only the other end's closing: what was sent is read by others. (Linux tells of it early.)
            poll.register(self._connection.fileno(), getattr(select, "POLLRDHUP", 0))
            while not over.is_set():
                if poll.poll(1000 * LOOK_SECONDS):
                    act()
                    return

        thread = threading.Thread(target=watch, name="driver-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _send(self, message: Message) -> None:
        try:
            self._connection.send_bytes(to_wire(message))
        except OSError as error:
            raise DriverGone("the run that this work belongs to has ended") from error

    def _receive(self) -> bytes:
        try:
            return self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise DriverGone("the run that this work belongs to has ended") from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
