"""Where will it feel warmest in the coming hour? Sensors of a weather that moves on while they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.arrays import Array
from simulators.contract.environment import KeptVariance, Outcomes, Seed, SimulationError
from simulators.contract.seeds import child
from simulators.contract.validation import number, whole
from simulators.weather.model import DRIFT, DRIFT_HOURS, WeatherModel
from simulators.weather.options import split_options
from simulators.weather.sensor import Habits, SensorOptions
from simulators.weather.sensor_network import NetworkOptions, SensorNetwork

PILOT_HOURS, PILOT_READINGS = 200, 5
"""Length of the run that kernels are learned from, and the sensors looked at in each of its hours."""


class LiveOptions(NetworkOptions, SensorOptions, total=False):
    """What `WeatherLive` hands on."""


class WeatherLive(SensorNetwork):
    """The sensors of a network in a living weather, `simulators.weather.model.WeatherModel`.

    A step reads a sensor; after `readings` of them an hour passes. `context` is the coming hour, `expected`
    the truth of that hour. A dead channel is a missing group; a silent sensor makes the step fail. All
    sensors are candidates: what is set aside is a pilot run of another weather over the same sensors, and its
    features have the hour as last column.

    The weather follows from `seed` and the hour; noise, drift and outages of the sensors from the seed of
    `reset`. Neither depends on what is read.

    Parameters
    ----------
    sensors : int, default 500
        As many stations, drawn from the seed, make up the network; all, where there are fewer.
    flow : (float, float), default (8, 3)
        Eastward and northward speed, m/s, at which the weather moves along the graph.
    memory : float, default 36
        Hours after which 37 % of a front's effect is left.
    channel_life, sensor_life, repair : float, default 1000, 2000, 24
        Mean hours until a channel of a sensor dies, until a sensor falls silent, and until it works again.
    readings : int, default 1
        Sensors that are read in an hour; an agent can be asked for as many together.
    seed : int or numpy.random.SeedSequence, default 0
        Of the network and its weather.
    **others
        As for `SensorNetwork`, without a `set_aside_share`. The readings are the weather of hour 0. And what
        sensors do by themselves: see `simulators.weather.sensor.SensorOptions`.

    Raises
    ------
    ValueError
        As for `SensorNetwork`.

    Attributes
    ----------
    model : WeatherModel
        At the coming hour.
    noise_variances : (3,) array
        Of a reading: its noise and its sensor's drift.
    """

    has_memory = True
    lives = True

    def __init__(
        self,
        *,
        sensors: int = 500,
        flow: Sequence[float] = (8.0, 3.0),
        memory: float = 36.0,
        channel_life: float = 1000.0,
        sensor_life: float = 2000.0,
        repair: float = 24.0,
        readings: int = 1,
        seed: int | np.random.SeedSequence = 0,
        **others: Unpack[LiveOptions],
    ) -> None:
        habits, network = split_options(others, SensorOptions)
        self.steps_at_once: int = whole("readings", readings)
        if network.get("calm", "zero") != "zero":
            raise ValueError(
                f"calm={network['calm']!r} has no effect on weather-live, whose winds are latent"
            )
        super().__init__(set_aside_share=0.0, sensors=sensors, seed=seed, **network)
        self._settings: dict[str, Any] = {
            "noise_variance": self.noise_variances,
            "flow": _flow(flow),
            "memory": number("memory", memory, above=0),
            "channel_life": _life("channel_life", channel_life),
            "sensor_life": _life("sensor_life", sensor_life),
            "repair": number("repair", repair, least=1),
            "energy": self.energy,
            "habits": Habits.of(habits, self.groups),
        }
        if "battery" in habits and self.energy is None:
            raise ValueError(f"battery={habits['battery']!r} has no effect without gateways")
        self.noise_variances: Array = self.noise_variances + np.square(DRIFT)
        self._weather_words = _words(child(self.seed, 2))
        self.reset()

    def reset(self, seed: Seed = None) -> None:
        """Go back to hour 0, with sensors that differ by seed in noise, drift and outages."""
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        self.model: WeatherModel = self._model(self._weather_words, _words(sequence))
        self._read = 0

    @property
    def kept_noise(self) -> KeptVariance:
        """The drift of the sensors, which their noise variances hold."""
        return KeptVariance(np.square(DRIFT), self.noise_variances, DRIFT_HOURS)

    @property
    def context(self) -> float:
        """The coming hour, from 0."""
        return float(self.model.hour)

    @cached_property
    def set_aside(self) -> tuple[Array, Array]:
        """Features (m, p + 1), the hour last, and the truth (m, 3), of the pilot run."""
        draws = np.random.default_rng(child(self.seed, 3))
        pilot = self._model(_words(child(self.seed, 4)), (0,))
        features, outcomes = [], []
        for hour in range(PILOT_HOURS):
            rows = draws.integers(len(self.nodes), size=PILOT_READINGS)
            features.append(np.column_stack([self._features(rows), np.full(len(rows), float(hour))]))
            outcomes.append(pilot.weather[rows])
            pilot.step()
        return np.concatenate(features), np.concatenate(outcomes)

    @cached_property
    def bounds(self) -> Array:
        """The B_j of Definition 2 over the pilot run: degF per K, per percent, per m/s."""
        return self.perceived.bounds(*self.set_aside[1].T)

    def step(self, policy: Any) -> Outcomes:
        """Read the sensor of a candidate row, then let an hour pass, if it was the last reading of the hour.

        Readings are nan where a channel is dead; `info` has the station's `id`, the `hour` and, where
        readings cost energy, their `cost` in joules.

        Raises
        ------
        ValueError
            There is no such row. No hour passes.
        SimulationError
            The sensor is silent, sleeps, saves its battery, or has no way to a gateway. The hour passes.
        """
        return self.step_groups(policy, range(len(self.groups)))

    def step_groups(self, policy: Any, groups: Sequence[int]) -> Outcomes:
        """Read some channels of a sensor, and pay for these alone; the others are nan. See `step`."""
        row = self.policy_space.check(policy)
        sensor, hour, info = self.model.sensors[row], self.model.hour, self._info(row)
        silence = sensor.silence
        answer = None if silence else sensor.answer(groups)
        self._read = (self._read + 1) % self.steps_at_once
        if not self._read:
            self.model.step()
        if answer is None or np.isnan(answer.values).all():
            raise SimulationError(f"sensor {info['id']!r} {silence or 'is silent'} in hour {hour}", row)
        info |= {"hour": hour} if self.energy is None else {"hour": hour, "cost": answer.energy}
        return Outcomes(answer.values, self.noise_variances + answer.variance, info)

    def expected(self, policies: ArrayLike) -> Array:
        """The truth at candidate rows (n,) in the coming hour, (n, 3)."""
        return self.model.weather[self.nodes[self.policy_space.rows(policies)]]

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The hour, the anomalies and the sensors' condition, from which the run goes on alike."""
        return self.model.get_state() | {"read": np.array(self._read)}

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to the hour that `get_state` described."""
        self.model.set_state(state)
        self._read = int(state["read"])

    def _model(self, weather_seed: Sequence[int], sensor_seed: Sequence[int]) -> WeatherModel:
        return WeatherModel(
            self.stations.lon,
            self.stations.lat,
            self.stations.readings,
            self.edges,
            start=_time_of_day(self.stations.time),
            weather_seed=weather_seed,
            rng=sensor_seed,
            **self._settings,
        )


def _words(seed: np.random.SeedSequence) -> list[int]:
    """A seed as whole numbers, to which the hour can be added."""
    return [int(word) for word in seed.generate_state(4)]


def _time_of_day(time: NDArray[np.datetime64]) -> float:
    """The hour UTC of the median reading; 0 where no time is known."""
    known = time[~np.isnat(time)].astype("datetime64[s]").astype(np.int64)
    return float(np.median(known) / 3600.0 % 24.0) if len(known) else 0.0


def _flow(value: Any) -> tuple[float, float]:
    if np.shape(value) != (2,):
        raise ValueError(f"flow={value!r} must be two numbers: eastward and northward speed in m/s")
    return number("flow", value[0]), number("flow", value[1])


def _life(name: str, value: Any) -> float:
    """Mean hours of working, at least 1; infinite for ever."""
    return float("inf") if value == float("inf") else number(name, value, least=1)
