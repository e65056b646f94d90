"""A model may fail while kernels are learned and while recommendations are simulated again, too."""

import numpy as np
import pytest

from scenarios.study.study import Study

MODEL = """
import numpy as np
import simulators
from scipy.optimize import Bounds


class Sick(simulators.Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("days", "days"), "days", "minimize"

    def __init__(self):
        self.policy_space = simulators.PolicySpace(("x", "y"), ("", ""), bounds=Bounds([0, 0], [1, 1]))

    def step(self, policy):
        if self.rng.random() < {share}:
            {fault}
        x = self.policy_space.check(policy)
        return simulators.Outcomes((x - [0.2, 0.6]) ** 2 + 0.01 * self.rng.standard_normal(2))
"""

SCENARIO = """
name = "sick"
rounds = 4
trials = 1
held_out = {held_out}
agents = ["d-gpucb", "gp-ucb"]
[environment]
name = "model.py:Sick"
{limits}
[prior]
samples = {samples}
restarts = 0
"""


@pytest.fixture
def sick(tmp_path, monkeypatch):
    def write(fault, share=0.3, samples=40, held_out=10, limits=""):
        (tmp_path / "model.py").write_text(MODEL.format(fault=fault, share=share))
        text = SCENARIO.format(samples=samples, held_out=held_out, limits=limits)
        (tmp_path / "sick.toml").write_text(text)
        monkeypatch.chdir(tmp_path)
        return "sick.toml"

    return write


FAULTS = {
    "raise ValueError('two\\nlines')": "ValueError: two lines",
    "raise SystemExit(3)": "the simulator asked to exit with code 3",
    "return [1, 2]": "step must return Outcomes, not list",
    "return simulators.Outcomes(np.ones(3))": "outcomes must have shape (2,)",
}


@pytest.mark.parametrize(("fault", "words"), FAULTS.items(), ids=["raise", "exit", "list", "shape"])
def test_samples_and_held_out_seeds_that_fail_are_left_out(sick, policyloop, fault, words, caplog):
    code, _, _ = policyloop("run", sick(fault), "--quiet")
    study = Study("sick.study.sqlite")
    assert code == (1 if study.failures else 0)
    assert len(study.to_dataframe()) == 8
    assert "of 40 samples failed and are left out; the last: " in caplog.text and words in caplog.text
    for one in study.recommendations():
        again = one.held_out.objective
        assert 0 < sum(value is None for value in again) < len(again)
        assert np.isfinite([value for value in again if value is not None]).all()


@pytest.mark.parametrize(("fault", "words"), FAULTS.items(), ids=["raise", "exit", "list", "shape"])
def test_a_model_that_always_fails_is_found_out_by_its_first_samples(
    sick, policyloop, fault, words, tmp_path
):
    code, _, err = policyloop("run", sick(fault, share=1), "--quiet")
    assert code == 1
    assert "none of the first 20 samples succeeded" in err and words in err and "(policy [" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "sick.study.sqlite").exists()


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("raise ValueError", ""),
        pytest.param("import time; time.sleep(60)", "step_seconds = 3.0", marks=pytest.mark.slow),
    ],
    ids=["raises", "hangs"],
)
def test_a_model_that_always_fails_is_not_waited_for_on_every_held_out_seed(
    sick, policyloop, fault, limits, tmp_path
):
    path = sick("open('steps', 'a').write('.'); " + fault, share=1, samples=0, limits=limits)
    code, _, _ = policyloop("run", path, "--quiet", "--rounds", 2, "--agents", "random")
    (advice,) = Study("sick.study.sqlite").recommendations()
    assert code == 1
    assert advice.held_out.objective == [None] * 10
    assert len((tmp_path / "steps").read_text()) == 2 + 3


@pytest.mark.parametrize(
    ("g", "words"),
    [
        ("outcomes['a']", "compose raises IndexError"),
        ("outcomes", r"compose must return one number a policy: of two policies shape (2,), not (2, 2)"),
    ],
)
def test_a_composition_that_cannot_be_is_refused_before_the_first_round(sick, policyloop, g, words, tmp_path):
    path = sick("pass")
    model = tmp_path / "model.py"
    model.write_text(
        model.read_text() + f"\n    def compose(self, outcomes, policies):\n        return {g}\n"
    )
    code, _, err = policyloop("run", path, "--quiet")
    assert code == 2 and words in err and err.count("\n") == 1
    assert not (tmp_path / "sick.study.sqlite").exists()
