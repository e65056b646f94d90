"""Several worlds that differ in what is uncertain, as one: each group of each is a group of its own.

Because agents model every group of every member, they learn policies that are good on average, in the worst
world, or in the worst share of worlds, and a round may run one member only: what it did not run is missing,
and teaches nothing wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bridges.feedback import constant_terms, is_general
from optimizer.arrays import Array, Rows
from optimizer.composition.ready import CVaR, ReadyComposition, WorstGroup
from policyloop.messages import failure
from simulators.contract.environment import Environment, Outcomes, SimulationError
from simulators.contract.policy_space import PolicySpace
from simulators.contract.registry import make
from simulators.contract.seeds import as_sequence
from simulators.contract.validation import expected_ranges, number, outcome_ranges, whole

DISTRIBUTIONS = ("uniform", "normal", "lognormal")
MOST = 100
"""Members, at most."""
OBJECTIVES = '"mean", "worst" or "cvar:LEVEL", such as "cvar:0.9"'


class EnsembleEnvironment(Environment):
    """Several worlds at once: one environment, with other values of some options in each.

    Parameters
    ----------
    of : str
        The environment's name, or a target.
    vary : mapping of str to list, or to a distribution
        The options in which members differ. Lists of values: a member for every combination. Or
        distributions, sampled once: `{"uniform": (low, high)}`, `{"normal": (mean, deviation)}`,
        `{"lognormal": (mu, sigma)}`.
    options : mapping, optional
        What all members share.
    objective : {"mean", "worst", "cvar:LEVEL"}, default "mean"
        Of the members' objectives: the weighted mean, the worst, or the mean over the worst share 1 - LEVEL.
    weights : sequence of M floats, optional
        Of the members in the mean; equal unless given.
    pick : {"all", "one"}, default "all"
        Whether a round runs all members, or the one that teaches an agent most for its cost. An agent with
        aggregate feedback needs all, and pays for all.
    costs : sequence of M floats, optional
        Of running a member; equal unless given.
    members : int, default 5
        How many are sampled, where `vary` has distributions.
    draw_seed : int, default 0
        Of that sample.
    seed : int, optional
        Passed to all members, where a world is drawn.

    Raises
    ------
    ValueError
        Whatever of these is impossible, by its name; members with other levers or groups; members that have
        memory or live.
    """

    name = "ensemble"

    def __init__(
        self,
        of: str,
        vary: Mapping[str, Any],
        *,
        options: Mapping[str, Any] | None = None,
        objective: str = "mean",
        weights: Sequence[float] | None = None,
        pick: str = "all",
        costs: Sequence[float] | None = None,
        members: int = 5,
        draw_seed: int = 0,
        seed: int | None = None,
    ) -> None:
        if pick not in ("all", "one"):
            raise ValueError(f'pick={pick!r}; accepted: "all" or "one"')
        drawn = {} if seed is None else {"seed": seed}
        variants = worlds(vary, members, draw_seed)
        self.members: list[Environment] = [
            make(of, **{**(options or {}), **drawn, **changes}) for changes in variants
        ]
        self.names: list[str] = [
            ", ".join(f"{key}={_shown(value)}" for key, value in one.items()) for one in variants
        ]
        first, M = self.members[0], len(self.members)
        for one, name in zip(self.members, self.names, strict=True):
            if one.has_memory or one.lives:
                raise ValueError(f"member {name}: worlds with a memory, or that live, cannot be run together")
            if one.groups != first.groups or one.policy_space.labels != first.policy_space.labels:
                raise ValueError(
                    f"member {name}: its groups or levers are others than those of {self.names[0]}"
                )
        self.weights_of_members: Array = _shares("weights", weights, M)
        self.costs: Array = np.ones(M) if costs is None else _positive("costs", costs, M)
        self.over: ReadyComposition | None = _objective(objective, first.sense)
        if self.over is not None and weights is not None:
            raise ValueError("weights are of the mean, and not of the worst members")
        self.pick = pick
        self.groups: tuple[str, ...] = tuple(
            f"{name}: {group}" for name in self.names for group in first.groups
        )
        self.group_units: tuple[str, ...] = first.group_units * M
        self.objective_unit: str
        self.objective_unit, self.sense = first.objective_unit, first.sense
        self.policy_space: PolicySpace = first.policy_space
        self.current_policy: Array | None = first.current_policy
        self.current_policy_label: str = first.current_policy_label
        self.info_units: Mapping[str, str] = first.info_units
        self.outcome_range: Any = _ranges([one.outcome_range for one in self.members], first.groups)
        self.expected_range: Any = _ranges([expected_ranges(one) for one in self.members], first.groups)
        persons = [one.group_persons for one in self.members]
        if all(one is not None for one in persons):
            self.group_persons: Array = np.concatenate([np.asarray(one, dtype=float) for one in persons])
        self.findings: tuple[str, ...] = tuple(
            dict.fromkeys(said for one in self.members for said in one.findings)
        )
        self._linear = not any(is_general(one) for one in self.members)

    @property
    def J(self) -> int:
        """Groups of one member."""
        return len(self.members[0].groups)

    @property
    def blocks(self) -> list[tuple[Rows, float]] | None:
        """The groups of each member, and its cost, where a round runs one of them."""
        if self.pick == "all":
            return None
        return [(np.arange(m * self.J, (m + 1) * self.J), float(c)) for m, c in enumerate(self.costs)]

    @property
    def groups_of_members(self) -> list[list[int]]:
        """The groups of each member."""
        return [list(range(m * self.J, (m + 1) * self.J)) for m in range(len(self.members))]

    @property
    def constant_terms(self) -> tuple[Array, float] | None:
        """Weights (M J,) and offset of the mean, where those of all members are constants."""
        terms = [constant_terms(one) for one in self.members]
        if self.over is not None or any(one is None for one in terms):
            return None
        known = [one for one in terms if one is not None]
        pairs = list(zip(self.weights_of_members.tolist(), known, strict=True))
        return np.concatenate([w * weights for w, (weights, _) in pairs]), sum(w * c for w, (_, c) in pairs)

    def reset(self, seed: Any = None) -> None:
        """Restart the noise of all members alike."""
        for one in self.members:
            one.reset(seed)

    def step(self, policy: Any) -> Outcomes:
        """A step of every member; see `step_groups`."""
        return self.step_groups(policy, range(len(self.groups)))

    def step_groups(self, policy: Any, groups: Sequence[int]) -> Outcomes:
        """A step of the members of these groups. The groups of others, and of members that fail, are nan.

        SimulationError where all fail.
        """
        policy = self.policy_space.check(policy)
        seen, errors = [], []
        for m in sorted({int(group) // self.J for group in groups}):
            try:
                seen.append(self._placed(m, self.members[m].step(policy)))
            except KeyboardInterrupt:
                raise
            except Exception as error:
                errors.append(f"{self.names[m]}: {failure(error)}")
        if not seen:
            raise SimulationError("; ".join(errors), policy)
        return self.together(seen)

    def _placed(self, m: int, seen: Outcomes) -> Outcomes:
        """The outcomes of one member among those of all, which are nan."""
        part = slice(m * self.J, (m + 1) * self.J)
        values = np.full(len(self.groups), np.nan)
        values[part] = np.asarray(seen.values, dtype=float)
        noise = None
        if seen.noise_variance is not None:
            stated = np.asarray(seen.noise_variance, dtype=float)
            noise = np.full((len(values),) * stated.ndim, np.nan)
            noise[(part,) * stated.ndim] = stated
        return Outcomes(values, noise, {self.names[m]: seen.info} if seen.info else {})

    def together(self, parts: Sequence[Outcomes]) -> Outcomes:
        """The outcomes of several members, each nan where it is another's, as one step's.

        The noise of different members is independent.
        """
        J, info = len(self.groups), dict[str, Any]()
        values, noise, covariance, joint = np.full(J, np.nan), np.full(J, np.nan), np.zeros((J, J)), False
        for one in parts:
            seen = np.asarray(one.values, dtype=float)
            values = np.where(np.isnan(seen), values, seen)
            info |= dict(one.info or {})
            if one.noise_variance is not None:
                stated = np.asarray(one.noise_variance, dtype=float)
                joint |= stated.ndim == 2
                own = np.diag(stated) if stated.ndim == 2 else stated
                noise = np.where(np.isnan(own), noise, own)
                mine = np.ix_(np.isfinite(own), np.isfinite(own))
                covariance[mine] = (stated if stated.ndim == 2 else np.diag(stated))[mine]
        if np.isnan(noise).all():
            return Outcomes(values, None, info)
        return Outcomes(values, covariance if joint and not np.isnan(values).any() else noise, info)

    def expected(self, policies: ArrayLike) -> Array:
        """The noise-free outcomes of all members (n, M J)."""
        return np.concatenate([one.expected(policies) for one in self.members], axis=1)

    def by_member(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The objectives of the members (..., M) of outcomes (..., M J)."""
        values = np.asarray(outcomes, dtype=float)
        parts = (values[..., m * self.J : (m + 1) * self.J] for m in range(len(self.members)))
        pairs = zip(self.members, parts, strict=True)
        return np.stack([one.compose(part, policies) for one, part in pairs], axis=-1)

    def compose(self, outcomes: ArrayLike, policies: ArrayLike) -> Array:
        """The objective of the members' objectives."""
        each = self.by_member(outcomes, policies)
        total: Array = each @ self.weights_of_members if self.over is None else self.over(each)
        return total

    def weights(self, policies: ArrayLike) -> Array | None:
        """Weights (n, M J) of the mean of linear objectives; None of the others."""
        if self.over is not None or not self._linear:
            return None
        found = [one.weights(policies) for one in self.members]
        pairs = zip(self.weights_of_members.tolist(), found, strict=True)
        return np.concatenate([w * np.asarray(one, dtype=float) for w, one in pairs], axis=1)

    @property
    def gradient(self) -> Any:
        """Slopes of the worst, or of CVaR, where the members' objectives are linear; None elsewhere."""
        return self._slopes if self.over is not None and self._linear else None

    def _slopes(self, outcomes: Array, policies: ArrayLike) -> Array:
        assert self.over is not None
        outer = self.over.slopes(self.by_member(outcomes, policies))  # (..., M)
        shape = outcomes.shape[:-1]
        space = self.policy_space
        rows = np.reshape(policies, (-1,) if space.finite else (-1, space.d))
        inner = np.stack([np.asarray(one.weights(rows)) for one in self.members], axis=1)  # (n, M, J)
        inner = inner.reshape(*shape, len(self.members), self.J)
        slopes: Array = (outer[..., None] * inner).reshape(*shape, -1)
        return slopes


