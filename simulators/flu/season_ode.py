"""One season of the flu ODE: who is immune goes in, what the season brings comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from simulators.arrays import Array
from simulators.contract.environment import SimulationError
from simulators.contract.validation import number
from simulators.flu import seir, sir, tables

RATE_TIMES_STEP = 0.6
"""Fastest rate of the dynamics times the integrator's step, at most.

The error grows with its fourth power. It was chosen by measuring against adaptive integration at a relative
tolerance of 1e-12, at the extreme policies and with other reproduction numbers, periods and bounds: outcomes
stay within a relative 1e-6.
"""

LEAST_STEPS = 200
"""Number of steps of a season so short that it ends amid the epidemic, where an error of timing matters."""

BED_STEPS_A_DAY = 2
"""Steps a day, at least, where beds are asked for: their peak is read between steps."""


@dataclass(frozen=True, eq=False)
class Season:
    """What n seasons brought.

    Attributes
    ----------
    infected_days, infections : (J, n) array
        Person-days infectious; persons infected, those of day 0 included.
    peak_beds : (J, n) array or None
        Persons in hospital when most of all groups together are.
    days : (m,) array
    infected : (m, J, n) array
        Persons infectious at those times; m = 0 unless recorded.
    """

    infected_days: Array
    infections: Array
    peak_beds: Array | None
    days: Array
    infected: Array

    def info(self, population: Array) -> dict[str, Any]:
        """What the first of them brought the groups of a population (J,), for the `info` of an outcome."""
        infections, infected = self.infections[:, 0], self.infected[:, :, 0]
        return {
            "attack_rate": infections / population,
            "attack_rate_total": float(infections.sum() / population.sum()),
            "days": self.days,
            "infected": infected,
            "peak_day": float(self.days[np.argmax(infected.sum(axis=1))]),
        }


class SeasonODE:
    """A season in a population.

    Parameters
    ----------
    beta : (J, J) array
        Transmission rates per day, row = susceptible group.
    population, initial_infected : (J,) array
        Persons.
    infectious_period : float
        Days.
    stages : simulators.flu.seir.Stages
        Where there are none, the faster `simulators.flu.sir` is integrated.
    days : float
    step_days : float, optional
        The longest step; by default short enough for a relative error below 1e-6.
    rates : Bounds, optional
        Of the removal rates, where those are the policy.
    """

    def __init__(
        self,
        beta: Array,
        population: Array,
        initial_infected: Array,
        infectious_period: float,
        stages: seir.Stages,
        *,
        days: float,
        step_days: float | None = None,
        rates: Bounds | None = None,
    ) -> None:
        self.beta: Array
        self.population: Array
        self.initial_infected: Array
        self.beta, self.population, self.initial_infected = beta, population, initial_infected
        self.infectious_period: float
        self.days: float
        self.infectious_period, self.stages, self.days = infectious_period, stages, days
        self.n_steps: int = self._number_of_steps(step_days, rates)

    @property
    def staged(self) -> bool:
        """Whether there is more than infection and removal."""
        one = self.stages
        waning = np.isfinite(one.waning) or np.isfinite(one.vaccine_waning)
        return bool(one.latent > 0 or waning or one.hospitalisation is not None)

    def start(self, immune: Array) -> tuple[Array, Array]:
        """The susceptible and the infected (J, n) on day 0, where shares (J, n) are immune by vaccine."""
        N, I0 = self.population[:, None], self.initial_infected[:, None]
        # With a perfect vaccine for everybody nobody is left to take the initially infected from.
        return np.maximum(N * (1 - immune) - I0, 0.0), np.repeat(I0, immune.shape[1], axis=1)

    def vaccinated(self, immune: Array, record: bool = False, policies: Any = None) -> Season:
        """The seasons where shares (J, n) are immune by vaccine on day 0.

        Raises
        ------
        SimulationError
            The integration became unstable; carries the first such of n policies.
        """
        S0, I0 = self.start(immune)
        if not self.staged:
            removal = np.full(immune.shape, 1 / self.infectious_period)
            return self._sir(S0, I0, removal, 0.0, record, policies)
        course = self.course(immune, "I" if record else "")
        self._refuse_unstable(course.infected_days, course.least, policies)
        return Season(
            course.infected_days,
            course.infections + I0,
            None if self.stages.hospitalisation is None else course.peak_beds,
            course.days if record else course.days[:0],
            course.curves["I"] if record else np.empty((0, *immune.shape)),
        )

    def course(self, immune: Array, record: str) -> seir.Course:
        """The courses with curves of the states that are named, such as "IC"."""
        S0, I0 = self.start(immune)
        return seir.integrate(
            self.beta,
            self.population,
            S0,
            I0,
            1 / self.infectious_period,
            self.stages,
            days=self.days,
            n_steps=self.n_steps,
            record=record,
        )

    def treated(self, removal: Array, record: bool = False, policies: Any = None) -> Season:
        """The seasons under removal rates a day (J, n), among whom infection is deadly."""
        S0, I0 = self.start(np.zeros_like(removal))
        return self._sir(S0, I0, removal, tables.INFECTED_DEATH_RATE, record, policies)

    def _sir(
        self, S0: Array, I0: Array, removal: Array, deaths: float, record: bool, policies: Any
    ) -> Season:
        epidemic = sir.integrate(
            self.beta,
            self.population,
            S0,
            I0,
            removal,
            days=self.days,
            n_steps=self.n_steps,
            deaths=deaths,
            record=record,
        )
        least = np.minimum(epidemic.susceptible, epidemic.infected)
        self._refuse_unstable(epidemic.infected_days, least, policies)
        infections = S0 + I0 - epidemic.susceptible
        return Season(epidemic.infected_days, infections, None, epidemic.days, epidemic.curve)

    def _refuse_unstable(self, infected_days: Array, least: Array, policies: Any) -> None:
        sound = (np.isfinite(infected_days) & (least >= -1e-9 * self.population[:, None])).all(axis=0)
        if not sound.all():
            raise SimulationError(
                f"the integration in {self.n_steps} steps became unstable; take a smaller step_days",
                policy=None if policies is None else policies[np.argmin(sound)],
            )

    def _number_of_steps(self, step_days: float | None, rates: Bounds | None) -> int:
        if step_days is not None:
            return max(1, int(np.ceil(self.days / number("step_days", step_days, above=0))))
        slow = fast = 1 / self.infectious_period
        if rates is not None:
            slow, fast = float(np.min(rates.lb)), float(np.max(rates.ub))
        fastest = max(radius(self.beta) - slow, 0.0) + fast
        least = LEAST_STEPS
        if self.stages.latent:
            fastest += 1 / self.stages.latent
        if self.stages.hospitalisation is not None:
            fastest = max(fastest, 1 / self.stages.stay)
            least = max(least, int(np.ceil(BED_STEPS_A_DAY * self.days)))
        return max(least, int(np.ceil(self.days * fastest / RATE_TIMES_STEP)))


def stages_of(
    latent: Any, waning: Any, vaccine_waning: Any, hospitalisation: Array | None, stay: float
) -> seir.Stages:
    """The stages of options.

    Raises
    ------
    ValueError
        A latent period that is neither 0 nor a tenth of a day at least, or immunity that lasts less than a
        day.
    """
    latent = number("latent_period", latent, least=0)
    if 0 < latent < 0.1:
        raise ValueError(f"latent_period={latent!r} must be 0, or 0.1 days or more")
    usual = seir.Stages()
    return seir.Stages(
        latent,
        usual.waning if waning is None else number("waning_period", waning, least=1),
        usual.vaccine_waning
        if vaccine_waning is None
        else number("vaccine_waning_period", vaccine_waning, least=1),
        hospitalisation,
        usual.stay if hospitalisation is None else stay,
    )


def radius(matrix: Array) -> float:
    """The spectral radius."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())
