"""A study's file: one SQLite database with one writer, which holds all that a run has paid for.

The journal is a write-ahead log (WAL), so that others may read while the run writes, with
`synchronous=FULL`: a round is on the disk when its transaction ends, even if the machine loses
power. A round can stand for hours of simulation, and rounds that arrive together share one
transaction, so the milliseconds of the disk are well spent. (WAL does not work on network file
systems.) Values are SQLite's own 8-byte floats, or JSON text with Python's shortest exact form;
nan is NULL or null. Nothing in the file is ever executed or unpickled.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.study.checksums import sealed, statement
from scenarios.study.file import connect, refusal, refuse_folder, upgrade
from scenarios.study.reading import read_details, read_rounds
from scenarios.study.records import (
    Advice,
    Detail,
    StoredOptimum,
    StoredRound,
    WorldRecord,
    as_real,
    to_json,
)
from scenarios.study.soundness import details_fault, examine

KEPT = 2
"""States of what an agent has learned that are kept: from the last but one, the last can be checked."""


class WriterLock:
    """The right to write a study, held by one process at most and lost with it.

    An exclusive transaction on an empty file beside the study: SQLite's own locks are portable,
    work inside one process too, and end with the process, even by `kill -9`; no child inherits them. The
    file is opened so that no program which the process starts has it open.
    """

    PATIENCE = 3.0
    """Seconds to wait for a writer that ends: one that was killed needs a moment to give its memory back."""

    _taken: ClassVar[set[tuple[int, Path]]] = set()  # by this process, or about to be; forks take none over
    _changed: ClassVar[threading.Condition] = threading.Condition()

    def __init__(self, study: Path) -> None:
        self._path = study.with_name(study.name + ".lock")
        self._owner = os.getpid()
        self._key = self._owner, self._path.absolute()
        self._held: int | None = None
        try:
            self._reserve()
            try:
                self._connection = self._acquire()
            except BaseException:
                self._give_back()
                raise
        except (sqlite3.OperationalError, OSError) as error:
            if "locked" in str(error):
                raise UserError(
                    f"{study}: another policyloop is writing this study; wait, or stop it"
                ) from None
            raise UserError(f"{study}: its folder cannot be written to ({on_one_line(error)})") from error

    def _reserve(self) -> None:
        """Wait for whoever has the lock in this process: to open the file beside it would end its lock."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._key not in self._taken, self.PATIENCE):
                raise sqlite3.OperationalError("locked by this process")
            self._taken.add(self._key)

    def _give_back(self) -> None:
        with self._changed:
            self._taken.discard(self._key)
            self._changed.notify_all()

    def _acquire(self) -> sqlite3.Connection:
        while True:
            # Held open as long as the lock: the number of its inode names no other file until then. To close
            # it gives the system's locks of this process on it away, which it has none of before.
            held = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o644)
            connection = sqlite3.connect(
                self._path, timeout=self.PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode=MEMORY")
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error:
                connection.close()
                os.close(held)
                raise
            if self._inode() == os.fstat(held).st_ino:
                self._held = held
                return connection
            connection.close()  # its last owner has removed it in between: take the lock of a new one
            os.close(held)

    def _inode(self) -> int | None:
        """Which file the path names now, None where there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self._path.stat().st_ino
        return None

    def release(self) -> None:
        """Give the right back and remove the file; without effect in a copy of the process, after a fork."""
        if os.getpid() == self._owner and self._held is not None:
            self._path.unlink(missing_ok=True)
            self._connection.close()
            os.close(self._held)
            self._held = None  # the number may be another file's from now on
            self._give_back()


class Store:
    """The one writer of a study file. Use as a context manager; all methods may be called from any thread.

    Nothing is changed where it raises UserError: the file exists (without `resume` or `force`), is no study,
    is damaged or read-only, is being written by another process, or its folder cannot be written to.

    Parameters
    ----------
    path : Path
    resume : bool, default False
        Go on with the file if it exists.
    force : bool, default False
        Replace the file if it exists and is a study.

    Attributes
    ----------
    created : bool
        Whether this store made the file.
    paid : bool
        Whether the file holds what has cost simulations.
    """

    def __init__(self, path: Path, *, resume: bool = False, force: bool = False) -> None:
        self.path = path
        refuse_folder(path)
        exists = path.exists() or path.is_symlink()
        if exists and not (resume or force):
            raise UserError(
                f"{path}: exists; give --resume to go on with it, --force to replace it, or another --out"
            )
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}")
        if exists and not os.access(path, os.W_OK):
            raise UserError(f"{path}: is read-only; make it writable (chmod u+w), or go on with a copy of it")
        self._mutex = threading.RLock()
        started = exists and not _is_empty(path)
        if started:
            connect(path, write=False).close()  # a foreign file is never replaced, not even with force
        self._lock = WriterLock(path)
        try:
            self.created: bool = not started or (force and not resume)
            self.paid: bool = not self.created
            if self.created:
                self._remove_files()
                self._create()
            else:
                self._refuse_damage()  # before the file is touched
            self._connection = connect(path, write=True)
            self._connection.execute("PRAGMA synchronous=FULL")
        except BaseException as error:
            self._lock.release()
            if isinstance(error, (OSError, sqlite3.Error)):
                raise UserError(f"{path}: cannot be written: {on_one_line(error)}") from error
            raise

    def _refuse_damage(self) -> None:
        with contextlib.closing(connect(self.path, write=False)) as connection:
            found = examine(connection)[0] or details_fault(connection)
        if found:
            raise refusal(self.path, found)

    def _create(self) -> None:
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            upgrade(connection)  # a run killed here leaves an empty database, never half of a study

    def _remove_files(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, discard: bool = False) -> None:
        """Close the file; with `discard`, remove it as well."""
        with self._mutex:
            self._connection.close()
            if discard:
                self._remove_files()
            self._lock.release()

    def set_meta(self, values: Mapping[str, Any]) -> None:
        """Store facts about the study under their keys, as JSON, in place of what was there; twice."""
        texts = [(key, to_json(value)) for key, value in values.items()]
        with self._mutex, self._connection:
            self._write("meta", texts)
            self._write("meta_copy", texts)

    def log_run(self, run: Mapping[str, Any]) -> None:
        """Store that a run begins to write to the study; see `scenarios.study.reading.read_runs`."""
        texts = [to_json(run[name]) for name in ("began", "versions", "inputs", "accepted")]
        with self._mutex, self._connection:
            number = self._connection.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchone()[0]
            self._write("runs", [(number, *texts)])

    def set_world(self, key: str, world: WorldRecord) -> None:
        """Store what was learned about a world before its first round."""
        self.paid = True
        policy, row, value, outcomes = world.optimum or (None,) * len(StoredOptimum._fields)
        with self._mutex, self._connection:
            self._write("priors", [(key, name, to_json(prior)) for name, prior in world.priors.items()])
            optimum = to_json(policy), row, as_real(value), to_json(outcomes)
            self._write("worlds", [(key, world.seed, *optimum)])

    def add(
        self, rounds: Iterable[StoredRound], advice: Iterable[Advice] = (), details: Iterable[Detail] = ()
    ) -> None:
        """Store rounds, recommendations and details in one transaction.

        A round that is stored already is a mistake of the caller: `sqlite3.IntegrityError`.
        """
        details = list(details)
        with self._mutex, self._connection:
            self._write("rounds", [one.columns() for one in rounds], "INSERT")
            self._write("recommendations", [one.columns() for one in advice])
            self._write("details", [one.columns() for one in details])
            for trial, agent in {(one.trial, one.agent) for one in details if one.kind == "learned"}:
                # The largest of all; older ones nobody goes on from.
                self._connection.execute(
                    "DELETE FROM details WHERE kind = 'learned' AND trial = ? AND agent = ? AND round NOT IN "
                    "(SELECT round FROM details WHERE kind = 'learned' AND trial = ? AND agent = ? "
                    "ORDER BY round DESC LIMIT ?)",
                    (trial, agent, trial, agent, KEPT),
                )

    def _write(self, table: str, rows: Iterable[Sequence[Any]], verb: str = "INSERT OR REPLACE") -> None:
        self._connection.executemany(statement(table, verb), [sealed(table, row) for row in rows])

    def learned(self, trial: int, agent: str) -> list[Detail]:
        """What an agent has learned last in its trial."""
        return self.details("learned", trial, agent)

    def details(self, kind: str, trial: int, agent: str) -> list[Detail]:
        """The details of one kind of an agent's trial, in order."""
        with self._mutex:
            return read_details(self._connection, kind, trial, agent)

    def history(self, trial: int, agent: str) -> list[StoredRound]:
        """The stored rounds of an agent's trial, in order."""
        with self._mutex:
            return read_rounds(self._connection, trial, agent)

    def read(self) -> sqlite3.Connection:
        """The connection, to read with the functions of `scenarios.study.reading`."""
        return self._connection


@contextlib.contextmanager
def new_study(path: Path, *, force: bool = False) -> Iterator[Store]:
    """Write a study that is there as a whole, or not at all: then one that it would replace is kept."""
    if path.exists() and force:
        connect(path, write=False).close()
    lock = WriterLock(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with Store(partial, force=True) as store:
            yield store
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        partial.replace(path)
    except sqlite3.Error as error:
        raise UserError(f"{path}: cannot be written: {on_one_line(error)}") from error
    finally:
        partial.unlink(missing_ok=True)
        lock.release()


def _is_empty(path: Path) -> bool:
    """Whether a file is a database without a table, as a run leaves that is killed at its very start."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as connection:
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            return bool(owner == 0 and tables == 0)
    except sqlite3.Error:
        return False