def worlds(vary: Mapping[str, Any], members: int, seed: int) -> list[dict[str, Any]]:
    """The options of every member, from lists of values or from distributions."""
    if not isinstance(vary, Mapping) or not vary:
        raise ValueError("vary: accepted: options of the environment, each with a list of values")
    listed = {key: value for key, value in vary.items() if not isinstance(value, Mapping)}
    drawn = {key: value for key, value in vary.items() if isinstance(value, Mapping)}
    if listed and drawn:
        raise ValueError("vary has lists and distributions; accepted: only lists, or only distributions")
    for key, values in listed.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"vary: {key} = {values!r}; accepted: a list of values, or a distribution")
    if listed:
        count = int(np.prod([len(values) for values in listed.values()]))
        if count > MOST:
            raise ValueError(f"vary makes {count} members; accepted: {MOST} at most")
        return [dict(zip(listed, chosen, strict=True)) for chosen in itertools.product(*listed.values())]
    count = whole("members", members)
    if count > MOST:
        raise ValueError(f"members={count}; accepted: {MOST} at most")
    rng = np.random.default_rng(as_sequence(seed))
    columns = {key: _sampled(key, value, count, rng) for key, value in sorted(drawn.items())}
    return [{key: column[i] for key, column in columns.items()} for i in range(count)]


