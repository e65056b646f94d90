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
import json
import math
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from scenarios.errors import UserError, one_line

SCHEMA_VERSION = 1
APPLICATION_ID = 0x504C4350  # "PLCP", in the file's header: tells our files from foreign ones

ALL_TRIALS = "all"  # the key of the world that all trials share

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE priors (world TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (world, key)) STRICT;
CREATE TABLE worlds (
    world TEXT PRIMARY KEY, seed INTEGER, policy TEXT, row INTEGER, value REAL, outcomes TEXT
) STRICT;
CREATE TABLE rounds (
    trial INTEGER, agent TEXT, round INTEGER,
    policy TEXT NOT NULL, row INTEGER, outcomes TEXT NOT NULL, noise_variance TEXT,
    objective REAL, expected REAL, regret REAL, seconds REAL, step_seconds REAL,
    status TEXT NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (trial, agent, round)
) STRICT, WITHOUT ROWID;
CREATE TABLE recommendations (
    trial INTEGER, agent TEXT, rounds INTEGER NOT NULL, value TEXT NOT NULL,
    expected REAL, simple_regret REAL,
    PRIMARY KEY (trial, agent)
) STRICT, WITHOUT ROWID;
"""

ROUND_COLUMNS = (
    "trial", "agent", "round", "policy", "row", "outcomes", "noise_variance", "objective",
    "expected", "regret", "seconds", "step_seconds", "status", "error",
)  # fmt: skip
_JSON_COLUMNS = frozenset({"policy", "outcomes", "noise_variance"})


def to_json(value: Any) -> str:
    """Return a value as JSON text; nan becomes null, floats keep every bit."""
    return json.dumps(_without_nan(value), allow_nan=False, separators=(",", ":"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a study file that exists, or is empty, and check that it is one of ours.

    Raises
    ------
    UserError
        The file is missing, foreign, damaged, or from a newer policyloop.
    """
    if not path.is_file():
        raise UserError(f"{path}: there is no such study file")
    uri = path.resolve().as_uri()
    try:
        if write:
            connection = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=30, check_same_thread=False)
        else:
            connection = _reader(path, uri)
    except sqlite3.Error as error:
        raise UserError(f"{path}: cannot be opened as a study: {one_line(error)}") from error
    try:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if owner != APPLICATION_ID:
            raise UserError(f"{path}: is not a study of policyloop")
        if version > SCHEMA_VERSION:
            raise UserError(
                f"{path}: has schema version {version}, this policyloop reads up to {SCHEMA_VERSION}"
            )
        connection.execute("SELECT count(*) FROM meta").fetchone()
        connection.execute("SELECT trial FROM rounds LIMIT 1").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise UserError(f"{path}: is not a study of policyloop, or is damaged: {one_line(error)}") from error
    except UserError:
        connection.close()
        raise
    return connection


def _reader(path: Path, uri: str) -> sqlite3.Connection:
    # Not `mode=ro`: a read-only connection leaves the log's two files behind when it closes last.
    connection = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=30)
    try:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # A log needs files beside it; in a folder without write permission a finished study, which
        # has no log, can still be read as a file that never changes.
        connection.close()
        if path.with_name(path.name + "-wal").exists():
            raise
        connection = sqlite3.connect(f"{uri}?immutable=1", uri=True)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


class WriterLock:
    """The right to write a study, held by one process at most and lost with it.

    An exclusive transaction on an empty file beside the study: SQLite's own locks are portable,
    work inside one process too, and end with the process, even by `kill -9`.
    """

    def __init__(self, study: Path) -> None:
        self._path = study.with_name(study.name + ".lock")
        try:
            self._connection = self._acquire()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise UserError(
                    f"{study}: another policyloop is writing this study; wait, or stop it"
                ) from None
            raise UserError(f"{study}: its folder cannot be written to ({one_line(error)})") from error

    def _acquire(self) -> sqlite3.Connection:
        while True:
            connection = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode=MEMORY")
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error:
                connection.close()
                raise
            if self._path.exists():
                return connection
            connection.close()  # its last owner has removed it in between: take the lock of a new one

    def release(self) -> None:
        """Give the right back and remove the file."""
        self._path.unlink(missing_ok=True)
        self._connection.close()


