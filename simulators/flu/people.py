"""Who lives where the season comes: the US of the paper, or one's own country, with what holds by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from simulators.arrays import Array
from simulators.contract.validation import entry, nonnegative_matrix, per_group
from simulators.flu import tables
from simulators.population import survey

if TYPE_CHECKING:
    from simulators.contract.policy_space import BoundedPolicySpace
    from simulators.country import Country

MOST_GROUPS = 100
OWN_COVERAGE = "current coverage"


@dataclass(frozen=True, eq=False)
class People:
    """The groups of a population and the defaults of their parameters; arrays are of J groups.

    Attributes
    ----------
    groups : tuple of str
    persons, susceptibility, infectivity, efficacy, initial_infected : (J,) array
    contacts : (J, J) array
        A day; row = susceptible group.
    coverage : (J,) array or None
        Today's.
    coverage_label : str
        Whose it is.
    noise_variance : (J,) array
        Of sick days per person.
    treatment_weights : (J,) array
    risks : dict of str to (J,) array or None
        hospitalisation, death, cost, qaly_loss of one infection.
    own : bool
        Whether they are somebody's own, and not the paper's.
    stated : tuple of str
        Parameters that a country of one's own tells, of those with a default.
    findings : tuple of str
        What was read of them, and what holds by default, one sentence each.
    """

    groups: tuple[str, ...]
    persons: Array
    contacts: Array
    susceptibility: Array
    infectivity: Array
    efficacy: Array
    initial_infected: Array
    coverage: Array | None
    coverage_label: str
    noise_variance: Array
    treatment_weights: Array
    risks: Mapping[str, Array | None] = field(default_factory=dict)
    own: bool = False
    stated: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def changed(
        self, current: Any, risks: Mapping[str, Any], told: Sequence[str] = (), **options: Any
    ) -> People:
        """The same with what options say of the groups, each one number or J, None where they say nothing.

        Of those that others have `told` no default holds.

        Raises
        ------
        ValueError
            Numbers that are out of range; names the group.
        """
        found: dict[str, Any] = {}
        for name, value in options.items():
            most = 1.0 if name == "efficacy" else np.inf
            usual = getattr(self, name)
            found[name] = per_group(name, value, self.groups, default=usual, least=0, most=most)
        infected = found.get("initial_infected", self.initial_infected)
        if (infected > self.persons).any():
            j = int(np.argmax(infected > self.persons))
            raise ValueError(
                f"initial_infected of group {self.groups[j]!r} is {infected[j]:g}; "
                f"it must be at most the population, {self.persons[j]:g}"
            )
        if current is not None:
            found["coverage"] = per_group("current", current, self.groups, least=0, most=1)
            found["coverage_label"] = OWN_COVERAGE
        stated = {name: self._risk(name, value) for name, value in risks.items()}
        return replace(self, risks=stated, findings=(*self.findings, *self._assumed(options, told)), **found)

    def of_today(self, r0: float, by_default: bool, beyond: bool) -> tuple[str, ...]:
        """In words: an r0 that is so by default, and today's coverage where it is beyond the budget."""
        said = []
        if self.own and by_default:
            where = "with nobody vaccinated" if self.coverage is None else "at today's coverage"
            said.append(f"r0 = {r0:.4g}, by default: {tables.EFFECTIVE_R0_2012:g} {where}")
        if self.own and self.coverage is not None and beyond:
            said.append(
                "today's coverage is beyond the budget or the bounds, and so no policy to compare with"
            )
        return tuple(said)

    def of_budget(self, space: BoundedPolicySpace, weights: Array) -> tuple[str, ...]:
        """In words: the budget in doses, beside the population and the doses of today's coverage."""
        known = space.constraint
        if not self.own or known is None or not np.allclose(np.atleast_2d(known.A)[0], weights, atol=1e-12):
            return ()
        share, total = float(np.atleast_1d(known.ub)[0]), float(self.persons.sum())
        text = f"budget: {share:.3g} doses a person, {share * total:,.0f} for {total:,.0f} persons"
        if self.coverage is not None:
            text += f"; today's coverage takes {float(self.coverage @ self.persons):,.0f}"
        return (text,)

    def _assumed(self, options: Mapping[str, Any], told: Sequence[str]) -> list[str]:
        """What holds by default in a country of one's own, in words."""
        usual = {"initial_infected": f"{tables.OWN_SEEDING:g} of", "efficacy": f"{tables.OWN_EFFICACY:g} in"}
        return [
            f"{name}: {words} every group, by default"
            for name, words in usual.items()
            if self.own and name not in (*self.stated, *told) and options.get(name) is None
        ]

    def _risk(self, name: str, given: Any) -> Array | None:
        """What an infection of each group brings, (J,); None where it is unknown."""
        known = self.risks.get(name)
        if given is None and known is None:
            return None
        most = 1.0 if name in ("hospitalisation", "death") else np.inf
        return per_group(name, given, self.groups, default=known, least=0, most=most)


