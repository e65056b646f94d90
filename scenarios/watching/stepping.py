"""Models that are watched while they step: a town in a season of flu, a network of sensors in the weather.

A page moves one model at a time: who begins anew takes it over, and a page that was left behind is told so.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

import bridges
from bridges.reframed import ReframedEnvironment
from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.figures.outline import plain_lines
from scenarios.figures.unwrapping import unwrapped
from scenarios.numbers import significant
from scenarios.study.levers import spelled
from scenarios.trial.building import build_environment
from simulators import Environment, SimulationError
from simulators.flu.abm import FluABM
from simulators.weather.live import WeatherLive

MOST_STEPS = 50
"""Steps of one request."""
MOST_CELLS = 20_000
"""Persons that a page shows; of more, every second one, or every third .."""
VACCINATED = 4
"""The state of persons who are vaccinated and have not been infected, beside those of `FluModel`."""


class Stepped(ABC):
    """A model as its page sees it.

    Attributes
    ----------
    series : list of str
        What a point of its chart holds, after the time.
    """

    series: list[str]

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What the page has to know beforehand."""

    @abstractmethod
    def begin(self, policy: Any, seed: int) -> Any:
        """Go back to the start; the policy (d,), or the row, that holds. UserError where it is impossible."""

    @abstractmethod
    def step(self) -> None:
        """Let a step pass."""

    @abstractmethod
    def point(self) -> list[float | None]:
        """The time, and the numbers of the series."""

    @abstractmethod
    def picture(self) -> dict[str, Any]:
        """The table, the map and what else is shown of this moment."""

    @property
    def over(self) -> bool:
        """Whether nothing more happens."""
        return False