class Store:
    """The one writer of a study file. Use as a context manager; all methods may be called from any thread.

    Parameters
    ----------
    path : Path
        The study file.
    resume : bool, default False
        Go on with the file if it exists.
    force : bool, default False
        Replace the file if it exists and is a study.

    Attributes
    ----------
    created : bool
        Whether this store made the file.

    Raises
    ------
    UserError
        The file exists (without `resume` or `force`), is no study, is being written by another process,
        or its folder cannot be written to. Nothing is changed then.
    """

    def __init__(self, path: Path, *, resume: bool = False, force: bool = False) -> None:
        self.path = path
        exists = path.exists() or path.is_symlink()
        if exists and not (resume or force):
            raise UserError(
                f"{path}: exists; give --resume to go on with it, --force to replace it, or another --out"
            )
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}")
        self._mutex = threading.RLock()
        started = exists and not _is_empty(path)
        if started:
            connect(path, write=False).close()  # a foreign file is never replaced, not even with force
        self._lock = WriterLock(path)
        try:
            self.created = not started or (force and not resume)
            if self.created:
                self._remove_files()
                self._create()
            self._connection = connect(path, write=True)
            self._connection.execute("PRAGMA synchronous=FULL")
        except BaseException as error:
            self._lock.release()
            if isinstance(error, (OSError, sqlite3.Error)):
                raise UserError(f"{path}: cannot be written: {one_line(error)}") from error
            raise

    def _create(self) -> None:
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            # One transaction: a run killed here leaves an empty database, never half of a study.
            connection.executescript(
                f"BEGIN; {_TABLES} PRAGMA application_id={APPLICATION_ID};"
                f" PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
            )

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
        """Store facts about the study under their keys, as JSON, in place of what was there."""
        with self._mutex, self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [(key, to_json(value)) for key, value in values.items()],
            )

    def set_world(
        self, world: str, seed: int | None, priors: Mapping[str, Any], optimum: Mapping[str, Any] | None
    ) -> None:
        """Store what was learned about a world before its first round: kernels and optimum."""
        best = optimum or {"policy": None, "row": None, "value": None, "outcomes": None}
        with self._mutex, self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO priors VALUES (?, ?, ?)",
                [(world, key, to_json(prior)) for key, prior in priors.items()],
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO worlds VALUES (?, ?, ?, ?, ?, ?)",
                (world, seed, to_json(best["policy"]), best["row"], best["value"], to_json(best["outcomes"])),
            )

    def add(
        self, rounds: Iterable[Mapping[str, Any]], recommendations: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Store rounds and recommendations in one transaction.

        A round that is stored already is a mistake of the caller: `sqlite3.IntegrityError`.
        """
        marks = ", ".join("?" * len(ROUND_COLUMNS))
        with self._mutex, self._connection:
            self._connection.executemany(
                f"INSERT INTO rounds ({', '.join(ROUND_COLUMNS)}) VALUES ({marks})",
                [_row(one) for one in rounds],
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO recommendations VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        one["trial"],
                        one["agent"],
                        one["rounds"],
                        to_json(one["value"]),
                        one["expected"],
                        one["simple_regret"],
                    )
                    for one in recommendations
                ],
            )

    def read(self) -> sqlite3.Connection:
        """Return the connection, to read with the functions below."""
        return self._connection


def _is_empty(path: Path) -> bool:
    """Tell whether a file is a database without a table, as a run leaves that is killed at its very start."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        ) as connection:
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            return bool(owner == 0 and tables == 0)
    except sqlite3.Error:
        return False


def _row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        to_json(record[name]) if name in _JSON_COLUMNS and record[name] is not None else record[name]
        for name in ROUND_COLUMNS
    )


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return all facts about a study."""
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def read_worlds(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """Return the stored worlds by key, each with seed, priors (by key) and optimum (None where unknown)."""
    worlds: dict[str, dict[str, Any]] = {}
    for key, seed, policy, row, value, outcomes in connection.execute("SELECT * FROM worlds"):
        optimum = None
        if value is not None:
            optimum = {
                "policy": json.loads(policy),
                "row": row,
                "value": value,
                "outcomes": json.loads(outcomes),
            }
        worlds[key] = {"seed": seed, "priors": {}, "optimum": optimum}
    for key, name, value in connection.execute("SELECT world, key, value FROM priors"):
        if key in worlds:
            worlds[key]["priors"][name] = json.loads(value)
    return worlds


def read_rounds(
    connection: sqlite3.Connection, trial: int | None = None, agent: str | None = None
) -> list[dict[str, Any]]:
    """Return stored rounds in order, of one trial and agent or of all."""
    where, values = ("", ()) if trial is None else (" WHERE trial = ? AND agent = ?", (trial, agent))
    found = connection.execute(
        f"SELECT {', '.join(ROUND_COLUMNS)} FROM rounds{where} ORDER BY trial, agent, round", values
    )
    records = [dict(zip(ROUND_COLUMNS, row, strict=True)) for row in found]
    for record in records:
        for name in _JSON_COLUMNS:
            if record[name] is not None:
                record[name] = json.loads(record[name])
    return records


def read_recommendations(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the stored recommendations in order of trial and agent."""
    names = ("trial", "agent", "rounds", "value", "expected", "simple_regret")
    found = connection.execute(f"SELECT {', '.join(names)} FROM recommendations ORDER BY trial, agent")
    return [{**dict(zip(names, row, strict=True)), "value": json.loads(row[3])} for row in found]


def read_progress(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """Return the number of stored rounds of every (trial, agent)."""
    found = connection.execute("SELECT trial, agent, count(*) FROM rounds GROUP BY trial, agent")
    return {(trial, agent): count for trial, agent, count in found}
