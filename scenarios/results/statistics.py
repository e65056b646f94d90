"""Compares the agents of a study over its trials: means, 95 % intervals, paired gains."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from scenarios.results.outliers import outliers
from scenarios.study.records import NOTHING, Advice, Numbers
from scenarios.study.study import Study

REFERENCE = "gp-ucb"  # whom the gain is measured against
CONFIDENCE = 0.95
RESAMPLES = 9999
ENOUGH = 5  # trials: of fewer, a bootstrap knows too few values, and Student's t leaves the possible ones

Interval = dict[str, float | None]


def compare(study: Study) -> dict[str, dict[str, Any]]:
    """Compare the agents of a study.

    Returns
    -------
    dict
        For each agent's label: `cumulative_regret`, `average_regret` (a round), `simple_regret` (of the
        recommended policy), `gain_over_gp_ucb_percent`, `cumulative_objective` (observed, in place of the
        regret where that is unknown, else None), `difference_from_gp_ucb` (paired, of that),
        `simulated_again` (objective of the recommended policy, the mean over held-out seeds; None where
        regret is known), `simulated_again_difference` (paired, from GP-UCB) and `seconds_a_round` (of the
        agent), each `{mean, low, high}` in the objective's unit; then `trials` (complete ones, on which all
        rests), `failed_rounds`, `recommendation` (see there) and `outliers`, the observations beyond four
        standard deviations of what the agent had predicted (`scenarios.results.outliers`). Low and high are
        None with fewer than two trials, the gain's with fewer than five; all three are None where a value is
        unknown.

    Notes
    -----
    A mean's interval is Student's t over trials. The gain is the mean over trials of (GP-UCB's cumulative
    regret minus the agent's), over the mean of GP-UCB's, on the trials complete for both; its interval is the
    percentile bootstrap over trials, with a fixed seed. Where regret is unknown, cumulative observed
    objectives take its place, signed so that a gain is better.
    """
    frame = study.to_dataframe()
    rounds = study.scenario.rounds
    totals = {spec.label: _totals(frame, spec.label, rounds) for spec in study.scenario.agents}
    known = any(bool(table["regret"].notna().any()) for table in totals.values())
    measure = "regret" if known else "objective"
    minimise = known or study.environment.sign < 0
    reference = next((spec.label for spec in study.scenario.agents if spec.name == REFERENCE), None)
    again = {label: simulated_again(study, label) for label in totals}
    simple: dict[str, list[float]] = {label: [] for label in totals}
    for advice in study.recommendations():
        if advice.agent in simple and advice.rounds == rounds and advice.simple_regret is not None:
            simple[advice.agent].append(advice.simple_regret)
    far = outliers(study)
    failed = frame.loc[frame["status"].isin(NOTHING), "agent"].value_counts()
    table: dict[str, dict[str, Any]] = {}
    for label, total in totals.items():
        regret = total["regret"].to_numpy(dtype=np.float64)
        gain, apart, again_apart = _nothing(), _nothing(), _nothing()
        if reference is not None:
            gain = paired_gain(total[measure], totals[reference][measure], minimise)
            if len(total.index.intersection(totals[reference].index)) < ENOUGH:
                gain |= {"low": None, "high": None}
            again_apart = paired_difference(again[label], again[reference])
            if not known:
                apart = paired_difference(total["objective"], totals[reference]["objective"])
        table[label] = {
            "cumulative_regret": mean_interval(regret),
            "average_regret": mean_interval(regret / rounds),
            "simple_regret": mean_interval(np.array(simple[label], dtype=np.float64)),
            "gain_over_gp_ucb_percent": gain,
            "cumulative_objective": _nothing()
            if known
            else mean_interval(total["objective"].to_numpy(dtype=np.float64)),
            "difference_from_gp_ucb": apart,
            "simulated_again": mean_interval(again[label].to_numpy(dtype=np.float64)),
            "simulated_again_difference": again_apart,
            "seconds_a_round": mean_interval(total["seconds"].to_numpy(dtype=np.float64)),
            "trials": len(total),
            "failed_rounds": int(failed.get(label, 0)),
            "recommendation": recommendation(study, label),
            "outliers": [one._asdict() for one in far if one.agent == label],
        }
    return table


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
    return mean_interval((agent - reference).dropna().to_numpy(dtype=np.float64))


def _totals(frame: pd.DataFrame, label: str, rounds: int) -> pd.DataFrame:
    """One row a complete trial of an agent: summed regret and objective, mean seconds a round.

    A round without an observed objective counts as the trial's average, so that failing is no gain.
    """
    own = frame[frame["agent"] == label].groupby("trial")
    totals = own.agg(rounds=("round", "size"), objective=("objective", "mean"), seconds=("seconds", "mean"))
    totals["objective"] = totals["objective"] * rounds
    totals["regret"] = own["regret"].agg(lambda values: values.sum(skipna=False))
    return totals[totals["rounds"] >= rounds]


def mean_interval(values: NDArray[np.float64]) -> Interval:
    """The mean of values, one a trial, and its 95 % interval by Student's t; nan values do not count.

    Low and high are None of one value, all three are None of none.
    """
    found = values[np.isfinite(values)]
    if len(found) == 0:
        return _nothing()
    mean = float(found.mean())
    if len(found) == 1:
        return {"mean": mean, "low": None, "high": None}
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(found) - 1) * stats.sem(found))
    return {"mean": mean, "low": mean - half, "high": mean + half}


def paired_gain(agent: pd.Series, reference: pd.Series, minimise: bool = True) -> Interval:
    """The gain of an agent over the reference in percent, with its 95 % bootstrap interval.

    100 times the mean difference over the mean of the reference. Totals are indexed by trial; trials that one
    of the two lacks do not count. With `minimise`, less is better.
    """
    both = agent.dropna().index.intersection(reference.dropna().index)
    ours = agent.loc[both].to_numpy(dtype=np.float64)
    theirs = reference.loc[both].to_numpy(dtype=np.float64)
    difference = (theirs - ours) if minimise else (ours - theirs)
    if len(both) == 0 or theirs.mean() == 0:
        return _nothing()

    def gain(
        differences: NDArray[np.float64], references: NDArray[np.float64], axis: int = -1
    ) -> NDArray[np.float64]:
        values: NDArray[np.float64] = 100 * differences.mean(axis=axis) / np.abs(references.mean(axis=axis))
        return values

    mean = float(gain(difference, theirs))
    if len(both) == 1:
        return {"mean": mean, "low": None, "high": None}
    if np.all(difference == 0):  # the reference itself: the bootstrap would warn of a degenerate sample
        return {"mean": 0.0, "low": 0.0, "high": 0.0}
    interval = stats.bootstrap(
        (difference, theirs),
        gain,
        paired=True,
        vectorized=True,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        method="percentile",
        random_state=np.random.default_rng(0),
    ).confidence_interval
    low, high = float(interval.low), float(interval.high)
    return {
        "mean": mean,
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
    }


def _nothing() -> Interval:
    return {"mean": None, "low": None, "high": None}


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
    an agent has none: then the rounds that all its trials have. The band is nan with fewer than two trials.
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
        mean = sums.mean(axis=0)
        half = np.full_like(mean, np.nan)
        if len(sums) > 1:
            half = stats.t.ppf((1 + CONFIDENCE) / 2, len(sums) - 1) * stats.sem(sums, axis=0)
        found[label] = Curve(rounds, mean, mean - half, mean + half, len(sums))
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
        their names), `row` (a candidate's, else None), `objective` `{mean, low, high, noise_free}` and
        `groups`, the same by group (None without a group model). Intervals are 95 % credible; `noise_free` is
        None where it is unknown.
    """
    one = typical_advice(study, label)
    if one is None:
        return None
    facts, ends = study.environment, ("mean", "low", "high", "noise_free")
    groups = None
    if one.group_means is not None:
        free: Numbers = [None] * len(facts.groups)
        if one.expected_outcomes is not None:
            free = list(one.expected_outcomes)
        columns = zip(one.group_means, one.group_low or (), one.group_high or (), free, strict=True)
        groups = {
            group: dict(zip(ends, column, strict=True))
            for group, column in zip(facts.groups, columns, strict=True)
        }
    return {
        "trial": one.trial,
        "policy": facts.named(one.policy),
        "row": one.row,
        "objective": dict(zip(ends, (one.mean, one.low, one.high, one.expected), strict=True)),
        "groups": groups,
    }


def complete_advice(study: Study, label: str) -> list[Advice]:
    """An agent's recommendations after its last rounds."""
    rounds = study.scenario.rounds
    return [one for one in study.recommendations() if (one.agent, one.rounds) == (label, rounds)]
