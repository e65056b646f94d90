"""A flu season among people who meet at home, at school, at work and at random: a Mesa model.

One step is a day. The age groups are the agents: they hold their policy and what has become of their people.
The people are arrays, so that a city fits: person i, of the age group ``population.group[i]``, is exposed on
day ``exposed_day[i]``, infectious from day ``infectious_day[i]`` and recovered from day ``recovery_day[i]``.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any, Literal

import mesa
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from simulators import counter_draws, flu_data
from simulators.age_group import AgeGroup
from simulators.durations import durations, geometric
from simulators.event_calendar import EventCalendar
from simulators.hazard_clock import HazardClock
from simulators.next_generation import transmission_rate
from simulators.options import choice, number, per_group, whole
from simulators.population import Population, build_population
from simulators.season_start import initially_infected, whole_numbers
from simulators.transmission import contact_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Persons = NDArray[np.int32]

LATENT_PERIOD = 1.9
"""Mean days from infection until a person infects others (Mills, Robins & Lipsitch 2004, Nature 432:904)."""

LONGEST_SEASON = 10_000
"""Days that fit into the persons' arrays, with what may follow the last of them."""

NEVER = np.iinfo(np.int16).max
"""The day of what has not happened."""

BEFORE = -1
"""The day of what happened in an earlier season."""

STATES = ("susceptible", "exposed", "infectious", "recovered")

VACCINEES, PROTECTED, SEEDS, LATENCY, ILLNESS, CONTACTS, WANING = range(7)
"""What the season's seed draws for; every purpose has draws of its own."""


