"""Compares the agents of a study over its trials: means, paired differences, gains, with 95 % intervals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from policyloop.messages import unknown_name
from scenarios.errors import UserError
from scenarios.results.costs import Spent, spent
from scenarios.results.hypervolume import hypervolumes
from scenarios.results.intervals import (
    POSITIVE,
    SHARE,
    UNLIMITED,
    Interval,
    gain_interval,
    holm,
    mean_and_ends,
    mean_interval,
    nothing,
    paired_p_value,
)
from scenarios.results.limits import known_limits
from scenarios.results.outliers import outliers
from scenarios.study.records import NOTHING, Advice, Numbers, StoredRound
from scenarios.study.study import Study

REFERENCE = "gp-ucb"  # whom the others are compared with unless another is named
ALL_OF_IT = 100.0  # percent: no agent has less regret than none


def compare(study: Study, reference: str | None = None) -> dict[str, dict[str, Any]]:
    """Compare the agents of a study.

    Parameters
    ----------
    study : Study
    reference : str, optional
        The label of the agent that the others are compared with; the first GP-UCB unless given, and without
        one the first agent.

    Returns
    -------
    dict
        For each agent's label, first these, each `{mean, low, high}` in the objective's unit: of its
        trials `cumulative_regret`, `average_regret` (a round), `simple_regret` (of the recommended policy),
        `cumulative_objective` (observed, in place of the regret where that is unknown, else None),
        `simulated_again` (objective of the recommended policy, the mean over held-out seeds; None where
        regret is known), `hypervolume` (what its policies dominate of several objectives, else None),
        `rounds_that_break_a_limit` (a share, None without limits) and `seconds_a_round` (of the agent);
        paired with the reference's, `difference` (of the cumulative regret or objective, or of the
        hypervolume), `simple_regret_difference`, `simulated_again_difference` and `gain_percent`, that
        difference signed so that more is better, over the reference's mean. `gain_over_gp_ucb_percent` and
        `difference_from_gp_ucb` (of the objective) are the same while GP-UCB is the reference, else None.
        Then `reference` (a label), `p_value` of the difference and `p_value_holm`, corrected for as many
        agents as are compared with it; where rounds state their cost, `cost`, `regret_at_equal_cost` and
        `cost_to_equal_regret` (`scenarios.results.costs.Spent`), paired with the reference's
        `regret_at_equal_cost_difference` and `cost_saved_percent`, else None; `trials` (complete ones, on
        which all rests), `failed_rounds`, `recommendation` (see there) and `outliers`, the observations
        beyond four standard deviations of what the agent had predicted (`scenarios.results.outliers`). Low,
        high and p-values are None with fewer than `scenarios.results.intervals.FEWEST` trials, and everything
        where it is unknown.

    Raises
    ------
    UserError
        There is no such reference; names the agents there are.
    """
    frame, facts = study.to_dataframe(), study.environment
    rounds = study.scenario.rounds
    against = reference_of(study, reference)
    totals = {spec.label: _totals(frame, spec.label, rounds) for spec in study.scenario.agents}
    known = any(bool(table["regret"].notna().any()) for table in totals.values())
    measured = hypervolumes(study) if study.scenario.objectives else None
    for label, found in (measured.by_agent if measured else {}).items():
        totals[label]["hypervolume"] = found
    measure = "regret" if known else "objective" if measured is None else "hypervolume"
    minimise = known or (measured is None and facts.sign < 0)
    most = ALL_OF_IT if known else math.inf
    gp_ucb = study.scenario.agent(against).name == REFERENCE
    again = {label: simulated_again(study, label) for label in totals}
    simple = {label: _simple_regrets(study, label) for label in totals}
    broken = shares_that_break_a_limit(study)
    far, costs = outliers(study), spent(study, against)
    failed = frame.loc[frame["status"].isin(NOTHING), "agent"].value_counts()
    table: dict[str, dict[str, Any]] = {}
    for label, total in totals.items():
        regret, theirs = total["regret"], totals[against]
        gain = paired_gain(total[measure], theirs[measure], minimise, most)
        apart = paired_difference(total[measure], theirs[measure])
        share = broken.get(label, pd.Series(dtype=float))
        table[label] = {
            "cumulative_regret": mean_interval(regret, POSITIVE),
            "average_regret": mean_interval(regret / rounds, POSITIVE),
            "simple_regret": mean_interval(simple[label], POSITIVE),
            "simple_regret_difference": paired_difference(simple[label], simple[against]),
            "cumulative_objective": mean_interval(total["objective"])
            if measure == "objective"
            else nothing(),
            "hypervolume": mean_interval(total["hypervolume"], POSITIVE) if measured else nothing(),
            "difference": apart,
            "gain_percent": gain,
            "gain_over_gp_ucb_percent": gain if gp_ucb else nothing(),
            "difference_from_gp_ucb": apart if gp_ucb and measure == "objective" else nothing(),
            "simulated_again": mean_interval(again[label]),
            "simulated_again_difference": paired_difference(again[label], again[against]),
            "rounds_that_break_a_limit": mean_interval(share[share.index.isin(total.index)], SHARE),
            "seconds_a_round": mean_interval(total["seconds"], POSITIVE),
            **_costs(costs, label, against),
            "reference": against,
            "p_value": None if label == against else paired_p_value(total[measure] - theirs[measure]),
            "p_value_holm": None,
            "trials": len(total),
            "failed_rounds": int(failed.get(label, 0)),
            "recommendation": recommendation(study, label),
            "outliers": [one._asdict() for one in far if one.agent == label],
        }
    tested = [label for label, row in table.items() if row["p_value"] is not None]
    for label, p in zip(tested, holm([table[label]["p_value"] for label in tested]), strict=True):
        table[label]["p_value_holm"] = float(p)
    return table


def _costs(costs: dict[str, Spent] | None, label: str, against: str) -> dict[str, Interval]:
    """What an agent spent, and what it did for the same as the reference."""
    names = ("cost", "regret_at_equal_cost", "regret_at_equal_cost_difference", "cost_to_equal_regret")
    if costs is None:
        return {name: nothing() for name in (*names, "cost_saved_percent")}
    own, theirs = costs[label], costs[against]
    found = (
        mean_interval(own.cost, POSITIVE),
        mean_interval(own.regret, POSITIVE),
        paired_difference(own.regret, theirs.regret),
        mean_interval(own.to_equal, POSITIVE),
    )
    saved = paired_gain(own.to_equal, theirs.to_equal, most=ALL_OF_IT)
    return {**dict(zip(names, found, strict=True)), "cost_saved_percent": saved}


def reference_of(study: Study, wanted: str | None = None) -> str:
    """The label of the agent that the others are compared with; UserError where there is none such."""
    scenario = study.scenario
    if wanted is None:
        return next((spec.label for spec in scenario.agents if spec.name == REFERENCE), scenario.labels[0])
    if wanted not in scenario.labels:
        raise UserError(f"{study.path}: --reference: {unknown_name('agent', wanted, scenario.labels)}")
    return wanted


def _simple_regrets(study: Study, label: str) -> pd.Series:
    """The simple regret after an agent's last round, by trial."""
    found = {one.trial: one.simple_regret for one in complete_advice(study, label)}
    return pd.Series({trial: one for trial, one in found.items() if one is not None}, dtype=float)


