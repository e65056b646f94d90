"""A flu season in an age-stratified population: whom to vaccinate, or how fast to treat whom.

The paper's flu domain, section 8.2.2.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint

from simulators.arrays import Array
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import choice, nonnegative_matrix, number, per_group
from simulators.flu import sir, tables
from simulators.flu.doses import packs_of
from simulators.population import survey

RATE_TIMES_STEP = 0.6
"""Fastest rate of the dynamics times the integrator's step, at most.

The error grows with its fourth power. It was chosen by measuring against adaptive integration at a relative
tolerance of 1e-12, at the extreme policies and with other reproduction numbers, periods and bounds: outcomes
stay within a relative 1e-6.
"""

LEAST_STEPS = 200
"""Number of steps of a season so short that it ends amid the epidemic, where an error of timing matters."""


class FluODE(Environment):
    """Sick days per person in a year of flu, by age group, under a vaccination or a treatment policy.

    `f_j(x)` is the integral of the infected of group j over the year, divided by the total population; the
    objective is the sum over groups, to be minimised (a linear composition with weights 1, Definition 1 of
    the paper).

    *Vaccination.* `x_j` is the share of group j vaccinated before the season. It makes `x_j` times the
    vaccine efficacy of the group immune; the initially infected are taken from the rest. Everybody infected
    is removed at the rate 1 / infectious period, nobody dies. The budget limits the doses a person,
    `sum_j x_j N_j / N <= budget`.

    *Treatment.* The dynamics that the paper's authors published: `x_j` is the daily rate at which the
    infected of group j are removed, the infected die at 8e-8 a day, and `N_j` in the force of infection is
    the population of the moment. The budget fixes the effort, `sum_j w_j x_j = budget` with w = (24, 33,
    15, 4, 6).

    Observations carry independent Gaussian noise, so that an outcome near zero may be observed below zero.
    Every default is documented with its source in `simulators.flu.tables`.

    Parameters
    ----------
    intervention : {"vaccination", "treatment"}, default "vaccination"
        What a policy does.
    groups : {5, 9}, default 5
        Number of age groups.
    contacts : str or (J, J) array-like, default "del-valle-2013"
        Contacts per day, row = susceptible group: a matrix, `"del-valle-2013"`, or
        `"mistry-2021-oregon"` (5 groups only).
    population : (J,) array-like, optional
        Persons; US 2012 by default.
    susceptibility : float or (J,) array-like, optional
        Relative susceptibility of each group; Del Valle et al. 2013 by default.
    efficacy : float or (J,) array-like, optional
        Share of the vaccinated who become immune, 0..1; the season 2012-13 by default. Vaccination only.
    infectious_period : float, optional
        Days, 4 by default. In treatment the policy sets it; there it only says at which equal removal rate
        `r0` holds, and is refused without `r0`.
    r0 : float, optional
        Reproduction number with nobody vaccinated. By default, for vaccination, such that the effective one
        at the coverage of 2012-13 is 1.28 (1.67 with all other defaults); for treatment, what the authors'
        transmissibility gives (0.420 / x when all groups are removed at the rate x). If given for treatment,
        it holds at the removal rate 1 / infectious period.
    initial_infected : float or (J,) array-like, optional
        Persons infected on the first day; the authors' numbers by default, times 100 for vaccination.
    budget : float, None, "default" or "none"
        Doses a person (vaccination; by default the doses of the coverage of 2012-13, 0.469 a person with all
        other defaults) or weighted treatment rate (14.4). None and "none" lift the budget.
    budget_weights : float or (J,) array-like, optional
        Cost of a unit of `x_j`, in the unit of the budget; population shares for vaccination, w for
        treatment.
    bounds : pair of float or (J,) array-like, optional
        Lower and upper limits of `x_j`: (0, 1) for vaccination, (0.12, 0.3) for treatment.
    pack : int, optional
        Doses in a pack: a policy is then a whole number of packs for each group, and `x_j` the share of it
        that they vaccinate, packs times `pack` / `N_j`. Bounds and budget are those of shares, rounded to
        what whole packs keep. Vaccination only.
    noise_variance : float or (J,) array-like, optional
        Variance of an observation's noise, squared sick days per person; years in the group times 1e-6 by
        default.
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
    packs : simulators.flu.doses.Packs or None
        What makes shares of packs; None where policies are shares.
    share_space : BoundedPolicySpace
        The policies as `x_j`; `policy_space` itself where they are no packs.

    Notes
    -----
    An outcome's `info` holds `attack_rate` (J,), the share of each group ever infected, the initially
    infected included; `attack_rate_total`; `days` (m,) and `infected` (m, J), the noise-free epidemic
    curve in persons; and `peak_day`.
    """

    sense: Literal["minimize", "maximize"] = "minimize"
    objective_unit = "sick days per person"
    info_units = {"infected": "persons"}
    policy_space: BoundedPolicySpace

    def __init__(
        self,
        *,
        intervention: Literal["vaccination", "treatment"] = "vaccination",
        groups: Literal[5, 9] = 5,
        contacts: str | ArrayLike = "del-valle-2013",
        population: ArrayLike | None = None,
        susceptibility: ArrayLike | None = None,
        efficacy: ArrayLike | None = None,
        infectious_period: float | None = None,
        r0: float | None = None,
        initial_infected: ArrayLike | None = None,
        budget: float | str | None = "default",
        budget_weights: ArrayLike | None = None,
        bounds: Any = None,
        pack: int | None = None,
        noise_variance: ArrayLike | None = None,
        days: float = 365,
        step_days: float | None = None,
    ) -> None:
        choice("intervention", intervention, ("vaccination", "treatment"))
        table = survey.AGES[choice("groups", groups, tuple(survey.AGES))]
        self.intervention = intervention
        self.vaccinates = intervention == "vaccination"
        self.groups = table.groups
        self.group_units = ("sick days per person",) * len(self.groups)

        self.contacts = _contact_matrix(contacts, table.groups)
        given = partial(per_group, groups=table.groups)
        self.population = given("population", population, default=table.population, above=0)
        self.susceptibility = given("susceptibility", susceptibility, default=table.susceptibility, least=0)
        if efficacy is not None and not self.vaccinates:
            raise ValueError(
                f"efficacy={efficacy!r} has no meaning for intervention='treatment'; leave it out"
            )
        self.efficacy = given("efficacy", efficacy, default=table.efficacy, least=0, most=1)
        usual = (tables.SEASON_SEEDING if self.vaccinates else 1.0) * table.initial_infected
        self.initial_infected = given("initial_infected", initial_infected, default=usual, least=0)
        if (self.initial_infected > self.population).any():
            j = int(np.argmax(self.initial_infected > self.population))
            raise ValueError(
                f"initial_infected of group {self.groups[j]!r} is {self.initial_infected[j]:g}; "
                f"it must be at most the population, {self.population[j]:g}"
            )
        self.noise_variance = given("noise_variance", noise_variance, default=table.noise_variance, least=0)
        self.noise_variance.flags.writeable = False
        self.days = number("days", days, above=0)

        if infectious_period is not None and not self.vaccinates and r0 is None:
            raise ValueError(
                f"infectious_period={infectious_period!r} needs r0 when intervention='treatment': the policy "
                "sets the removal, and the period only says where r0 holds"
            )
        self.infectious_period = (
            tables.INFECTIOUS_PERIOD
            if infectious_period is None
            else number("infectious_period", infectious_period, above=0)
        )
        self.beta, self.r0 = self._transmission(r0, table.coverage)
        self.packs = packs_of(pack, self.vaccinates, self.population)
        self.share_space = self._space(budget, budget_weights, bounds, table)
        self.policy_space = self.share_space if self.packs is None else self.packs.space(self.share_space)
        self.n_steps = self._number_of_steps(step_days)
        today = np.array(table.coverage) if self.packs is None else self.packs.most(table.coverage)
        if self.vaccinates and self.policy_space.contains(today[None])[0]:
            self.current_policy = today
            self.current_policy_label = "coverage of 2012-13"
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
        epidemic, S0 = self._simulate(x[None], record=True)
        expected = self._sick_days(epidemic)[0]
        # The loop asks for the noise-free outcomes of the policy just tried: once computed, they are at hand.
        self._last = (x.tobytes(), expected)
        ever_infected = S0[:, 0] + self.initial_infected - epidemic.susceptible[:, 0]
        infected = epidemic.curve[:, :, 0]
        info = {
            "attack_rate": ever_infected / self.population,
            "attack_rate_total": float(ever_infected.sum() / self.population.sum()),
            "days": epidemic.days,
            "infected": infected,
            "peak_day": float(epidemic.days[np.argmax(infected.sum(axis=1))]),
        }
        noise = np.sqrt(self.noise_variance) * self.rng.standard_normal(len(self.groups))
        return Outcomes(values=expected + noise, noise_variance=self.noise_variance, info=info)

    def expected(self, policies: ArrayLike) -> Array:
        """The noise-free sick days per person (n, J) of policies (n, d), which need not be feasible.

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
            row = int(np.argmin(np.isfinite(x).all(axis=1)))
            raise ValueError(
                f"policies: row {row} has an entry that is not a finite number: {x[row].tolist()}"
            )
        if len(x) == 0:
            return np.empty((0, len(self.groups)))
        if len(x) == 1 and self._last is not None and self._last[0] == x.tobytes():
            return self._last[1][None].copy()
        return self._sick_days(self._simulate(x)[0])

    def _simulate(self, x: Array, record: bool = False) -> tuple[sir.Epidemic, Array]:
        """The epidemics under (n, d) policies, and the (J, n) susceptible on day 0."""
        n = len(x)
        columns = np.ascontiguousarray((x if self.packs is None else self.packs.shares(x)).T)
        N, I0 = self.population[:, None], self.initial_infected[:, None]
        if self.vaccinates:
            # With a perfect vaccine for everybody nobody is left to take the initially infected from.
            S0 = np.maximum(N * (1 - self.efficacy[:, None] * columns) - I0, 0.0)
            removal = np.full_like(columns, 1 / self.infectious_period)
        else:
            S0, removal = np.repeat(N - I0, n, axis=1), columns
        epidemic = sir.integrate(
            self.beta,
            self.population,
            S0,
            np.repeat(I0, n, axis=1),
            removal,
            days=self.days,
            n_steps=self.n_steps,
            deaths=0.0 if self.vaccinates else tables.INFECTED_DEATH_RATE,
            record=record,
        )
        left = np.minimum(epidemic.susceptible, epidemic.infected)
        sound = (np.isfinite(epidemic.infected_days) & (left >= -1e-9 * N)).all(axis=0)
        if not sound.all():
            raise SimulationError(
                f"the integration in {self.n_steps} steps became unstable; take a smaller step_days",
                policy=x[np.argmin(sound)],
            )
        return epidemic, S0

    def _sick_days(self, epidemic: sir.Epidemic) -> Array:
        # C order, so that a sum over the groups of a row runs in one order however many rows there are.
        return np.ascontiguousarray(epidemic.infected_days.T / self.population.sum())

    def _transmission(self, r0: float | None, coverage: Array) -> tuple[Array, float]:
        """The (J, J) transmission rates per day, and R0."""
        shape = self.susceptibility[:, None] * self.contacts
        if _radius(shape) == 0:
            raise ValueError("contacts and susceptibility let no infection through; some product must be > 0")
        if r0 is not None:
            rate = number("r0", r0, above=0) / (_radius(shape) * self.infectious_period)
        elif self.vaccinates:
            unprotected = (1 - self.efficacy * coverage)[:, None] * shape
            rate = tables.EFFECTIVE_R0_2012 / (_radius(unprotected) * self.infectious_period)
        else:
            rate = tables.TRANSMISSIBILITY * tables.INFECTIVITY
        return rate * shape, rate * _radius(shape) * self.infectious_period

    def _space(
        self, budget: float | str | None, weights: Any, bounds: Any, table: survey.AgeTable
    ) -> BoundedPolicySpace:
        if bounds is None:
            bounds = (0.0, 1.0) if self.vaccinates else tables.TREATMENT_BOUNDS
        try:
            low, high = bounds
        except (TypeError, ValueError):
            raise ValueError(f"bounds={bounds!r} must be a pair: lower and upper limits") from None
        most = 1.0 if self.vaccinates else np.inf
        lower = per_group("bounds: lower limit", low, self.groups, least=0, most=most)
        upper = per_group("bounds: upper limit", high, self.groups, least=0, most=most)
        usual = self.population / self.population.sum() if self.vaccinates else table.treatment_weights
        cost = per_group("budget_weights", weights, self.groups, default=usual, least=0)
        constraint = None
        if isinstance(budget, str) and budget not in ("default", "none"):
            raise ValueError(f"budget={budget!r} must be a number >= 0, 'default' or 'none'")
        if budget is not None and budget != "none":
            if budget == "default":
                limit = float(cost @ table.coverage) if self.vaccinates else tables.TREATMENT_BUDGET
            else:
                limit = number("budget", budget, least=0)
            least, greatest = float(cost @ np.minimum(lower, upper)), float(cost @ np.maximum(lower, upper))
            slack = 1e-9 * max(1.0, limit)
            if limit < least - slack or (not self.vaccinates and limit > greatest + slack):
                accepted = f"at least {least:g}" if self.vaccinates else f"in {least:g}..{greatest:g}"
                raise ValueError(f"budget={limit:g} is infeasible: within the bounds it must be {accepted}")
            constraint = LinearConstraint(cost[None], -np.inf if self.vaccinates else limit, limit)
        unit = "share vaccinated" if self.vaccinates else "removals per infected and day"
        return BoundedPolicySpace(
            self.groups,
            (unit,) * len(self.groups),
            bounds=Bounds(lower, upper),
            constraint=constraint,
        )

    def _number_of_steps(self, step_days: float | None) -> int:
        if step_days is not None:
            return max(1, int(np.ceil(self.days / number("step_days", step_days, above=0))))
        bounds = self.share_space.bounds
        slow = fast = 1 / self.infectious_period
        if not self.vaccinates:
            slow, fast = float(np.min(bounds.lb)), float(np.max(bounds.ub))
        fastest = max(_radius(self.beta) - slow, 0.0) + fast
        return max(LEAST_STEPS, int(np.ceil(self.days * fastest / RATE_TIMES_STEP)))


def _contact_matrix(contacts: Any, groups: tuple[str, ...]) -> Array:
    if not isinstance(contacts, str):
        return nonnegative_matrix("contacts", contacts, groups)
    named = survey.CONTACTS[choice("contacts", contacts, tuple(survey.CONTACTS))]
    if len(groups) not in named:
        accepted = ", ".join(map(str, named))
        raise ValueError(f"contacts={contacts!r} is known for groups={accepted} only, not for {len(groups)}")
    return named[len(groups)]


def _radius(matrix: Array) -> float:
    """The spectral radius."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())
