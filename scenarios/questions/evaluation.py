"""What simulated policies come to: means, paired differences, and how certain a ranking is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.composition.outcome_limits import OutcomeLimits
from scenarios.questions.estimate import Estimate
from scenarios.results.intervals import UNLIMITED, mean_and_ends
from scenarios.study.levers import Entry

DRAWS = 10_000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluated:
    """What one policy does.

    Attributes
    ----------
    name : str
        As it was asked for.
    policy : dict
        Entries by label.
    objective : Estimate
    difference : Estimate
        The objective minus the first policy's, seed by seed.
    probability_best : float
        That its mean objective is the best of all, among those that keep the limits.
    probability_limits : float
        That its mean outcomes keep all limits; 1 without limits.
    groups, group_differences : dict of Estimate
        By group, the same.
    worlds : dict of Estimate
        Its objective by world, where there are several.
    failed : int
        Steps of it that failed.
    """

    name: str
    policy: dict[str, Entry]
    objective: Estimate
    difference: Estimate
    probability_best: float
    probability_limits: float
    groups: dict[str, Estimate]
    group_differences: dict[str, Estimate]
    worlds: dict[str, Estimate] = field(default_factory=dict)
    failed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Evaluation:
    """Policies, simulated side by side.

    Attributes
    ----------
    seeds, worlds
        On how many seeds, in which worlds.
    unit, sense, group_units
        Of the objective and of the groups' outcomes.
    policies : list of Evaluated
        In the order in which they were asked for.
    remarks : list of str
    """

    seeds: int
    worlds: list[str]
    unit: str
    sense: str
    group_units: dict[str, str]
    policies: list[Evaluated]
    remarks: list[str]

    @property
    def ranking(self) -> list[Evaluated]:
        """Best first: those that keep the limits, by their mean objective."""
        sign = 1.0 if self.sense == "maximize" else -1.0

        def place(one: Evaluated) -> tuple[bool, float]:
            return one.probability_limits < 0.5, -float(np.nan_to_num(sign * one.objective.mean, nan=-np.inf))

        return sorted(self.policies, key=place)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"ranking": [one.name for one in self.ranking]}


def mean_of(values: Array, within: tuple[float, float] = UNLIMITED) -> Estimate:
    """Mean with Student's interval, of the values that are there; it ends where noise-free values do."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Estimate(np.nan, np.nan, np.nan)
    return Estimate(*(float(np.clip(one, *within)) for one in mean_and_ends(known)))


def certainty(
    objective: Array, outcomes: Array, sign: float, limits: OutcomeLimits | None
) -> tuple[Array, Array]:
    """The probability to be best (P,), and that to keep the limits (P,), of objectives (P, S).

    By the Bayesian bootstrap over the seeds on which all policies have a result; nan without any. A policy
    that breaks a limit in a draw is not the best of it, unless all do.
    """
    P = len(objective)
    known = np.isfinite(objective).all(axis=0)
    if not known.any():
        return np.full(P, np.nan), np.full(P, np.nan)
    weights = np.random.default_rng(0).dirichlet(np.ones(int(known.sum())), DRAWS)
    means = sign * objective[:, known] @ weights.T  # (P, draws)
    keeps = np.ones_like(means, dtype=bool)
    if limits is not None:
        keeps = np.stack([limits.kept(weights @ outcomes[p][known]) for p in range(P)])
    worth = np.where(keeps | ~keeps.any(axis=0), means, -np.inf)
    leading = worth == worth.max(axis=0)
    best: Array = (leading / leading.sum(axis=0)).mean(axis=1)
    return best, keeps.mean(axis=1)