def shares_that_break_a_limit(study: Study) -> dict[str, pd.Series]:
    """By agent the share of its rounds that break a limit, by trial; empty where that cannot be read."""
    limits = known_limits(study)
    if limits is None:
        return {}
    own: dict[str, dict[int, list[StoredRound]]] = {}
    for one in study.rounds():
        own.setdefault(one.agent, {}).setdefault(one.trial, []).append(one)
    return {
        label: pd.Series({trial: limits.share_broken(these) for trial, these in trials.items()}, dtype=float)
        for label, trials in own.items()
    }


def simulated_again(study: Study, label: str) -> pd.Series:
    """The objective of an agent's recommendations on held-out seeds: their mean, by trial.

    A step that failed does not count; trials of which nothing is known are left out.
    """
    found = {
        one.trial: [value for value in one.held_out.objective if value is not None]
        for one in complete_advice(study, label)
        if one.held_out
    }
    means = {trial: float(np.mean(values)) for trial, values in found.items() if values}
    return pd.Series(means, dtype=float)


def paired_difference(agent: pd.Series, reference: pd.Series) -> Interval:
    """The mean over trials of an agent's total minus the reference's, with Student's 95 % interval.

    Totals are indexed by trial; trials that one of the two lacks do not count.
    """
    return mean_interval(agent - reference)


def _totals(frame: pd.DataFrame, label: str, rounds: int) -> pd.DataFrame:
    """One row a complete trial of an agent: summed regret and objective, mean seconds a round.

    A round without an observed objective counts as the trial's average, so that failing is no gain.
    """
    own = frame[frame["agent"] == label].groupby("trial")
    totals = own.agg(rounds=("round", "size"), objective=("objective", "mean"), seconds=("seconds", "mean"))
    totals["objective"] = totals["objective"] * rounds
    totals["regret"] = own["regret"].agg(lambda values: values.sum(skipna=False))
    return totals[totals["rounds"] >= rounds]


