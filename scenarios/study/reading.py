"""What a study file holds, read back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from scenarios.study.records import (
    ADVICE_COLUMNS,
    JSON_COLUMNS,
    ROUND_COLUMNS,
    Advice,
    StoredOptimum,
    StoredRound,
    WorldRecord,
)

Record = TypeVar("Record", StoredRound, Advice)


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """All facts about a study."""
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def read_runs(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every run that wrote to the study, in order: when it began, and the packages' versions."""
    found = connection.execute("SELECT began, versions FROM runs ORDER BY run")
    return [{"began": json.loads(began), "versions": json.loads(versions)} for began, versions in found]


def read_worlds(connection: sqlite3.Connection) -> dict[str, WorldRecord]:
    """The stored worlds, by key."""
    worlds: dict[str, WorldRecord] = {}
    for key, seed, policy, row, value, outcomes in connection.execute("SELECT * FROM worlds"):
        known = value is not None
        optimum = StoredOptimum(json.loads(policy), row, value, json.loads(outcomes)) if known else None
        worlds[key] = WorldRecord(seed, {}, optimum)
    for key, name, value in connection.execute("SELECT world, key, value FROM priors"):
        if key in worlds:
            worlds[key].priors[name] = json.loads(value)
    return worlds


def read_rounds(
    connection: sqlite3.Connection, trial: int | None = None, agent: str | None = None
) -> list[StoredRound]:
    """Stored rounds in order, of one trial and agent or of all."""
    where, values = ("", ()) if trial is None else (" WHERE trial = ? AND agent = ?", (trial, agent))
    found = connection.execute(
        f"SELECT {', '.join(ROUND_COLUMNS)} FROM rounds{where} ORDER BY trial, agent, round", values
    )
    columns = dict(zip(ROUND_COLUMNS, zip(*found, strict=True), strict=False))
    if not columns:
        return []
    for name in JSON_COLUMNS:
        # One text for the whole column is parsed several times faster than a text a row.
        columns[name] = json.loads(f"[{','.join(text or 'null' for text in columns[name])}]")
    return [StoredRound(*row) for row in zip(*columns.values(), strict=True)]


def read_recommendations(connection: sqlite3.Connection) -> list[Advice]:
    """The stored recommendations in order of trial and agent."""
    found = connection.execute(
        f"SELECT {', '.join(ADVICE_COLUMNS)} FROM recommendations ORDER BY trial, agent"
    )
    return [Advice.stored(row) for row in found]


def salvage(
    connection: sqlite3.Connection, kind: type[Record], plausible: Callable[[Record], bool]
) -> list[Record]:
    """What can be read of a damaged file: the rows before the damage and those after it.

    Parameters
    ----------
    connection : sqlite3.Connection
    kind : {StoredRound, Advice}
    plausible : callable
        Tells of a record whether it may be one of the study's; others are left out.
    """
    rounds = kind is StoredRound
    table, columns = ("rounds", ROUND_COLUMNS) if rounds else ("recommendations", ADVICE_COLUMNS)
    key = columns[: 3 if rounds else 2]
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    found: dict[Any, Record] = {}
    for way in ("ASC", "DESC"):
        order = ", ".join(f"{name} {way}" for name in key)
        with suppress(sqlite3.Error, MemoryError):  # a garbled length may ask for any memory
            for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
                with suppress(ValueError, TypeError):  # its text is not what was stored
                    record = kind.stored(row)
                    if plausible(record):
                        found[row[: len(key)]] = record
    return [found[one] for one in sorted(found)]


def read_progress(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """The number of stored rounds of every (trial, agent)."""
    found = connection.execute("SELECT trial, agent, count(*) FROM rounds GROUP BY trial, agent")
    return {(trial, agent): count for trial, agent, count in found}


def read_advised(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """The number of rounds that were known when every (trial, agent) gave its recommendation."""
    found = connection.execute("SELECT trial, agent, rounds FROM recommendations")
    return {(trial, agent): rounds for trial, agent, rounds in found}
