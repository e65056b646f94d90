"""The levers of a declared policy, some of them of groups, and what a model gets of a policy.

`"name[*]"` is one lever for every group, `name[a]`, `name[b]`, ..; `"name[a, b]"` is one lever that sets two
entries of the model alike, `name[a]` and `name[b]`. Beside it, `"name[*]"` stands for the groups that are not
named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint

from optimizer.arrays import Array
from policyloop.messages import unknown_name
from simulators.contract.levers import Lever, OneOf, Real, as_lever
from simulators.contract.policy_space import PolicySpace
from simulators.contract.validation import number

Policy = Mapping[str, Any] | PolicySpace
Entry = float | int | str
"""What a model gets of a lever: a real number, a whole one, or a category's name."""

OF_GROUPS = re.compile(r"(.*\S)\s*\[(.*)\]\s*", re.DOTALL)
ALL = "*"


class Label(NamedTuple):
    """One lever's label.

    Attributes
    ----------
    text : str
        As the policy space has it.
    name : str
        Without the groups.
    groups : tuple of int
        Which groups it sets, by their places; empty of a lever that is not of groups.
    """

    text: str
    name: str
    groups: tuple[int, ...] = ()


class Levers:
    """A declared policy: its space, and the entries that a model gets of it.

    Parameters
    ----------
    policy : mapping, or PolicySpace
        `{label: lever}` as `simulators.contract.levers.as_lever` spells levers; labels may be of groups.
    groups : sequence of str
        The names that may stand in brackets.
    budget : float, optional
        What the sum of the model's numeric entries must not exceed.

    Attributes
    ----------
    space : PolicySpace
        One entry a lever.
    labels : tuple of str
        Of the model's entries: in the order of the levers, those of one name together, by group; so they are
        the same whatever is tied.

    Raises
    ------
    ValueError
        What cannot be a lever, an unknown group, one that is set twice, or a budget that nothing counts for.
    """

    def __init__(self, policy: Policy, groups: Sequence[str], budget: float | None = None) -> None:
        if isinstance(policy, PolicySpace):
            if budget is not None:
                raise ValueError("budget: a PolicySpace has a constraint of its own")
            self.space: PolicySpace = policy
            self.labels: tuple[str, ...]
            self.labels, self._lever = policy.labels, tuple(range(policy.d))
            return
        if not isinstance(policy, Mapping) or not policy:
            raise ValueError(f"policy={policy!r} must be a table {{label: lever}}, or a PolicySpace")
        labels, levers = [], []
        for given, meant in _labels(policy, groups).items():
            labels += meant
            levers += [as_lever(given, policy[given])] * len(meant)
        limit = None if budget is None else _budget(budget, labels, levers)
        texts = [label.text for label in labels]
        self.space = PolicySpace(texts, [""] * len(texts), levers=levers, constraint=limit)
        names = [label.name for label in labels]
        entries = [
            (names.index(label.name), j, f"{label.name}[{groups[j]}]" if label.groups else label.text, i)
            for i, label in enumerate(labels)
            for j in label.groups or (0,)
        ]
        entries.sort(key=lambda entry: entry[:2])
        self.labels = tuple(entry[2] for entry in entries)
        self._lever = tuple(entry[3] for entry in entries)

    @property
    def by_entry(self) -> dict[str, Lever]:
        """What each entry of the model is, by its label."""
        return {label: self.space.levers[i] for label, i in zip(self.labels, self._lever, strict=True)}

    def entries(self, policy: Any) -> dict[str, Entry]:
        """What a model gets of a policy, or a candidate row: floats, ints and names by label.

        Raises
        ------
        ValueError
            A whole number that is not whole, or a category that there is none: nothing is rounded.
        """
        x = self.space.resolve(np.asarray([policy]))[0].tolist()
        levers = zip(self.space.labels, self.space.levers, x, strict=True)
        values = [_value(label, lever, entry) for label, lever, entry in levers]
        return {label: values[i] for label, i in zip(self.labels, self._lever, strict=True)}

    def in_order(self, entries: Mapping[str, Entry]) -> Array | list[Entry]:
        """Entries without labels: an array of floats where all levers are real, else a list."""
        values = list(entries.values())
        if all(isinstance(lever, Real) for lever in self.space.levers):
            return np.array(values, dtype=float)
        return values


