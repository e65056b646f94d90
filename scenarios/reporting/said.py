"""What the simulator said of its steps besides their outcomes, as stored: curves, attack rates, deaths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios.errors import UserError
from scenarios.reporting.judging import Point
from scenarios.study.info import read_info
from scenarios.study.members import members_of
from scenarios.study.records import NOTHING
from scenarios.study.study import Study


class Said(NamedTuple):
    """What the simulator said of a round besides its outcomes."""

    point: Point
    trial: int
    agent: str
    round: int
    info: dict[str, Any]


def infos(study: Study) -> list[Said]:
    """What is stored of it, in order; nothing where the study kept none, or it is damaged."""
    try:
        details = study.details("info")
    except UserError:
        return []
    rounds = {(one.trial, one.agent, one.round): one for one in study.rounds()}
    found = []
    for detail in details:
        one = rounds.get((detail.trial, detail.agent, detail.round))
        if one is not None and one.status not in NOTHING and isinstance(detail.value, dict):
            found.append(Said(Point(one.policy, one.row), *detail[:3], of_worlds(study, detail.value)))
    return found


def of_worlds(study: Study, value: dict[str, Any]) -> dict[str, Any]:
    """What was said of a step; of an ensemble's, the mean over its worlds where each of them has said it."""
    members = members_of(study)
    if members is None:
        return read_info(value)
    each = [value.get(name) for name in members.names]
    infos = [read_info(one) for one in each if isinstance(one, dict)]
    return mean_info(_on_one_clock(infos), members.shares) if len(infos) == len(each) else {}


def _on_one_clock(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with all curves at the days of the first: worlds may step at other times."""
    days, moved = _as_numbers(infos[0].get("days")), infos[:1]
    for info in infos[1:]:
        own, curves = _as_numbers(info.get("days")), _as_numbers(info.get("infected"))
        if days is not None and own is not None and curves is not None and curves.shape[:1] == own.shape:
            each = [np.interp(days, own, curve) for curve in curves.reshape(len(own), -1).T]
            info = {**info, "days": days, "infected": np.array(each).T}
        moved.append(info)
    return moved


def mean_info(infos: Sequence[dict[str, Any]], shares: Sequence[float] | None = None) -> dict[str, Any]:
    """Means of the numbers and arrays that all of some infos have in one shape, alike or by their shares."""
    found: dict[str, Any] = {}
    for key in infos[0]:
        arrays = [_as_numbers(info.get(key)) for info in infos]
        known = [one for one in arrays if one is not None]
        if len(known) == len(arrays) and len({one.shape for one in known}) == 1:
            found[key] = np.average(known, axis=0, weights=shares)
    return found


def _as_numbers(value: Any) -> NDArray[np.float64] | None:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return array if array.size else None
