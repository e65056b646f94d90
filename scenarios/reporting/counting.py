"""What a policy brings the groups in all: cases, days of illness, deaths, cost, QALYs and doses.

By what the simulator said of it (`Outcomes.info`), where the study knows how many persons its groups have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scenarios.reporting.judging import Point
from scenarios.reporting.known import Known
from scenarios.reporting.language import Language
from scenarios.reporting.observed import Observed
from scenarios.reporting.persons import counted_unit, doses_by_group, population
from scenarios.study.study import Study

Array = NDArray[np.float64]

CASES, DAYS, DOSES = "cases", "days", "doses"
RECORDED = ("hospitalisations", "deaths", "cost", "qalys")
"""Names of what `Outcomes.info` may hold of every group, in persons, money and years."""
COUNTS = (CASES, DAYS, *RECORDED)
"""What is better when it is less, in the order in which it is told."""
SAME = {"sick days": DAYS, "infections": CASES, "QALYs lost": "qalys"}
"""What units call some of them."""


class Counted(NamedTuple):
    """One of `COUNTS` under two policies, each by group (J,)."""

    key: str
    before: Array | None
    after: Array

    @property
    def averted(self) -> float | None:
        """How much less there is in all; None where there is no `before`."""
        return None if self.before is None else float(self.before.sum() - self.after.sum())


def counts(study: Study, seen: Observed | None, point: Point | None) -> dict[str, Array]:
    """What is known of a policy in all, by group (J,), under the names of `COUNTS` and `DOSES`."""
    persons = population(study)
    if persons is None:
        return {}
    info: dict[str, Any] = {} if seen is None else seen.info
    infections, rates = info.get("infections"), info.get("attack_rate")
    if infections is None and rates is not None and np.shape(rates) == persons.shape:
        infections = np.asarray(rates) * persons
    given = None if point is None else doses_by_group(study, point.policy)
    found: dict[str, Any] = {
        CASES: infections,
        DAYS: _days(info),
        **{name: info.get(name) for name in RECORDED},
        DOSES: info.get("doses") if given is None else given,
    }
    return {
        name: np.asarray(value, dtype=float)
        for name, value in found.items()
        if value is not None and np.shape(value) == persons.shape and np.isfinite(value).all()
    }


def _days(info: dict[str, Any]) -> Array | None:
    """Days of illness, the sum of those infected over the days of the season."""
    days, infected = info.get("days"), info.get("infected")
    if days is None or infected is None or np.ndim(days) != 1 or len(days) < 2:
        return None
    if np.ndim(infected) != 2 or len(infected) != len(days):
        return None
    widths = np.diff(days)[:, None]
    total: Array = (widths * (infected[1:] + infected[:-1]) / 2).sum(axis=0)
    return total


def compared(known: Known, before: Observed | None, after: Observed | None) -> list[Counted]:
    """All that is known of the recommended policy, and of what it is held against where it is another."""
    study, chosen, today = known.study, known.chosen, known.today
    apart = chosen is not None and today is not None and today.point != chosen.point
    now = counts(study, after, None if chosen is None else chosen.point)
    then = counts(study, before, None if today is None else today.point) if apart else {}
    return [Counted(key, then.get(key), now[key]) for key in (*COUNTS, DOSES) if key in now]


def told_by_objective(study: Study) -> str:
    """Which of `COUNTS` the objective itself is, "" where it is none: it is then told with its interval."""
    counted = counted_unit(study.environment.objective_unit)
    return "" if counted is None else SAME.get(counted[0], counted[0])


def name_of(key: str, words: Language) -> str:
    """What is counted, in words."""
    return words.say(f"counted.{key}")


def less(what: str, amount: float, words: Language) -> str:
    """What so much less, or more, of something is called: "cases averted", "more cases"."""
    key = SAME.get(what, what)
    if key in COUNTS:
        return words.say(f"counted.averted.{key}" if amount >= 0 else f"counted.more.{key}")
    return words.say("advice.averted" if amount >= 0 else "advice.averted_more", what=what)


def capital(text: str) -> str:
    """The same as the head of a column."""
    return text[:1].upper() + text[1:]
