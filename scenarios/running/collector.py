"""Rounds on their way from the workers to the one process that writes them.

Workers send JSON over a socket that a random key guards; nothing that arrives is unpickled. A worker
first claims the trial of an agent, and is told the rounds that are stored of it; whoever claims a trial
takes it from the worker that had it before, which was lost. A thread of the driving process stores what
has arrived, together, in one transaction.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from types import TracebackType
from typing import Any, Literal, Self

from scenarios.study.records import Advice, Detail, StoredRound, to_json
from scenarios.study.store import Store
from scenarios.trial.sink import Claim, Message, Past, Record, from_wire

# Whose it is (None: this process's own), and what has come; "gone" where a worker has left.
Entry = tuple[Connection | None, Message | Literal["stop", "gone"]]
Arrived = tuple[Connection | None, Record]


class Collector:
    """Receives messages, from this process or from workers by socket, and stores them.

    Parameters
    ----------
    store : Store
    seen : callable
        Called with every round that has been stored.
    host : str, optional
        Listen for workers: "" on a socket of this machine alone, else on a free port of this address.
        Default: there are none.
    stopped : callable, optional
        Called when the run has been asked to stop.

    Attributes
    ----------
    error : BaseException or None
        What stopped the writing, for instance a full disk. The run is interrupted then.
    stopping : bool
        Whether no further round is to begin.
    """

    def __init__(
        self,
        store: Store,
        seen: Callable[[StoredRound], None],
        *,
        host: str | None = None,
        stopped: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._seen = seen
        self._stopped = stopped
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._owners: dict[Claim, Connection] = {}
        self._readers: dict[Connection, threading.Thread] = {}
        self._closing = False
        self.error: BaseException | None = None
        self.stopping: bool = False
        self.key: bytes = os.urandom(32)
        self._listener: Listener | None = None
        if host is not None:
            _allow_connections()
            self._listener = _listener(host)
            self._acceptor = threading.Thread(target=self._accept, name="study-acceptor", daemon=True)
            self._acceptor.start()
        self._writer = threading.Thread(target=self._write, name="study-writer", daemon=True)
        self._writer.start()

    @property
    def address(self) -> Any:
        """The socket's address, for `WorkerSink`; None where no workers are awaited."""
        return None if self._listener is None else self._listener.address

    def claim(self, trial: int, agent: str) -> Past | None:
        """What is stored of an agent's trial, None where the run is to stop."""
        return None if self.stopping else self._past(trial, agent)

    def _past(self, trial: int, agent: str) -> Past:
        store = self._store
        return Past(
            store.history(trial, agent), store.learned(trial, agent), store.details("runs", trial, agent)
        )

    def put(self, record: Record) -> None:
        """Hand over one record from this process."""
        if self.error is not None:
            raise self.error
        self._queue.put((None, record))

    def stop(self) -> None:
        """Let the rounds in flight end, and begin no other. May be called by a signal's handler."""
        self.stopping = True
        self._queue.put((None, "stop"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Store all that has arrived, then stop. Workers must have ended."""
        if self._listener is not None and not self._closing:
            self._closing = True
            with contextlib.suppress(Exception):  # wakes the acceptor, which has no time limit
                Client(self.address).close()
            self._acceptor.join(timeout=5)
            self._listener.close()
            self._hear_out(5.0 if self.error is None else 0.0)
        self._queue.put(None)
        self._writer.join()

    def _hear_out(self, seconds: float) -> None:
        """Read what workers have sent until they have ended, then part with those that have not."""
        until = time.monotonic() + seconds
        for connection, reader in list(self._readers.items()):
            reader.join(timeout=max(0.0, until - time.monotonic()))
            if reader.is_alive():
                _cut(connection)
                reader.join(timeout=1)

    def _accept(self) -> None:
        assert self._listener is not None
        while not self._closing:
            try:
                connection = self._listener.accept()
            except OSError as error:
                if error.errno == errno.EMFILE:
                    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
                    why = f"more workers than this process may have open files, {most} (ulimit -n)"
                    self._fail(OSError(why))
                    return
                continue  # someone who left before being let in
            reader = threading.Thread(target=self._read, args=(connection,), daemon=True)
            self._readers[connection] = reader
            reader.start()

    def _read(self, connection: Connection) -> None:
        try:
            deliver_challenge(connection, self.key)
            answer_challenge(connection, self.key)
            while True:
                self._queue.put((connection, from_wire(connection.recv_bytes())))
        except Exception:  # the worker is done, or dead, or a stranger without the key
            self._queue.put((connection, "gone"))

    def _write(self) -> None:
        going = True
        while going:
            batch = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    batch.append(self._queue.get_nowait())
            going = None not in batch
            waiting: list[Arrived] = []
            for entry in batch:
                if entry is not None:
                    self._take(*entry, waiting)
            self._store_batch(waiting)

    def _take(
        self,
        connection: Connection | None,
        message: Message | Literal["stop", "gone"],
        waiting: list[Arrived],
    ) -> None:
        """Answer a message, or leave it waiting to be stored with others."""
        if message == "stop":
            for owner in set(self._owners.values()):
                _send(owner, b"stop")
            self._stopped()
        elif connection is not None and message == "gone":
            self._readers.pop(connection, None)
            self._owners = {key: one for key, one in self._owners.items() if one is not connection}
            connection.close()
        elif connection is not None and isinstance(message, Claim):
            self._store_batch(waiting)
            waiting.clear()
            before = self._owners.get(message)
            if before is not None and before is not connection:
                _cut(before)
            self._owners[message] = connection
            stop = self.stopping or self.error is not None
            _send(connection, to_json(None if stop else self._past(*message)).encode())
        elif isinstance(message, Record) and (
            connection is None or self._owners.get(Claim(message.trial, message.agent)) is connection
        ):
            waiting.append((connection, message))

    def _store_batch(self, entries: list[Arrived]) -> None:
        if not entries or self.error is not None:
            return
        rounds = [record for _, record in entries if isinstance(record, StoredRound)]
        try:
            self._store.add(
                rounds,
                [record for _, record in entries if isinstance(record, Advice)],
                [record for _, record in entries if isinstance(record, Detail)],
            )
            for record in rounds:
                self._seen(record)
        except BaseException as error:
            self._fail(error)
            return
        for connection, advice in entries:
            if connection is not None and isinstance(advice, Advice):
                _send(connection, b"stored")

    def _fail(self, error: BaseException) -> None:
        """End the run, which can store no more."""
        self.error = error
        self.stopping = True
        signal.raise_signal(signal.SIGINT)  # the main thread waits for workers; it must stop them
        for owner in set(self._owners.values()):  # who ignores it, in the background, sees them end
            _cut(owner)


def _listener(host: str) -> Listener:
    """A socket on an address, or on this machine alone."""
    if host:
        return Listener((host, 0), backlog=128)
    try:
        return Listener(backlog=128)
    except OSError:  # the name of the temporary folder is longer than that of a socket may be
        return Listener(("127.0.0.1", 0), backlog=128)


def _allow_connections() -> None:
    """Let this process have as many files open as the system permits it: a worker's connection is one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):  # a system may permit less than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _send(connection: Connection, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connection.send_bytes(data)


def _cut(connection: Connection) -> None:
    """End a connection that another thread reads."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
