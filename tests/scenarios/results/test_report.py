"""What is written below the comparison, so that nobody reads more into it than there is."""

import re

import pytest

from scenarios import load, run
from scenarios.results.statistics import compare

MODEL = """
import numpy as np
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace, SimulationError


class Model(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "minimize"
    policy_space = PolicySpace(["x"], [""], bounds=Bounds(0, 1))

    def __init__(self, fails=0.0, silent=False):
        self.fails, self.silent = fails, silent

    def step(self, policy):
        x = self.policy_space.check(policy)[0]
        if self.rng.random() < self.fails:
            raise SimulationError("no power")
        values = np.array([x, 1 - x]) + 0.01 * self.rng.standard_normal(2)
        return Outcomes(np.array([values[0], np.nan]) if self.silent else values)
"""


@pytest.fixture
def told(tmp_path, scenario_file, policyloop):
    """Run a scenario on the model above, or on another environment: what `compare` prints."""
    (tmp_path / "model.py").write_text(MODEL)

    def read(options="", **changes):
        values = {"environment": "model.py:Model", "samples": 0, "agents": '["gp-ucb", "uniform"]'}
        scenario = load(scenario_file(options=options, **{**values, **changes}))
        study = run(scenario, out=tmp_path / "s.sqlite", force=True)
        code, out, _ = policyloop("compare", study.path)
        assert code == 0
        return study, out

    return read


def comparison(text):
    """The first table."""
    return text.partition("└")[0]


def test_fewer_than_five_trials_have_no_interval(told):
    study, text = told(environment="secret", trials=4)
    assert "[" not in comparison(text) and "95 % interval" not in comparison(text)
    assert "Fewer than 5 trials are too few for an interval" in text and "Intervals:" not in text
    gain = compare(study)["uniform"]["gain_over_gp_ucb_percent"]
    assert gain["mean"] is not None and gain["low"] is None and gain["high"] is None


def test_five_trials_have_intervals_and_it_is_said_how_they_are_made(told):
    study, text = told(environment="secret", trials=5, samples=10)
    assert "mean and 95 % interval" in text and "[" in comparison(text)
    assert "Intervals: Student's t over trials, of regrets" not in text
    assert "Intervals: Student's t over trials; of the gain, Fieller's." in text
    assert "too few" not in text
    gain = compare(study)["uniform"]["gain_over_gp_ucb_percent"]
    assert gain["low"] <= gain["mean"] <= gain["high"]


@pytest.mark.parametrize(("rounds", "alike"), [(5, True), (6, False)])
def test_it_is_said_that_agents_which_shared_all_policies_cannot_be_told_apart(told, rounds, alike):
    _, text = told(rounds=rounds)
    assert ("All agents tried the same policies" in text) == alike


def test_one_agent_alone_shares_its_policies_with_nobody(told):
    assert "the same policies" not in told(rounds=3, agents='["uniform"]')[1]


def test_a_group_that_was_never_observed_is_named(told):
    study, text = told(options="silent = true")
    assert study.to_dataframe()["objective"].isna().all()
    assert "Never observed: b. So the objective is unknown." in text
    assert "small: 4 rounds; mean" in text
    assert "Never observed" not in told()[1]


def test_without_units_there_are_no_empty_brackets(told):
    _, text = told()
    assert "objective; mean" in text and " in ;" not in text and "()" not in text
    assert re.search(r"Objective of the recommended policy *\n", text)
    assert not re.search(r"\n *\n┏", text.replace("policy by group, with 95 % credible interval", ""))


def test_a_unit_is_shown_where_there_is_one(told):
    _, text = told(environment="secret")
    assert "objective in points;" in text
    assert "Objective of the recommended policy (points)" in text


def test_held_out_seeds_without_a_result_are_counted(told):
    study, text = told(options="fails = 0.3")
    objective = [one.held_out.objective for one in study.recommendations()]
    lost = sum(value is None for values in objective for value in values)
    assert 0 < lost < 80
    assert f"the same for all agents of a trial; no result on {lost} of 80." in text
    assert re.search(r"; no result on \d+ of 20 │", text)
    assert "no result" not in told()[1]
