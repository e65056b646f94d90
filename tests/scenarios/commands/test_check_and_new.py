"""`policyloop check` says what is wrong with a simulator, `policyloop new` writes one that works."""

import re
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

import simulators.contract.checker
from scenarios.commands.check import misses

FAULTY = """
import numpy as np
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class Faulty(Environment):
    groups, group_units, objective_unit, sense = ("a", "b"), ("1", "1"), "1", "minimize"
    policy_space = PolicySpace(["x"], ["1"], bounds=Bounds(0, 1))

    def __init__(self, fault=""):
        self.fault = fault
        self.trap = lambda: 0  # cannot be pickled, nor does it have to be
        self.shift = float(np.random.default_rng().random()) if fault == "no copies" else 0.0
        if fault == "never made":
            raise SystemExit("no licence")

    def step(self, policy):
        if self.fault == "clipped":
            x = float(np.clip(np.ravel(policy)[0], 0, 1))
        else:
            x = self.policy_space.check(policy)[0]
        if self.fault == "order":
            self.groups = self.groups[::-1]
        if self.fault == "shape":
            return Outcomes(np.zeros(3))
        if self.fault == "exit":
            raise SystemExit(3)
        if self.fault == "key":
            raise KeyError("gain")
        print("the model says hello")
        noise = np.random if self.fault == "global" else self.rng
        if self.fault == "no seeds":
            noise = np.random.default_rng()
        return Outcomes(np.array([x, 1 - x]) + self.shift + noise.normal(0, 0.01, 2))

    def expected(self, policies):
        if self.shift:
            raise NotImplementedError
        if self.fault == "expected":
            return 5 + np.zeros((len(policies), 2))
        return np.column_stack([np.ravel(policies), 1 - np.ravel(policies)])

    def compose(self, outcomes, policies):
        if self.fault == "exit in compose":
            raise SystemExit(3)
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
    assert code == 0
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
        ("no copies", "made anew, as each worker of a study does, the environment gives another step"),
        ("exit", "it asked to exit (3), which costs a study the round"),
    ],
)
def test_each_fault_is_told_in_plain_words(file, policyloop, fault, finding):
    code, out, _ = policyloop("check", f"{file}:Faulty", "--option", f"fault={fault}")
    assert code == 1
    assert finding in out


def test_what_the_model_prints_is_not_among_the_findings(file, policyloop):
    _, out, err = policyloop("check", f"{file}:Faulty")
    assert out.count("\n") == 2 and "hello" not in out
    assert "the model says hello\n" in err


def test_a_fault_that_recurs_is_one_finding_with_its_first_policy_and_seed(file, policyloop):
    _, out, _ = policyloop("check", f"{file}:Faulty", "--option", "fault=key")
    first, finding, last = out.splitlines()
    assert last == "1 found"
    assert re.fullmatch(
        r"- step failed at the feasible policy \([\d.]+\) with seed 0: it raised KeyError: 'gain' "
        r"\(the first of \d\d such\)",
        finding,
    )


def test_a_simulator_that_exits_when_it_is_made_is_told_in_one_line(file, policyloop):
    code, out, err = policyloop("check", f"{file}:Faulty", "--option", "fault=never made")
    assert (code, out) == (2, "")
    assert err.endswith("the simulator asked to exit (no licence) when it was made\n")
    assert err.count("\n") == 1


def test_a_scenario_is_checked_for_what_a_run_would_refuse(file, scenario_file, policyloop):
    path = scenario_file(environment=f"{file}:Faulty", agents='["randm"]')
    code, out, _ = policyloop("check", path)
    assert code == 1
    assert "agents[0]: unknown agent 'randm'; did you mean 'random'?" in out
    scenario_file(environment=f"{file}:Faulty", agents='["random"]', options='fault = "exit in compose"')
    code, out, _ = policyloop("check", path)
    assert code == 1 and "asked to exit (3)" in out
    scenario_file(environment=f"{file}:Faulty", agents='["random"]')
    assert policyloop("check", path)[0] == 0


def test_a_slow_step_is_told(file, policyloop, monkeypatch):
    monkeypatch.setattr(simulators.contract.checker, "SLOW", 0.0)
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
        (["flu-ode", "--option", "dais=3"], "no option 'dais'; did you mean 'days'?"),
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


EDITED = """
import numpy as np
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class MyClinics(Environment):
    groups, group_units, objective_unit, sense = ("a", "b", "c"), ("1", "1", "1"), "1", "maximize"
    policy_space = PolicySpace(["pills"], ["1/day"], bounds=Bounds(2, 9))

    def step(self, policy):
        pills = self.policy_space.check(policy)[0]
        return Outcomes(pills * np.arange(3) + self.rng.standard_normal(3))
