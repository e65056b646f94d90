"""Outcomes as persons and doses, where the study knows how many persons its groups have."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenarios.questions.estimate import Estimate
from scenarios.reporting.observed import Observed
from scenarios.study.study import Study

PER_PERSON = " per person"
SHARE = "share vaccinated"
PACKS = r"packs of ([0-9,]+) doses"


def population(study: Study) -> NDArray[np.float64] | None:
    """Persons of every group (J,); None where the study does not say."""
    persons = study.environment.persons
    if persons is None or len(persons) != len(study.environment.groups):
        return None
    return np.array(persons, dtype=float)


def counted_unit(unit: str) -> str | None:
    """What a unit per person counts: "sick days"; None where it is another kind of unit."""
    return unit.removesuffix(PER_PERSON) if unit.endswith(PER_PERSON) else None


def in_persons(study: Study, one: Estimate) -> tuple[str, Estimate] | None:
    """A value of the objective times all persons, and what it counts.

    None where the population is unknown, or the objective is no plain sum of what is counted.
    """
    persons, what = population(study), counted_unit(study.environment.objective_unit)
    terms = study.environment.composition
    if persons is None or what is None or terms is None or study.scenario.objective:
        return None
    if not (np.array_equal(terms["weights"], np.ones(len(persons))) and terms["offset"] == 0):
        return None
    total = float(persons.sum())
    return what, Estimate(one.mean * total, one.low * total, one.high * total)


def doses(study: Study, policy: Sequence[float]) -> float | None:
    """The doses of a policy; None where its levers are none."""
    each = doses_by_group(study, policy)
    return None if each is None else float(each.sum())


def doses_by_group(study: Study, policy: Sequence[float]) -> NDArray[np.float64] | None:
    """The doses of every group (J,), where the first J levers are the groups' and say how many."""
    persons, facts = population(study), study.environment
    J = len(facts.groups)
    if persons is None or facts.labels[:J] != facts.groups:
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


def cases(study: Study, seen: Observed | None) -> NDArray[np.float64] | None:
    """Persons of every group who fell ill (J,), where the simulator said which share did."""
    persons = population(study)
    values = None if seen is None else seen.info.get("attack_rate")
    if values is None or persons is None or np.shape(values) != persons.shape:
        return None
    found: NDArray[np.float64] = np.asarray(values, dtype=float) * persons
    return found if np.isfinite(found).all() else None
