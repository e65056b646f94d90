"""What nobody can believe or confirm is refused in one line before the first round, or costs its round."""

import pytest

from scenarios.study.study import Study

MODEL = """
import numpy as np, simulators
class Pond(simulators.Environment):
    groups, group_units, objective_unit, sense = ("fish", "crabs"), ("kg", "kg"), "kg", "maximize"
    policy_space = simulators.PolicySpace(("net",), ("m",), candidates=np.linspace(0, 1, 9)[:, None])
    outcome_range = {range}
    def step(self, policy):
        return simulators.Outcomes(self.expected([policy])[0], {noise})
    def expected(self, policies):
        return (self.policy_space.resolve(policies) - 0.3) ** 2 * np.array([1.0, 2.0])
"""
SCENARIO = """
name = "pond"
rounds = 4
trials = 1
{more}
agents = ["d-gpucb", "gp-ucb"]
[environment]
name = "pond.py:Pond"
[prior]
samples = 0
"""


@pytest.fixture
def pond(tmp_path, monkeypatch):
    def write(range="None", noise="None", more=""):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "pond.py").write_text(MODEL.format(range=range, noise=noise))
        (tmp_path / "pond.toml").write_text(SCENARIO.format(more=more))
        return tmp_path

    return write


@pytest.mark.parametrize("confirm", [4, 5, 400])
def test_as_many_rounds_that_confirm_as_there_are_rounds_are_refused(confirm, pond, policyloop):
    folder = pond(more=f"confirm = {confirm}")
    code, out, error = policyloop("run", "pond.toml")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert f"confirm = {confirm}" in error and "rounds" in error
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.parametrize("range", ["[(1, 0), (0, 1)]", "[(0, 1)]", "[(0, float('nan')), (0, 1)]", "'wide'"])
def test_an_impossible_range_of_outcomes_is_refused(range, pond, policyloop):
    folder = pond(range=range)
    code, out, error = policyloop("run", "pond.toml")
    assert (code, out, error.count("\n")) == (2, "", 1) and "outcome_range" in error
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"range": "[(0, 0.05), (0, 1)]"}, "outcome_range"),
        ({"noise": "np.array([[1.0, 2.0], [2.0, 1.0]])"}, "no eigenvalue below 0"),
        ({"noise": "np.array([[1.0, 0.5], [-0.5, 1.0]])"}, "symmetric"),
    ],
)
def test_what_cannot_be_observed_costs_its_round_and_nothing_else(changes, words, pond, policyloop):
    pond(**changes)
    code, _, error = policyloop("run", "pond.toml", "--quiet")
    assert code == 1 and "Traceback" not in error
    rounds = Study("pond.study.sqlite").rounds()
    assert len(rounds) == 8
    failed = [one for one in rounds if one.status == "failed"]
    assert failed and all(words in one.error for one in failed)
