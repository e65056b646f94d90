"""`policyloop check` says what is wrong with a simulator, `policyloop new` writes one that works."""

import subprocess
import sys
import tomllib

import pytest

import simulators.check

FAULTY = """
import numpy as np
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class Faulty(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("1", "1"), "1", "minimize"
    policy_space = PolicySpace(["x"], ["1"], bounds=Bounds(0, 1))

    def __init__(self, fault=""):
        self.fault = fault
        if fault == "no copies":
            self.trap = lambda: 0

    def step(self, policy):
        if self.fault == "clipped":
            x = float(np.clip(np.ravel(policy)[0], 0, 1))
        else:
            x = self.policy_space.check(policy)[0]
        if self.fault == "order":
            self.groups = self.groups[::-1]
        if self.fault == "shape":
            return Outcomes(np.zeros(3))
        noise = np.random if self.fault == "global" else self.rng
        if self.fault == "no seeds":
            noise = np.random.default_rng()
        return Outcomes(np.array([x, 1 - x]) + noise.normal(0, 0.01, 2))

    def expected(self, policies):
        if self.fault == "expected":
            return 5 + np.zeros((len(policies), 2))
        return np.column_stack([np.ravel(policies), 1 - np.ravel(policies)])

    def compose(self, outcomes, policies):
        if self.fault == "one by one":
            return float(np.sum(outcomes))
        return np.asarray(outcomes).sum(axis=-1)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "faulty.py"
    path.write_text(FAULTY)
    return path


def test_a_simulator_that_keeps_the_contract_is_ready(file, policyloop):
    code, out, err = policyloop("check", f"{file}:Faulty")
    assert (code, err) == (0, "")
    assert "2 groups, 1 policy entries" in out
    assert out.endswith("nothing found: it is ready\n")


@pytest.mark.parametrize(
    ("fault", "finding"),
    [
        ("no seeds", "reset(seed) with the same int twice must give the same step"),
        ("global", "changed the global random state"),
        ("shape", "step must return 2 values, one a group"),
        ("order", "groups changed from ('a', 'b'); their names and order"),
        ("clipped", "is above its bound with ValueError; it accepted"),
        ("expected", "expected of group 'a' is 5, but 12 steps"),
        ("one by one", "compose of 8 rows must have shape (8,)"),
        ("no copies", "cannot be pickled, so trials cannot run in parallel"),
    ],
)
def test_each_fault_is_told_in_plain_words(file, policyloop, fault, finding):
    code, out, err = policyloop("check", f"{file}:Faulty", "--option", f"fault={fault}")
    assert (code, err) == (1, "")
    assert finding in out


def test_a_slow_step_is_told(file, policyloop, monkeypatch):
    monkeypatch.setattr(simulators.check, "SLOW", 0.0)
    code, out, _ = policyloop("check", f"{file}:Faulty")
    assert code == 1
    assert "- a step takes " in out
    assert "so that 100 rounds take 0 minutes" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown environment 'nothing'"),
        (["flu-ode", "--option", "days"], "--option days; accepted: KEY=VALUE"),
        (["flu-ode", "--option", "days=-1"], "days=-1"),
        (["flu-ode", "--option", "dais=3"], "no option 'dais' (nearest: 'days')"),
        (["no.toml"], "no.toml: there is no such scenario file"),
        (["flu.toml", "--option", "days=3"], "--option is accepted only without a scenario"),
    ],
)
def test_a_mistake_in_the_command_is_one_line(policyloop, arguments, message):
    code, _, err = policyloop("check", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_a_new_simulator_works_at_once(tmp_path, policyloop, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = policyloop("new", "simulator", "my-clinics")
    assert (code, err) == (0, "")
    for line in out.splitlines()[1:]:
        command = line.split()
        few = ["--trials", "1", "--rounds", "5", "--quiet"] if command[1] == "run" else []
        assert policyloop(*command[1:], *few)[0] == 0


def test_the_test_of_a_new_simulator_passes(tmp_path, policyloop):
    assert policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path / "my-clinics",
        env={"PYTHONPATH": ":".join([str(tmp_path / "my-clinics"), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert "2 passed" in done.stdout


def test_a_new_simulator_declares_its_entry_point(tmp_path, policyloop):
    policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)
    project = tomllib.loads((tmp_path / "my-clinics" / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["policyloop.simulators"]
    assert points == {"my-clinics": "my_clinics.simulator:MyClinics"}


@pytest.mark.parametrize(
    "name", ["Clinics", "my clinics", "../clinics", "json", "simulators", "class", "9", ""]
)
def test_a_name_that_cannot_be_a_package_is_refused(name, tmp_path, policyloop):
    code, _, err = policyloop("new", "simulator", name, "--folder", tmp_path)
    assert code == 2
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path, policyloop):
    (tmp_path / "my-clinics").mkdir()
    code, _, err = policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)
    assert code == 2
    assert "is there already" in err
    assert not list((tmp_path / "my-clinics").iterdir())
