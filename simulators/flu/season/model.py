"""A flu season among people who meet at home, at school, at work and at random: a Mesa model.

One step is a day. The age groups are the agents: they hold their policy and what has become of their people.
The people are arrays, so that a city fits: person i, of the age group `population.group[i]`, is exposed on
day `exposed_day[i]`, infectious from day `infectious_day[i]` and recovered from day `recovery_day[i]`.

Nobody is looked at day by day. When a person is infected, all that follows is known at once and entered on
the day on which it is due: when the person falls ill and is well again, and whom the person will infect.

With J age groups, persons are of 2 J + 1 kinds as to their hazard of infection: kind j is of age group j;
kind J + j of age group j and protected by the vaccine; kind 2 J out of reach, infected already or immune.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any, Literal

import mesa
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from simulators.arrays import Array, Integers, Mask, Persons
from simulators.contract.validation import choice, number, per_group, whole
from simulators.flu import tables
from simulators.flu.season.age_group import AgeGroup
from simulators.flu.season.durations import durations, geometric
from simulators.flu.season.next_generation import transmission_rate
from simulators.flu.season.start import numbers_infected, whole_numbers
from simulators.flu.season.transmission import EventCalendar, HazardClock, contact_rows
from simulators.population import draws, survey
from simulators.population.population import Population, build_population

LATENT_PERIOD = 1.9
"""Mean days from infection until a person infects others (Mills, Robins & Lipsitch 2004, Nature 432:904)."""

LONGEST_SEASON = 10_000
"""Days that fit into the persons' arrays, with what may follow the last of them."""

NEVER = np.iinfo(np.int16).max
"""The day of what has not happened."""

BEFORE = -1
"""The day of what happened in an earlier season."""

STATES = ("susceptible", "exposed", "infectious", "recovered")

VACCINEES, PROTECTED, SEEDS, LATENCY, ILLNESS, CONTACTS, WANING = PURPOSES = range(7)
"""What the season's seed draws for; every purpose has draws of its own."""


