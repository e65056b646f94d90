"""Rounds and optima as plain data (JSON), and back, without the loss of a bit."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import bridges


def plain(value: Any) -> Any:
    """A dataclass, array or number as plain Python data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def as_round(record: Mapping[str, Any]) -> bridges.Round:
    """A stored round as the loop's record."""

    def number(name: str) -> float:
        return math.nan if record[name] is None else float(record[name])

    def array(name: str) -> Any:
        return None if record[name] is None else np.array(record[name], dtype=np.float64)

    return bridges.Round(
        round=record["round"],
        policy=array("policy"),
        row=record["row"],
        outcomes=array("outcomes"),
        noise_variance=array("noise_variance"),
        objective=number("objective"),
        expected=number("expected"),
        regret=number("regret"),
        seconds=number("seconds"),
        step_seconds=number("step_seconds"),
        status=record["status"],
        error=record["error"],
    )


def as_optimum(stored: Mapping[str, Any] | None) -> bridges.Optimum | None:
    """A stored optimum as the bridge's, `None` where it is unknown."""
    if stored is None:
        return None
    return bridges.Optimum(
        policy=np.array(stored["policy"], dtype=np.float64),
        row=stored["row"],
        value=float(stored["value"]),
        outcomes=np.array(stored["outcomes"], dtype=np.float64),
    )


def to_json(value: Any) -> str:
    """A value as JSON text; nan becomes null, floats keep every bit."""
    return json.dumps(_without_nan(value), allow_nan=False, separators=(",", ":"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value
