"""Whom agents are compared with: GP-UCB, the first agent, or any other; differences and their p-values."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats

from scenarios.results.statistics import compare


@pytest.fixture
def studied(scenario_file, kept_run, tmp_path):
    def made(agents='["uniform", "gp-ucb", "random", "d-gpucb"]', **changes):
        values = {"agents": agents, "trials": 6, "rounds": 5, **changes}
        return kept_run(scenario_file(**values), tmp_path / "s.sqlite")

    return made


def totals(study, column="regret"):
    return study.to_dataframe().groupby(["agent", "trial"])[column].sum().unstack()


def t_interval(values):
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    return pytest.approx({"mean": np.mean(values), "low": low, "high": high})


def test_any_agent_may_be_the_reference(studied, policyloop):
    study = studied()
    total = totals(study)
    for name in ("random", "uniform"):
        found = compare(study, name)
        for label, row in found.items():
            apart = total.loc[label] - total.loc[name]
            assert row["reference"] == name
            assert row["gain_percent"]["mean"] == pytest.approx(
                -100 * apart.mean() / total.loc[name].mean(), abs=1e-12
            )
            assert row["gain_over_gp_ucb_percent"] == {"mean": None, "low": None, "high": None}
            if label != name:
                assert row["difference"] == t_interval(apart)
        asked = policyloop("compare", study.path, "--reference", name, "--format", "json")
        assert asked[0] == 0 and json.loads(asked[1]) == found
    text = policyloop("compare", study.path, "--reference", "random")[1]
    assert "Reference: random. Differences are paired by trial, a gain is in % of its mean." in text


def test_gp_ucb_is_the_reference_where_it_is_there_and_else_the_first_agent(studied):
    assert {row["reference"] for row in compare(studied()).values()} == {"gp-ucb"}


def test_without_gp_ucb_the_first_agent_is_the_reference(studied):
    found = compare(studied('["uniform", "random"]'))
    assert {row["reference"] for row in found.values()} == {"uniform"}
    assert found["random"]["gain_percent"]["mean"] is not None
    assert found["random"]["gain_over_gp_ucb_percent"]["mean"] is None


def test_an_agent_called_by_a_label_is_named_by_it(studied):
    study = studied('["random", { name = "gp-ucb", label = "theirs" }]')
    found = compare(study)
    assert found["random"]["reference"] == "theirs"
    assert found["random"]["gain_over_gp_ucb_percent"] == found["random"]["gain_percent"]


def test_an_unknown_reference_is_one_line_that_names_the_agents(studied, policyloop):
    path = studied('["uniform", "random"]', trials=1).path
    for form in ("table", "json", "csv"):
        code, out, error = policyloop("compare", path, "--reference", "randon", "--format", form)
        assert (code, out) == (2, "") and error.count("\n") == 1
        assert "unknown agent 'randon'" in error and "accepted: uniform, random" in error


def test_simple_regrets_are_compared_in_pairs(studied):
    study = studied()
    regret = {(one.agent, one.trial): one.simple_regret for one in study.recommendations()}
    for label, row in compare(study).items():
        apart = [regret[label, trial] - regret["gp-ucb", trial] for trial in range(1, 7)]
        if label != "gp-ucb":
            assert row["simple_regret_difference"] == t_interval(apart)


def test_p_values_are_of_the_paired_t_test_and_corrected_for_the_agents_that_are_compared(studied):
    study = studied()
    total, found = totals(study), compare(study)
    others = ["uniform", "random", "d-gpucb"]
    p = np.array([stats.ttest_rel(total.loc[label], total.loc["gp-ucb"]).pvalue for label in others])
    assert [found[label]["p_value"] for label in others] == pytest.approx(p)
    # Holm by its definition: the k-th smallest is rejected at a level if all up to it are, times 3, 2, 1.
    order = np.sort(p)
    holm = {p_k: max((3 - i) * order[i] for i in range(k + 1)) for k, p_k in enumerate(order)}
    expected = [min(1.0, holm[one]) for one in p]
    assert [found[label]["p_value_holm"] for label in others] == pytest.approx(expected)
    assert found["gp-ucb"]["p_value"] is None and found["gp-ucb"]["p_value_holm"] is None


def test_the_table_has_gain_difference_of_simple_regrets_and_p(studied, policyloop):
    text = policyloop("compare", studied().path)[1]
    head = " ".join(text.partition("Reference:")[0].replace("┃", " ").split())
    for word in ("gain, %", "reference's", "Holm"):
        assert word in head
    assert "of the paired difference, by Student's t, corrected by Holm for the 3 agents compared." in text
    assert text.count("reference │") == 3  # its own cells


def test_one_agent_alone_is_compared_with_nobody(studied, policyloop):
    text = policyloop("compare", studied('["uniform"]').path)[1]
    assert "gain" not in text and "Reference" not in text


def test_csv_holds_the_recommended_policy_and_its_outcomes_by_group(studied, policyloop):
    study = studied()
    table = compare(study)
    rows = list(csv.DictReader(io.StringIO(policyloop("compare", study.path, "--format", "csv")[1])))
    assert [row["agent"] for row in rows] == list(table)
    for row in rows:
        said = table[row["agent"]]["recommendation"]
        assert float(row["x_x"]) == said["policy"]["x"] and row["reference"] == "gp-ucb"
        # Noise-free outcomes are known of every agent's policy, predicted ones of a group model's.
        assert float(row["y_left_noise_free"]) == pytest.approx((said["policy"]["x"] - 0.2) ** 2 + 1)
        predicted = said["groups"]["left"]["mean"]
        assert (predicted is None) == (row["agent"] != "d-gpucb")
        assert row["y_left"] == ("" if predicted is None else str(predicted))
