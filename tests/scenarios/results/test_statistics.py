"""The comparison of agents, against an independent computation."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from scenarios import load, run
from scenarios.results.statistics import compare, curves, paired_gain


def test_the_gain_is_paired_by_trial_and_relative_to_the_reference():
    rng = np.random.default_rng(1)
    reference = pd.Series(rng.normal(10, 2, 30), index=range(1, 31))
    agent = reference * 0.8 + rng.normal(0, 0.1, 30)
    found = paired_gain(agent.drop(3), reference.drop(7))
    both = [trial for trial in range(1, 31) if trial not in (3, 7)]
    ours, theirs = agent[both].to_numpy(), reference[both].to_numpy()
    assert found["mean"] == pytest.approx(100 * (theirs - ours).mean() / theirs.mean())
    for end in (found["low"], found["high"]):  # there the t-test of d - r reference is at its level
        assert stats.ttest_1samp(theirs - ours - end / 100 * theirs, 0).pvalue == pytest.approx(0.05)


def test_of_a_maximised_objective_more_is_a_gain():
    reference, agent = pd.Series([10.0, 10.0]), pd.Series([12.0, 12.0])
    assert paired_gain(agent, reference, minimise=False)["mean"] == pytest.approx(20.0)
    assert paired_gain(-reference, -agent, minimise=False)["mean"] == pytest.approx(100 / 6)


def test_compare_agrees_with_the_table_of_rounds(scenario_file, tmp_path, policyloop):
    study = run(load(scenario_file(trials=5)), out=tmp_path / "s.sqlite")
    frame = study.to_dataframe()
    totals = frame.groupby(["agent", "trial"])["regret"].sum().unstack()
    found = compare(study)
    assert list(found) == ["d-gpucb", "gp-ucb", "uniform"]
    for label, row in found.items():
        total = totals.loc[label].to_numpy()
        low, high = stats.ttest_1samp(total, 0).confidence_interval(0.95)
        mean = total.mean()
        stretch = np.exp((high - mean) / mean)  # Student's half width, of the logarithm of the mean
        expected = {"mean": mean, "low": mean / stretch, "high": mean * stretch}
        assert row["cumulative_regret"] == pytest.approx(expected)
        assert row["average_regret"] == pytest.approx({key: value / 4 for key, value in expected.items()})
        gain = 100 * (totals.loc["gp-ucb"] - totals.loc[label]).mean() / totals.loc["gp-ucb"].mean()
        assert row["gain_percent"]["mean"] == pytest.approx(gain)
        assert row["gain_percent"]["low"] <= gain <= row["gain_percent"]["high"] <= 100
        assert row["gain_over_gp_ucb_percent"] == row["gain_percent"] and row["reference"] == "gp-ucb"
        assert row["trials"] == 5
    code, out, _ = policyloop("compare", tmp_path / "s.sqlite", "--format", "json")
    assert code == 0 and json.loads(out) == found
    lines = policyloop("compare", tmp_path / "s.sqlite", "--format", "csv")[1].splitlines()
    assert len(lines) == 4 and lines[0].startswith("agent,cumulative_regret_mean,cumulative_regret_low")
    rounds, mean, low, high, trials = curves(study, "regret", average=True)["gp-ucb"]
    assert (
        rounds.tolist() == [1, 2, 3, 4]
        and trials == 5
        and mean[-1] == pytest.approx(totals.loc["gp-ucb"].mean() / 4)
    )
    assert (low <= mean).all() and (mean <= high).all()


def test_without_known_outcomes_observed_objectives_are_compared(scenario_file, tmp_path, policyloop):
    path = scenario_file(environment="secret", agents='["gp-ucb", "uniform"]')
    study = run(load(path), out=tmp_path / "s.sqlite")
    table = compare(study)
    for row in table.values():
        assert row["cumulative_regret"]["mean"] is None and row["simple_regret"]["mean"] is None
        assert row["cumulative_objective"]["mean"] < 0
    totals = study.to_dataframe().groupby(["agent", "trial"])["objective"].sum().unstack()
    gain = 100 * (totals.loc["uniform"] - totals.loc["gp-ucb"]).mean() / abs(totals.loc["gp-ucb"].mean())
    assert table["uniform"]["gain_over_gp_ucb_percent"]["mean"] == pytest.approx(gain)
    code, out, _ = policyloop("compare", tmp_path / "s.sqlite")
    assert code == 0 and "cumulative objective" in out and "simple regret" not in out
    code, out, _ = policyloop("plot", tmp_path / "s.sqlite", "--out", tmp_path / "figures")
    assert code == 0 and "cumulative_objective.png" in out
