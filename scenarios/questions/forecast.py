"""What a station will read in the next hours of a world that lives, and how far such forecasts were right.

A forecast for h hours after the last reading is the posterior at that hour of Gaussian processes over places
and time (`forecaster`). Its skill is measured on the study's own rounds: each reading is forecast from what
had been read h hours before, and compared with persistence, the latest reading of the same station that is at
least h hours old. Rounds of which either is missing do not count. With the mean squared errors of both
(Murphy 1988),

    skill = 1 - MSE / MSE of persistence.

Kernels are learned outside the trial, so that nothing of the later rounds is in such a forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.names import GP_AGENTS
from optimizer.prior.families import CLIMATE
from scenarios.errors import UserError
from scenarios.numbers import significant
from scenarios.questions.forecaster import End, Forecaster
from scenarios.results.statistics import typical_advice
from scenarios.study.facts import Facts, Station
from scenarios.study.records import StoredRound
from scenarios.study.study import Study
from scenarios.trial.trial import replay

HOURS = 6
MOST_HOURS = 72
FEWEST = 5
"""Rounds from which on a skill is told."""


class Ahead(NamedTuple):
    """The forecast of one station for one hour, of the truth there: means with 95 % credible intervals.

    Attributes
    ----------
    station : Station or None
        None where stations have no names.
    policy : list of float
        Its place.
    mean, low, high : float
        Of the objective.
    groups : dict of str to (mean, low, high)
        Of its readings.
    """

    station: Station | None
    policy: list[float]
    mean: float
    low: float
    high: float
    groups: dict[str, End]


class Hour(NamedTuple):
    """So many hours after the last reading: the station recommended now, and the best one by the forecast."""

    hours: int
    time: float
    recommended: Ahead
    best: Ahead


class Skill(NamedTuple):
    """How forecasts so many hours ahead have done in the study's own rounds.

    Attributes
    ----------
    hours : int
    rounds : int
        That had a forecast and an earlier reading of their station.
    rmse, persistence_rmse : float or None
        Of the objective read; None without such rounds.
    skill : float or None
        None with fewer than `FEWEST` rounds.
    covered : float or None
        Share of all rounds forecast whose noise-free objective lay in the 95 % interval; None where that is
        unknown.
    forecast : int
        How many those are.
    """

    hours: int
    rounds: int
    rmse: float | None
    persistence_rmse: float | None
    skill: float | None
    covered: float | None
    forecast: int


class Forecast(NamedTuple):
    """The next hours of one trial of an agent.

    Attributes
    ----------
    agent, trial, rounds
        Whose it is, and how many rounds had been told.
    kernel : str
        Of the forecast.
    unit : str
        Of the objective.
    units : dict of str
        Of the groups.
    hours : list of Hour
    skills : list of Skill
    """

    agent: str
    trial: int
    rounds: int
    kernel: str
    unit: str
    units: dict[str, str]
    hours: list[Hour]
    skills: list[Skill]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""

        def plain(one: Ahead) -> dict[str, Any]:
            station = None if one.station is None else one.station._asdict()
            groups = {name: dict(zip(_ENDS, ends, strict=True)) for name, ends in one.groups.items()}
            return one._asdict() | {"station": station, "groups": groups}

        hours = [
            one._asdict() | {"recommended": plain(one.recommended), "best": plain(one.best)}
            for one in self.hours
        ]
        return self._asdict() | {"hours": hours, "skills": [one._asdict() for one in self.skills]}


_ENDS = ("mean", "low", "high")


def forecast(
    study: Study,
    *,
    hours: int = HOURS,
    agent: str | None = None,
    trial: int | None = None,
    kernel: str = CLIMATE,
    seen: Callable[[str], None] = lambda text: None,
) -> Forecast:
    """The forecast of the recommended station, after the stored rounds of a trial.

    Parameters
    ----------
    study : Study
        Of a network of stations in a weather that lives. Its environment is made anew.
    hours : int, default 6
        The furthest, 1 to 72 after the last reading.
    agent : str, optional
        By label; by default the first with a model.
    trial : int, optional
        By default the agent's median one, or the first.
    kernel : str, default "climate"
        A climate that stays, a weather that passes and a daily cycle; or a family over places times a kernel
        over time, as the agents have it.
    seen : callable, optional
        Is told how far it is.

    Raises
    ------
    UserError
        The world does not live, there is no such agent, trial or kernel, or no reading yet.
    """
    facts = study.environment
    if not (facts.lives and facts.stations):
        raise UserError(
            f"{study.path}: the environment {facts.name} is no network of stations in a weather that lives: "
            "there is nothing to forecast"
        )
    if not 1 <= hours <= MOST_HOURS:
        raise UserError(f"--hours {hours}; accepted: 1 to {MOST_HOURS}")
    label, number = _whose(study, agent, trial)
    learned, history = study.world(number), study.history(number, label)
    if learned is None or not history:
        raise UserError(f"{study.path}: trial {number} of {label} has no round yet")
    seen("taking the stored rounds again")
    states = [one for one in study.details("learned") if (one.trial, one.agent) == (number, label)]
    environment, asked = replay(study.scenario, number, label, learned, history, states)
    assert isinstance(asked, GPAgent) and environment.context is not None
    coming = environment.context  # the hour after the last reading
    chosen = int(asked.recommend(context=coming).policy)
    with threadpool_limits(1):
        seen("learning the kernels of the forecast")
        forecaster = Forecaster(environment, kernel)
        seen("measuring the skill on these rounds")
        skills = measured(forecaster, timed(study, history), hours)  # which tells it all readings
        ahead = [
            Hour(
                h,
                coming + h - 1.0,
                _ahead(facts, forecaster, chosen, coming + h - 1.0),
                _ahead(facts, forecaster, forecaster.best(coming + h - 1.0), coming + h - 1.0),
            )
            for h in range(1, hours + 1)
        ]
    units = dict(zip(facts.groups, facts.group_units, strict=True))
    return Forecast(label, number, len(history), kernel, facts.objective_unit, units, ahead, skills)


def _whose(study: Study, agent: str | None, trial: int | None) -> tuple[str, int]:
    """The agent and the trial that are meant."""
    modelled = [spec.label for spec in study.scenario.agents if spec.name in GP_AGENTS]
    if not modelled or (agent is not None and agent not in modelled):
        known = ", ".join(modelled) or "none: no agent of this study has a model"
        raise UserError(f"--agent {agent}; accepted: {known}")
    label = agent or modelled[0]
    trials = study.scenario.trials
    if trial is not None and not 1 <= trial <= trials:
        raise UserError(f"--trial {trial}; accepted: 1 to {trials}")
    typical = typical_advice(study, label) if trial is None else None
    return label, trial or (1 if typical is None else typical.trial)


def timed(study: Study, history: Sequence[StoredRound]) -> list[tuple[float, StoredRound]]:
    """The rounds of a trial with the hour of each: the one that its step says, or else one a round."""
    said = {
        (one.trial, one.agent, one.round): one.value.get("hour")
        for one in study.details("info")
        if isinstance(one.value, dict)
    }
    hours = [said.get((one.trial, one.agent, one.round)) for one in history]
    return [
        (float(one.round - 1 if hour is None else hour), one)
        for hour, one in zip(hours, history, strict=True)
    ]


def _ahead(facts: Facts, forecaster: Forecaster, row: int, hour: float) -> Ahead:
    place = forecaster.environment.policy_space.resolve(np.array([row]))[0].tolist()
    groups = dict(zip(facts.groups, forecaster.readings(row, hour), strict=True))
    return Ahead(facts.station(place), place, *forecaster.objective(row, hour), groups)


def measured(forecaster: Forecaster, rounds: Sequence[tuple[float, StoredRound]], hours: int) -> list[Skill]:
    """How forecasts 1 to `hours` hours ahead would have done in some rounds, which the forecaster is told."""
    errors: list[list[tuple[float, float]]] = [[] for _ in range(hours)]
    inside: list[list[bool]] = [[] for _ in range(hours)]
    latest: dict[int, float] = {}  # reading of every station so far
    for i, (hour, one) in enumerate(rounds):
        assert one.row is not None
        forecaster.tell(one.row, hour, one)
        if one.objective is not None:
            latest[one.row] = one.objective
        if i + 1 < len(rounds) and rounds[i + 1][0] == hour:
            continue  # more is read in this hour
        for then, later in rounds[i + 1 :]:
            lead = round(then - hour)
            if lead > hours:
                break
            assert later.row is not None
            mean, low, high = forecaster.objective(later.row, then)
            if later.expected is not None:
                inside[lead - 1].append(low <= later.expected <= high)
            if later.row in latest and later.objective is not None:
                errors[lead - 1].append((mean - later.objective, latest[later.row] - later.objective))
    return [_skill(h + 1, errors[h], inside[h]) for h in range(hours)]


def _skill(hours: int, errors: list[tuple[float, float]], inside: list[bool]) -> Skill:
    covered = float(np.mean(inside)) if inside else None
    if not errors:
        return Skill(hours, 0, None, None, None, covered, len(inside))
    own, persisting = (float(np.mean(np.square(column))) for column in zip(*errors, strict=True))
    skill = 1.0 - own / persisting if len(errors) >= FEWEST and persisting > 0 else None
    return Skill(
        hours, len(errors), float(np.sqrt(own)), float(np.sqrt(persisting)), skill, covered, len(inside)
    )


def hour_rows(found: Forecast) -> list[list[str]]:
    """The hours as rows of a table: hours, hour, station now, its objective, station then, its objective."""

    def cells(one: Ahead) -> list[str]:
        name = str(one.station) if one.station is not None else str(one.policy)
        return [name, f"{significant(one.mean, 4)} [{significant(one.low, 3)}, {significant(one.high, 3)}]"]

    return [
        [f"+{one.hours}", f"{one.time:g}", *cells(one.recommended), *cells(one.best)] for one in found.hours
    ]


def skill_rows(found: Forecast) -> list[list[str]]:
    """The skills as rows of a table: hours, skill, both errors, rounds, share covered."""

    def shown(value: float | None, digits: int = 3) -> str:
        return "-" if value is None else significant(value, digits)

    return [
        [
            f"+{one.hours}",
            shown(one.skill, 2),
            shown(one.rmse),
            shown(one.persistence_rmse),
            str(one.rounds),
            "-" if one.covered is None else f"{100 * one.covered:.0f} % of {one.forecast}",
        ]
        for one in found.skills
    ]


HOUR_HEADS = ("hours ahead", "hour", "recommended now", "{objective}", "best then", "{objective}")
SKILL_HEADS = (
    "hours ahead",
    "skill",
    "RMSE",
    "RMSE of persistence",
    "rounds",
    "truth in the interval",
)
