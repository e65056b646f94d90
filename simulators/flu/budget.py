"""The policies that the doses, or the effort of treatment, allow: bounds and budgets as a policy space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from simulators.arrays import Array
from simulators.contract.policy_space import BoundedPolicySpace
from simulators.contract.validation import number, per_group
from simulators.flu import tables
from simulators.flu.levers import Levers

NEAR = 1e-9


class Asked(NamedTuple):
    """The options that say what policies may cost, as given.

    Attributes
    ----------
    budget, weights
        Of doses a person, or of weighted treatment rates; and what a unit of an entry takes of it.
    doses, cost
        The same in persons, and in money.
    bounds
        Pair of limits.
    """

    budget: Any = "default"
    weights: Any = None
    doses: Any = None
    cost: Any = None
    bounds: Any = None


def vaccination_space(asked: Asked, levers: Levers, today: Array | None) -> BoundedPolicySpace:
    """Shares vaccinated, under a budget of doses, of money, or both, and the supply of each product.

    Parameters
    ----------
    asked : Asked
    levers : Levers
    today : (J,) array or None
        The coverage whose doses are the budget by default.

    Raises
    ------
    ValueError
        A budget that is missing, no number, more than one dose a person, or that the bounds exceed.
    """
    lower, upper = _bounds(asked.bounds, levers.labels, (0.0, 1.0), most=1.0)
    total = levers.group_persons.sum()
    weights = per_group(
        "budget_weights", asked.weights, levers.labels, default=levers.persons / total, least=0
    )
    rows, limits = [], []
    fixed = float(levers.group_persons @ levers.untouched)
    limit = _doses_a_person(asked, levers, today, weights)
    if limit is not None:
        spent = fixed / total
        what = f"budget_doses={asked.doses!r}" if asked.doses is not None else f"budget={limit:g}"
        least = float(weights @ np.minimum(lower, upper))
        if limit - spent < least - NEAR * max(1.0, limit):
            beside = f", and {spent:g} of it for the groups that no lever holds" if spent else ""
            raise ValueError(
                f"{what} is infeasible: within the bounds it must be at least {least + spent:g}{beside}"
            )
        rows.append(weights)
        limits.append(limit - spent)
    if asked.cost is not None:
        prices = np.array([product.cost for product in levers.products])
        if not prices.any():
            raise ValueError(f"budget_cost={asked.cost!r} needs products with a cost")
        money = number("budget_cost", asked.cost, least=0)
        cost = prices[levers.product] * levers.persons
        spent = fixed * float(prices[0])
        least = float(cost @ lower) + spent
        if money < least * (1 - NEAR):
            raise ValueError(
                f"budget_cost={money:g} is infeasible: within the bounds it must be at least {least:g}"
            )
        # A row of the size of shares, as solvers like it.
        rows.append(cost / cost.max())
        limits.append((money - spent) / float(cost.max()))
    for p, product in enumerate(levers.products):
        if np.isfinite(product.doses):
            rows.append(np.where(levers.product == p, levers.persons, 0.0) / total)
            limits.append((product.doses - (fixed if p == 0 else 0.0)) / total)
            if limits[-1] < 0:
                raise ValueError(
                    f"products: {product.name!r}: doses={product.doses:g} must be at least those of the "
                    f"groups that no lever holds, {fixed:g}"
                )
    for t in range(len(levers.targets)):
        together = levers.target == t
        if together.sum() > 1:  # nobody is vaccinated twice
            rows.append(together.astype(float))
            limits.append(1.0)
    constraint = LinearConstraint(np.array(rows), -np.inf, np.array(limits)) if rows else None
    return _space(levers.labels, "share vaccinated", lower, upper, constraint)


def _doses_a_person(asked: Asked, levers: Levers, today: Array | None, weights: Array) -> float | None:
    """The budget of doses a person; None where there is none."""
    persons = levers.group_persons
    if asked.doses is not None:
        if asked.budget not in (None, "default"):
            raise ValueError(
                f"budget={asked.budget!r} and budget_doses exclude each other; accepted: one of them"
            )
        doses = number("budget_doses", asked.doses, least=0)
        if doses > persons.sum() * (1 + NEAR):
            raise ValueError(
                f"budget_doses={asked.doses!r} must be at most the persons, {persons.sum():.0f}: "
                "one dose a person"
            )
        return float(doses / persons.sum())
    if asked.budget is None or asked.budget == "none":
        return None
    if isinstance(asked.budget, str) and asked.budget != "default":
        raise ValueError(f"budget={asked.budget!r} must be a number >= 0, 'default' or 'none'")
    if asked.budget != "default":
        limit = number("budget", asked.budget, least=0)
        if asked.weights is None and limit > 1 + NEAR:
            raise ValueError(
                f"budget={asked.budget!r} must be at most 1: one dose a person; 'none' lifts the budget"
            )
        return limit
    if asked.cost is not None:
        return None
    if today is None:
        raise ValueError(
            "budget is missing, and no current coverage says what is spent today; accepted: budget (doses a "
            "person), budget_doses, budget_cost, 'none', or a column current"
        )
    if levers.plain:
        return float(weights @ today)
    return float(persons @ today / persons.sum())


def treatment_space(asked: Asked, groups: tuple[str, ...], weights: Array) -> BoundedPolicySpace:
    """Removal rates whose weighted sum is the budget.

    Raises
    ------
    ValueError
        As `vaccination_space`; also a budget that the bounds cannot reach.
    """
    for name, value in {"budget_doses": asked.doses, "budget_cost": asked.cost}.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} has no meaning for intervention='treatment'; leave it out")
    lower, upper = _bounds(asked.bounds, groups, tables.TREATMENT_BOUNDS, most=np.inf)
    cost = per_group("budget_weights", asked.weights, groups, default=weights, least=0)
    constraint = None
    if isinstance(asked.budget, str) and asked.budget not in ("default", "none"):
        raise ValueError(f"budget={asked.budget!r} must be a number >= 0, 'default' or 'none'")
    if asked.budget is not None and asked.budget != "none":
        given = tables.TREATMENT_BUDGET if asked.budget == "default" else asked.budget
        limit = number("budget", given, least=0)
        least, greatest = float(cost @ np.minimum(lower, upper)), float(cost @ np.maximum(lower, upper))
        slack = NEAR * max(1.0, limit)
        if limit < least - slack or limit > greatest + slack:
            accepted = f"in {least:g}..{greatest:g}"
            raise ValueError(f"budget={limit:g} is infeasible: within the bounds it must be {accepted}")
        constraint = LinearConstraint(cost[None], limit, limit)
    return _space(groups, "removals per infected and day", lower, upper, constraint)


def _bounds(
    given: Any, labels: tuple[str, ...], usual: tuple[float, float], most: float
) -> tuple[Array, Array]:
    bounds = usual if given is None else given
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ValueError(f"bounds={bounds!r} must be a pair: lower and upper limits") from None
    return (
        per_group("bounds: lower limit", low, labels, least=0, most=most),
        per_group("bounds: upper limit", high, labels, least=0, most=most),
    )


def _space(
    labels: tuple[str, ...], unit: str, lower: Array, upper: Array, constraint: LinearConstraint | None
) -> BoundedPolicySpace:
    return BoundedPolicySpace(
        labels, (unit,) * len(labels), bounds=Bounds(lower, upper), constraint=constraint
    )
