"""A weather station as an agent: it wears, fails, sleeps, saves its battery, and decides what it sends.

What all sensors have in kind is an array of the model; a sensor is a row of it. Its hour is `step`; `answer`
is what it does when it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import mesa
import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array
from simulators.contract.validation import number, per_group, whole

if TYPE_CHECKING:
    from simulators.weather.model import WeatherModel


class SensorOptions(TypedDict, total=False):
    """Options of the sensors of a living network; none of them has an effect unless given.

    Attributes
    ----------
    battery : float, default infinite
        Joules that a sensor without mains can store; it begins full. Needs `gateways`.
    standby : float, default 3.6
        Joules that it takes an hour, whatever it does: a milliwatt.
    harvest : float, default 0
        Joules that it gains in an hour with the sun in the zenith of its day; less with the cosine of the
        hours from noon, none at night.
    reserve : float, default 0.2
        Share of the battery, 0..1, below which a sensor takes no readings, and only hands on those of others.
    wake_every : int, default 1
        A sensor takes readings in one hour of so many, each in its turn; it relays in all of them.
    stuck_life : float, default infinite
        Mean hours until a channel of a sensor sticks at what it reads, until repaired.
    report_change : float or (3,) array-like, default 0
        K, percent and m/s. When a sensor is asked it sends only those channels that have changed by more
        since it last sent them; the others are known to be within that much of what they were.
    """

    battery: float
    standby: float
    harvest: float
    reserve: float
    wake_every: int
    stuck_life: float
    report_change: ArrayLike


@dataclass(frozen=True, eq=False)
class Habits:
    """What the sensors of a network have in common; see `SensorOptions`."""

    battery: float = np.inf
    standby: float = 3.6
    harvest: float = 0.0
    reserve: float = 0.2
    wake_every: int = 1
    stuck_life: float = np.inf
    report_change: ArrayLike = 0.0

    @classmethod
    def of(cls, options: SensorOptions, groups: Sequence[str]) -> Habits:
        """Of a network's options; ValueError where one is impossible, or has no effect."""
        made = cls(**options)
        if made.battery == np.inf:
            idle = [name for name in ("standby", "harvest", "reserve") if name in options]
            if idle:
                raise ValueError(f"{idle[0]}={getattr(made, idle[0])!r} has no effect without a battery")
        share = number("reserve", made.reserve, least=0)
        if share >= 1:
            raise ValueError(f"reserve={made.reserve!r} must be >= 0 and < 1")
        return cls(
            made.battery if made.battery == np.inf else number("battery", made.battery, above=0),
            number("standby", made.standby, least=0),
            number("harvest", made.harvest, least=0),
            share,
            whole("wake_every", made.wake_every),
            np.inf if made.stuck_life == np.inf else number("stuck_life", made.stuck_life, least=1),
            per_group("report_change", made.report_change, groups, least=0),
        )


class Answer(NamedTuple):
    """What a sensor tells when it is asked.

    Attributes
    ----------
    values : (3,) array
        Temperature in K, humidity in percent and wind in m/s; nan where nothing is known.
    variance : (3,) array
        What not having sent a channel adds to the variance of its error.
    energy : float
        Joules that it has cost the network.
    """

    values: Array
    variance: Array
    energy: float


class Sensor(mesa.Agent):  # type: ignore[misc]
    """A weather station: a row of the model's arrays."""

    def __init__(self, model: WeatherModel, row: int) -> None:
        super().__init__(model)
        self.row = row

    def step(self) -> None:
        """Let an hour pass: drift, fail or be repaired, and live on the battery."""
        model, row, luck = self.model, self.row, self.model.luck
        model.drift[row] = model.drift_keeps * model.drift[row] + model.drift_push * luck.drift[row]
        chance = luck.broken[row]
        model.broken[row] = np.where(model.broken[row], chance >= model.repaired, chance < model.failing)
        model.noise[row] = model.noise_deviation * luck.noise[row]
        if luck.stuck is not None:
            self._stick(luck.stuck[row])
        if model.habits.battery < np.inf and not model.mains[row]:
            gained = model.habits.harvest * max(float(model.sunlight[row]), 0.0) - model.habits.standby
            model.charge[row] = min(max(model.charge[row] + gained, 0.0), model.habits.battery)

    def _stick(self, chance: Array) -> None:
        """Let channels stick at what they read, and others come loose."""
        model, row = self.model, self.row
        was = model.stuck[row].copy()
        model.stuck[row] = np.where(was, chance >= model.repaired, chance < 1.0 / model.habits.stuck_life)
        new = model.stuck[row] & ~was
        model.held[row, new] = self._unstuck()[new]

    def _unstuck(self) -> Array:
        model, row = self.model, self.row
        reading: Array = model.weather[row] + model.drift[row] + model.noise[row]
        return reading

    def read(self) -> Array:
        """Temperature, humidity and wind (3,) of this hour, nan where a channel tells nothing."""
        model, row = self.model, self.row
        silenced = model.dead[row] | model.silent[row]
        reading = np.where(model.stuck[row], model.held[row], self._unstuck())
        return np.where(silenced, np.nan, reading)

    @property
    def relays(self) -> bool:
        """Whether it hands on the readings of others: its radio works and has power."""
        model, row = self.model, self.row
        return not model.silent[row, 0] and (bool(model.mains[row]) or model.charge[row] > 0.0)

    @property
    def silence(self) -> str:
        """Why it tells nothing when it is asked, in words; empty where it tells something."""
        model, row, habits = self.model, self.row, self.model.habits
        if model.silent[row, 0] or model.dead[row].all():
            return "is silent"
        if not model.mains[row] and model.charge[row] <= habits.reserve * habits.battery < np.inf:
            return "saves its battery"
        if (model.hour + row) % habits.wake_every:
            return "sleeps"
        return "has no way to a gateway" if np.isinf(model.routes.hops[row]) else ""

    def answer(self, channels: Sequence[int]) -> Answer:
        """Read some channels, and send those that have changed enough; all that relay them pay for it.

        Of a channel that is not sent the network knows what was sent last, give or take `report_change`.
        """
        model, row = self.model, self.row
        change = np.asarray(model.habits.report_change)
        asked = np.isin(np.arange(3), channels)
        reading = np.where(asked, self.read(), np.nan)
        known = model.sent[row]
        same = asked & (np.abs(reading - known) <= change) & (change > 0)
        sending = np.isfinite(reading) & ~same
        model.sent[row, sending] = reading[sending]
        # Within the bounds of what was sent last every value is as likely.
        return Answer(
            np.where(same, known, reading),
            np.where(same, change**2 / 3.0, 0.0),
            model.pay(row, np.flatnonzero(asked & ~model.dead[row]), np.flatnonzero(sending)),
        )