"""


def pytest_of(home):
    """The last line that pytest prints of a package's own tests, without the time they took."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=home,
        env={"PYTHONPATH": ":".join([str(home), *sys.path])},
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()[-1].partition(" in ")[0]


def test_the_test_of_a_new_simulator_passes(tmp_path, policyloop):
    assert policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)[0] == 0
    assert pytest_of(tmp_path / "my-clinics") == "2 passed"


def test_a_new_simulator_declares_its_entry_point(tmp_path, policyloop):
    policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)
    project = tomllib.loads((tmp_path / "my-clinics" / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["policyloop.simulators"]
    assert points == {"my-clinics": "my_clinics.simulator:MyClinics"}


def test_the_test_passes_once_only_the_simulator_has_been_edited(tmp_path, policyloop):
    assert policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)[0] == 0
    (tmp_path / "my-clinics" / "my_clinics" / "simulator.py").write_text(EDITED)
    assert pytest_of(tmp_path / "my-clinics") == "2 passed"


def test_a_lever_of_the_template_becomes_whole_as_its_comment_says(tmp_path, policyloop):
    policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)
    file = tmp_path / "my-clinics" / "my_clinics" / "simulator.py"
    text = file.read_text().replace("PolicySpace, Real", "PolicySpace, Real, Whole")
    assert "# Whole(1, 20): only whole numbers" in text and '# OneOf(("flat", "peak")): a category' in text
    file.write_text(text.replace("Real(1, 20)", "Whole(1, 20)"))
    assert policyloop("check", f"{file}:MyClinics")[0] == 0
    assert pytest_of(tmp_path / "my-clinics") == "2 passed"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Clinics", "accepted: small letters (a-z), digits and hyphens"),
        ("my clinics", "accepted: small letters (a-z)"),
        ("../clinics", "accepted: small letters (a-z)"),
        ("klinik-süd", "accepted: small letters (a-z)"),
        ("9", "a letter first"),
        ("", "accepted: small letters (a-z)"),
        ("json", "json is another package"),
        ("numpy", "numpy is another package"),
        ("scikit-learn", "scikit_learn is another package"),
        ("simulators", "simulators is another package"),
        ("flu-ode", "is the name of an environment already"),
        ("class", "is a word of the language Python"),
        ("none", "is a word of the language Python"),
        ("outcomes", "would call its class Outcomes, a name that it imports"),
        ("one-of", "would call its class OneOf, a name that it imports"),
    ],
)
def test_a_name_that_cannot_work_is_refused_with_the_reason(name, reason, tmp_path, policyloop):
    code, _, err = policyloop("new", "simulator", name, "--folder", tmp_path)
    assert code == 2
    assert reason in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path, policyloop):
    (tmp_path / "my-clinics").mkdir()
    code, _, err = policyloop("new", "simulator", "my-clinics", "--folder", tmp_path)
    assert code == 2
    assert "is there already" in err
    assert not list((tmp_path / "my-clinics").iterdir())


def test_what_a_fit_misses_is_named_from_a_tenth_on():
    def fitted(expected, misfit=4.0):
        fit = SimpleNamespace(
            observed=np.array([0.2, 0.4, 0.0]), expected=np.array(expected), labels="abc", misfit=misfit
        )
        return misses(SimpleNamespace(fit=fit))

    assert fitted([0.2, 0.4, 0.0]) == fitted([0.219, 0.361, 0.0]) == fitted([0.3, 0.4, 0.0], misfit=1.0) == []
    (told,) = fitted([0.221, 0.2, 0.0])
    assert "2 of 3 values observed are missed by more than 10%: b 0.4 (fitted 0.2, -50 %), a 0.2" in told
    assert misses(SimpleNamespace()) == misses(SimpleNamespace(fit=None)) == []