class Town(Stepped):
    """A season of `FluABM`, person by person."""

    def __init__(self, environment: FluABM) -> None:
        self.environment, self.series = environment, [f"{name}" for name in environment.groups]
        population = environment.population
        order = np.lexsort((population.household, population.group))
        self.shown = order[:: -(-len(order) // MOST_CELLS)]
        self.blocks = np.bincount(population.group[self.shown], minlength=len(environment.groups)).tolist()

    def about(self) -> dict[str, Any]:
        """Levers, age groups, and how many persons of each are shown."""
        environment = self.environment
        space, today = environment.policy_space, bridges.current_policy(environment)
        levers = [
            {"label": label, "unit": unit, "lever": spelled(lever)}
            for label, unit, lever in zip(space.labels, space.units, space.levers, strict=True)
        ]
        start = space.bounds.lb if today is None else today
        return {
            "kind": "town",
            "what": "infectious persons",
            "step": "day",
            "series": self.series,
            "levers": levers,
            "start": space.project(np.asarray(start, dtype=float)).tolist(),
            "blocks": self.blocks,
            "persons": environment.population.persons,
            "shown": len(self.shown),
        }

    def begin(self, policy: Any, seed: int) -> Any:
        """A season under a policy, on its day 0."""
        try:
            x = self.environment.policy_space.check(policy)
        except ValueError as error:
            raise UserError(on_one_line(error)) from error
        self.model = self.environment.model(x, seed=seed)
        return x.tolist()

    def nearest(self, policy: Any) -> Any:
        """The feasible policy nearest to one."""
        return self.environment.policy_space.project(np.asarray(policy, dtype=float))

    def step(self) -> None:
        """A day."""
        self.model.step()

    @property
    def over(self) -> bool:
        """Whether nobody is infected any more, or the season has ended."""
        return not self.model.running

    def point(self) -> list[float | None]:
        """The day, and the infectious by group."""
        return [self.model.day, *(group.infectious for group in self.model.groups)]

    def picture(self) -> dict[str, Any]:
        """A row a group, and a digit a person: 0 to 3 susceptible, exposed, infectious, recovered."""
        model, persons = self.model, self.environment.population.persons
        days = (model.exposed_day, model.infectious_day, model.recovery_day)
        states = np.sum([day[self.shown] <= model.day for day in days], axis=0).astype(np.uint8)
        vaccinated = model.vaccinated[self.shown] & (model.day >= model.vaccination_day)
        states[(states == 0) & vaccinated] = VACCINATED
        given = model.doses if model.day >= model.vaccination_day else np.zeros_like(model.doses)
        rows = [
            [
                group.name,
                f"{group.persons}",
                f"{doses}",
                f"{group.infectious}",
                f"{100 * group.attack_rate:.1f} %",
                significant(group.sick_days / persons),
            ]
            for group, doses in zip(model.groups, given, strict=True)
        ]
        total = sum(group.sick_days for group in model.groups) / persons
        return {
            "cells": (states + ord("0")).tobytes().decode("ascii"),
            "heads": ["group", "persons", "doses", "infectious", "infected", "sick days"],
            "rows": rows,
            "said": f"{significant(total)} sick days per person so far",
        }


class Network(Stepped):
    """The sensors of `WeatherLive`, of which one is read an hour."""

    series = ["warmest sensor", "sensor read, truth", "its reading"]

    def __init__(self, environment: WeatherLive) -> None:
        self.environment = environment

    def about(self) -> dict[str, Any]:
        """Where the sensors are."""
        environment = self.environment
        stations, nodes = environment.stations, environment.nodes
        lon, lat = unwrapped(stations.lon[nodes]), stations.lat[nodes]
        named = zip(stations.ids[nodes].tolist(), stations.names[nodes].tolist(), strict=True)
        return {
            "kind": "network",
            "what": f"{environment.index}, {environment.objective_unit}",
            "step": "hour",
            "series": self.series,
            "sensors": [f"{one} {name}".strip() for one, name in named],
            "lon": lon.tolist(),
            "lat": lat.tolist(),
            "lines": plain_lines(lon, lat),
            "edges": environment.edges.tolist(),
            "fields": [f"felt, {environment.objective_unit}", *(f"{g}, {u}" for g, u in self._named())],
        }

    def _named(self) -> list[tuple[str, str]]:
        return list(zip(self.environment.groups, self.environment.group_units, strict=True))

    def begin(self, policy: Any, seed: int) -> Any:
        """Hour 0; the sensor that will be read."""
        self.turn_to(policy)
        self.environment.reset(seed)
        self.read: list[float] | None = None
        self.words, self.last = "", [0.0, None, None, None]
        self.last[1:3] = self._felt()
        return self.row

    def turn_to(self, policy: Any) -> None:
        """Read this sensor from now on."""
        try:
            self.row = int(self.environment.policy_space.check(policy))
        except ValueError as error:
            raise UserError(on_one_line(error)) from error

    def _felt(self) -> list[float]:
        """The warmest truth of this hour, and that of the sensor."""
        rows = np.arange(len(self.environment.nodes))
        felt = self.environment.compose(self.environment.expected(rows), rows)
        return [float(felt.max()), float(felt[self.row])]

    def step(self) -> None:
        """Read the sensor, then an hour passes."""
        hour, felt = self.environment.context, self._felt()
        try:
            values = self.environment.step(self.row).values
            reading = float(self.environment.compose(values, self.row))
            self.words = ", ".join(
                f"{name} {significant(float(value))} {unit}"
                for (name, unit), value in zip(self._named(), values, strict=True)
            )
            self.read = [reading]
        except SimulationError as error:
            reading, self.words = float("nan"), on_one_line(error)
        self.last = [hour, *felt, reading if np.isfinite(reading) else None]

    def point(self) -> list[float | None]:
        """The hour that was read, the warmest sensor, the truth and the reading of the one that was."""
        return list(self.last)

    def picture(self) -> dict[str, Any]:
        """The truth of the coming hour at every sensor, and which of them tell nothing."""
        environment, rows = self.environment, np.arange(len(self.environment.nodes))
        truth = environment.expected(rows)
        felt = environment.compose(truth, rows)
        best = np.argsort(-felt, kind="stable")[:5]
        ids = environment.stations.ids[environment.nodes]
        return {
            "field": np.round(np.column_stack([felt, truth]), 2).tolist(),
            "silent": environment.model.silent[environment.nodes, 0].tolist(),
            "row": self.row,
            "heads": [
                "warmest now",
                f"felt, {environment.objective_unit}",
                *(f"{name}, {unit}" for name, unit in self._named()),
            ],
            "rows": [
                [str(ids[i]), significant(float(felt[i])), *(significant(float(x)) for x in truth[i])]
                for i in best
            ],
            "said": f"last reading: {self.words or 'none yet'}",
        }


class Stepping:
    """The calls of a model's page.

    Parameters
    ----------
    scenario : Scenario
        Whose environment is made, in the world of its first trial.

    Raises
    ------
    UserError
        It has no model that can be watched.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.model = stepped(scenario)
        self._lock = threading.Lock()
        self._run = 0

    def about(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """What is watched."""
        scenario = self.scenario
        return {"name": scenario.name, "title": scenario.title, **self.model.about()}

    def begin(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """Begin anew: `{"policy": .., "seed": .., "nearest": whether another policy may hold}`."""
        policy, seed = asked.get("policy"), asked.get("seed", 0)
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise UserError(f"seed {seed!r}; accepted: a whole number, 0 or more")
        model = self.model
        with self._lock:
            if asked.get("nearest") is True and isinstance(model, Town):
                policy = _nearest(model, policy)
            policy = model.begin(policy, seed)
            self._run += 1
            return {"run": self._run, "policy": policy, "points": [model.point()], **self._moment()}

    def step(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """Some steps: `{"run": .., "steps": .., "policy": the sensor to read}`."""
        steps = asked.get("steps", 1)
        if not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
            raise UserError(f"steps {steps!r}; accepted: a whole number from 1 to {MOST_STEPS}")
        with self._lock:
            if asked.get("run") != self._run or not self._run:
                raise UserError("another page has begun anew with this model; press Reset to take it back")
            if isinstance(self.model, Network) and asked.get("policy") is not None:
                self.model.turn_to(asked["policy"])
            points = []
            for _ in range(steps):
                if self.model.over or left.is_set():
                    break
                self.model.step()
                points.append(self.model.point())
            return {"run": self._run, "points": points, **self._moment()}

    def _moment(self) -> dict[str, Any]:
        return {"over": self.model.over, **self.model.picture()}


def _nearest(model: Town, policy: Any) -> Any:
    try:
        return model.nearest(policy)
    except (ValueError, TypeError) as error:
        raise UserError(on_one_line(error)) from error


def stepped(scenario: Scenario) -> Stepped:
    """The model of a scenario; UserError where it has none that can be watched."""
    made: Environment = build_environment(scenario, 1)
    while isinstance(made, ReframedEnvironment):
        made = made.inner
    if isinstance(made, FluABM):
        return Town(made)
    if isinstance(made, WeatherLive):
        return Network(made)
    raise UserError(
        f"{scenario.source}: the environment {scenario.environment.name} has no model that can be watched; "
        "accepted: flu-abm and weather-live. Give a study to watch its rounds"
    )
