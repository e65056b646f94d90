"""A model that fails costs its own rounds: they are marked, no agent is taught them, the study goes on."""

import sys

import numpy as np
import psutil
import pytest
from studies import eventually

from optimizer.agents.gp_agent import GPAgent
from scenarios.study.study import Study

MODEL = """
import json, os, sys, time
x = json.load(sys.stdin)["policy"]["x"]
if x > 0.5:
    {fault}
print(json.dumps({{"left": x, "right": 1 - x}}))
"""

SCENARIO = """
name = "faulty"
rounds = 6
trials = 1
agents = ["d-gpucb", "random"]
{more}
[environment]
name = "command"
[environment.options]
command = ["{python}", "-S", "model.py"]
folder = "."
seconds = 60.0
groups = ["left", "right"]
weights = [1, 2]
policy = {{ x = [0, 1] }}
[prior]
samples = 0
"""


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    def write(fault, more=""):
        (tmp_path / "model.py").write_text(MODEL.format(fault=fault))
        (tmp_path / "s.toml").write_text(SCENARIO.format(python=sys.executable, more=more))
        monkeypatch.chdir(tmp_path)
        return "s.toml"

    return write


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("sys.exit('no licence')", "ended with exit code 1; standard error ends: no licence"),
        pytest.param(
            "print('Loading...')",
            "must write one JSON object or list, and nothing else, to standard output",
            marks=pytest.mark.slow,
        ),
        ("os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
        ("print(json.dumps({'left': 1})); sys.exit()", "no group right"),
        pytest.param(
            "print(json.dumps([float('nan')] * 2)); sys.exit()",
            "every outcome is nan",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_study_goes_on_and_says_which_policy_and_seed(faulty, policyloop, fault, cause, monkeypatch):
    taught = []
    tell = GPAgent.tell

    def spy(agent, policies, observations, *more, **context):
        taught.append((policies[0, 0], observations[0]))
        tell(agent, policies, observations, *more, **context)

    monkeypatch.setattr(GPAgent, "tell", spy)
    code, _, err = policyloop("run", faulty(fault), "--quiet")
    table = Study("faulty.study.sqlite").to_dataframe()
    killed = "SIGKILL" in cause  # which is none of the policy's doing
    failed = table["status"] == ("lost" if killed else "failed")
    assert code == 1
    assert len(table) == 12
    assert failed.equals(table["x_x"] > 0.5)
    assert 0 < failed.sum() < 12
    assert table.loc[failed, "objective"].isna().all()
    own = table["agent"] == "d-gpucb"
    assert len(taught) == (own & ~failed).sum() if killed else len(taught) == 6
    for x, observed in taught:
        assert np.isnan(observed).all() if x > 0.5 else np.isfinite(observed).all()
    assert cause in err
    assert "(policy [" in err and ", seed " in err


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_study_stops_at_a_failure_where_the_scenario_says_so(faulty, policyloop, jobs):
    scenario = faulty("sys.exit('no licence')", "stop_at_failure = true")
    code, _, err = policyloop("run", scenario, "--quiet", "--jobs", jobs)
    table = Study("faulty.study.sqlite").to_dataframe()
    assert code == 1
    assert len(table) < 12
    assert (table["status"] == "failed").any()
    assert "SimulationError: trial 1, " in err and "no licence" in err and "(policy [" in err


def test_a_program_that_is_not_there_is_found_out_before_the_first_round(faulty, policyloop, tmp_path):
    path = faulty("pass")
    (tmp_path / path).write_text((tmp_path / path).read_text().replace(sys.executable, "no-such-program"))
    code, _, err = policyloop("run", path, "--quiet")
    assert code == 2
    assert err.count("\n") == 1
    assert "s.toml: environment.options: command: program 'no-such-program' is not on the PATH" in err
    assert not (tmp_path / "faulty.study.sqlite").exists()


def test_a_program_ends_with_the_step_that_its_time_limit_stops(faulty, policyloop, tmp_path):
    path = faulty(
        "open(os.environ['POLICYLOOP_FOLDER'] + '/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    )
    text = (tmp_path / path).read_text().replace("seconds = 60.0\n", "")
    (tmp_path / path).write_text(
        text.replace("[environment.options]", "step_seconds = 2.5\n[environment.options]")
    )
    code, _, err = policyloop("run", path, "--quiet", "--rounds", 2, "--agents", "random")
    assert code == 1 and "took longer than 2.5 s" in err
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not psutil.pid_exists(pid))