def shown(entries: Mapping[str, Entry], seed: int) -> str:
    """What a model was asked with, in words."""
    texts = {key: f"{x:.12g}" if isinstance(x, float) else str(x) for key, x in entries.items()}
    return ", ".join(f"{label}={text}" for label, text in texts.items()) + f" and seed {seed}"


def refuse_whole(labels: Any, policy: Any) -> None:
    """Raise ValueError that says how whole numbers, once the option `whole`, are declared now."""
    known = policy if isinstance(policy, Mapping) else {}
    names = [labels] if isinstance(labels, str) else list(labels)
    now = []
    for label in names or ["n"]:
        pair = known.get(label, (0, 5))
        limits = list(pair) if not isinstance(pair, str) and np.shape(pair) == (2,) else [0, 5]
        key = label if re.fullmatch(r"[\w-]+", str(label), re.ASCII) else json.dumps(label)
        now.append(f"{key} = {{ whole = {limits} }}")
    raise ValueError(f"whole={labels!r} is no option; now it is written policy = {{ {', '.join(now)} }}")


def _value(label: str, lever: Lever, x: float) -> Entry:
    if isinstance(lever, Real):
        return x
    near = round(x) if np.isfinite(x) else 0
    if abs(x - near) > 1e-9 * max(1.0, abs(x)) or (isinstance(lever, OneOf) and not 0 <= near <= lever.high):
        accepted = f"one of {', '.join(lever.names)}" if isinstance(lever, OneOf) else "whole numbers"
        raise ValueError(f"policy entry {label!r} is {x:.12g}; accepted: {accepted}")
    return lever.value(near)


def _labels(policy: Mapping[str, Any], groups: Sequence[str]) -> dict[str, list[Label]]:
    """The labels that each declared one stands for."""
    named: dict[str, list[int]] = {}
    found: dict[str, list[Label]] = {}
    rest: dict[str, str] = {}
    for given in policy:
        if not isinstance(given, str):
            raise ValueError(f"policy: the label {given!r} must be a text")
        of_groups = OF_GROUPS.fullmatch(given)
        if of_groups is None:
            found[given] = [Label(given, given)]
            continue
        name, inside = of_groups[1], of_groups[2].strip()
        found[given] = []
        if inside == ALL:
            if name in rest.values():
                raise ValueError(f"policy: {given!r} is there twice")
            rest[given] = name
            continue
        members = [inside] if inside in groups else [group.strip() for group in inside.split(",")]
        for group in members:
            if group not in groups:
                raise ValueError(f"policy: {given!r}: {unknown_name('group', group, (*groups, ALL))}")
            if groups.index(group) in named.setdefault(name, []):
                raise ValueError(f"policy: {given!r} sets {name!r} of {group!r}, which has been set before")
            named[name].append(groups.index(group))
        found[given] = [Label(f"{name}[{', '.join(members)}]", name, tuple(named[name][-len(members) :]))]
    for given, name in rest.items():
        left = [j for j in range(len(groups)) if j not in named.get(name, [])]
        if not left:
            raise ValueError(f"policy: {given!r} stands for no group: each has a lever of its own")
        found[given] = [Label(f"{name}[{groups[j]}]", name, (j,)) for j in left]
    return found


def _budget(budget: float, labels: Sequence[Label], levers: Sequence[Lever]) -> LinearConstraint:
    """A limit on the sum of the model's numeric entries."""
    sized = [not isinstance(lever, OneOf) for lever in levers]
    if not any(sized):
        raise ValueError(f"budget={budget!r}: all levers are categories, which have no size")
    counts = [max(1, len(label.groups)) * size for label, size in zip(labels, sized, strict=True)]
    return LinearConstraint(np.array([counts], dtype=float), -np.inf, number("budget", budget))