def _sampled(key: str, given: Mapping[str, Any], count: int, rng: np.random.Generator) -> list[float]:
    names = [name for name in given if name in DISTRIBUTIONS]
    if len(names) != 1 or len(given) != 1 or np.shape(given[names[0]]) != (2,):
        raise ValueError(
            f"vary: {key} = {dict(given)}; accepted: {{ uniform = [low, high] }}, "
            "{ normal = [mean, deviation] } or { lognormal = [mu, sigma] }"
        )
    a, b = (number(f"vary: {key}", one) for one in given[names[0]])
    if names[0] == "uniform":
        if not a < b:
            raise ValueError(f"vary: {key}: uniform = [{a:g}, {b:g}] needs low < high")
        return [float(x) for x in rng.uniform(a, b, count)]
    if b < 0:
        raise ValueError(f"vary: {key}: {names[0]} needs a deviation of 0 or more, not {b:g}")
    return [float(x) for x in getattr(rng, names[0])(a, b, count)]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _positive(name: str, given: Sequence[float], M: int) -> Array:
    if isinstance(given, str) or np.shape(given) != (M,):
        raise ValueError(f"{name}={given!r}; accepted: {M} numbers, one a member")
    values = np.array([number(name, one) for one in given])
    if not (values > 0).all():
        raise ValueError(f"{name}={given!r}; accepted: numbers above 0")
    return values


def _shares(name: str, given: Sequence[float] | None, M: int) -> Array:
    values = np.ones(M) if given is None else _positive(name, given, M)
    shares: Array = values / values.sum()
    return shares


def _ranges(of_members: Sequence[Any], groups: Sequence[str]) -> Any:
    """The ranges of all members' outcomes, (M J, 2); None where no member has any."""
    if all(one is None for one in of_members):
        return None
    found = [outcome_ranges((-np.inf, np.inf) if one is None else one, groups) for one in of_members]
    return np.concatenate([one for one in found if one is not None])


def _objective(text: str, sense: Any) -> ReadyComposition | None:
    """What is made of the members' objectives; None for the mean."""
    name, _, level = str(text).partition(":")
    if text == "mean":
        return None
    if text == "worst":
        return WorstGroup(sense)
    if name == "cvar" and level:
        try:
            return CVaR(sense, float(level))
        except ValueError as error:
            raise ValueError(f"objective={text!r}: {error}") from None
    raise ValueError(f"objective={text!r}; accepted: {OBJECTIVES}")