class FluModel(mesa.Model):  # type: ignore[misc]
    """SEIR on a network of persons, under a policy of vaccination, treatment and school closure.

    Chance comes in draws tied to (seed, person, contact), so that two seasons with the same seed differ only
    where their policies make them differ.

    Parameters
    ----------
    population : Population or int, default 10,000
        Persons and their contacts, or how many persons to build a population of.
    coverage : float or (J,) array-like, optional
        Share of each group vaccinated, in whole doses whose total is rounded; nobody by default.
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
        Persons infected on day 0, vaccinated or not, and infectious from day 1; the ODE's shares by default,
        but 50 at least, of which a warning tells where they are more than a tenth of all.
    immune : (N,) array of bool, optional
        Persons immune from an earlier season; nobody by default.
    days : int, default 365
        Length of the season.
    record_every : int, default 1
        Days from one row of the data collector to the next; the last day has a row in any case. (With
        `mesa.batch_run` leave it at 1, which takes rows for steps, and use its `data_collection_period`.)
    population_seed : int, default 0
        Seed of a population that is to be built.
    seed : int, optional
        Seed of the season, through Mesa's generators `random` and `rng`.

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
        The epidemic curve: the `day`, all persons by state, and the infectious by group. A row is what a
        day has come to, and the first is day `record_every`: of day 0, before any step, there is none.
        (So the `Step` of `mesa.batch_run`, which counts the rows from 0, is `day - 1`.)
    """

    def __init__(
        self,
        population: Population | int = 10_000,
        *,
        coverage: ArrayLike | None = None,
        vaccination_day: int = 0,
        vaccine: Literal["all-or-nothing", "leaky"] = "all-or-nothing",
        efficacy: ArrayLike | None = None,
        treatment: ArrayLike | None = None,
        school_closure: float = 0.0,
        closure_day: int = 1,
        r0: float = 1.67,
        susceptibility: ArrayLike | None = None,
        latent_period: Any = LATENT_PERIOD,
        infectious_period: Any = tables.INFECTIOUS_PERIOD,
        initial_infected: ArrayLike | None = None,
        immune: Mask | None = None,
        days: int = 365,
        record_every: int = 1,
        population_seed: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(rng=None if seed is None else whole("seed", seed, least=0))
        if not isinstance(population, Population):
            population = build_population(population, seed=population_seed)
        self.population = population
        self.day = 0
        self.days: int = whole("days", days)
        if self.days > LONGEST_SEASON:
            raise ValueError(f"days={days!r} must be at most {LONGEST_SEASON}")
        self.record_every: int = whole("record_every", record_every)
        season = int(self.rng.integers(2**63))
        self.keys = [draws.purpose_key(season, purpose) for purpose in PURPOSES]

        # How long the disease lasts, and how readily a contact transmits it.
        names, sizes = population.groups, population.sizes
        table = survey.AGES.get(len(names))
        usual = None if table is None or table.groups != names else table
        given = partial(per_group, groups=names)
        relative = given(
            "susceptibility", susceptibility, default=usual.susceptibility if usual else 1.0, least=0
        )
        self.susceptibility = relative / (relative.max() or 1.0)  # R0 says how much it is, these only of whom
        self.latent_period = durations("latent_period", latent_period, len(names))
        self.infectious_period = durations("infectious_period", infectious_period, len(names))
        self.contacts = contact_rows(population.network)
        self.rate: float = transmission_rate(
            number("r0", r0, least=0), self.contacts, self.susceptibility, self.infectious_period
        )
        # What is done about it.
        self.coverage: Array = given("coverage", coverage, default=0.0, least=0, most=1)
        self.doses: Integers = whole_numbers(self.coverage * sizes)
        self.efficacy: Array = given(
            "efficacy", efficacy, default=usual.efficacy if usual else tables.OWN_EFFICACY, least=0, most=1
        )
        self.vaccination_day: int = whole("vaccination_day", vaccination_day, least=0)
        self.leaky = choice("vaccine", vaccine, ("all-or-nothing", "leaky")) == "leaky"
        if treatment is not None:  # after the rate was found: R0 is that of the untreated
            self.infectious_period = geometric(given("treatment", treatment, above=0, most=1))
        self.school_closure: float = number("school_closure", school_closure, least=0)
        self.closure_day: int = whole("closure_day", closure_day)

        self._draw_persons()
        self._set_hazards()
        self._start(immune, initial_infected)
        self.datacollector = mesa.DataCollector(
            {"day": "day"}
            | {state: partial(_in_state, state=state) for state in STATES}
            | {f"infectious {name}": partial(_infectious, group=j) for j, name in enumerate(names)}
        )

    def _draw_persons(self) -> None:
        """Draw what is each person's own: the length of an illness, vaccination, and whether it protects."""
        group, J = self.population.group, len(self.population.groups)
        everybody = np.arange(self.population.persons)
        self.exposed_day, self.infectious_day, self.recovery_day = np.full(
            (3, len(everybody)), NEVER, dtype=np.int16
        )
        self.latent_days = self.latent_period.draw(self._uniforms(LATENCY, everybody), group)
        self.sick_days = self.infectious_period.draw(self._uniforms(ILLNESS, everybody), group)
        # Under this key each of a person's contacts draws whether, and when, the person infects it.
        self.contact_keys = draws.words(self.keys[CONTACTS], everybody)
        self.vaccinated = np.zeros(len(everybody), dtype=bool)
        self.vaccinated[self._chosen(VACCINEES, ~self.vaccinated, self.doses)] = True
        protected = np.flatnonzero(self.vaccinated)
        if not self.leaky:
            takes = self._uniforms(PROTECTED, protected) < self.efficacy[group[protected]]
            protected = protected[takes]
        self.kind = group.astype(np.int8)
        self.kind[protected] += J
        self.out_of_reach: int = 2 * J

    def _set_hazards(self) -> None:
        """Set the hazard of a contact with an infectious person: by layer, kind of person and day."""
        layers, day = self.contacts.layers, np.arange(1, self.days + 1)
        held = np.ones((len(layers), self.days))  # part of a day's contacts
        if "school" in layers:
            # A closure of 10.5 days takes half of its eleventh.
            left = np.clip(self.closure_day + self.school_closure - day, 0, 1)
            held[layers.index("school")] -= np.where(day >= self.closure_day, left, 0)
        usual = self.rate * self.contacts.weights[:, None] * held
        unprotected = usual[:, None] * self.susceptibility[:, None]
        # What an all-or-nothing vaccine does not protect is not of a protected kind.
        passes = 1 - self.efficacy if self.leaky else np.zeros_like(self.efficacy)
        protected = unprotected * np.where(day >= self.vaccination_day, passes[:, None], 1.0)
        out_of_reach = np.zeros_like(unprotected[:, :1])
        self.clock: HazardClock = HazardClock(np.concatenate((unprotected, protected, out_of_reach), axis=1))

    def _start(self, immune: Mask | None, initial_infected: ArrayLike | None) -> None:
        """Bring about day 0: some are immune from before, some are infected."""
        population, J = self.population, len(self.population.groups)
        # What is due: who is exposed on which day; and how many are infected, become infectious and recover
        # on each day, of each group.
        self.exposures: EventCalendar = EventCalendar(self.days)
        self.flows = np.zeros((3, self.days + 2, J), dtype=np.int64)
        if immune is not None:
            if np.shape(immune) != self.kind.shape or np.asarray(immune).dtype != bool:
                raise ValueError(f"immune must be True or False for each of the {len(self.kind)} persons")
            self.exposed_day[immune] = self.infectious_day[immune] = self.recovery_day[immune] = BEFORE
            self.kind[immune] = self.out_of_reach
        already = np.bincount(population.group[self.recovery_day == BEFORE], minlength=J)
        facts = (population.groups, population.sizes.tolist(), already.tolist(), self.coverage.tolist())
        self.groups: list[AgeGroup] = [AgeGroup(self, *group) for group in zip(*facts, strict=True)]
        # Mesa 3.3 numbers agents by a table of the class Agent whose keys are the models. Left there, none
        # would ever be freed.
        getattr(mesa.Agent, "_ids", {}).pop(self, None)
        numbers = numbers_infected(initial_infected, population.groups, population.sizes, already)
        seeds = self._chosen(SEEDS, self.recovery_day == NEVER, numbers)
        self.latent_days[seeds] = 1  # they are infectious from day 1, and no vaccine protects them
        self._infect(seeds)
        self._move()

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
        self.running: bool = self.day < self.days and any(
            group.exposed or group.infectious for group in self.groups
        )

    def run_model(self) -> None:
        """Simulate until the epidemic is over, and record that day too."""
        while self.running:
            self.step()
        if self.day % self.record_every and self.day != self.days:
            self.datacollector.collect(self)

    def __repr__(self) -> str:
        persons, infectious = self.population.persons, _in_state(self, "infectious")
        return f"FluModel({persons=}, day={self.day}, days={self.days}, {infectious=})"

    def persons(self) -> pd.DataFrame:
        """The persons as they are today, one a row.

        Returns
        -------
        DataFrame
            Columns `age, group, household, state, vaccinated, exposed_day, infectious_day, recovery_day`;
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

    def still_immune(self, share: float) -> Mask:
        """Who of those infected so far, or immune from before, is immune next season, (N,).

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
        people = people[self.kind[people] != self.out_of_reach]
        if len(people) == 0:
            return
        # Several may infect the same person on the same day; np.unique takes twice as long for so few.
        people = np.sort(people)
        people = people[np.concatenate(([True], people[1:] != people[:-1]))]
        self.kind[people] = self.out_of_reach
        after = self.days + 1  # what comes later than that does not matter
        begin = np.add(self.latent_days[people], self.day, dtype=np.int64)
        end = np.minimum(begin + self.sick_days[people], after)
        begin = np.minimum(begin, after)
        self.exposed_day[people] = self.day
        self.infectious_day[people] = begin
        self.recovery_day[people] = end
        group = self.population.group[people]
        infected, ill, well = self.flows
        np.add.at(infected[self.day], group, 1)
        np.add.at(ill, (begin, group), 1)
        np.add.at(well, (end, group), 1)
        reached, days = self.contacts.transmissions(
            self.contact_keys, self.clock, self.kind, people, begin, end
        )
        self.exposures.put(reached, days)  # by then somebody else may have infected them

    def _move(self) -> None:
        """Tell each group what happens today."""
        for group, flow in zip(self.groups, self.flows[:, self.day].T.tolist(), strict=True):
            group.move(*flow)

    def _uniforms(self, purpose: int, people: Integers) -> Array:
        return draws.uniforms(draws.words(self.keys[purpose], people))

    def _chosen(self, purpose: int, among: Mask, numbers: Integers) -> Persons:
        """Choose a number of each group among persons, (N,); a larger number only adds to them."""
        chosen = [np.empty(0, dtype=np.int32)]
        for j, n in enumerate(numbers.tolist()):
            if n == 0:
                continue
            people = np.flatnonzero(among & (self.population.group == j))
            if n < len(people):
                drawn = draws.words(self.keys[purpose], people)
                people = draws.smallest(drawn, people, n)
            chosen.append(people.astype(np.int32))
        return np.concatenate(chosen)


def _in_state(model: FluModel, state: str) -> int:
    return sum(map(attrgetter(state), model.groups))


def _infectious(model: FluModel, group: int) -> int:
    return model.groups[group].infectious
