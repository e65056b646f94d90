"""What rounds cost, where a simulator says so (`info["cost"]`), and what agents do for the same cost.

The regret for a cost C is the mean over its units, each charged with the regret of the round that it was
spent on, as with a capital in place of rounds (Kandasamy et al. 2016, multi-fidelity bandits). Where every
round costs the same it is the average regret.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scenarios.errors import UserError
from scenarios.study.study import Study

COST = "cost"
"""The entry of a step's info, and of the environment's `info_units`."""

SAME = 1e-9
"""How much more regret is no more, as a share of the larger one."""

Array = NDArray[np.float64]


class Spent(NamedTuple):
    """What an agent has spent in its complete trials, and for what; each by trial.

    Attributes
    ----------
    cost : Series
        In all.
    regret : Series
        The regret for equal cost: what the agent that spent least in the trial has spent; nan where regret is
        unknown.
    to_equal : Series
        What was spent until a policy was tried as good as the best that the reference tried; all of it, where
        none was.
    """

    cost: pd.Series
    regret: pd.Series
    to_equal: pd.Series


def spent(study: Study, reference: str) -> dict[str, Spent] | None:
    """What the agents have spent, by label; None where no costs are stored."""
    costs = _stored(study)
    if not costs:
        return None
    frame, rounds = study.to_dataframe(), study.scenario.rounds
    keys = zip(frame["trial"], frame["agent"], frame["round"], strict=True)
    frame["cost"] = [costs.get(key, 0.0) for key in keys]
    trials: dict[str, dict[int, tuple[Array, Array]]] = {label: {} for label in study.scenario.labels}
    for (label, trial), own in frame.groupby(["agent", "trial"]):
        if len(own) >= rounds:
            trials[str(label)][int(str(trial))] = own["cost"].to_numpy(float), own["regret"].to_numpy(float)
    least: dict[int, float] = {}
    for found in trials.values():
        for trial, (cost, _) in found.items():
            least[trial] = min(least.get(trial, math.inf), float(cost.sum()))
    goals = {trial: float(regret.min()) for trial, (_, regret) in trials[reference].items()}
    return {
        label: Spent(
            _by_trial({trial: float(cost.sum()) for trial, (cost, _) in found.items()}),
            _by_trial({trial: regret_for(least[trial], *one) for trial, one in found.items()}),
            _by_trial({t: cost_to(goals[t], *one) for t, one in found.items() if t in goals}),
        )
        for label, found in trials.items()
    }


def regret_for(whole: float, cost: Array, regret: Array) -> float:
    """The mean regret (T,) over the first units of cost (T,), so many as a `whole`; nan where unknown."""
    after = np.cumsum(cost)
    share = np.clip(np.minimum(after, whole) - (after - cost), 0.0, None)
    return float(share @ regret / share.sum()) if share.sum() > 0 else math.nan


def cost_to(goal: float, cost: Array, regret: Array) -> float:
    """What was spent until the regret (T,) of a round was no more than a goal; all, where it never was."""
    if math.isnan(goal):
        return math.nan
    reached = np.flatnonzero(regret <= goal + SAME * max(abs(goal), 1.0))
    return float(cost[: reached[0] + 1].sum() if len(reached) else cost.sum())


def _stored(study: Study) -> dict[tuple[int, str, int], float]:
    """The costs of rounds; none where the study kept none, or is damaged."""
    if COST not in (study.environment.info_units or {}):
        return {}
    try:
        details = study.details("info")
    except UserError:
        return {}
    found = {}
    for one in details:
        cost = one.value.get(COST) if isinstance(one.value, dict) else None
        if isinstance(cost, int | float) and math.isfinite(cost) and cost >= 0:
            found[one.trial, one.agent, one.round] = float(cost)
    return found


def _by_trial(values: dict[int, float]) -> pd.Series:
    return pd.Series(values, dtype=float)
