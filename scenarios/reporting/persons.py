"""Outcomes as persons and doses, where the study knows how many persons its groups have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scenarios.declaration.rates import PER_PERSON
from scenarios.questions.estimate import Estimate
from scenarios.study.members import members_of
from scenarios.study.study import Study

SHARE = "share vaccinated"
PACKS = r"packs of ([0-9,]+) doses"

Array = NDArray[np.float64]


def own_groups(study: Study) -> list[str]:
    """The names of the groups; of an ensemble those of one of its worlds."""
    members = members_of(study)
    return list(study.environment.groups) if members is None else members.groups


def population(study: Study) -> Array | None:
    """Persons of every group (J,), of an ensemble those of one world; None where the study does not say."""
    persons, members = study.environment.persons, members_of(study)
    if persons is None or len(persons) != len(study.environment.groups):
        return None
    found = np.array(persons, dtype=float)
    if members is None:
        return found
    worlds = found.reshape(len(members.names), -1)
    return worlds[0] if (worlds == worlds[0]).all() else None


def counted_unit(unit: str) -> tuple[str, float] | None:
    """What a unit per person counts and how much of it one is: "sick days", 1; None of other units."""
    return next(
        ((unit.removesuffix(end), share) for end, share in PER_PERSON.items() if unit.endswith(end)), None
    )


def in_persons(study: Study, one: Estimate) -> tuple[str, Estimate] | None:
    """A value of the objective times all persons, and what it counts.

    None where the population is unknown, or the objective is no plain sum of what is counted (of an ensemble
    the mean of its worlds' sums).
    """
    persons, counted = population(study), counted_unit(study.environment.objective_unit)
    terms = study.environment.composition
    if persons is None or counted is None or terms is None or study.scenario.objective:
        return None
    members = members_of(study)
    shares = np.ones(len(persons)) if members is None else np.repeat(members.shares, len(persons))
    if np.shape(terms["weights"]) != shares.shape or terms["offset"] != 0:
        return None
    if not np.allclose(terms["weights"], shares, rtol=1e-9, atol=0):
        return None
    what, share = counted
    total = share * float(persons.sum())
    return what, Estimate(one.mean * total, one.low * total, one.high * total)


def over_worlds(study: Study, groups: Mapping[str, Estimate]) -> Array:
    """What is predicted of every group (J,), of an ensemble the mean of its worlds."""
    means = np.array([groups[name].mean for name in study.environment.groups])
    members = members_of(study)
    return means if members is None else np.array(members.shares) @ means.reshape(len(members.names), -1)


def doses(study: Study, policy: Sequence[float]) -> float | None:
    """The doses of a policy; None where its levers are none."""
    each = doses_by_group(study, policy)
    return None if each is None else float(each.sum())


def doses_by_group(study: Study, policy: Sequence[float]) -> Array | None:
    """The doses of every group (J,), where the first J levers are the groups' and say how many."""
    persons, facts, groups = population(study), study.environment, own_groups(study)
    J = len(groups)
    if persons is None or facts.labels[:J] != groups:
        return None
    found = np.zeros(J)
    for j, unit in enumerate(facts.units[:J]):
        packs = re.fullmatch(PACKS, unit)
        if unit == SHARE:
            found[j] = policy[j] * persons[j]
        elif packs:
            found[j] = policy[j] * int(packs[1].replace(",", ""))
        else:
            return None
    return found
