"""A flu season in an age-stratified population: whom to vaccinate, or how fast to treat whom.

The paper's flu domain, section 8.2.2, and the same for a country of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from simulators.arrays import Array
from simulators.contract.environment import Environment, Outcomes
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import number, per_group
from simulators.flu import tables
from simulators.flu.budget import Asked
from simulators.flu.intervention import vaccinates
from simulators.flu.levers import Levers, efficacies_told, products_of
from simulators.flu.outcomes import INFO_UNITS, Doses, Objective, Seasons, in_persons
from simulators.flu.people import people_of
from simulators.flu.policies import Policies
from simulators.flu.season_ode import Season, SeasonODE, stages_of
from simulators.flu.spread import spread_of


class FluODE(Environment):
    """Sick days per person in a year of flu, by age group, under a vaccination or a treatment policy.

    `f_j(x)` is the integral of the infected of group j over the year, divided by the total population; the
    objective is the sum over groups, to be minimised (a linear composition with weights 1, Definition 1 of
    the paper). Other outcomes than sick days can be asked for.

    *Vaccination.* `x_j` is the share of group j vaccinated before the season. It makes `x_j` times the
    vaccine efficacy of the group immune; the initially infected are taken from the rest. Everybody infected
    is removed at the rate 1 / infectious period, nobody dies. The budget limits the doses a person,
    `sum_j x_j N_j / N <= budget`.

    *Treatment.* The dynamics that the paper's authors published: `x_j` is the daily rate at which the
    infected of group j are removed, the infected die at 8e-8 a day, and `N_j` in the force of infection is
    the population of the moment. The budget fixes the effort, `sum_j w_j x_j = budget` with w = (24, 33,
    15, 4, 6).

    *A country of one's own* is a table of groups and one of contacts. What they do not say holds by default:
    an efficacy of 0.4, equal susceptibility and infectivity, 0.1 % of every group infected on the first day.

    Observations carry independent Gaussian noise, so that an outcome near zero may be observed below zero.
    Every default is documented with its source in `simulators.flu.tables`.

    Parameters
    ----------
    intervention : {"vaccination", "treatment"}, default "vaccination"
        What a policy does.
    groups : {5, 9}, str, list of str or Country, default 5
        Number of age groups of the US; or one's own: the file of a table of groups
        (`simulators.country.read_country`), or their names, with `population` and `contacts` in numbers. 1 to
        100.
    contacts : str, (J, J) array-like or mapping, optional
        Contacts per day, row = susceptible group: a matrix, `"del-valle-2013"`, the default, or
        `"mistry-2021-oregon"` (5 groups only). With groups of one's own a file, or a table of settings (home,
        school, work, other), each with its file or matrix; they are summed.
    orientation, reciprocity : str, optional
        How files of contacts are read, as `simulators.country.read_country` has it.
    population : (J,) array-like, optional
        Persons; US 2012 by default.
    susceptibility, infectivity : float or (J,) array-like, optional
        Relative, of each group; Del Valle et al. 2013, and 1, by default.
    efficacy : float or (J,) array-like, optional
        Share of the vaccinated who become immune, 0..1; the season 2012-13 by default. Vaccination only.
    infectious_period : float, optional
        Days, 4 by default. In treatment the policy sets it; there it only says at which equal removal rate
        `r0` holds, and is refused without `r0`.
    r0 : float, optional
        Reproduction number with nobody vaccinated. By default, for vaccination, such that the effective one
        at today's coverage is 1.28 (1.67 with all other defaults); for treatment, what the authors'
        transmissibility gives (0.420 / x when all groups are removed at the rate x). If given for treatment,
        it holds at the removal rate 1 / infectious period. Beside `calibrate` it takes the fitted one's
        place.
    initial_infected : float or (J,) array-like, optional
        Persons infected on the first day; the authors' numbers by default, times 100 for vaccination.
    current : float or (J,) array-like, optional
        Today's coverage; that of 2012-13 by default, or the column of that name.
    budget : float, None, "default" or "none"
        Doses a person (vaccination; by default the doses of today's coverage, 0.469 a person with all
        other defaults) or weighted treatment rate (14.4). None and "none" lift the budget.
    budget_doses, budget_cost : float, optional
        The budget in doses, in place of `budget`; and in money, beside it or alone, where products have a
        cost.
    budget_weights : float or (d,) array-like, optional
        Cost of a unit of each entry, in the unit of the budget; population shares for vaccination, w for
        treatment.
    bounds : pair of float or (d,) array-like, optional
        Lower and upper limits of each entry: (0, 1) for vaccination, (0.12, 0.3) for treatment.
    levers : mapping of str to list of str, optional
        Groups that are given one coverage, by the name of their lever. Groups of no lever keep today's
        coverage, or none, and their doses are part of the budget. Vaccination only.
    products : list of mappings, optional
        Vaccines, each with `name`, and perhaps `efficacy` (a number or J), `cost` of a dose, `only`, a list
        of the groups or levers that may get it, and `doses`, how many there are. An entry of the policy is
        then a product for a lever; a group's coverage by all is at most 1. Today's doses are of the first.
    pack : int, optional
        Doses in a pack: a policy is then a whole number of packs for each group, and `x_j` the share of it
        that they vaccinate. Bounds and budget are rounded to whole packs. Vaccination only, without
        `products`.
    outcome : str, default "sick days"
        Or "infections", "hospitalisations", "deaths", "cost", "qalys" or "peak beds", of each group: sick
        days and cost a person of the whole population, the others per 100,000. Cost has that of the products'
        doses. Beds are those of the day on which most are taken in all. The initially infected count as
        infected.
    outcome_weights : mapping of str to float, optional
        In place of `outcome`, the sum of several, each times its weight and a person of the whole population.
    hospitalisation, death, cost, qaly_loss : float or (J,) array-like, optional
        Of one infection: shares, money, and quality-adjusted life years lost. The columns of those names.
    hospital_stay : float, default 6
        Mean days in hospital, which begin with infectiousness.
    latent_period : float, default 0
        Mean days from infection to infectiousness. Vaccination only, as the next two.
    waning_period, vaccine_waning_period : float, optional
        Mean days that immunity by illness, and by vaccine, lasts; for ever unless given.
    calibrate : mapping, optional
        Data of a season by which r0 is fitted; see `simulators.flu.calibrate.fit_of`. Vaccination only.
    noise_variance : float or (J,) array-like, optional
        Variance of an observation's noise, squared sick days per person (or the outcome's unit); by default
        years in the group times 1e-6, or 8e-5 times its share of persons, and of other outcomes as many
        infections more or less.
    days : float, default 365
        Length of the season.
    step_days : float, optional
        The integrator's longest step; by default short enough for a relative error below 1e-6.

    Raises
    ------
    ValueError
        One line with the parameter, its value and what is accepted.

    Attributes
    ----------
    r0 : float
        Reproduction number with nobody vaccinated; for treatment, at removal rate 1 / `infectious_period`.
    beta : (J, J) array
        Transmission rates per day, row = susceptible group.
    n_steps : int
        Number of the integrator's steps.
    policies : simulators.flu.policies.Policies
        `policy_space` and today's among them; as `share_space` and `packs` what makes them of shares.
    fit : simulators.flu.fit.Fit or None
        What `calibrate` found.
    findings : tuple of str
        What was read, assumed and fitted of a country of one's own, one sentence each.

    Notes
    -----
    An outcome's `info` holds `attack_rate` (J,), the share of each group ever infected, the initially
    infected included (where immunity wanes, infections a person); `attack_rate_total`; `infections` (J,), in
    persons; for vaccination `doses` (J,), and `doses_by_product` where there are several; `hospitalisations`,
    `deaths`, `cost` (doses included) and `qalys` lost (J,), in persons, money and years, where the groups'
    risks are known; `days` (m,) and `infected` (m, J), the noise-free epidemic curve in persons; `peak_day`.
    """

    sense: Literal["minimize", "maximize"] = "minimize"
    info_units: dict[str, str] = INFO_UNITS
    policy_space: BoundedPolicySpace

    def __init__(
        self,
        *,
        intervention: Literal["vaccination", "treatment"] = "vaccination",
        groups: Any = 5,
        contacts: str | ArrayLike | Mapping[str, Any] | None = None,
        orientation: str | None = None,
        reciprocity: str | None = None,
        population: ArrayLike | None = None,
        susceptibility: ArrayLike | None = None,
        infectivity: ArrayLike | None = None,
        efficacy: ArrayLike | None = None,
        infectious_period: float | None = None,
        r0: float | None = None,
        initial_infected: ArrayLike | None = None,
        current: ArrayLike | None = None,
        budget: float | str | None = "default",
        budget_doses: float | None = None,
        budget_cost: float | None = None,
        budget_weights: ArrayLike | None = None,
        bounds: Any = None,
        levers: Mapping[str, Sequence[str]] | None = None,
        products: Sequence[Mapping[str, Any]] | None = None,
        pack: int | None = None,
        outcome: str = "sick days",
        outcome_weights: Mapping[str, float] | None = None,
        hospitalisation: ArrayLike | None = None,
        death: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        qaly_loss: ArrayLike | None = None,
        hospital_stay: float = tables.HOSPITAL_STAY,
        latent_period: float = 0.0,
        waning_period: float | None = None,
        vaccine_waning_period: float | None = None,
        calibrate: Mapping[str, Any] | None = None,
        noise_variance: ArrayLike | None = None,
        days: float = 365,
        step_days: float | None = None,
    ) -> None:
        self.intervention = intervention
        self.vaccinates: bool = vaccinates(
            intervention,
            efficacy=efficacy,
            current=current,
            levers=levers,
            products=products,
            calibrate=calibrate,
            latent_period=latent_period or None,
            waning_period=waning_period,
            vaccine_waning_period=vaccine_waning_period,
        )
        people = people_of(groups, contacts, population, orientation, reciprocity, self.vaccinates)
        people = people.changed(
            current,
            {"hospitalisation": hospitalisation, "death": death, "cost": cost, "qaly_loss": qaly_loss},
            told=efficacies_told(products),
            susceptibility=susceptibility,
            infectivity=infectivity,
            efficacy=efficacy,
            initial_infected=initial_infected,
        )
        self.population: Array
        self.contacts: Array
        self.groups: tuple[str, ...]
        self.groups, self.population, self.contacts = people.groups, people.persons, people.contacts
        self.group_persons: Array = self.population
        self.infectivity: Array
        self.susceptibility: Array
        self.susceptibility, self.infectivity = people.susceptibility, people.infectivity
        self.efficacy: Array
        self.coverage: Array | None
        self.efficacy, self.coverage = people.efficacy, people.coverage
        self.risks: Mapping[str, Array | None]
        self.initial_infected: Array
        self.initial_infected, self.risks = people.initial_infected, people.risks
        self.days: float = number("days", days, above=0)
        if infectious_period is not None and not self.vaccinates and r0 is None:
            raise ValueError(
                f"infectious_period={infectious_period!r} needs r0 when intervention='treatment': the policy "
                "sets the removal, and the period only says where r0 holds"
            )
        period = tables.INFECTIOUS_PERIOD if infectious_period is None else infectious_period
        self.infectious_period: float = number("infectious_period", period, above=0)
        self.objective: Objective = Objective(outcome, outcome_weights, self.risks)
        self.hospital_stay: float = number("hospital_stay", hospital_stay, least=0.1)
        if self.objective.beds:
            vaccinates(intervention, outcome="peak beds")
        self.objective_unit: str
        self.expected_range: Any
        self.objective_unit, self.expected_range = self.objective.unit, self.objective.floor
        self.group_units: tuple[str, ...] = (self.objective_unit,) * len(self.groups)
        usual = self.objective.noise_variance(
            people.noise_variance, self.infectious_period, self.hospital_stay
        )
        self.noise_variance: Array = per_group(
            "noise_variance", noise_variance, self.groups, default=usual, least=0
        )
        self.noise_variance.flags.writeable = False

        self.levers: Levers = Levers(
            self.groups,
            self.population,
            products_of(products, self.groups, self.efficacy),
            levers,
            today=self.coverage,
            named=products is not None,
        )
        asked = Asked(budget, budget_weights, budget_doses, budget_cost, bounds)
        self.policies: Policies = Policies.of(asked, self.levers, people, self.vaccinates, pack)
        self.share_space: BoundedPolicySpace
        self.share_space, self.packs = self.policies.shares, self.policies.packs
        self.current_policy: Array | None
        self.policy_space, self.current_policy = self.policies.space, self.policies.current
        if self.current_policy is not None:
            self.current_policy_label: str = people.coverage_label

        hospital = self.risks["hospitalisation"] if self.objective.beds else None
        self.stages = stages_of(
            latent_period, waning_period, vaccine_waning_period, hospital, self.hospital_stay
        )
        spread = spread_of(
            people,
            self.levers.products[0].efficacy,
            self.infectious_period,
            r0,
            calibrate,
            partial(self._season_ode, step_days=step_days),
            published=not self.vaccinates,
        )
        self.beta: Array
        self.r0: float
        self.beta, self.r0, self.fit = spread.beta, spread.r0, spread.fit
        self.susceptibility, self.initial_infected = spread.susceptibility, spread.initial_infected
        self.n_steps: int
        self.season_ode: SeasonODE
        self.season_ode, self.n_steps = spread.season, spread.season.n_steps
        self.findings = people.findings
        if self.vaccinates:
            by_default = r0 is None and self.fit is None
            self.findings += people.of_today(self.r0, by_default, self.current_policy is None)
            self.findings += people.of_budget(self.share_space, self.levers.persons / self.population.sum())
        self.findings += () if self.fit is None else self.fit.sentences(self.groups)
        self._last: tuple[bytes, Array] | None = None

    def step(self, policy: Any) -> Outcomes:
        """Observe one season under coverages or packs (vaccination) or removal rates a day (treatment), (d,).

        Raises
        ------
        ValueError
            The policy is outside the space; names the entry, its value and its bound.
        SimulationError
            The integration became unstable, which takes a `step_days` of several days.
        """
        x = self.policy_space.check(policy)
        columns, season = self._simulate(x[None], record=True)
        expected = self._values(columns, season)[0]
        # The loop asks for the noise-free outcomes of the policy just tried: once computed, they are at hand.
        self._last = (x.tobytes(), expected)
        noise = np.sqrt(self.noise_variance) * self.rng.standard_normal(len(self.groups))
        info = self._info(columns, season)
        return Outcomes(values=expected + noise, noise_variance=self.noise_variance, info=info)

    def expected(self, policies: ArrayLike) -> Array:
        """The noise-free outcomes (n, J) of policies (n, d), which need not be feasible.

        A row's value is the same to the last bit whether it is computed alone or among others.

        Raises
        ------
        ValueError
            A wrong shape, or an entry that is not finite.
        SimulationError
            The integration became unstable; carries the first such policy.
        """
        x = self.policy_space.resolve(policies)
        if not np.isfinite(x).all():
            row, entry = np.argwhere(~np.isfinite(x))[0]
            label = self.policy_space.labels[entry]
            raise ValueError(
                f"policies: row {row}: {label!r} is {x[row, entry]}, which is not a finite number"
            )
        if len(x) == 0:
            return np.empty((0, len(self.groups)))
        if len(x) == 1 and self._last is not None and self._last[0] == x.tobytes():
            return self._last[1][None].copy()
        return self._values(*self._simulate(x))

    def _simulate(self, x: Array, record: bool = False) -> tuple[Array, Season]:
        """The shares or rates (d, n) of (n, d) policies, and the seasons under them."""
        columns = self.policies.columns(x)
        if self.vaccinates:
            return columns, self.season_ode.vaccinated(self.levers.immune(columns), record, x)
        return columns, self.season_ode.treated(columns, record, x)

    def _values(self, columns: Array, season: Season) -> Array:
        doses = self.levers.dose_costs(columns) if "cost" in self.objective.parts else None
        seasons = Seasons(season.infected_days, season.infections, season.peak_beds, doses)
        return self.objective.values(seasons, self.population.sum())

    def _info(self, columns: Array, season: Season) -> dict[str, Any]:
        doses = Doses.of(self.levers, columns[:, 0]) if self.vaccinates else None
        return season.info(self.population) | in_persons(season.infections[:, 0], self.risks, doses)

    def _season_ode(self, beta: Array, initial_infected: Array, step_days: float | None) -> SeasonODE:
        return SeasonODE(
            beta,
            self.population,
            initial_infected,
            self.infectious_period,
            self.stages,
            days=self.days,
            step_days=step_days,
            rates=None if self.vaccinates else self.share_space.bounds,
        )