def people_of(
    groups: Any,
    contacts: Any,
    population: Any,
    orientation: Any = None,
    reciprocity: Any = None,
    vaccinates: bool = True,
) -> People:
    """The people that options name; see `simulators.FluODE`.

    Raises
    ------
    ValueError
        Groups that cannot be read, are none or too many, or that have no contacts.
    """
    if isinstance(groups, str) or not isinstance(groups, Number):
        return _of_country(country_of(groups, contacts, population, orientation, reciprocity))
    _refuse_reading({"orientation": orientation, "reciprocity": reciprocity})
    table = entry("groups", groups, survey.AGES)
    return People(
        groups=table.groups,
        persons=per_group("population", population, table.groups, default=table.population, above=0),
        contacts=_matrix("del-valle-2013" if contacts is None else contacts, table.groups),
        susceptibility=table.susceptibility,
        infectivity=np.ones(len(table.groups)),
        efficacy=table.efficacy,
        initial_infected=(tables.SEASON_SEEDING if vaccinates else 1.0) * table.initial_infected,
        coverage=table.coverage,
        coverage_label="coverage of 2012-13",
        noise_variance=table.noise_variance,
        treatment_weights=table.treatment_weights,
    )


def country_of(
    groups: Any,
    contacts: Any,
    population: Any,
    orientation: Any = None,
    reciprocity: Any = None,
    persons: Any = None,
) -> Country:
    """The country of one's own that options name: files, a Country, or names with numbers.

    `persons` is a file of persons by finer ages, by which contacts of finer bands are weighted.

    Raises
    ------
    ValueError
        Groups that cannot be read, are none, or that have no contacts.
    """
    reading = {"orientation": orientation, "reciprocity": reciprocity}
    if isinstance(groups, str):
        return _read(groups, contacts, population, {**reading, "persons": persons})
    _refuse_reading(reading)
    return _given(groups, contacts, population)


def _refuse_reading(reading: Mapping[str, Any]) -> None:
    for name, value in reading.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} says how files are read; accepted where groups is a file")


def _read(groups: str, contacts: Any, population: Any, reading: Mapping[str, Any]) -> Country:
    from simulators.country import read_country

    if population is not None:
        raise ValueError(f"population={population!r}: persons are in the table {groups}; leave it out")
    if not contacts or not isinstance(contacts, str | Mapping):
        raise ValueError(
            f"groups={groups!r} needs contacts; accepted: a file of contacts a day, or a table of settings, "
            "each with its file"
        )
    given = {name: value for name, value in reading.items() if value is not None}
    if isinstance(contacts, Mapping):
        return read_country(groups, by_setting=contacts, **given)
    return read_country(groups, contacts, **given)


def _given(groups: Any, contacts: Any, population: Any) -> Country:
    from simulators.country import Country  # brings what reads files, which is slow to import

    if isinstance(groups, Country):
        for name, value in {"contacts": contacts, "population": population}.items():
            if value is not None:
                raise ValueError(f"{name}: a Country has its own; leave it out")
        return groups
    names = tuple(groups) if isinstance(groups, Sequence) else ()
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"groups={groups!r} must be names that differ, a file, or 5 or 9")
    for name, value in {"population": population, "contacts": contacts}.items():
        if value is None:
            raise ValueError(f"{name} is missing: groups of one's own need it")
    persons = per_group("population", population, names, above=0)
    if not isinstance(contacts, Mapping):
        return Country(names, persons, nonnegative_matrix("contacts", contacts, names))
    if not contacts:
        raise ValueError("contacts={} must have a matrix, or some by setting")
    by_setting = {
        setting: nonnegative_matrix(f"contacts[{setting!r}]", matrix, names)
        for setting, matrix in contacts.items()
    }
    return Country(names, persons, np.sum(list(by_setting.values()), axis=0), by_setting)


def _of_country(country: Country) -> People:
    names, J = country.groups, len(country.groups)
    if J > MOST_GROUPS:
        raise ValueError(f"groups: there are {J}; accepted: {MOST_GROUPS} at most")
    persons = np.asarray(country.persons, dtype=float)
    risks = {name: getattr(country, name) for name in ("hospitalisation", "death", "cost", "qaly_loss")}
    ones = np.ones(J)
    share = persons / persons.sum()
    return People(
        groups=names,
        persons=persons,
        contacts=np.asarray(country.contacts, dtype=float),
        susceptibility=ones if country.susceptibility is None else country.susceptibility,
        infectivity=ones if country.infectivity is None else country.infectivity,
        efficacy=tables.OWN_EFFICACY * ones,
        initial_infected=(
            tables.OWN_SEEDING * persons if country.initial_infected is None else country.initial_infected
        ),
        coverage=country.current,
        coverage_label=OWN_COVERAGE,
        noise_variance=tables.OWN_NOISE_VARIANCE * share,
        treatment_weights=survey.AGES[5].treatment_weights.sum() * share,
        risks=risks,
        own=True,
        stated=("initial_infected",) if country.initial_infected is not None else (),
        findings=country.findings,
    )


def _matrix(contacts: Any, groups: tuple[str, ...]) -> Array:
    if not isinstance(contacts, str):
        return nonnegative_matrix("contacts", contacts, groups)
    named = entry("contacts", contacts, survey.CONTACTS)
    if len(groups) not in named:
        accepted = ", ".join(map(str, named))
        raise ValueError(f"contacts={contacts!r} is known for groups={accepted} only, not for {len(groups)}")
    return named[len(groups)]
