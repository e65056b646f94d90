"""Models that misbehave in whole runs: every round is there, and so are the study and its messages."""

import subprocess
import sys

import numpy as np
import pytest
from studies import ROOT

from scenarios import load, run
from scenarios.study.study import Study

MODEL = """
import os, sys
{at_import}
import numpy as np
import simulators
from scipy.optimize import Bounds


class Bad(simulators.Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "minimize"

    def __init__(self):
        self.policy_space = simulators.PolicySpace(("x",), ("",), bounds=Bounds([0], [1]))

    def step(self, policy):
        x = float(policy[0])
        values = np.array([x, 1 - x]) + 0.01 * self.rng.standard_normal(2)
        if x > 0.5:
            {act}
        return simulators.Outcomes(values)

{more}
"""

SCENARIO = """
name = "bad"
rounds = 7
trials = 1
agents = ["d-gpucb", "gp-ucb", "random"]
[environment]
name = "model.py:Bad"
{limits}
[prior]
samples = {samples}
restarts = 0
"""


@pytest.fixture
def bad(tmp_path):
    def write(act="pass", more="", at_import="", limits="", samples=0):
        (tmp_path / "model.py").write_text(MODEL.format(act=act, more=more, at_import=at_import))
        (tmp_path / "bad.toml").write_text(SCENARIO.format(limits=limits, samples=samples))
        return tmp_path

    return write


def policyloop(folder, *words):
    command = "from scenarios.cli import main; main()"
    path = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", command, *words, *(["--trust"] if words[0] == "run" else [])],
        cwd=folder,
        env=path,
        capture_output=True,
        timeout=300,
    )


STORABLE = {
    "raise ValueError(chr(0xDCFF) + chr(27))": r"ValueError: \udcff\x1b",
    "raise ValueError('x' * 5_000_000)": "(5000000 characters)",
    "raise type('Own', (BaseException,), {})('gone')": "Own: gone",
    "raise GeneratorExit": "GeneratorExit:",
    "values = values + 0j": "not a number",
    "values = np.ma.array(values, mask=[True, False])": "the outcome of a is masked",
    "values = [18 * 10**307, 0]": "infinite",
    "return simulators.Outcomes(values, np.array([np.inf, 1]))": "noise_variance must be finite",
    "return simulators.Outcomes(values, np.array([-1.0, 1]))": "a variance not negative",
    "return simulators.Outcomes(values, ['1', '2'])": "noise_variance must be numbers, not text",
}


@pytest.mark.parametrize(
    ("act", "limits"), [*((act, "") for act in STORABLE), (next(iter(STORABLE)), "step_seconds = 60.0")]
)
def test_every_failure_is_stored_as_a_round_and_the_run_goes_on(bad, act, limits):
    folder = bad(act, limits=limits)
    study = run(load(folder / "bad.toml"), out=folder / "s.sqlite")
    rounds = study.rounds()
    assert len(rounds) == 21
    assert {one.status for one in rounds if one.policy[0] <= 0.5} == {"ok"}
    failed = [one for one in rounds if one.policy[0] > 0.5]
    assert {one.status for one in failed} == {"failed"} and STORABLE[act] in failed[0].error
    assert all(len(one.error) < 5000 and one.error.isprintable() for one in failed)


def g(body):
    return (
        f"    def compose(self, outcomes, policies):\n        {body}\n        return outcomes.sum(axis=-1)\n"
    )


COMPOSITIONS = {
    "raises": g("if (outcomes[..., 0] > 0.6).any(): raise ValueError('no')"),
    "exits": g("if (outcomes[..., 0] > 0.6).any(): raise SystemExit(1)"),
    "overflows": g("outcomes = np.where(outcomes > 0.6, 1e200, outcomes)"),
    "weights": "    def weights(self, policies):\n"
    "        if (np.asarray(policies) > 0.6).any(): raise ValueError\n"
    "        return np.ones((len(policies), 2))\n",
}


@pytest.mark.parametrize(
    ("kind", "samples"),
    [
        ("raises", 0),
        pytest.param("raises", 20, marks=pytest.mark.slow),
        pytest.param("exits", 0, marks=pytest.mark.slow),
        pytest.param("exits", 20, marks=pytest.mark.slow),
        ("overflows", 0),
        ("overflows", 20),
        ("weights", 0),
        pytest.param("weights", 20, marks=pytest.mark.slow),
    ],
)
def test_a_composition_that_fails_costs_its_rounds_and_a_run_can_go_on(bad, kind, samples):
    folder = bad(more=COMPOSITIONS[kind], samples=samples)
    scenario = load(folder / "bad.toml")
    study = run(scenario, out=folder / "s.sqlite")
    more = run(scenario.model_copy(update={"rounds": 9}), out=folder / "s.sqlite", resume=True)
    whole = run(scenario.model_copy(update={"rounds": 9}), out=folder / "w.sqlite")
    assert len(study.rounds()) in (21, 27) and len(more.rounds()) == 27
    for one, other in zip(more.rounds(), whole.rounds(), strict=True):
        assert one.policy == other.policy and one.status == other.status
        if one.policy[0] > 0.65 if kind != "overflows" else one.policy[0] > 0.65 or one.policy[0] < 0.35:
            assert one.status == "failed" and one.outcomes == [None, None] and "compose" in one.error
        elif 0.45 < one.policy[0] < 0.55:
            assert one.status == "ok" and np.isfinite(one.objective)


def test_expected_that_fails_costs_the_regret_of_its_rounds(bad, caplog):
    more = (
        "    def expected(self, policies):\n        p = np.asarray(policies, dtype=float)\n"
        "        if (p > 0.6).any(): raise ValueError('unknown there')\n"
        "        return np.hstack([p, 1 - p])\n"
    )
    folder = bad(more=more)
    rounds = run(load(folder / "bad.toml"), out=folder / "s.sqlite").rounds()
    assert {one.status for one in rounds} == {"ok"} and len(rounds) == 21
    assert all((one.regret is None) == (one.policy[0] > 0.6) for one in rounds)
    assert "no regret where expected fails" in caplog.text and "unknown there" in caplog.text


@pytest.mark.parametrize(
    ("act", "at_import"),
    [
        ("os.chdir('/')", ""),
        pytest.param("pass", "os.chdir('/')", marks=pytest.mark.slow),
        pytest.param("sys.stdout.close(); sys.stderr.close()", "", marks=pytest.mark.slow),
        pytest.param("os.close(1); os.close(2)", "", marks=pytest.mark.slow),
        pytest.param("pass", "sys.stdout.close(); sys.stderr.close()", marks=pytest.mark.slow),
        pytest.param("sys.stdout = sys.stderr = None", "", marks=pytest.mark.slow),
    ],
)
def test_a_relative_study_and_the_output_do_not_depend_on_the_model(bad, act, at_import):
    folder = bad(act, at_import=at_import)
    done = policyloop(folder, "run", "bad.toml", "--out", "own.sqlite", "--rounds", "4", "--agents", "random")
    assert done.returncode == 0, done.stderr
    assert len(Study(folder / "own.sqlite").rounds()) == 4
    assert b"4 of 4 rounds stored" in done.stderr and b"random" in done.stdout
    assert b"Traceback" not in done.stderr
