"""Outcomes per person of all persons, and what they are per person of a group: which group is the worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from bridges.worst_rate import WorstRate
from scenarios.errors import UserError

PER_PERSON = {" per person": 1.0, " per 100,000 persons": 1e-5}
"""How a unit ends that is of all persons together, and what it is multiplied by for each of them."""
WORST_RATE = WorstRate.name
COMPARING = ("worst-group", "group-gap", "cvar", "count")
"""Objectives that hold the groups' outcomes against each other."""
ALIKE = 1.05
"""Groups whose sizes differ by less than this factor are as large."""

Persons = Sequence[float] | None


def of_all(group_units: Sequence[str]) -> bool:
    """Whether outcomes of groups are per person of all persons together."""
    return bool(group_units) and all(unit.endswith(tuple(PER_PERSON)) for unit in group_units)


def worst_rate(
    sense: Literal["minimize", "maximize"], group_units: Sequence[str], persons: Persons, worlds: int = 1
) -> WorstRate:
    """The objective `worst-rate`; UserError where the outcomes are no such numbers, or sizes are unknown.

    Parameters
    ----------
    sense : {"minimize", "maximize"}
    group_units : sequence of J str
    persons : sequence of J floats, or None
    worlds : int, default 1
        How many worlds of an ensemble the groups are of; each has all persons.
    """
    if persons is None or len(persons) != len(group_units) or not of_all(group_units):
        raise UserError(
            f"objective {WORST_RATE!r}: accepted where outcomes of groups are per person of all persons, and "
            "the persons of each group are known; elsewhere ask for worst-group"
        )
    total = sum(persons) / worlds
    return WorstRate(sense, tuple(total / one for one in persons))


def rate_unit(unit: str) -> str:
    """A unit per person of all, per person of a group."""
    return f"{unit} of the group"


def by_size(text: str, group_units: Sequence[str], persons: Persons, groups: Sequence[str]) -> str:
    """What has to be known where an objective compares groups of different sizes by what all persons have.

    "" where it compares none, or they are as large.
    """
    if text.partition(":")[0] not in COMPARING or persons is None or len(persons) != len(groups):
        return ""
    if not of_all(group_units) or max(persons) < ALIKE * min(persons):
        return ""
    per = next(end for end in PER_PERSON if group_units[0].endswith(end)).strip()
    largest = groups[int(np.argmax(persons))].rpartition(": ")[2]
    return (
        f"{text} compares what is {per} of ALL groups together: a group is worse for having more persons "
        f"({largest} has most). {WORST_RATE} compares what is {per} of the group itself."
    )
