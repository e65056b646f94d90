"""What a study file holds, read back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from scenarios.study.checksums import COLUMNS, DamagedRow, by_column, rows, whole_rows
from scenarios.study.records import (
    JSON_COLUMNS,
    Advice,
    Detail,
    StoredOptimum,
    StoredRound,
    WorldRecord,
)


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """All facts about the study."""
    return {key: json.loads(value) for key, value in rows(connection, "meta")}


def read_runs(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every run that wrote to the study, in order.

    When it `began`, the packages' `versions`, its `inputs` (`scenarios.study.inputs`), and in words which
    changes of them were `accepted`.
    """
    return [_run(row) for row in rows(connection, "runs", " ORDER BY run")]


def _run(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("began", "versions", "inputs", "accepted"), map(json.loads, row[1:]), strict=True))


def read_worlds(connection: sqlite3.Connection) -> dict[str, WorldRecord]:
    """The stored worlds, by key."""
    return _worlds(rows(connection, "worlds"), rows(connection, "priors"))


def _worlds(worlds: Iterable[tuple[Any, ...]], priors: Iterable[tuple[Any, ...]]) -> dict[str, WorldRecord]:
    found: dict[str, WorldRecord] = {}
    for key, seed, policy, row, value, outcomes in worlds:
        known = value is not None
        optimum = StoredOptimum(json.loads(policy), row, value, json.loads(outcomes)) if known else None
        found[key] = WorldRecord(seed, {}, optimum)
    for key, name, value in priors:
        if key in found:
            found[key].priors[name] = json.loads(value)
    return found


def read_rounds(
    connection: sqlite3.Connection, trial: int | None = None, agent: str | None = None
) -> list[StoredRound]:
    """Stored rounds in order, of one trial and agent or of all."""
    return _rounds(_round_columns(connection, trial, agent))


Columns = dict[str, list[Any]]
"""Rounds by the fields of `StoredRound`, a list each: what holds of all rounds is seen fast there."""


def _rounds(columns: Columns) -> list[StoredRound]:
    return [StoredRound(*row) for row in zip(*columns.values(), strict=True)]


def _round_columns(
    connection: sqlite3.Connection, trial: int | None = None, agent: str | None = None
) -> Columns:
    where, values = ("", ()) if trial is None else (" WHERE trial = ? AND agent = ?", (trial, agent))
    columns = by_column(connection, "rounds", f"{where} ORDER BY trial, agent, round", values)
    for name in JSON_COLUMNS:
        # One text for the whole column is parsed several times faster than a text a row.
        columns[name] = json.loads(f"[{','.join(text or 'null' for text in columns[name])}]")
    return columns


def read_recommendations(connection: sqlite3.Connection) -> list[Advice]:
    """The stored recommendations in order of trial and agent."""
    return [Advice.stored(row) for row in rows(connection, "recommendations", " ORDER BY trial, agent")]


def read_details(
    connection: sqlite3.Connection,
    kind: str,
    trial: int | None = None,
    agent: str | None = None,
    number: int | None = None,
) -> list[Detail]:
    """The stored details of a kind in order, of one trial and agent, or one round of them, or of all."""
    where, values = ("", ()) if trial is None else (" WHERE trial = ? AND agent = ?", (trial, agent))
    if number is not None:
        where, values = f"{where} AND round = ?", (*values, number)
    # Not by SQLite, which would pass over a row whose kind has changed.
    found = rows(connection, "details", f"{where} ORDER BY trial, agent, round", values)
    return [Detail.stored(row) for row in found if row[3] == kind]


class Contents(NamedTuple):
    """All that a study holds, but for the details of its rounds."""

    meta: dict[str, Any]
    runs: list[dict[str, Any]]
    worlds: dict[str, WorldRecord]
    rounds: list[StoredRound]
    recommendations: list[Advice]


def read_all(connection: sqlite3.Connection) -> tuple[Contents, Columns]:
    """All that a sound study holds, its rounds also by columns; sqlite3.Error or ValueError if it is not."""
    if dict(rows(connection, "meta")) != dict(rows(connection, "meta_copy")):
        raise DamagedRow("the facts about the study are not those of their copy")
    meta, runs, worlds = read_meta(connection), read_runs(connection), read_worlds(connection)
    columns = _round_columns(connection)
    return Contents(meta, runs, worlds, _rounds(columns), read_recommendations(connection)), columns


class Salvage(NamedTuple):
    """What is whole of a damaged study.

    Attributes
    ----------
    contents : Contents
        The facts about the study by their second copies where the first are gone.
    lost : dict of int
        By table, how many rows were found that are not what was written. Rows of pages that are gone are
        not found, and not counted.
    """

    contents: Contents
    lost: dict[str, int]


def salvage(connection: sqlite3.Connection) -> Salvage:
    """Read all that is whole of a damaged study; a row counts as whole by its checksum."""
    found, lost = {}, {}
    for table in COLUMNS:
        found[table], lost[table] = whole_rows(connection, table)
    contents = Contents(
        {key: json.loads(value) for table in ("meta_copy", "meta") for key, value in found[table]},
        [_run(row) for row in found["runs"]],
        _worlds(found["worlds"], found["priors"]),
        [StoredRound.stored(row) for row in found["rounds"]],
        [Advice.stored(row) for row in found["recommendations"]],
    )
    return Salvage(contents, {table: count for table, count in lost.items() if count})


def salvage_details(connection: sqlite3.Connection) -> tuple[list[Detail], int]:
    """The details that are whole in a damaged study, and how many were found that are not."""
    found, lost = whole_rows(connection, "details")
    return [Detail.stored(row) for row in found], lost


def read_progress(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """The number of stored rounds of every (trial, agent)."""
    found = connection.execute("SELECT trial, agent, count(*) FROM rounds GROUP BY trial, agent")
    return {(trial, agent): count for trial, agent, count in found}


def read_advised(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """The number of rounds that were known when every (trial, agent) gave its recommendation."""
    found = connection.execute("SELECT trial, agent, rounds FROM recommendations")
    return {(trial, agent): rounds for trial, agent, rounds in found}
