"""What a season is judged by: sick days, infections, deaths and the like, cost, QALYs, or beds at the peak.

All but sick days, beds and doses' cost are shares of those infected. Outcomes of groups are told for the
whole population, so that they add up to the total: sick days and cost a person of it, the others per 100,000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from simulators.arrays import Array
from simulators.contract.validation import choice, number, table
from simulators.flu.levers import Levers

RISKS = {
    "hospitalisations": "hospitalisation",
    "deaths": "death",
    "cost": "cost",
    "qalys": "qaly_loss",
    "peak beds": "hospitalisation",
}
"""What a group's column says of one infection, by the outcome that needs it."""

UNITS = {
    "sick days": (1.0, "sick days per person"),
    "infections": (1e5, "infections per 100,000 persons"),
    "hospitalisations": (1e5, "hospitalisations per 100,000 persons"),
    "deaths": (1e5, "deaths per 100,000 persons"),
    "cost": (1.0, "cost per person"),
    "qalys": (1e5, "QALYs lost per 100,000 persons"),
    "peak beds": (1e5, "beds per 100,000 persons"),
}
"""Multiplies what a person of the whole population has of it, and the unit that it then has."""

INFO_UNITS = {
    "infected": "persons",
    "infections": "persons",
    "doses": "doses",
    "hospitalisations": "persons",
    "deaths": "persons",
    "qalys": "QALYs lost",
}
"""Units of what an outcome's `info` holds by group; a cost is in the currency of the table."""

WEIGHTED = "weighted sum per person"
BEDS_NOISE_DAYS = 30.0
"""Days over which hospitalisations spread around the peak: what the usual noise of beds is reckoned by."""


class Seasons(NamedTuple):
    """What seasons brought under n policies, in persons, person-days and money, each (J, n)."""

    infected_days: Array
    infections: Array
    peak_beds: Array | None
    dose_costs: Array | None


class Doses(NamedTuple):
    """The doses of one policy.

    Attributes
    ----------
    given, costs : (J,) array
        By group, in persons and in money.
    by_product : dict of str to float
    """

    given: Array
    costs: Array
    by_product: dict[str, float]

    @classmethod
    def of(cls, levers: Levers, x: Array) -> Doses:
        """Those of a policy (d,)."""
        columns = x[:, None]
        given = levers.group_persons * levers.covered(columns)[:, 0]
        return cls(given, levers.dose_costs(columns)[:, 0], levers.doses_by_product(x))


def in_persons(infections: Array, risks: Mapping[str, Array | None], doses: Doses | None) -> dict[str, Any]:
    """What a season brought each group (J,), in persons, money and years, for the `info` of an outcome."""
    info: dict[str, Any] = {"infections": infections}
    for name in ("hospitalisations", "deaths", "cost", "qalys"):
        share = risks.get(RISKS[name])
        if share is not None:
            info[name] = share * infections
    if doses is not None:
        info["doses"] = doses.given
        if "cost" in info:
            info["cost"] = info["cost"] + doses.costs
        if len(doses.by_product) > 1:
            info["doses_by_product"] = doses.by_product
    return info


class Objective:
    """The outcomes asked for.

    Parameters
    ----------
    outcome : str
        A key of `UNITS`.
    weights : mapping of str to float, or None
        In its place several outcomes, each times a number, as what a person of the whole population has.
    risks : mapping of str to (J,) array or None
        By the names of `Country`: hospitalisation, death, cost, qaly_loss.

    Raises
    ------
    ValueError
        An unknown outcome, or one whose column is not there; weights that are no numbers.

    Attributes
    ----------
    unit : str
    parts : dict of str to float
        The outcomes, and what each is multiplied by.
    """

    def __init__(self, outcome: Any, weights: Any, risks: Mapping[str, Array | None]) -> None:
        self.risks: dict[str, Array] = {name: risk for name, risk in risks.items() if risk is not None}
        choice("outcome", outcome, tuple(UNITS))
        if weights is None:
            self.unit: str
            factor, self.unit = UNITS[outcome]
            self.parts: dict[str, float] = {outcome: factor}
        else:
            if outcome != "sick days":
                raise ValueError(
                    f"outcome={outcome!r} and outcome_weights exclude each other; accepted: one of them"
                )
            self.unit = WEIGHTED
            self.parts = {
                choice("outcome_weights: outcome", name, tuple(UNITS)): number(
                    f"outcome_weights: {name!r}", w
                )
                for name, w in table("outcome_weights", weights, "outcomes, each with its weight").items()
            }
            if not any(self.parts.values()):
                raise ValueError(
                    f"outcome_weights={weights!r} must have an outcome with a weight other than 0"
                )
        for name in self.parts:
            if name in RISKS and RISKS[name] not in self.risks:
                what = "outcome" if weights is None else "outcome_weights"
                raise ValueError(
                    f"{what}: {name!r} needs the column {RISKS[name]!r} of the groups' table (or the option)"
                )

    @property
    def plain(self) -> bool:
        """Whether it is the sick days alone."""
        return self.parts == {"sick days": 1.0}

    @property
    def floor(self) -> tuple[float, float] | None:
        """What no outcome lies below: 0, unless a weight is negative."""
        return (0.0, np.inf) if min(self.parts.values()) >= 0 else None

    @property
    def beds(self) -> bool:
        """Whether it asks for beds."""
        return "peak beds" in self.parts

    def values(self, seasons: Seasons, persons: float) -> Array:
        """The outcomes (n, J) of seasons in a population of so many persons."""
        if self.plain:
            total = seasons.infected_days
        else:
            total = np.zeros_like(seasons.infections)
            for name, factor in self.parts.items():
                total += factor * self._amount(name, seasons)
        # C order, so that a sum over the groups of a row runs in one order however many rows there are.
        return np.ascontiguousarray(total.T / persons)

    def _amount(self, name: str, seasons: Seasons) -> Array:
        if name == "sick days":
            return seasons.infected_days
        if name == "infections":
            return seasons.infections
        if name == "peak beds":
            assert seasons.peak_beds is not None
            return seasons.peak_beds
        amount: Array = self.risks[RISKS[name]][:, None] * seasons.infections
        if name == "cost" and seasons.dose_costs is not None:
            amount = amount + seasons.dose_costs
        return amount

    def noise_variance(self, sick_days: Array, infectious_period: float, stay: float) -> Array:
        """The variance (J,) of these outcomes where that of sick days a person is `sick_days`.

        The noise is that of the number infected, which all outcomes share; of beds it is that of
        hospitalisations times stay / `BEDS_NOISE_DAYS`.
        """
        if self.plain:
            return sick_days
        slope = np.zeros(len(sick_days))
        for name, factor in self.parts.items():
            if name == "sick days":
                slope += factor * infectious_period
            elif name == "infections":
                slope += factor
            else:
                share = stay / BEDS_NOISE_DAYS if name == "peak beds" else 1.0
                slope += factor * share * self.risks[RISKS[name]]
        variance: Array = (slope / infectious_period) ** 2 * sick_days
        return variance
