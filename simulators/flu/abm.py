"""A flu season among persons as an environment: a policy goes in, noisy sick days by age group come out.

A scenario swaps it for `simulators.FluODE` by name: groups, unit and policy space are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import LinearConstraint

from policyloop.messages import failure
from simulators.arrays import Array, Mask
from simulators.contract.environment import Environment, Outcomes, Seed, SimulationError
from simulators.contract.levers import Real
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import number, per_group, whole
from simulators.flu.doses import packs_of
from simulators.flu.mean_field import ode_options
from simulators.flu.ode import FluODE
from simulators.flu.own_bands import own_bands
from simulators.flu.own_town import contacts_of, findings_of, infected_of, own_country
from simulators.flu.season.durations import durations
from simulators.flu.season.model import LATENT_PERIOD, FluModel
from simulators.flu.season.result import Season
from simulators.population.population import build_population

PILOT_POLICIES, PILOT_SEASONS = 4, 4
"""Seasons from which the noise of a single season is estimated: so many policies, so many seasons of each."""

PILOT_SEED = 20
"""Of the pilot, which belongs to the world and does not change with the noise."""


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
    age_shares, household_sizes, class_size, school_size, team_size, largest_workplace : optional
        A town of one's own, as in `simulators.population.population.build_population`: the share of
        each age group in it, and of households of 1, 2, .. persons; the others are numbers of persons. The
        budget is one of this population's doses where `age_shares` are given.
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
    info_units = {"infected": "persons"}
    outcome_range = (0.0, np.inf)  # counted persons: no noise is added to them
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
        age_shares: ArrayLike | None = None,
        household_sizes: Sequence[float] | None = None,
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
        country = own_country(groups, contacts, age_shares)
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
            budget=budget,
            bounds=bounds,
        )
        ode: FluODE = the_ode(budget_weights=budget_weights)
        self.groups, self.group_units = ode.groups, ode.group_units
        if country is not None:
            groups, contacts, age_shares = own_bands(country.groups), contacts_of(country), country.persons
            self.findings = (*ode.findings, *findings_of(country, household_sizes is not None))
        self.vaccinates = ode.vaccinates
        self.r0 = 0.0 if r0 == 0 else ode.r0
        self.replicates = whole("replicates", replicates)
        self.closure_cost = number("closure_cost", closure_cost, least=0)
        self.carry_over = number("carry_over", carry_over, least=0)
        if self.carry_over > 1:
            raise ValueError(f"carry_over={carry_over!r} must be a share, 0..1")
        self.has_memory = self.carry_over > 0
        self._noise_variance = (
            None
            if noise_variance is None
            else per_group("noise_variance", noise_variance, self.groups, least=0)
        )
        self.longest_closure = number("school_closure", school_closure, least=0)
        self.seed = seed
        town: dict[str, Any] = {
            "age_shares": age_shares,
            "household_sizes": household_sizes,
            "class_size": class_size,
            "school_size": school_size,
            "team_size": team_size,
            "largest_workplace": largest_workplace,
        }
        told = {name: value for name, value in town.items() if value is not None}
        self.population = build_population(
            persons, seed=seed, contacts=contacts, groups=groups, weights=layer_weights, **told
        )
        for name, size in zip(self.groups, self.population.sizes, strict=True):
            if size == 0:
                raise ValueError(f"persons={persons!r} leaves nobody in the group {name!r}; take more")
        self.group_persons = np.asarray(self.population.sizes, dtype=float)
        if country is not None and initial_infected is None:
            initial_infected = infected_of(country, self.population.sizes)
        own_doses = pack is not None or age_shares is not None
        if own_doses and self.vaccinates and budget_weights is None:
            ode = the_ode(budget_weights=self.population.sizes / self.population.persons)
        self.packs = packs_of(pack, self.vaccinates, self.population.sizes.astype(float))
        self._adopt_policy_space(ode)
        self._options: dict[str, Any] = {
            "r0": self.r0,
            "susceptibility": ode.susceptibility,
            "efficacy": ode.efficacy,
            "latent_period": latent_period,
            "infectious_period": ode.infectious_period if infectious_period is None else infectious_period,
            "vaccine": vaccine,
            "vaccination_day": vaccination_day,
            "closure_day": closure_day,
            "initial_infected": initial_infected,
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
        x = self.policy_space.same_form(policy)
        J = len(self.groups)
        shares = x[:J] if self.packs is None else self.packs.shares(x[:J])
        rates: dict[str, Any] = {"coverage" if self.vaccinates else "treatment": shares}
        closure = float(x[J]) if self.longest_closure else 0.0
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
        infected = np.mean([season.infectious for season in seasons], axis=0)
        attack = np.array([season.attack_rate for season in seasons])
        mean_attack = attack.mean(axis=0)
        info = {
            "attack_rate": mean_attack,
            "attack_rate_total": float(mean_attack @ self.population.sizes / self.population.persons),
            "days": np.arange(float(len(infected))),
            "infected": infected,
            "peak_day": float(np.mean([np.argmax(season.infectious.sum(axis=1)) for season in seasons])),
            "replicates": attack,
            "seeds": seeds,
            "failed": failed,
        }
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
        rng = np.random.default_rng(PILOT_SEED)
        bounds = self.policy_space.bounds
        variances = []
        for i, raw in enumerate(rng.uniform(bounds.lb, bounds.ub, (PILOT_POLICIES, self.policy_space.d))):
            say(f"{i * PILOT_SEASONS} of {PILOT_POLICIES * PILOT_SEASONS} pilot seasons done")
            x, seeds = self.policy_space.project(raw), rng.integers(2**63, size=PILOT_SEASONS)
            seasons = [self._season(x, int(seed), None).sick_days for seed in seeds]
            variances.append(np.var(seasons, axis=0, ddof=1))
        pooled: Array = np.mean(variances, axis=0)
        return pooled

    def _season(self, x: Array, seed: int, immune: Mask | None) -> Season:
        model = self.model(x, seed, immune)
        model.run_model()
        curve = np.zeros((model.days + 1, len(self.groups)), dtype=np.int64)
        recorded = [model.datacollector.model_vars[f"infectious {name}"] for name in self.groups]
        curve[1 : model.day + 1] = np.transpose(recorded)
        return Season(
            sick_days=np.array([group.sick_days for group in model.groups]) / self.population.persons,
            attack_rate=np.array([group.attack_rate for group in model.groups]),
            infectious=curve,
            immune=model.still_immune(self.carry_over),
        )

    def _variance_of_mean(self, values: Array) -> Array:
        """The noise variance of the mean of (r, J) seasons' sick days."""
        r = len(values)
        if self._noise_variance is not None:
            return self._noise_variance / r
        if r == 1:
            return self.pilot_variance.copy()
        variance: Array = values.var(axis=0, ddof=1) / r
        return variance

    def _adopt_policy_space(self, ode: FluODE) -> None:
        """Take the ODE's policies, with one more entry where schools may close."""
        space = self._shares = ode.policy_space
        lower, upper = space.bounds.lb, space.bounds.ub
        if not self.vaccinates and not (lower.min() > 0 and upper.max() <= 1):
            raise ValueError("bounds of a treatment must be probabilities a day, above 0 and at most 1")
        self.current_policy, self.current_policy_label = ode.current_policy, ode.current_policy_label
        if self.packs is not None:
            space = self.packs.space(space)
            if self.current_policy is not None:
                today = self.packs.most(self.current_policy)
                self.current_policy = today if space.contains(today[None])[0] else None
        self.policy_space = space
        if not self.longest_closure:
            return
        limits = space.constraint
        self.policy_space = BoundedPolicySpace(
            (*space.labels, "school closure"),
            (*space.units, "days"),
            levers=(*space.levers, Real(0.0, self.longest_closure)),
            constraint=limits and LinearConstraint(np.hstack([limits.A, [[0.0]]]), limits.lb, limits.ub),
        )
        if self.current_policy is not None:
            self.current_policy = np.append(self.current_policy, 0.0)