class FluModel(mesa.Model):  # type: ignore[misc]
    """SEIR on a network of persons, under a policy of vaccination, treatment and school closure.

    Chance comes in draws tied to (seed, person, contact), so that two seasons with the same seed differ only
    where their policies make them differ.

    Parameters
    ----------
    population : Population or int, default 10,000
        Persons and their contacts, or how many persons to build a population of.
    coverage : float or (J,) array-like, default 0
        Share of each group vaccinated, in whole doses whose total is rounded.
    vaccination_day : int, default 0
        The first day on which vaccination protects; 0, before the season.
    vaccine : {"all-or-nothing", "leaky"}, default "all-or-nothing"
        Efficacy is the share of the vaccinated who become immune, or the part by which it lowers each one's
        hazard of infection.
    efficacy : float or (J,) array-like, optional
        0..1; the season 2012-13 by default.
    treatment : float or (J,) array-like, optional
        Probability a day that an infectious person of the group is removed, instead of the infectious period.
    school_closure : float, default 0
        Days for which schools are closed; a part of a day takes that part of the day's contacts.
    closure_day : int, default 1
        The first of them.
    r0 : float, default 1.67
        Reproduction number without policy and immunity, by the network's next-generation matrix.
    susceptibility : float or (J,) array-like, optional
        Relative to each other; Del Valle et al. 2013 by default.
    latent_period, infectious_period : float, sequence or distribution, default 1.9 and 4
        Whole days, 1 or more: the mean of a geometric distribution, the probabilities of 1, 2, .. days, or a
        frozen distribution of scipy.stats, rounded up.
    initial_infected : float or (J,) array-like, optional
        Persons infected on day 0, infectious from day 1; the ODE's shares by default, but 50 at least.
    immune : (N,) array of bool, optional
        Persons immune from an earlier season; nobody by default.
    days : int, default 365
        Length of the season.
    record_every : int, default 1
        Days from one row of the data collector to the next; the last day has a row in any case. (With
        ``mesa.batch_run`` leave it at 1, which takes rows for days, and use its ``data_collection_period``.)
    population_seed : int, default 0
        Seed of a population that is to be built.
    seed : int, optional
        Seed of the season, through Mesa's generators ``random`` and ``rng``.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted.

    Attributes
    ----------
    groups : list of AgeGroup
        The agents, youngest first.
    day : int
        The last day simulated.
    running : bool
        False once nobody is exposed or infectious, or the season has ended.
    datacollector : mesa.DataCollector
        The epidemic curve: all persons by state, and the infectious by group.
    """

    def __init__(
        self,
        population: Population | int = 10_000,
        *,
        coverage: ArrayLike = 0.0,
        vaccination_day: int = 0,
        vaccine: Literal["all-or-nothing", "leaky"] = "all-or-nothing",
        efficacy: ArrayLike | None = None,
        treatment: ArrayLike | None = None,
        school_closure: float = 0.0,
        closure_day: int = 1,
        r0: float = 1.67,
        susceptibility: ArrayLike | None = None,
        latent_period: Any = LATENT_PERIOD,
        infectious_period: Any = flu_data.INFECTIOUS_PERIOD,
        initial_infected: ArrayLike | None = None,
        immune: NDArray[np.bool_] | None = None,
        days: int = 365,
        record_every: int = 1,
        population_seed: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(rng=None if seed is None else whole("seed", seed, least=0))
        if not isinstance(population, Population):
            population = build_population(population, seed=population_seed)
        self.population = population
        names, sizes, J = population.groups, population.sizes, len(population.groups)
        self.day = 0
        self.days = whole("days", days)
        if self.days > LONGEST_SEASON:
            raise ValueError(f"days={days!r} must be at most {LONGEST_SEASON}")
        self.record_every = whole("record_every", record_every)

        # The season's seed has draws of its own for every purpose.
        season = int(self.rng.integers(2**63))
        self.keys = [counter_draws.stream(season, purpose) for purpose in range(7)]

        # The disease.
        table = flu_data.AGES.get(J)
        if table is None or table.groups != names:
            raise ValueError(f"population: its groups must be those of flu_data.AGES; they are {names}")
        susceptibility = _given("susceptibility", susceptibility, table.susceptibility, names, least=0)
        latent = durations("latent_period", latent_period, J)
        infectious = durations("infectious_period", infectious_period, J)
        self.contacts = contact_rows(population.network)
        r0 = number("r0", r0, least=0)
        self.rate = transmission_rate(r0, self.contacts, susceptibility, infectious)

        # The policy.
        coverage = per_group("coverage", coverage, names, least=0, most=1)
        self.doses = whole_numbers(coverage * sizes)
        efficacy = _given("efficacy", efficacy, table.efficacy, names, least=0, most=1)
        self.vaccination_day = whole("vaccination_day", vaccination_day, least=0)
        leaky = choice("vaccine", vaccine, ("all-or-nothing", "leaky")) == "leaky"
        if treatment is not None:
            infectious = geometric(per_group("treatment", treatment, names, above=0, most=1))
        school_closure = number("school_closure", school_closure, least=0)
        closure_day = whole("closure_day", closure_day)

        # The persons. As to their hazard of infection they are of 2 J + 1 kinds: j, of age group j; J + j,
        # of age group j and protected by the vaccine; and those whom nothing can infect (any more).
        everybody = np.arange(population.persons)
        self.exposed_day, self.infectious_day, self.recovery_day = np.full(
            (3, population.persons), NEVER, dtype=np.int16
        )
        self.latent_days = latent.draw(self._uniforms(LATENCY, everybody), population.group)
        self.sick_days = infectious.draw(self._uniforms(ILLNESS, everybody), population.group)
        self.contact_keys = counter_draws.words(self.keys[CONTACTS], everybody)
        self.kind = population.group.astype(np.int8)
        self.out_of_reach = 2 * J
        self.vaccinated = np.zeros(population.persons, dtype=bool)
        members = [np.flatnonzero(population.group == j) for j in range(J)]
        self.vaccinated[self._chosen(VACCINEES, members, self.doses)] = True
        protected = np.flatnonzero(self.vaccinated)
        if not leaky:
            takes = self._uniforms(PROTECTED, protected) < efficacy[population.group[protected]]
            protected = protected[takes]
        self.kind[protected] += J

        # How readily a contact transmits: by layer, kind of person and day.
        day = np.arange(1, self.days + 1)
        open_ = np.ones((len(self.contacts.layers), self.days))
        if "school" in self.contacts.layers:
            closed = np.clip(closure_day + school_closure - day, 0, 1) * (day >= closure_day)
            open_[self.contacts.layers.index("school")] -= closed
        taken = (1 - efficacy if leaky else np.zeros(J))[:, None]
        hazard = np.zeros((len(open_), 2 * J + 1, self.days))
        hazard[:, :J] = (self.rate * self.contacts.weights[:, None] * open_)[:, None] * susceptibility[
            :, None
        ]
        hazard[:, J:-1] = hazard[:, :J] * np.where(day >= self.vaccination_day, taken, 1.0)
        self.clock = HazardClock(hazard)

        # What is due: who is exposed on which day; and how many are infected, become infectious and recover
        # on each day, of each group.
        self.exposures = EventCalendar(self.days)
        self.flows = np.zeros((3, self.days + 2, J), dtype=np.int64)

        # The start: some are immune from before, some are infected.
        if immune is not None:
            self._immunise(immune)
        already = np.bincount(population.group[self.recovery_day == BEFORE], minlength=J)
        self.groups = [
            AgeGroup(self, *facts)
            for facts in zip(names, sizes.tolist(), already.tolist(), coverage.tolist(), strict=True)
        ]
        # Mesa 3.3 remembers every model by its agents' numbers, for ever: a thousand seasons would stay.
        getattr(mesa.Agent, "_ids", {}).pop(self, None)
        if initial_infected is None:
            numbers = initially_infected(names, sizes - already)
        else:
            numbers = whole_numbers(per_group("initial_infected", initial_infected, names, least=0))
            for group, n in zip(self.groups, numbers, strict=True):
                if n > group.susceptible:
                    raise ValueError(
                        f"initial_infected of group {group.name!r} is {n}; it must be at most the "
                        f"susceptible, {group.susceptible}"
                    )
        members = [people[self.recovery_day[people] == NEVER] for people in members]
        seeds = self._chosen(SEEDS, members, numbers)
        self.latent_days[seeds] = 1  # they are infectious from day 1
        self._infect(seeds)
        self._move()

        self.datacollector = mesa.DataCollector(
            {state: partial(_in_state, state=state) for state in STATES}
            | {f"infectious {name}": partial(_infectious, group=j) for j, name in enumerate(names)}
        )

    def step(self) -> None:
        """Simulate a day; nothing happens after the last day of the season."""
        if self.day == self.days:
            return
        self.day += 1
        if self.day >= self.vaccination_day:
            for group, doses in zip(self.groups, self.doses.tolist(), strict=True):
                group.doses = doses
        self._infect(self.exposures.take(self.day))
        self._move()
        if self.day % self.record_every == 0 or self.day == self.days:
            self.datacollector.collect(self)
        self.running = self.day < self.days and any(
            group.exposed or group.infectious for group in self.groups
        )

    def run_model(self) -> None:
        """Simulate until the epidemic is over, and record that day too."""
        while self.running:
            self.step()
        if self.day % self.record_every and self.day != self.days:
            self.datacollector.collect(self)

    def persons(self) -> pd.DataFrame:
        """Return the persons as they are today, one a row.

        Returns
        -------
        DataFrame
            Columns ``age, group, household, state, vaccinated, exposed_day, infectious_day, recovery_day``;
            a day is missing while it has not come, and -1 stands for an earlier season.
        """
        days = [self.exposed_day, self.infectious_day, self.recovery_day]
        stage: Integers = np.sum([day <= self.day for day in days], axis=0)
        group = self.population.group.astype(np.int64)
        return pd.DataFrame(
            {
                "age": self.population.age,
                "group": pd.Categorical.from_codes(group, pd.Index(self.population.groups)),
                "household": self.population.household,
                "state": pd.Categorical.from_codes(stage, pd.Index(STATES)),
                "vaccinated": self.vaccinated & (self.day >= self.vaccination_day),
            }
            | {
                name: pd.Series(day, dtype="Int16").where(day <= self.day)
                for name, day in zip(("exposed_day", "infectious_day", "recovery_day"), days, strict=True)
            }
        )

    def still_immune(self, share: float) -> NDArray[np.bool_]:
        """Return who of those infected so far, or immune from before, is immune next season, (N,).

        Parameters
        ----------
        share : float
            The chance of each to be.
        """
        had_it = np.flatnonzero(self.exposed_day <= self.day)
        immune = np.zeros(len(self.kind), dtype=bool)
        immune[had_it[self._uniforms(WANING, had_it) < share]] = True
        return immune

    def _infect(self, people: Persons) -> None:
        """Infect those who can be infected; what will follow from it is known at once, and entered."""
        people = np.sort(people[self.kind[people] != self.out_of_reach])
        if len(people) == 0:
            return
        first = np.ones(len(people), dtype=bool)
        np.not_equal(people[1:], people[:-1], out=first[1:])
        people = people[first]
        self.kind[people] = self.out_of_reach
        begin = np.add(self.latent_days[people], self.day, dtype=np.int64)
        end = np.minimum(begin + self.sick_days[people], self.days + 1)
        begin = np.minimum(begin, self.days + 1)
        self.exposed_day[people] = self.day
        self.infectious_day[people] = begin
        self.recovery_day[people] = end
        group, J = self.population.group[people], len(self.groups)
        infected, ill, well = self.flows
        infected[self.day] += np.bincount(group, minlength=J)
        np.add.at(ill.reshape(-1), begin * J + group, 1)
        np.add.at(well.reshape(-1), end * J + group, 1)
        self.exposures.put(
            *self.contacts.transmissions(self.contact_keys, self.clock, self.kind, people, begin, end)
        )

    def _move(self) -> None:
        """Tell each group what happens today."""
        for group, flow in zip(self.groups, self.flows[:, self.day].T.tolist(), strict=True):
            group.move(*flow)

    def _immunise(self, immune: NDArray[np.bool_]) -> None:
        """Take persons out of reach whom an earlier season left immune."""
        if np.shape(immune) != self.kind.shape or np.asarray(immune).dtype != bool:
            raise ValueError(f"immune must be True or False for each of the {len(self.kind)} persons")
        for day in (self.exposed_day, self.infectious_day, self.recovery_day):
            day[immune] = BEFORE
        self.kind[immune] = self.out_of_reach

    def _uniforms(self, purpose: int, people: NDArray[np.integer]) -> Floats:
        return counter_draws.uniforms(counter_draws.words(self.keys[purpose], people))

    def _chosen(self, purpose: int, members: list[NDArray[np.intp]], numbers: Integers) -> Persons:
        """Choose a number of members of each group; a larger number only adds to them."""
        chosen = [
            people[:n]
            if n in (0, len(people))
            else counter_draws.smallest(counter_draws.words(self.keys[purpose], people), people, n)
            for people, n in zip(members, numbers.tolist(), strict=True)
        ]
        return np.concatenate(chosen).astype(np.int32)


def _given(name: str, value: Any, default: Floats, names: tuple[str, ...], **limits: float) -> Floats:
    return per_group(name, default if value is None else value, names, **limits)


def _in_state(model: FluModel, state: str) -> int:
    return sum(map(attrgetter(state), model.groups))


def _infectious(model: FluModel, group: int) -> int:
    return model.groups[group].infectious
