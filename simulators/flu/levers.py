"""What the entries of a vaccination policy do: who gets which doses, and who is immune then.

Notation: `x` a policy of d entries, `j` one of J groups. A target is what is decided as one: a group, or
several tied together. An entry is a product for a target: the share of the target's persons who get a dose of
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policyloop.messages import did_you_mean, unknown_name
from simulators.arrays import Array
from simulators.contract.validation import number, per_group

PRODUCT_KEYS = ("name", "efficacy", "cost", "only", "doses")


@dataclass(frozen=True, eq=False)
class Product:
    """A vaccine.

    Attributes
    ----------
    name : str
    efficacy : (J,) array
        Share of those who get it who become immune.
    cost : float
        Of a dose, in the currency of the illness's costs.
    only : tuple of str or None
        The groups, or levers, that may get it; None: all.
    doses : float
        As many are there, in persons; infinite where nobody says.
    """

    name: str
    efficacy: Array
    cost: float = 0.0
    only: tuple[str, ...] | None = None
    doses: float = np.inf


class Levers:
    """The entries of a policy, and what they do.

    Parameters
    ----------
    groups : sequence of str
        J names.
    persons : (J,) array
    products : sequence of Product
    targets : mapping of str to sequence of str, optional
        Groups tied together, by the name of their lever; by default every group is a lever of its own.
    today : (J,) array, optional
        Coverage of the groups that no lever holds; 0 unless given. They get the first product.
    named : bool, default False
        Whether labels name the product.

    Raises
    ------
    ValueError
        A lever of no group, of an unknown one, or of one that another lever has; a product for nobody.

    Attributes
    ----------
    labels : tuple of str
        One a lever, d of them.
    coverage, immunity : (J, d) array
        What a unit of an entry adds to a group's coverage, and to its immune share.
    untouched, untouched_immunity : (J,) array
        Coverage and immune share of groups that no lever holds; 0 elsewhere.
    persons : (d,) array
        Whom an entry could give a dose.
    product, target : (d,) array of int
        Of an entry, counted from 0.
    """

    def __init__(
        self,
        groups: Sequence[str],
        persons: Array,
        products: Sequence[Product],
        targets: Mapping[str, Sequence[str]] | None = None,
        today: Array | None = None,
        named: bool = False,
    ) -> None:
        self.groups: tuple[str, ...]
        self.named: bool
        self.products: tuple[Product, ...]
        self.groups, self.products, self.named = tuple(groups), tuple(products), named
        self.targets: dict[str, list[int]] = _targets(targets, self.groups)
        self.plain: bool = targets is None and not named
        self.group_persons = persons
        entries = [
            (p, t) for p, product in enumerate(products) for t in _allowed(product, self.targets, self.groups)
        ]
        names = list(self.targets)
        self.labels: tuple[str, ...] = tuple(
            f"{products[p].name}: {names[t]}" if named else names[t] for p, t in entries
        )
        self.product = np.array([p for p, _ in entries])
        self.target = np.array([t for _, t in entries])
        J, d = len(self.groups), len(entries)
        self.coverage: Array
        self.immunity: Array
        self.coverage, self.immunity = np.zeros((2, J, d))
        for i, (p, t) in enumerate(entries):
            held = list(self.targets.values())[t]
            self.coverage[held, i] = 1.0
            self.immunity[held, i] = products[p].efficacy[held]
        self.persons: Array = persons @ self.coverage
        held_at_all = [j for held in self.targets.values() for j in held]
        self.untouched: Array = np.zeros(J) if today is None else np.array(today)
        self.untouched[held_at_all] = 0.0
        self.untouched_immunity: Array = self.untouched * products[0].efficacy

    def immune(self, x: Array) -> Array:
        """The immune shares (J, n) under policies (d, n), each column computed in the same order."""
        if self.plain:
            share: Array = self.products[0].efficacy[:, None] * x
            return share
        return self.untouched_immunity[:, None] + _weighted(self.immunity, x)

    def covered(self, x: Array) -> Array:
        """The coverage (J, n) under policies (d, n)."""
        return self.untouched[:, None] + _weighted(self.coverage, x)

    def dose_costs(self, x: Array) -> Array:
        """What the doses of each group cost, (J, n), under policies (d, n)."""
        cost = np.array([product.cost for product in self.products])
        by_entry = self.coverage * cost[self.product]
        costs: Array = (self.untouched * cost[0])[:, None] + _weighted(by_entry, x)
        costs *= self.group_persons[:, None]
        return costs

    def doses_by_product(self, x: Array) -> dict[str, float]:
        """Doses of each product, in persons, under a policy (d,)."""
        given = {
            product.name: float(self.persons[self.product == p] @ x[self.product == p])
            for p, product in enumerate(self.products)
        }
        given[self.products[0].name] += float(self.group_persons @ self.untouched)
        return given

    def policy_of(self, coverage: Array) -> Array:
        """The policy (d,) of coverages (J,): as many doses a target, of the first product it may get."""
        x = np.zeros(len(self.labels))
        for t, held in enumerate(self.targets.values()):
            persons = self.group_persons[held]
            first = int(np.flatnonzero(self.target == t)[0])
            # The mean of equal shares is that share, to the last bit.
            same = len(set(coverage[held].tolist())) == 1
            x[first] = coverage[held][0] if same else coverage[held] @ persons / persons.sum()
        return x


def _weighted(matrix: Array, x: Array) -> Array:
    """A (J, d) matrix times policies (d, n), summed in one order however many policies there are."""
    total = np.zeros((len(matrix), x.shape[1]))
    for i in range(len(x)):
        total += matrix[:, i, None] * x[i]
    return total


def _targets(given: Any, groups: tuple[str, ...]) -> dict[str, list[int]]:
    if given is None:
        return {group: [j] for j, group in enumerate(groups)}
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"levers={given!r} must be a table of levers, each a list of groups")
    found: dict[str, list[int]] = {}
    taken: dict[str, str] = {}
    for lever, names in given.items():
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) for n in names):
            raise ValueError(f"levers: {lever!r} = {names!r} must be a list of groups, one at least")
        for name in names:
            if name not in groups:
                raise ValueError(f"levers: {lever!r}: {unknown_name('group', name, groups)}")
            if name in taken:
                where = "twice" if taken[name] == lever else f"in {taken[name]!r} already"
                raise ValueError(
                    f"levers: {lever!r} has the group {name!r} {where}; accepted: one lever each"
                )
            taken[name] = lever
        found[lever] = [groups.index(name) for name in names]
    return found


def _allowed(product: Product, targets: Mapping[str, list[int]], groups: tuple[str, ...]) -> list[int]:
    """The targets, counted from 0, that may get a product."""
    if product.only is None:
        return list(range(len(targets)))
    for name in product.only:
        if name not in groups and name not in targets:
            known = [*targets, *(group for group in groups if group not in targets)]
            raise ValueError(
                f"products: {product.name!r}: only: {unknown_name('group or lever', name, known)}"
            )
    allowed = []
    for t, (target, held) in enumerate(targets.items()):
        inside = [groups[j] in product.only for j in held]
        if target in product.only or all(inside):
            allowed.append(t)
        elif any(inside):
            raise ValueError(
                f"products: {product.name!r}: only has some groups of the lever {target!r}; accepted: all of "
                "them, or none"
            )
    if not allowed:
        raise ValueError(
            f"products: {product.name!r} may go to no group that a lever holds: only={list(product.only)}"
        )
    return allowed


def products_of(given: Any, groups: Sequence[str], efficacy: Array) -> list[Product]:
    """The products of an option; one that everybody may get, of an efficacy (J,), where there is none.

    Raises
    ------
    ValueError
        What is no product, an unknown key, or a name twice.
    """
    if given is None:
        return [Product("vaccine", efficacy)]
    if isinstance(given, Mapping | str) or not isinstance(given, Sequence) or not given:
        raise ValueError(f"products={given!r} must be a list of tables, each with a name")
    found: list[Product] = []
    for entry in given:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise ValueError(f"products: {entry!r} must be a table with a name")
        name = entry["name"]
        for key in entry:
            if key not in PRODUCT_KEYS:
                hint = did_you_mean(key, PRODUCT_KEYS)
                raise ValueError(
                    f"products: {name!r}: unknown key {key!r}{hint} (accepted: {', '.join(PRODUCT_KEYS)})"
                )
        if name in (one.name for one in found):
            raise ValueError(f"products: {name!r} is there twice; accepted: names that differ")
        only = entry.get("only")
        if only is not None and (isinstance(only, str) or not isinstance(only, Sequence) or not only):
            raise ValueError(
                f"products: {name!r} may go to no group: only={only!r}; accepted: a list of groups"
            )
        what = f"products: {name!r}:"
        found.append(
            Product(
                name,
                per_group(
                    f"{what} efficacy", entry.get("efficacy"), groups, default=efficacy, least=0, most=1
                ),
                number(f"{what} cost", entry.get("cost", 0.0), least=0),
                None if only is None else tuple(only),
                number(f"{what} doses", entry["doses"], least=0) if "doses" in entry else np.inf,
            )
        )
    return found


def efficacies_told(given: Any) -> tuple[str, ...]:
    """("efficacy",) where every product of an option tells its own; empty elsewhere."""
    each = given if isinstance(given, list | tuple) else ()
    return (
        ("efficacy",) if each and all(isinstance(one, Mapping) and "efficacy" in one for one in each) else ()
    )
