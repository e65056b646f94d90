"""The worlds of a study's ensemble, as its groups name them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scenarios.study.study import Study


class Members(NamedTuple):
    """The worlds of an ensemble, whose groups are named `member: group`.

    Attributes
    ----------
    what : str
        The option in which they differ, or "world" where there are several.
    names : list of str
    groups : list of str
        Of one world.
    shares : list of float
        Their weights in the mean.
    """

    what: str
    names: list[str]
    groups: list[str]
    shares: list[float]


def members_of(study: Study) -> Members | None:
    """The worlds of a study's ensemble, None where it has none; by what is stored, and nothing is made."""
    spec = study.scenario.environment
    if spec.name != "ensemble":
        return None
    names: list[str] = []
    groups: list[str] = []
    for one in study.environment.groups:
        name, separator, group = one.partition(": ")
        if not separator:
            return None
        names.append(name)
        groups.append(group)
    worlds, own = list(dict.fromkeys(names)), list(dict.fromkeys(groups))
    if names != [one for one in worlds for _ in own] or groups != own * len(worlds):
        return None
    weights = np.array(spec.options.get("weights") or np.ones(len(worlds)), dtype=float)
    if weights.shape != (len(worlds),) or not (weights > 0).all():
        return None
    options = {one.partition("=")[0] for one in worlds}
    single = len(options) == 1 and not any(", " in one for one in worlds)
    return Members(options.pop() if single else "world", worlds, own, (weights / weights.sum()).tolist())
