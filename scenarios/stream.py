"""Rounds on their way from the workers to the one process that writes them.

Workers send JSON over a local socket that a random key guards; nothing that arrives is unpickled.
A thread of the driving process stores what has arrived, together, in one transaction.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType
from typing import Any, Protocol, Self

from scenarios.store import Store, to_json

Message = dict[str, Any]  # {"round": ..., "recommendation": ...}, one of the two


class Sink(Protocol):
    """Where a task puts its rounds as they happen, and its recommendation at the end."""

    def put(self, message: Message) -> None:
        """Hand over one message."""


class Collector:
    """Receives messages, from this process by `put` or from workers by socket, and stores them.

    Parameters
    ----------
    store : Store
        The study that is written.
    seen : callable
        Called with every stored round (a mapping of the store's columns).
    remote : bool, default False
        Listen for workers.

    Attributes
    ----------
    error : BaseException or None
        What stopped the writing, for instance a full disk. The run is interrupted then.
    """

    def __init__(
        self, store: Store, seen: Callable[[Mapping[str, Any]], None], *, remote: bool = False
    ) -> None:
        self._store = store
        self._seen = seen
        self._queue: queue.SimpleQueue[tuple[Connection | None, Message] | None] = queue.SimpleQueue()
        self.error: BaseException | None = None
        self.key = os.urandom(32)
        self._listener = Listener(authkey=self.key) if remote else None
        self._readers: list[threading.Thread] = []
        self._closing = False
        self._writer = threading.Thread(target=self._write, name="study-writer", daemon=True)
        self._writer.start()
        if self._listener is not None:
            self._acceptor = threading.Thread(target=self._accept, name="study-acceptor", daemon=True)
            self._acceptor.start()

    @property
    def address(self) -> Any:
        """The socket's address, for `WorkerSink`."""
        assert self._listener is not None
        return self._listener.address

    def put(self, message: Message) -> None:
        """Hand over one message from this process."""
        self._queue.put((None, message))

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
                Client(self.address, authkey=self.key).close()
            self._acceptor.join(timeout=5)
            self._listener.close()
            for reader in self._readers:
                reader.join(timeout=5)
        self._queue.put(None)
        self._writer.join()

    def _accept(self) -> None:
        assert self._listener is not None
        while not self._closing:
            try:
                connection = self._listener.accept()
            except Exception:  # a stranger without the key, or a worker that died while it greeted
                continue
            reader = threading.Thread(target=self._read, args=(connection,), daemon=True)
            self._readers = [one for one in self._readers if one.is_alive()] + [reader]
            reader.start()

    def _read(self, connection: Connection) -> None:
        while True:
            try:
                data = connection.recv_bytes()
            except (EOFError, OSError):  # the worker is done, or dead
                return
            self._queue.put((connection, json.loads(data)))

    def _write(self) -> None:
        going = True
        while going:
            batch = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    batch.append(self._queue.get_nowait())
            going = None not in batch
            messages = [entry for entry in batch if entry is not None]
            if messages and self.error is None:
                self._store_batch(messages)

    def _store_batch(self, entries: list[tuple[Connection | None, Message]]) -> None:
        rounds = [message["round"] for _, message in entries if "round" in message]
        advice = [message["recommendation"] for _, message in entries if "recommendation" in message]
        try:
            self._store.add(rounds, advice)
            for record in rounds:
                self._seen(record)
        except BaseException as error:
            self.error = error
            signal.raise_signal(signal.SIGINT)  # the main thread waits for workers; it must stop them
            return
        for connection, message in entries:
            if connection is not None and "recommendation" in message:
                with contextlib.suppress(OSError):
                    connection.send_bytes(b"stored")


class WorkerSink:
    """The worker's end: sends every message at once; a recommendation waits until it is stored."""

    def __init__(self, address: Any, key: bytes) -> None:
        self._connection = Client(address, authkey=key)

    def put(self, message: Message) -> None:
        """Send one message; a worker whose driver is gone ends itself, for nobody would store its work."""
        try:
            self._connection.send_bytes(to_json(message).encode())
            if "recommendation" in message:
                self._connection.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