def paired_gain(
    agent: pd.Series, reference: pd.Series, minimise: bool = True, most: float = math.inf
) -> Interval:
    """The gain of an agent over the reference in percent (`gain_interval`).

    Totals are indexed by trial; trials that one of the two lacks do not count.
    """
    both = agent.dropna().index.intersection(reference.dropna().index)
    return gain_interval(agent.loc[both], reference.loc[both], minimise, most)


class Curve(NamedTuple):
    """A cumulative column by round: rounds (T,), mean and 95 % band over trials (T,), number of trials."""

    rounds: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    trials: int


def curves(study: Study, column: str, average: bool) -> dict[str, Curve]:
    """Mean and 95 % band over trials of a summed column ("regret" or "objective"), by round and agent.

    With `average` it is divided by the round, as in the paper's figure 4. Only complete trials count, unless
    an agent has none: then the rounds that all its trials have. The band is nan with fewer trials than
    `scenarios.results.intervals.FEWEST`, and that of a regret not below zero.
    """
    frame = study.to_dataframe()
    found: dict[str, Curve] = {}
    for label in study.scenario.labels:
        own = frame[frame["agent"] == label]
        if column == "objective":  # of the rounds that were run: those to come make no trial complete
            own = own.fillna({column: own.groupby("trial")[column].transform("mean")})
        table = own.pivot(index="trial", columns="round", values=column)
        complete = table.dropna() if table.shape[1] == study.scenario.rounds else table.iloc[:0]
        table = complete if len(complete) else table.dropna(axis=1)
        if table.empty:
            continue
        rounds = table.columns.to_numpy(dtype=np.float64)
        sums = table.to_numpy(dtype=np.float64).cumsum(axis=1)
        if average:
            sums = sums / rounds
        mean, low, high = mean_and_ends(sums, POSITIVE if column == "regret" else UNLIMITED)
        found[label] = Curve(rounds, mean, low, high, len(sums))
    return found


def typical_advice(study: Study, label: str) -> Advice | None:
    """An agent's recommendation of its median trial, `None` without a complete trial.

    The median by the noise-free value of the recommended policy; where that is unknown, by its value on
    held-out seeds, or else by its predicted value: an agent's typical advice, neither its luckiest nor its
    worst. Of an even number of trials, the better of the middle two.
    """
    again = simulated_again(study, label)

    def loss(advice: Advice) -> float:
        value = advice.expected
        if value is None:
            value = again.get(advice.trial, advice.mean)
        return -study.environment.sign * value if value is not None else math.inf

    found = sorted(complete_advice(study, label), key=lambda one: (loss(one), one.trial))
    return found[(len(found) - 1) // 2] if found else None


def recommendation(study: Study, label: str) -> dict[str, Any] | None:
    """An agent's recommended policy and what it predicts of it, as plain data.

    Returns
    -------
    dict, or None without a complete trial
        `trial` (the median one, see `typical_advice`), `policy` by label (whole numbers are int, categories
        their names), `station` (its `id` and `name`, where policies are stations), `row` (a candidate's, else
        None), `objective` `{mean, low, high, noise_free}`, `groups`, the same by group (None where nothing is
        known of them), and `keeps_limits`, whether its noise-free outcomes keep the scenario's (None where
        that cannot be read). Intervals are 95 % credible; a mean is None without a group model, and
        `noise_free` where it is unknown.
    """
    one = typical_advice(study, label)
    if one is None:
        return None
    facts, ends = study.environment, ("mean", "low", "high", "noise_free")
    said = (one.group_means, one.group_low, one.group_high, one.expected_outcomes)
    unknown: Numbers = [None] * len(facts.groups)
    groups = None
    if any(values is not None for values in said):
        columns = zip(*(values or unknown for values in said), strict=True)
        groups = {
            group: dict(zip(ends, column, strict=True))
            for group, column in zip(facts.groups, columns, strict=True)
        }
    limits = known_limits(study)
    return {
        "trial": one.trial,
        "policy": facts.named(one.policy),
        **({} if (station := facts.station(one.policy)) is None else {"station": station._asdict()}),
        "row": one.row,
        "objective": dict(zip(ends, (one.mean, one.low, one.high, one.expected), strict=True)),
        "groups": groups,
        "keeps_limits": None if limits is None else limits.kept(one.expected_outcomes),
    }


def complete_advice(study: Study, label: str) -> list[Advice]:
    """An agent's recommendations after its last rounds."""
    rounds = study.scenario.rounds
    return [one for one in study.recommendations() if (one.agent, one.rounds) == (label, rounds)]
