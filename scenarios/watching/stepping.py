"""The calls of a page on which a model is watched while it steps.

A page moves one model at a time: who begins anew takes it over, and a page that was left behind is told so.
"""

from __future__ import annotations

import threading
from typing import Any

from bridges.ensemble import EnsembleEnvironment
from bridges.environments.mesa_environment import MesaEnvironment
from bridges.reframed import ReframedEnvironment
from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.trial.building import build_environment
from scenarios.watching.mesa_models import Agents
from scenarios.watching.models import Network, Stepped, Town, WithLevers
from simulators import Environment
from simulators.flu.abm import FluABM
from simulators.weather.live import WeatherLive

MOST_STEPS = 50
"""Steps of one request."""


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
        self.model: Stepped = stepped(scenario)
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
            if asked.get("nearest") is True and isinstance(model, WithLevers):
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


def _nearest(model: WithLevers, policy: Any) -> Any:
    try:
        return model.nearest(policy)
    except (ValueError, TypeError) as error:
        raise UserError(on_one_line(error)) from error


def stepped(scenario: Scenario) -> Stepped:
    """The model of a scenario; UserError where it has none that can be watched."""
    made: Environment = build_environment(scenario, 1)
    while isinstance(made, ReframedEnvironment | EnsembleEnvironment):
        made = made.inner if isinstance(made, ReframedEnvironment) else made.members[0]
    if isinstance(made, FluABM):
        return Town(made)
    if isinstance(made, WeatherLive):
        return Network(made)
    if isinstance(made, MesaEnvironment):
        return Agents(made)
    raise UserError(
        f"{scenario.source}: the environment {scenario.environment.name} has no model that can be watched; "
        "accepted: flu-abm, weather-live and mesa. Give a study to watch its rounds"
    )
