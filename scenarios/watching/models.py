"""Our own models as their page sees them: a town in a season of flu, a network of sensors in the weather."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

import bridges
from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.figures.outline import plain_lines
from scenarios.figures.unwrapping import unwrapped
from scenarios.numbers import significant
from scenarios.study.levers import spelled
from simulators import Environment, SimulationError
from simulators.flu.abm import FluABM
from simulators.weather.live import WeatherLive

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


class WithLevers(Stepped):
    """A model that begins anew with a policy of levers."""

    environment: Environment

    def levers(self) -> dict[str, Any]:
        """The levers, and the policy that it begins with: today's, or the one nearest to the lowest."""
        space, today = self.environment.policy_space, bridges.current_policy(self.environment)
        levers = [
            {"label": label, "unit": unit, "lever": spelled(lever)}
            for label, unit, lever in zip(space.labels, space.units, space.levers, strict=True)
        ]
        assert space.bounds is not None
        start = space.bounds.lb if today is None else today
        return {"levers": levers, "start": self.nearest(start).tolist()}

    def nearest(self, policy: Any) -> Any:
        """The feasible policy nearest to one."""
        return self.environment.policy_space.project(np.asarray(policy, dtype=float))

    def checked(self, policy: Any) -> Any:
        """A policy (d,) of the space; UserError where it is none."""
        try:
            return self.environment.policy_space.check(policy)
        except ValueError as error:
            raise UserError(on_one_line(error)) from error


class Town(WithLevers):
    """A season of `FluABM`, person by person."""

    environment: FluABM

    def __init__(self, environment: FluABM) -> None:
        self.environment, self.series = environment, [f"{name}" for name in environment.groups]
        population = environment.population
        order = np.lexsort((population.household, population.group))
        self.shown = order[:: -(-len(order) // MOST_CELLS)]
        self.blocks = np.bincount(population.group[self.shown], minlength=len(environment.groups)).tolist()

    def about(self) -> dict[str, Any]:
        """Levers, age groups, and how many persons of each are shown."""
        environment = self.environment
        return {
            "kind": "town",
            "what": "infectious persons",
            "step": "day",
            "series": self.series,
            **self.levers(),
            "blocks": self.blocks,
            "persons": environment.population.persons,
            "shown": len(self.shown),
        }

    def begin(self, policy: Any, seed: int) -> Any:
        """A season under a policy, on its day 0."""
        x = self.checked(policy)
        self.model = self.environment.model(x, seed=seed)
        return x.tolist()

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
