"""Where a trial finds its stored rounds and puts new ones: the worker's end of the way to the study."""

from __future__ import annotations

import json
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from typing import Any, Protocol

from scenarios.study.records import to_json

# One of {"claim": [trial, agent]}, {"round": ..}, {"recommendation": ..}; from inside {"stop"} and {"gone"}.
Message = dict[str, Any]
History = list[dict[str, Any]]


class Sink(Protocol):
    """Where a task finds its stored rounds, and puts new ones as they happen."""

    def claim(self, trial: int, agent: str) -> History | None:
        """Take over the trial of an agent: its stored rounds, or None where the run is to stop."""

    def put(self, message: Message) -> None:
        """Hand over one round, or the recommendation."""

    @property
    def stopping(self) -> bool:
        """Whether no further round is to begin."""


class DriverGone(ConnectionError):
    """The driving process has ended, or has given the trial to another worker."""


class WorkerSink:
    """The worker's end: sends every message at once; a recommendation waits until it is stored.

    Its methods raise `DriverGone` where nobody would store the work any more.
    """

    def __init__(self, address: Any, key: bytes) -> None:
        self._stop = False
        try:
            self._connection = Client(address, authkey=key)
        except (EOFError, OSError, AuthenticationError) as error:
            raise DriverGone("the run that this work belongs to has ended") from error

    def claim(self, trial: int, agent: str) -> History | None:
        """Take over the trial of an agent: its stored rounds, or None where the run is to stop."""
        self._send({"claim": [trial, agent]})
        history: History | None = json.loads(self._receive())["history"]
        return history

    def put(self, message: Message) -> None:
        """Send one message."""
        self._send(message)
        if "recommendation" in message:
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

    def _send(self, message: Message) -> None:
        try:
            self._connection.send_bytes(to_json(message).encode())
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
