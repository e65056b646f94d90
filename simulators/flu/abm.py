"""A flu season among persons as an environment: a policy goes in, noisy sick days by age group come out.

A scenario swaps it for `simulators.FluODE` by name: groups, unit and policy space are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from policyloop.messages import failure
from simulators.arrays import Array, Mask
from simulators.contract.environment import Environment, Outcomes, Seed, SimulationError
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import number, per_group, whole
from simulators.flu.doses import packs_of
from simulators.flu.mean_field import ode_options
from simulators.flu.ode import FluODE
from simulators.flu.own_town import own_country, seeding_of
from simulators.flu.season.durations import durations
from simulators.flu.season.model import LATENT_PERIOD, FluModel
from simulators.flu.season.pilot import pilot_variance
from simulators.flu.season.result import Season, told
from simulators.flu.town import build_town
from simulators.flu.town_policies import TownPolicies
from simulators.flu.town_tables import TownOptions


class FluABM(Environment):
    """Sick days per person in a season of flu, by age group, simulated person by person.

    `f_j(x)` is the expected number of days that persons of group j spend infectious, divided by the number
    of all persons; the objective is the sum over groups, to be minimised. A step simulates `replicates`
    seasons of `simulators.flu.season.model.FluModel` and returns their mean with its noise variance.
    The seeds of the seasons come from the noise stream that `reset` restarts, so that all agents of a
    trial face the same chance in a round; and chance is tied to persons and contacts, so that two policies
    are compared on the same chance too (common random numbers).

    Parameters
    ----------
    persons : int, default 10,000
        Size N of the population.
    replicates : int, default 1
        Seasons a step.
    seed : int, default 0
        Of the world: persons and their contacts.
    intervention : {"vaccination", "treatment"}, default "vaccination"
        What `x_j` is: the share of the group vaccinated, or the probability a day that an infectious person
        of the group is removed.
    groups : {5, 9}, str, list of str or Country, default 5
        Number J of age groups of the US; or one's own, as in `simulators.FluODE`: 2 to 20 bands of ages,
        whose persons are scaled to the town's (names need `age_shares`).
    contacts : str, matrix or mapping, default "mistry-2021-oregon"
        Contacts per day, as in `simulators.population.population.build_population`; of groups of one's own a
        matrix or a file, or a table of home, school, work and other.
    orientation, reciprocity : str, optional
        How files of contacts are read, as `simulators.country.read_country` has it.
    age_shares : (J,) array-like, optional
        The share of each age group in the town, where no table of groups tells it. The budget is then one of
        this town's doses.
    persons_by_age : str, optional
        File of persons by age, finer than the groups (columns age and persons): in their proportions the
        years within a group are, and finer contacts are put together. As in the US of 2012 by default.
    household_sizes : str or sequence of float, optional
        File of households by size (columns size and households), or the shares of those of 1, 2, .. persons.
        The US of 2012 by default.
    schools : str, optional
        File of schools, a row a level: columns ages, and any of class_size, school_size and enrolled (share).
        By default nursery, primary and secondary schools and colleges of the US of 2012.
    workplaces : str, optional
        File of workplaces by size: columns size (1, 2-9, 250+), and workplaces, how many, or employees, how
        many work there. By default of 1 to 1,000 persons, fewer the larger.
    employment : str, optional
        File of who works by age: columns ages, employed (share), and perhaps commuting, the share of these
        who go to a workplace. The US of 2012 by default.
    class_size, school_size, team_size, largest_workplace : int, default 25, 500, 20, 1000
        Persons, where no table tells: pupils in a class and in a school; the most in a team, and in a
        workplace.
    layer_weights : mapping of str to float, optional
        How readily a contact of a setting transmits, relative to the others; 1 by default.
    susceptibility, efficacy, r0, current, budget, budget_doses, budget_weights, bounds
        As in `simulators.FluODE`; an `r0` of 0 is accepted too.
    pack : int, optional
        As in `simulators.FluODE`, of this population; unless there are `budget_weights`, the budget is then
        one of this population's doses as well.
    vaccine, vaccination_day, latent_period, infectious_period, initial_infected, days
        As in `simulators.flu.season.model.FluModel`. At least 50 persons are infected at the start
        unless `initial_infected` says otherwise.
    school_closure : float, default 0
        Longest closure of schools, in days. Above 0 the policy has one more entry, `school closure`.
    closure_day : int, default 15
        The first day on which schools close.
    closure_cost : float, default 0.01
        What a day of closure adds to the objective, in sick days per person.
    carry_over : float, default 0
        Share of those who leave a season immune (they had the flu, or were immune before) who are still
        immune in the next. Above 0 the environment has a memory; every replicate has a history of its own.
    noise_variance : float or (J,) array-like, optional
        Variance of one season's sick days. By default that of the replicates; for a single one, of a pilot:
        four seasons each under four policies spread over the space, once, when it is first asked for.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted.

    Attributes
    ----------
    population : Population
    r0 : float
        Reproduction number with nobody vaccinated; by default that of the ODE.

    Notes
    -----
    An outcome's `info` holds, as means over the replicates, `attack_rate` (J,), `attack_rate_total`,
    `days` and `infected` (days + 1, J), the epidemic curve in persons, and `peak_day`, the day on which
    most are infectious (1 in a season that never has more than the initially infected; the peak of the mean
    curve may lie elsewhere); besides `replicates` (r, J), the attack rates of each, `seeds` (r,), and
    `failed`, the seed, policy and cause of each replicate that failed.
    """

    sense: Literal["minimize", "maximize"] = "minimize"
    objective_unit = "sick days per person"
    info_units: dict[str, str] = {"infected": "persons"}
    outcome_range: Any = (0.0, np.inf)  # counted persons: no noise is added to them
    policy_space: BoundedPolicySpace

    def __init__(
        self,
        *,
        persons: int = 10_000,
        replicates: int = 1,
        seed: int | np.random.SeedSequence = 0,
        intervention: Literal["vaccination", "treatment"] = "vaccination",
        groups: Any = 5,
        contacts: Any = "mistry-2021-oregon",
        orientation: str | None = None,
        reciprocity: str | None = None,
        age_shares: ArrayLike | None = None,
        persons_by_age: str | Sequence[float] | None = None,
        household_sizes: str | Sequence[float] | None = None,
        schools: str | None = None,
        workplaces: str | None = None,
        employment: str | None = None,
        class_size: int | None = None,
        school_size: int | None = None,
        team_size: int | None = None,
        largest_workplace: int | None = None,
        layer_weights: Mapping[str, float] | None = None,
        susceptibility: ArrayLike | None = None,
        efficacy: ArrayLike | None = None,
        r0: float | None = None,
        current: ArrayLike | None = None,
        budget: float | str | None = "default",
        budget_doses: float | None = None,
        budget_weights: ArrayLike | None = None,
        bounds: Any = None,
        pack: int | None = None,
        vaccine: Literal["all-or-nothing", "leaky"] = "all-or-nothing",
        vaccination_day: int = 0,
        latent_period: Any = LATENT_PERIOD,
        infectious_period: Any = None,
        initial_infected: ArrayLike | None = None,
        days: int = 365,
        school_closure: float = 0.0,
        closure_day: int = 15,
        closure_cost: float = 0.01,
        carry_over: float = 0.0,
        noise_variance: ArrayLike | None = None,
    ) -> None:
        reading = {"orientation": orientation, "reciprocity": reciprocity}
        by_finer_ages = persons_by_age if isinstance(persons_by_age, str) else None
        country = own_country(groups, contacts, age_shares, {**reading, "persons": by_finer_ages})
        asked = TownOptions(
            household_sizes, persons_by_age, schools, workplaces, employment,
            class_size, school_size, team_size, largest_workplace,
        )  # fmt: skip
        period = None
        if infectious_period is not None:
            period = float(durations("infectious_period", infectious_period, 1).mean[0])
        the_ode = partial(
            FluODE,
            intervention=intervention,
            groups=groups if country is None else country,
            current=current,
            budget_doses=budget_doses,
            susceptibility=susceptibility,
            efficacy=efficacy,
            infectious_period=period,
            r0=None if r0 is not None and number("r0", r0, least=0) == 0 else r0,
            # Of a country of one's own the town says how many of its persons are infected, see below.
            initial_infected=None if country is None else seeding_of(country) * country.persons,
            budget=budget,
            bounds=bounds,
        )
        ode: FluODE = the_ode(budget_weights=budget_weights)
        self.groups: tuple[str, ...]
        self.group_units: tuple[str, ...]
        self.groups, self.group_units = ode.groups, ode.group_units
        self.vaccinates: bool = ode.vaccinates
        self.r0: float = 0.0 if r0 == 0 else ode.r0
        self.replicates: int = whole("replicates", replicates)
        self.closure_cost: float = number("closure_cost", closure_cost, least=0)
        self.carry_over: float = number("carry_over", carry_over, least=0)
        if self.carry_over > 1:
            raise ValueError(f"carry_over={carry_over!r} must be a share, 0..1")
        self.has_memory: bool = self.carry_over > 0
        self._noise_variance = (
            None
            if noise_variance is None
            else per_group("noise_variance", noise_variance, self.groups, least=0)
        )
        self.longest_closure: float = number("school_closure", school_closure, least=0)
        self.seed = seed
        town = build_town(
            persons, seed, country, asked, groups=groups, contacts=contacts, age_shares=age_shares,
            layer_weights=layer_weights, initial_infected=initial_infected,
        )  # fmt: skip
        self.population = town.population
        self.group_persons: Array = self.population.sizes.astype(float)
        self.findings: tuple[str, ...] = (*(ode.findings if country is not None else ()), *town.findings)
        own_doses = any(one is not None for one in (pack, persons_by_age, age_shares, country))
        if own_doses and self.vaccinates and budget_weights is None:
            ode = the_ode(budget_weights=self.population.sizes / self.population.persons)
        self._adopt_policy_space(ode, pack)
        self._options: dict[str, Any] = {
            "r0": self.r0,
            "susceptibility": ode.susceptibility,
            "efficacy": ode.efficacy,
            "latent_period": latent_period,
            "infectious_period": ode.infectious_period if infectious_period is None else infectious_period,
            "vaccine": vaccine,
            "vaccination_day": vaccination_day,
            "closure_day": closure_day,
            "initial_infected": town.initial_infected,
            "days": days,
        }
        self._immune: list[Mask | None] = [None] * self.replicates
        self._pilot: Array | None = None
        self.model(self.policy_space.bounds.lb, seed=0)  # refuses what is wrong with the options

    def reset(self, seed: Seed = None) -> None:
        """Restart the noise, and forget the immunity of earlier seasons."""
        super().reset(seed)
        self._immune = [None] * self.replicates

    def model(self, policy: Any, seed: int, immune: Mask | None = None) -> FluModel:
        """The Mesa model of a season on its day 0; `immune`, (N,), are those immune from earlier seasons."""
        shares, closure = self.policies.apart(self.policy_space.same_form(policy))
        rates: dict[str, Any] = {"coverage" if self.vaccinates else "treatment": shares}
        return FluModel(
            self.population, **rates, school_closure=closure, immune=immune, seed=seed, **self._options
        )

    def step(self, policy: Any) -> Outcomes:
        """The mean sick days per person over the replicates of a season that did not fail.

        Parameters
        ----------
        policy : (d,) array-like
            Coverage or packs (vaccination), or probability of removal a day (treatment) of each group, and
            the days of school closure where that is part of the policy.

        Raises
        ------
        ValueError
            The policy is outside the space; names the entry, its value and its bound.
        SimulationError
            Every replicate failed; carries the policy and the first one's seed.
        """
        x = self.policy_space.check(policy)
        seeds = [int(seed) for seed in self.rng.integers(2**63, size=self.replicates)]
        seasons, failed = [], []
        for r, seed in enumerate(seeds):
            try:
                season = self._season(x, seed, self._immune[r])
            except Exception as error:  # the others are worth keeping
                failed.append({"seed": seed, "policy": x.tolist(), "cause": failure(error)})
                continue
            seasons.append(season)
            if self.has_memory:
                self._immune[r] = season.immune
        if not seasons:
            raise SimulationError(
                f"all {self.replicates} replicates failed; the first: {failed[0]['cause']}",
                policy=x,
                seed=seeds[0],
            )
        info = told(seasons, self.population.sizes) | {"seeds": seeds, "failed": failed}
        values = np.array([season.sick_days for season in seasons])
        return Outcomes(values.mean(axis=0), self._variance_of_mean(values), info)

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The sick days of all groups, and what the closure of schools costs on top."""
        total = super().compose(outcomes, policies)
        if self.longest_closure:
            total = total + self.closure_cost * np.asarray(policies, dtype=float)[..., -1]
        return total

    def weights(self, policies: ArrayLike) -> Array:
        """Ones: the sick days of every group count alike."""
        return np.ones((len(np.asarray(policies)), len(self.groups)))

    def get_state(self) -> Any:
        """Who is immune in each replicate, (r, N), and the state of the noise stream."""
        if not self.has_memory:
            return super().get_state()
        nobody = np.zeros(self.population.persons, dtype=bool)
        immune = np.array([nobody if immune is None else immune for immune in self._immune])
        return {"immune": immune, "noise": self.rng.bit_generator.state}

    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned."""
        if not self.has_memory:
            super().set_state(state)
            return
        self._immune = [np.array(immune, dtype=bool) for immune in state["immune"]]
        self.rng.bit_generator.state = state["noise"]

    def counterpart(self, name: str) -> dict[str, Any]:
        """The options under which the environment of a name describes this world; empty but for `flu-ode`."""
        if name != "flu-ode":
            return {}
        return ode_options(self.population, self._shares, self._options, self.packs, self.vaccinates)

    def prepare(self, say: Callable[[str], None] = lambda detail: None) -> None:
        """Simulate the pilot seasons, where a step will ask for their variance."""
        if self.replicates == 1 and self._noise_variance is None and self._pilot is None:
            self._pilot = self._pilot_variance(say)

    @property
    def pilot_variance(self) -> Array:
        """Variance of one season's sick days by group, (J,), pooled over a few policies."""
        if self._pilot is None:
            self._pilot = self._pilot_variance(lambda detail: None)
        return self._pilot

    def _pilot_variance(self, say: Callable[[str], None]) -> Array:
        return pilot_variance(self.policy_space, lambda x, seed: self._season(x, seed, None).sick_days, say)

    def _season(self, x: Array, seed: int, immune: Mask | None) -> Season:
        return Season.of(self.model(x, seed, immune), self.carry_over)

    def _variance_of_mean(self, values: Array) -> Array:
        """The noise variance of the mean of (r, J) seasons' sick days."""
        r = len(values)
        if self._noise_variance is not None:
            return self._noise_variance / r
        if r == 1:
            return self.pilot_variance.copy()
        variance: Array = values.var(axis=0, ddof=1) / r
        return variance

    def _adopt_policy_space(self, ode: FluODE, pack: Any) -> None:
        """Take the ODE's policies, in packs of this town's doses and with the closure of its schools."""
        self._shares = ode.policy_space
        bounds = self._shares.bounds
        if not self.vaccinates and not (bounds.lb.min() > 0 and bounds.ub.max() <= 1):
            raise ValueError("bounds of a treatment must be probabilities a day, above 0 and at most 1")
        self.packs = packs_of(pack, self.vaccinates, self.population.sizes.astype(float))
        self.policies: TownPolicies = TownPolicies.of(
            self._shares, ode.current_policy, self.packs, self.longest_closure
        )
        self.current_policy: Array | None
        self.policy_space, self.current_policy = self.policies.space, self.policies.current
        self.current_policy_label: str = ode.current_policy_label
