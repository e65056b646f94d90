"""Rounds that break limits, counted when a study is read, and recommendations that keep them."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats
from studies import a_round

from scenarios import load, run
from scenarios.declaration.schema import Scenario
from scenarios.results.limits import KnownLimits
from scenarios.results.statistics import compare

TEXT = """
name = "limited"
rounds = 8
trials = {trials}
seed = 2
agents = ["random", "d-gpucb"]
{limits}
[environment]
name = "{environment}"
[prior]
samples = 0
"""

LEFT = "[[limits]]\ngroup = 'left'\nat_most = 1.04"  # kept by x <= 0.4: (x - 0.2)^2 + 1
SECRET = "[[limits]]\ngroup = 'left'\nat_least = -1.04"  # its outcomes are these with the other sign


@pytest.fixture
def studied(scenario_file, kept_run, tmp_path):
    def made(limits=LEFT, environment="valley", trials=5):
        text = TEXT.format(limits=limits, environment=environment, trials=trials)
        return kept_run(scenario_file(text), tmp_path / "s.sqlite")

    return made


def logit_interval(shares):
    m, n = np.mean(shares), len(shares)
    half = stats.t.ppf(0.975, n - 1) * stats.sem(shares) / (m * (1 - m))
    low, high = 1 / (1 + np.exp(-(np.log(m / (1 - m)) + np.array([-half, half]))))
    return pytest.approx({"mean": m, "low": low, "high": high})


def by_trial(frame, broken):
    return broken.groupby(frame["trial"]).mean().to_numpy()


def test_the_share_of_rounds_that_break_a_limit_is_that_of_their_noise_free_outcomes(studied):
    study = studied()
    frame, table = study.to_dataframe().query("agent == 'random'"), compare(study)
    shares = by_trial(frame, frame["x_x"] > 0.4)
    assert 0 < shares.mean() < 1
    assert table["random"]["rounds_that_break_a_limit"] == logit_interval(shares)
    for label in ("random", "d-gpucb"):
        said = table[label]["recommendation"]
        assert said["keeps_limits"] == (said["policy"]["x"] <= 0.4)
    assert {row["recommendation"]["keeps_limits"] for row in table.values()} >= {True}


def test_where_noise_free_outcomes_are_unknown_those_observed_count(studied):
    study = studied(SECRET, "secret")
    frame, table = study.to_dataframe().query("agent == 'random'"), compare(study)
    shares = by_trial(frame, frame["y_left"] < -1.04)
    assert table["random"]["rounds_that_break_a_limit"] == logit_interval(shares)
    assert table["random"]["recommendation"]["keeps_limits"] is None


def test_limits_are_in_the_table_in_csv_and_in_json(studied, policyloop):
    study = studied()
    text = policyloop("compare", study.path)[1]
    head = " ".join(text.partition("┡")[0].replace("┃", " ").split())
    assert "limit" in head and "of shares on a logistic scale" in text
    assert "A round that breaks a limit is charged as the worst policy that keeps all." in text
    assert "limits, by noise-free outcomes" in text and "kept" in text
    table = compare(study)
    assert json.loads(policyloop("compare", study.path, "--format", "json")[1]) == table
    rows = list(csv.DictReader(io.StringIO(policyloop("compare", study.path, "--format", "csv")[1])))
    for row in rows:
        share = table[row["agent"]]["rounds_that_break_a_limit"]
        assert float(row["rounds_that_break_a_limit_mean"]) == share["mean"]
        assert row["keeps_limits"] == str(table[row["agent"]]["recommendation"]["keeps_limits"])


def test_a_limit_that_is_a_function_is_not_run_by_who_reads(studied, policyloop, tmp_path):
    ran = tmp_path / "ran"
    (tmp_path / "total.py").write_text(
        f"open({str(ran)!r}, 'w').close()\n\ndef total(outcomes):\n    return outcomes.sum(axis=-1)\n"
    )
    study = studied(f"[[limits]]\nfunction = '{tmp_path}/total.py:total'\nat_most = 2.3", trials=2)
    assert ran.exists()
    ran.unlink()
    code, text, _ = policyloop("compare", study.path)
    assert code == 0 and not ran.exists() and "rounds that break a limit" not in text.partition("└")[0]
    assert "A limit is a function, which is code and not run here" in " ".join(text.split())
    assert compare(study)["random"]["rounds_that_break_a_limit"]["mean"] is None


def test_without_limits_nothing_is_said_of_them(studied, policyloop):
    text = policyloop("compare", studied("", trials=2).path)[1]
    assert "limit" not in text.replace("limited", "")


@pytest.fixture
def two_limits():
    spec = {
        "name": "s",
        "rounds": 1,
        "trials": 1,
        "agents": ["random"],
        "environment": {"name": "valley"},
        "limits": [
            {"group": "a", "at_most": 1.0},
            {"weights": {"a": 1.0, "b": 2.0}, "at_least": 1.0, "at_most": 4.0},
        ],
    }
    return KnownLimits(Scenario.model_validate(spec).limits, ["a", "b", "c"])


def test_all_limits_are_to_be_kept_and_those_broken_are_named(two_limits):
    assert two_limits.kept([1.0, 1.5, 9.0]) is True and two_limits.in_words([1.0, 1.5, 9.0]) == "kept"
    assert two_limits.kept([1.0 + 1e-12, 0.0, 9.0]) is True  # by rounding
    assert two_limits.in_words([1.5, 2.0, 0.0]) == ("a <= 1 broken: 1.500; 1 <= a + 2*b <= 4 broken: 5.500")
    assert two_limits.kept([0.5, 0.0, 0.0]) is False


def test_a_group_that_no_limit_is_of_may_be_missing_and_no_other(two_limits):
    assert two_limits.kept([1.0, 1.0, None]) is True
    assert two_limits.kept([2.0, None, 1.0]) is None and two_limits.in_words([2.0, None, 1.0]) == "-"
    assert two_limits.kept(None) is None


def test_of_a_round_noise_free_outcomes_count_before_observed_ones_and_unknown_rounds_do_not(two_limits):
    kept, broken, unknown = [1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [None, None, None]
    rounds = [
        a_round(outcomes=broken, expected_outcomes=kept),
        a_round(outcomes=kept, expected_outcomes=broken),
        a_round(outcomes=kept, expected_outcomes=None),
        a_round(outcomes=kept, expected_outcomes=None),
        a_round(outcomes=unknown, expected_outcomes=None),
    ]
    assert two_limits.share_broken(rounds) == pytest.approx(1 / 4)
    assert two_limits.share_broken(rounds[:1]) == 0 and two_limits.share_broken(rounds[1:2]) == 1
    assert np.isnan(two_limits.share_broken(rounds[4:]))


def test_only_finished_trials_count(scenario_file, tmp_path):
    path = scenario_file(TEXT.format(limits=LEFT, environment="valley", trials=2))
    run(load(path, {"rounds": 2}), out=tmp_path / "s.sqlite")
    study = run(load(path), out=tmp_path / "s.sqlite", resume=True, share=(1, 2))
    frame = study.to_dataframe().query("agent == 'random'")
    shares = by_trial(frame, frame["x_x"] > 0.4)
    assert len(shares) == 2 and shares[0] != shares[1]
    finished = frame.groupby("trial").size() == 8
    assert finished.sum() == 1
    found = compare(study)["random"]["rounds_that_break_a_limit"]
    assert found["mean"] == pytest.approx(shares[finished.to_numpy()][0])
