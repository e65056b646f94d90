"""What a simulator says of its step besides its outcomes (`Outcomes.info`), as a study keeps it.

It is kept to be looked at, and but for what rounds cost nothing that a study tells is computed from it:
arrays have the seven digits of single precision. What is no plain data (a model, a figure) is left out, and
so is what is too large.
"""

from __future__ import annotations

import base64
import logging
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from scenarios.study.records import to_json

CAP = 1 << 20
"""Bytes that one entry may have, before compression."""

_ARRAY = "float32"

log: logging.Logger = logging.getLogger("policyloop")
_said: set[str] = set()


def plain_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of an info that a study can keep, as plain data (JSON); `read_info` is the way back."""
    kept: dict[str, Any] = {}
    for key, value in info.items():
        try:
            entry = _plain(value)
            size = len(to_json(entry))
        except Exception:  # a model's own objects may raise anything
            _say(f"info {key!r} is a {type(value).__name__}, which no study can keep: it is left out")
            continue
        if size > CAP:
            _say(
                f"info {key!r} has {size / 2**20:.1f} MiB a round, and more than {CAP >> 20}: it is left out"
            )
            continue
        kept[str(key)] = entry
    return kept


def read_info(kept: Mapping[str, Any]) -> dict[str, Any]:
    """What `plain_info` kept: arrays are arrays again."""
    return {key: _array(value) if is_array(value) else value for key, value in kept.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiub":
            raise TypeError("not an array of numbers")
        if value.size <= 16:  # readable as it is
            return _plain(value.tolist())
        data = np.ascontiguousarray(value, dtype="<f4").tobytes()
        return {_ARRAY: base64.b64encode(data).decode(), "shape": list(value.shape)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError("no plain data")


def is_array(value: Any) -> bool:
    """Whether stored info is an array."""
    return isinstance(value, Mapping) and set(value) == {_ARRAY, "shape"}


def _array(value: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    flat = np.frombuffer(base64.b64decode(value[_ARRAY]), dtype="<f4")
    return flat.astype(np.float64).reshape(value["shape"])


def _say(text: str) -> None:
    """Say something once in this process."""
    if text not in _said:
        _said.add(text)
        log.warning("%s", text)
