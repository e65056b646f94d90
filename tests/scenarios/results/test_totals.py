"""Totals, averages and gains of a study whose trials are not all finished, recomputed round by round."""

import numpy as np
import pytest
from scipy import stats

from scenarios import load, run
from scenarios.results.statistics import compare, curves, typical_advice

ROUNDS = 6

HILL = """
import numpy as np
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class Hill(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "maximize"
    policy_space = PolicySpace(["x"], [""], bounds=Bounds(0, 1))

    def step(self, policy):
        x = self.policy_space.check(policy)[0]
        lost = np.nan if self.rng.random() < 0.2 else 1.0
        return Outcomes(np.array([-((x - 0.3) ** 2), -x * lost]) + 0.1 * self.rng.standard_normal(2))
"""

KNOWN = """

class Known(Hill):
    def expected(self, policies):
        x = np.asarray(policies)[:, 0]
        return np.stack([-((x - 0.3) ** 2), -x], axis=1)
"""


@pytest.fixture
def unfinished(scenario_file, tmp_path):
    """Six trials of three rounds, of which some went on to the sixth round: make one of an environment."""

    def made(finished=(1, 2, 4, 5, 6), **changes):
        (tmp_path / "hill.py").write_text(HILL)
        path = scenario_file(agents='["gp-ucb", "random"]', trials=6, rounds=ROUNDS, **changes)
        run(load(path, {"rounds": 3}), out=tmp_path / "s.sqlite")
        for share in finished:
            study = run(load(path), out=tmp_path / "s.sqlite", resume=True, share=(share, 6))
        return study

    return made


def table(study, label, column):
    """One row a finished trial, one column a round."""
    own = study.to_dataframe().query("agent == @label")
    rows = {trial: rows[column].to_numpy() for trial, rows in own.groupby("trial")}
    assert {len(rows[3]), *map(len, rows.values())} == {3, ROUNDS}
    return np.array([values for values in rows.values() if len(values) == ROUNDS])


def interval(values):
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    return pytest.approx({"mean": np.mean(values), "low": low, "high": high})


def positive(values):
    """Student's interval of the logarithm of a mean that is not negative."""
    mean = np.mean(values)
    stretch = np.exp(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) / mean)
    return pytest.approx({"mean": mean, "low": mean / stretch, "high": mean * stretch})


def test_only_finished_trials_count_in_totals_gains_and_curves(unfinished):
    study = unfinished()
    found = compare(study)
    theirs = table(study, "gp-ucb", "regret").sum(axis=1)
    for label, row in found.items():
        regret = table(study, label, "regret")
        total = regret.sum(axis=1)
        assert row["trials"] == 5
        assert row["cumulative_regret"] == positive(total)
        assert row["average_regret"] == positive(total / ROUNDS)
        assert row["seconds_a_round"] == positive(table(study, label, "seconds").mean(axis=1))
        simple = [
            one.simple_regret
            for one in study.recommendations()
            if one.agent == label and one.rounds == ROUNDS
        ]
        assert len(simple) == 5 and row["simple_regret"] == positive(simple)
        gain = 100 * np.mean(theirs - total) / np.mean(theirs)
        assert row["gain_over_gp_ucb_percent"]["mean"] == pytest.approx(gain)
    random = curves(study, "regret", average=False)["random"]
    sums = table(study, "random", "regret").cumsum(axis=1)
    assert random.trials == 5 and random.mean == pytest.approx(sums.mean(axis=0))
    for t in range(ROUNDS):
        band = {"mean": random.mean[t], "low": random.low[t], "high": random.high[t]}
        assert band == positive(sums[:, t])


def test_average_regret_of_round_t_is_the_sum_over_t(unfinished):
    study = unfinished()
    random = curves(study, "regret", average=True)["random"]
    averages = table(study, "random", "regret").cumsum(axis=1) / [1, 2, 3, 4, 5, 6]
    assert random.mean == pytest.approx(averages.mean(axis=0))
    t = 1  # of the second round
    assert {"mean": random.mean[t], "low": random.low[t], "high": random.high[t]} == positive(averages[:, t])


def test_a_maximised_objective_of_unknown_regret_is_totalled_with_failed_rounds_at_the_trials_mean(
    unfinished,
):
    study = unfinished(environment="hill.py:Hill", samples=0)
    found = compare(study)
    totals = {
        label: np.nanmean(table(study, label, "objective"), axis=1) * ROUNDS for label in ("gp-ucb", "random")
    }
    assert np.isnan(table(study, "random", "objective")).sum() > 0
    for label, total in totals.items():
        row, apart = found[label], total - totals["gp-ucb"]
        assert row["cumulative_objective"] == interval(total)
        if label != "gp-ucb":
            assert row["difference_from_gp_ucb"] == interval(apart)
        gain = 100 * apart.mean() / abs(totals["gp-ucb"].mean())
        assert row["gain_over_gp_ucb_percent"]["mean"] == pytest.approx(gain)
        again = [
            np.mean([value for value in one.held_out.objective if value is not None])
            for one in study.recommendations()
            if one.agent == label and one.rounds == ROUNDS
        ]
        assert len(again) == 5 and row["simulated_again"] == interval(again)
    rounds = table(study, "random", "objective")
    filled = np.where(np.isnan(rounds), np.nanmean(rounds, axis=1, keepdims=True), rounds)
    curve = curves(study, "objective", average=True)["random"]
    assert curve.mean == pytest.approx((filled.cumsum(axis=1) / np.arange(1, 7)).mean(axis=0))


@pytest.mark.parametrize("finished", [(1, 2, 4, 5, 6), (1, 2, 4, 6)])
@pytest.mark.parametrize("environment", ["valley", "hill.py:Hill"])
def test_the_typical_advice_is_that_of_the_median_trial(unfinished, environment, finished):
    study = unfinished(finished, environment=environment, samples=0)
    found = [one for one in study.recommendations() if one.agent == "random" and one.rounds == ROUNDS]
    worth = [
        one.expected
        if environment == "valley"
        else -np.mean([value for value in one.held_out.objective if value is not None])
        for one in found
    ]
    middle = 2 if len(finished) == 5 else 1  # of an even number, the better of the middle two
    assert typical_advice(study, "random") == found[int(np.argsort(worth)[middle])]


def test_of_a_maximised_objective_less_regret_is_a_gain(scenario_file, tmp_path):
    (tmp_path / "hill.py").write_text(HILL + KNOWN)
    path = scenario_file(agents='["gp-ucb", "random"]', trials=3, environment="hill.py:Known", samples=10)
    study = run(load(path), out=tmp_path / "s.sqlite")
    totals = study.to_dataframe().groupby(["agent", "trial"])["regret"].sum().unstack()
    gain = 100 * (totals.loc["gp-ucb"] - totals.loc["random"]).mean() / totals.loc["gp-ucb"].mean()
    assert abs(gain) > 1 and compare(study)["random"]["gain_over_gp_ucb_percent"]["mean"] == pytest.approx(
        gain
    )
