"""Weather that lives on a network of sensors, as a Mesa model. One step is an hour.

The truth at each sensor is its climate, a daily cycle and an anomaly. Fronts, smooth patterns of random
strength, push the anomalies; these move and mix along the graph and die down. The model starts with what the
stations read, without an anomaly. Sensors are agents (`simulators.weather.sensor`): each reads the truth of
its place through its own noise and drift, unless a channel is dead or all of it is silent, and where readings
cost energy each lives on its battery.

What an hour brings depends on its number and the seeds alone, not on which sensors were read; what a battery
holds depends on that too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import mesa
import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulators.arrays import Array, Mask, Rows
from simulators.stations.sphere import points_on_sphere
from simulators.weather.energy import Energy
from simulators.weather.radio import Routes, routes
from simulators.weather.sensor import Habits, Sensor
from simulators.weather.sensor_network import NOISE_VARIANCE
from simulators.weather.transport import transport_matrix

AMPLITUDE = (4.0, -12.0, 1.0)
"""Of the daily cycle, K, percent, m/s: warmest, driest and windiest at three in the afternoon."""

SPREAD = (2.5, 10.0, 2.0)
"""Standard deviation, K, percent, m/s, that fronts keep the anomalies below."""

DRYING = 0.8
"""Correlation of fronts that warm with fronts that dry: warmer air that holds as much water is less humid."""

FRONTS, FRONT_SIZE = 64, 800.0
"""Patterns that make up an hour's front, and the length scale of their mixture, km."""

DRIFT = (0.2, 1.0, 0.1)
"""Standard deviation of a sensor's drift: K, percent, m/s."""

DRIFT_HOURS = 720.0
"""Hours after which 37 % of a drift is left."""

CHANGING = ("anomaly", "drift", "noise", "broken", "stuck", "held", "sent", "charge")
"""The arrays that change from hour to hour."""


class Luck(NamedTuple):
    """The random numbers of an hour, a row a sensor.

    Attributes
    ----------
    drift, noise : (n, 3) array
        Standard normal.
    broken : (n, 4) array
        Of each channel and of the whole sensor, uniform.
    stuck : (n, 3) array or None
        Of each channel, uniform; None where none ever sticks.
    """

    drift: Array
    broken: Array
    noise: Array
    stuck: Array | None


