"""The tables of a study file, version by version, and the opening of a file that must be one of ours.

A new file is made by the same steps that bring an old one up to date, so that both hold the same tables.
A writer upgrades the file in one transaction; a reader, who must not write, upgrades a copy in memory.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.study.checksums import UNREADABLE, seal_all

APPLICATION_ID = 0x504C4350  # "PLCP", in the file's header: tells our files from foreign ones

_VERSION_1 = """
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

# Every run that wrote to the study, with the versions of its packages: the first is known from `meta`.
_VERSION_2 = """
CREATE TABLE runs (run INTEGER PRIMARY KEY, began TEXT NOT NULL, versions TEXT NOT NULL) STRICT;
INSERT INTO runs (began, versions)
    SELECT created.value, versions.value FROM meta AS created, meta AS versions
    WHERE created.key = 'created' AND versions.key = 'versions';
"""

# Checksums; the facts about the study a second time, without which nothing of it can be read; what a run
# depends on outside the study; and what rounds leave beside their numbers.
_VERSION_3 = """
ALTER TABLE meta ADD COLUMN checksum INTEGER;
ALTER TABLE priors ADD COLUMN checksum INTEGER;
ALTER TABLE worlds ADD COLUMN checksum INTEGER;
ALTER TABLE runs ADD COLUMN inputs TEXT NOT NULL DEFAULT '{}';
ALTER TABLE runs ADD COLUMN accepted TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runs ADD COLUMN checksum INTEGER;
ALTER TABLE rounds ADD COLUMN expected_outcomes TEXT;
ALTER TABLE rounds ADD COLUMN checksum INTEGER;
ALTER TABLE recommendations ADD COLUMN checksum INTEGER;
CREATE TABLE meta_copy (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER) STRICT;
INSERT INTO meta_copy (key, value) SELECT key, value FROM meta;
CREATE TABLE details (
    trial INTEGER, agent TEXT, round INTEGER, kind TEXT, value BLOB NOT NULL, checksum INTEGER,
    PRIMARY KEY (trial, agent, round, kind)
) STRICT, WITHOUT ROWID;
"""

_STEPS = (_VERSION_1, _VERSION_2, _VERSION_3)  # from each version to the next, beginning with an empty file

SCHEMA_VERSION = len(_STEPS)

_OTHER = "give a file that policyloop run has written, or start anew with another --out"

BUSY_SECONDS = 30.0
"""How long to wait while another program, a database browser say, holds the file locked."""


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a study file to the present schema, in one transaction: killed here, it stays what it was."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < SCHEMA_VERSION:
        connection.executescript(f"BEGIN IMMEDIATE; {''.join(_STEPS[version:])}")
        seal_all(connection)
        # One by one: a second script would end the transaction of the first.
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute("COMMIT")


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a study file that exists, check that it is one of ours, and see to its schema."""
    refuse_folder(path)
    if not path.is_file():
        raise UserError(
            f"{path}: there is no such study file; start it with policyloop run SCENARIO --out {path}"
        )
    uri = path.resolve().as_uri()
    try:
        if write:
            connection = sqlite3.connect(
                f"{uri}?mode=rw", uri=True, timeout=BUSY_SECONDS, check_same_thread=False
            )
        else:
            connection = _reader(path, uri)
    except UNREADABLE as error:
        raise UserError(f"{path}: cannot be opened as a study: {on_one_line(error)}; {_OTHER}") from error
    try:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if owner != APPLICATION_ID:
            raise UserError(f"{path}: is not a study of policyloop; {_OTHER}")
        if version > SCHEMA_VERSION:
            raise UserError(
                f"{path}: has schema version {version}, this policyloop reads up to {SCHEMA_VERSION}"
            )
        connection.execute("SELECT count(*) FROM meta").fetchone()
        connection.execute("SELECT trial FROM rounds LIMIT 1").fetchone()
        if version < SCHEMA_VERSION:
            connection = connection if write else _copy(connection)
            upgrade(connection)
    except UNREADABLE as error:
        connection.close()
        if "locked" in str(error):
            raise UserError(
                f"{path}: another program holds the file locked; close it, and try again"
            ) from error
        raise UserError(
            f"{path}: is not a study of policyloop, or is damaged: {on_one_line(error)}; {_OTHER}"
        ) from error
    except UserError:
        connection.close()
        raise
    return connection


def refuse_folder(path: Path) -> None:
    """Raise UserError where a folder stands in place of a file."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give the name of a file")


def damage(connection: sqlite3.Connection) -> str:
    """What is wrong with the first bad page of a study, "" if none is; all are looked at."""
    try:
        found: str = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except UNREADABLE as error:
        return on_one_line(error)
    return "" if found == "ok" else on_one_line(found)


def refusal(path: Path, found: str) -> UserError:
    """The refusal of a damaged study."""
    return UserError(
        f"{path}: the study is damaged, and is left as it is: {found}; `policyloop repair {path} --out NEW` "
        "keeps what is whole of it in a new study, `policyloop export` in a table; or run it anew with "
        "--force or another --out"
    )


def _reader(path: Path, uri: str) -> sqlite3.Connection:
    # Not `mode=ro`: a read-only connection leaves the log's two files behind when it closes last.
    connection = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=BUSY_SECONDS)
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
    except UNREADABLE:
        connection.close()
        raise
    return connection


def _copy(connection: sqlite3.Connection) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:")
    connection.backup(memory)
    connection.close()
    return memory
