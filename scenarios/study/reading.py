"""What a study file holds, read back as plain Python data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import Any

ROUND_COLUMNS = (
    "trial", "agent", "round", "policy", "row", "outcomes", "noise_variance", "objective",
    "expected", "regret", "seconds", "step_seconds", "status", "error",
)  # fmt: skip
JSON_COLUMNS = frozenset({"policy", "outcomes", "noise_variance"})
_NUMBERS = frozenset({"objective", "expected", "regret", "seconds", "step_seconds", "simple_regret"})

ADVICE_COLUMNS = ("trial", "agent", "rounds", "value", "expected", "simple_regret")


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """All facts about a study."""
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def read_runs(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every run that wrote to the study, in order: when it began, and the packages' versions."""
    found = connection.execute("SELECT began, versions FROM runs ORDER BY run")
    return [{"began": json.loads(began), "versions": json.loads(versions)} for began, versions in found]


def read_worlds(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """The stored worlds by key, each with seed, priors (by key) and optimum (None where unknown)."""
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
    return [dict(zip(ROUND_COLUMNS, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def read_recommendations(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The stored recommendations in order of trial and agent."""
    found = connection.execute(
        f"SELECT {', '.join(ADVICE_COLUMNS)} FROM recommendations ORDER BY trial, agent"
    )
    return [{**dict(zip(ADVICE_COLUMNS, row, strict=True)), "value": json.loads(row[3])} for row in found]


def salvage(
    connection: sqlite3.Connection, table: str, plausible: Callable[[dict[str, Any]], bool]
) -> list[dict[str, Any]]:
    """What can be read of a damaged table: the rows before the damage and those after it.

    Parameters
    ----------
    connection : sqlite3.Connection
    table : {"rounds", "recommendations"}
    plausible : callable
        Tells of a record whether it may be one of the study's; others are left out.
    """
    columns, key = (ROUND_COLUMNS, 3) if table == "rounds" else (ADVICE_COLUMNS, 2)
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    found: dict[Any, dict[str, Any]] = {}
    for way in ("ASC", "DESC"):
        order = ", ".join(f"{name} {way}" for name in columns[:key])
        with suppress(sqlite3.Error, MemoryError):  # a garbled length may ask for any memory
            for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
                with suppress(ValueError, TypeError):  # its text is not what was stored
                    record = dict(zip(columns, map(_decoded, columns, row), strict=True))
                    if plausible(record):
                        found[row[:key]] = record
    return [found[one] for one in sorted(found)]


def _decoded(name: str, value: Any) -> Any:
    """A value of a damaged row as `read_rounds` does; TypeError where it cannot have been stored."""
    if (name in JSON_COLUMNS or name == "value") and value is not None:
        value = json.loads(value)
    numbers = value if name in JSON_COLUMNS else [value] if name in _NUMBERS else []
    if not all(one is None or isinstance(one, (int, float)) for one in numbers or ()):
        raise TypeError(name)
    return value


def read_progress(connection: sqlite3.Connection) -> dict[tuple[int, str], int]:
    """The number of stored rounds of every (trial, agent)."""
    found = connection.execute("SELECT trial, agent, count(*) FROM rounds GROUP BY trial, agent")
    return {(trial, agent): count for trial, agent, count in found}