class WeatherModel(mesa.Model):  # type: ignore[misc]
    """Fields of temperature, humidity and wind on a graph, and the sensors that read them.

    Parameters
    ----------
    lon, lat : (n,) array
        Of the sensors, degrees.
    readings : (n, 3) array
        Temperature in K, humidity in percent and wind in m/s of hour 0.
    edges : (m, 2) array of int
        Pairs of neighbours.
    start : float
        Time of day of hour 0, hours UTC.
    flow : (float, float)
        Eastward and northward speed, m/s, at which the weather moves.
    mixing : float
        Share of a sensor's anomaly, 0..1, that its neighbours' mean replaces in an hour.
    memory : float
        Hours after which 37 % of an anomaly is left.
    noise_variance : (3,) array-like
        Of a reading.
    drift, drift_hours : (3,) array-like, float
        Standard deviation of a sensor's drift, and the hours after which 37 % of it is left.
    channel_life, sensor_life : float
        Mean hours until a channel of a sensor dies, and until all of it falls silent. Infinite for never.
    repair : float
        Mean hours until either works again.
    energy : Energy, optional
        What readings cost, and how they travel; without it they cost nothing, and all have a way.
    habits : Habits, optional
        Battery, sleep, sticking channels, and when sensors report.
    weather_seed : sequence of int
        Of the fronts.
    rng : sequence of int
        Of the sensors: noise, drift and outages. Mesa's own seed.

    Attributes
    ----------
    hour : int
        Since the start.
    weather : (n, 3) array
        The truth of this hour.
    drift, noise : (n, 3) array
        What each sensor adds to it.
    dead : (n, 3) array of bool
        Channels that tell nothing.
    silent : (n, 1) array of bool
        Sensors that tell nothing.
    stuck, held : (n, 3) array of bool, (n, 3) array
        Channels that stick, and at what.
    sent : (n, 3) array
        What each sensor has sent last, nan for nothing.
    charge : (n,) array
        Joules in the batteries.
    mains : (n,) array of bool
        Sensors without a battery: the gateways.
    routes : Routes
        The ways over those that relay in this hour.
    luck : Luck
        The random numbers of the hour that passes.
    sunlight : (n,) array
        Cosine of the hours from noon.
    sensors : list of Sensor
        By row.
    datacollector : mesa.DataCollector
        An hour a row: means over the network, and how many sensors do not work.
    """

    def __init__(
        self,
        lon: ArrayLike,
        lat: ArrayLike,
        readings: ArrayLike,
        edges: Rows,
        *,
        start: float = 0.0,
        flow: tuple[float, float] = (8.0, 3.0),
        mixing: float = 0.2,
        memory: float = 36.0,
        noise_variance: ArrayLike = NOISE_VARIANCE,
        drift: ArrayLike = DRIFT,
        drift_hours: float = DRIFT_HOURS,
        channel_life: float = 1000.0,
        sensor_life: float = 2000.0,
        repair: float = 24.0,
        energy: Energy | None = None,
        habits: Habits | None = None,
        weather_seed: Sequence[int] = (0,),
        rng: Sequence[int] = (0,),
    ) -> None:
        super().__init__(rng=rng)
        self.lon: NDArray[Any]
        self.lat: NDArray[Any]
        self.lon, self.lat = np.asarray(lon, dtype=float), np.asarray(lat, dtype=float)
        self.start = start
        self.transport = transport_matrix(self.lon, self.lat, edges, flow, mixing)
        self.keeps = np.exp(-1.0 / memory)
        self.noise_deviation = np.sqrt(np.asarray(noise_variance, dtype=float))
        self.drift_deviation: NDArray[Any] = np.asarray(drift, dtype=float)
        self.drift_keeps = np.exp(-1.0 / drift_hours)
        self.failing: NDArray[Any] = np.array([*[1.0 / channel_life] * 3, 1.0 / sensor_life])
        self.repaired: float = 1.0 / repair
        self.weather_seed: tuple[int, ...]
        self.weather_seed, self.sensor_seed = tuple(weather_seed), tuple(rng)

        self.hour = 0
        self.climate: Array = np.asarray(readings, dtype=float) - self.daily_cycle()
        self.fronts: Array = self.front_patterns()
        self.anomaly = np.zeros_like(self.climate)
        self.weather = self.truth()
        n = len(self.lon)
        self.broken = np.zeros((n, 4), dtype=bool)
        draws = self.draws(self.sensor_seed)
        self.drift: Array = self.drift_deviation * draws.standard_normal((n, 3))
        self.noise: Array = self.noise_deviation * draws.standard_normal((n, 3))
        self.drift_push = np.sqrt(1.0 - self.drift_keeps**2) * self.drift_deviation
        self.energy: Energy | None
        self.energy, self.habits = energy, habits or Habits()
        self.stuck, self.held = np.zeros((n, 3), dtype=bool), np.zeros((n, 3))
        self.sent = np.full((n, 3), np.nan)
        self.charge = np.full(n, self.habits.battery)
        self.mains = np.zeros(n, dtype=bool)
        if energy is not None:
            self.mains[energy.gateways] = True
        self.sensors = [Sensor(self, row) for row in range(n)]
        self.routes = self.ways()

        self.datacollector = mesa.DataCollector(
            model_reporters={
                "hour": "hour",
                "temperature": "mean_temperature",
                "humidity": "mean_humidity",
                "wind": "mean_wind",
                "silent_sensors": "silent_sensors",
                "dead_channels": "dead_channels",
                "charge": "mean_charge",
            }
        )
        self.datacollector.collect(self)

    def step(self) -> None:
        """Let an hour pass: over the weather, then over every sensor."""
        self.hour += 1
        self.move_and_mix()
        self.luck = self.luck_of_the_hour()
        self.sunlight = np.cos(2.0 * np.pi * (self.sun_time() - 12.0) / 24.0)
        for name in CHANGING[1:]:  # arrays of hours gone by stay as they were
            setattr(self, name, getattr(self, name).copy())
        self.agents.do("step")
        self.routes = self.ways()
        self.datacollector.collect(self)

    def move_and_mix(self) -> None:
        """Carry the anomalies along the graph, let them die down, and add this hour's front."""
        strengths = self.draws(self.weather_seed).standard_normal((FRONTS, 3))
        strengths[:, 1] = np.sqrt(1.0 - DRYING**2) * strengths[:, 1] - DRYING * strengths[:, 0]
        front = np.einsum("ip,pj->ij", self.fronts, strengths)  # rounds alike in every process, unlike BLAS
        push = np.sqrt(1.0 - self.keeps**2) * np.array(SPREAD)
        self.anomaly = self.keeps * (self.transport @ self.anomaly) + push * front
        self.weather = self.truth()

    def luck_of_the_hour(self) -> Luck:
        """What chance brings to the sensors in this hour."""
        draws, n = self.draws(self.sensor_seed), len(self.lon)
        drift, broken, noise = (
            draws.standard_normal((n, 3)),
            draws.random((n, 4)),
            draws.standard_normal((n, 3)),
        )
        return Luck(drift, broken, noise, draws.random((n, 3)) if self.habits.stuck_life < np.inf else None)

    def ways(self) -> Routes:
        """The ways to the gateways over the sensors that relay now; none is needed without costs."""
        n = len(self.lon)
        if self.energy is None:
            return Routes(np.zeros(n), np.full(n, -1))
        return routes(
            self.energy.links, n, self.energy.gateways, np.array([one.relays for one in self.sensors])
        )

    def pay(self, row: int, sensed: Rows, sent: Rows) -> float:
        """The joules of a reading, which are taken from its sensor's battery and those of its relays."""
        if self.energy is None:
            return 0.0
        sensing, hop = float(self.energy.sensing[sensed].sum()), self.energy.hop(len(sent))
        way = self.routes.way(row)
        self._drain(row, sensing)
        for relay in way:
            self._drain(relay, hop)
        return sensing + hop * len(way)

    def _drain(self, row: int, joules: float) -> None:
        if not self.mains[row]:
            self.charge[row] = max(self.charge[row] - joules, 0.0)

    def truth(self) -> Array:
        """The weather (n, 3) of this hour; humidity stays within 0..100 %, wind above none."""
        truth: Array = self.climate + self.daily_cycle() + self.anomaly
        truth[:, 1] = np.clip(truth[:, 1], 0.0, 100.0)
        truth[:, 2] = np.maximum(truth[:, 2], 0.0)
        return truth

    def daily_cycle(self) -> Array:
        """What the time of day adds (n, 3), by the sun: 15 degrees of longitude are an hour."""
        cycle: Array = np.cos(2.0 * np.pi * (self.sun_time()[:, None] - 15.0) / 24.0) * np.array(AMPLITUDE)
        return cycle

    def sun_time(self) -> Array:
        """The time of day (n,) by the sun, hours."""
        time: Array = self.start + self.hour + self.lon / 15.0
        return time

    def front_patterns(self) -> Array:
        """Waves (n, FRONTS) over the sphere whose random mixtures have variance 1.

        They are a draw of the features by which Rahimi & Recht (2007) approximate a squared-exponential
        kernel.
        """
        draws = self.draws(self.weather_seed)
        waves = draws.standard_normal((3, FRONTS)) / FRONT_SIZE
        phase = draws.uniform(0.0, 2.0 * np.pi, FRONTS)
        patterns = np.cos(np.einsum("ia,ap->ip", points_on_sphere(self.lon, self.lat), waves) + phase)
        return np.asarray(patterns / np.linalg.norm(patterns, axis=1, keepdims=True))

    def draws(self, seed: Sequence[int]) -> np.random.Generator:
        """The random numbers of this hour, the same whatever happened before."""
        return np.random.default_rng([*seed, self.hour])

    @property
    def dead(self) -> Mask:
        """Channels (n, 3) that tell nothing."""
        return self.broken[:, :3]

    @property
    def silent(self) -> Mask:
        """Sensors (n, 1) that tell nothing."""
        return self.broken[:, 3:]

    @property
    def mean_temperature(self) -> float:
        """K, over the network."""
        return float(self.weather[:, 0].mean())

    @property
    def mean_humidity(self) -> float:
        """Percent, over the network."""
        return float(self.weather[:, 1].mean())

    @property
    def mean_wind(self) -> float:
        """m/s, over the network."""
        return float(self.weather[:, 2].mean())

    @property
    def silent_sensors(self) -> int:
        """Sensors that tell nothing."""
        return int(self.silent.sum())

    @property
    def dead_channels(self) -> int:
        """Channels that tell nothing, of sensors that are not silent."""
        return int((self.dead & ~self.silent).sum())

    @property
    def mean_charge(self) -> float:
        """J, of the batteries that are not without limit; nan where there are none."""
        charged = self.charge[~self.mains]
        return float(charged.mean()) if self.habits.battery < np.inf and len(charged) else float("nan")

    def get_state(self) -> dict[str, NDArray[Any]]:
        """All that changes from hour to hour, as plain arrays."""
        seed = np.array(self.sensor_seed, dtype=np.uint64)
        return {"hour": np.array(self.hour), "sensor_seed": seed} | {
            name: np.array(getattr(self, name)) for name in CHANGING
        }

    def set_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to an hour that `get_state` described; the data collector keeps what it has."""
        self.hour = int(state["hour"])
        self.sensor_seed = tuple(int(word) for word in state["sensor_seed"])
        for name in CHANGING:
            setattr(self, name, np.array(state[name]))
        self.weather = self.truth()
        self.routes = self.ways()
