"""A file from a stranger is data: to read it runs nothing, and to run it runs only what was accepted."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import simulators
from scenarios import UserError, load, run
from scenarios.commands import trust
from scenarios.declaration.code import code_of, is_own
from scenarios.declaration.schema import Scenario
from scenarios.results.bounds import study_bounds
from scenarios.study.checksums import seal_all
from scenarios.study.stored_environment import StoredEnvironment, facts_of
from scenarios.study.study import Study

MODEL = """
import pathlib
pathlib.Path(__file__).with_name("was-run").write_text("yes")
import numpy as np, simulators
class Pond(simulators.Environment):
    groups, group_units, objective_unit, sense = ("fish",), ("kg",), "kg", "maximize"
    policy_space = simulators.PolicySpace(("net",), ("m",), candidates=np.linspace(0, 1, 9)[:, None])
    def step(self, policy):
        return simulators.Outcomes(-self.expected([policy])[0] + self.rng.normal(0, 0.01, 1))
    def expected(self, policies):
        return (self.policy_space.resolve(policies) - 0.3) ** 2
"""
SCENARIO = """
name = "ponds"
rounds = 3
trials = 1
agents = ["d-gpucb", "random"]
[environment]
name = "ponds.py:Pond"
[prior]
samples = 5
restarts = 0
"""
HOSTILE = [
    ("subprocess:Popen", {"args": "touch was-run", "shell": True}),
    ("command", {"command": ["touch", "was-run"], "policy": {"x": [0, 1]}, "groups": ["a"]}),
    ("function", {"function": "ponds.py:Pond", "policy": {"x": [0, 1]}, "groups": ["a"]}),
    ("mesa", {"model": "ponds.py:Pond", "policy": {"x": [0, 1]}}),
    ("gymnasium", {"env": "ponds:Pond-v0", "outcomes": "ponds.py:Pond"}),
    ("um-bridge", {"url": "http://127.0.0.1:9", "policy": {"x": [0, 1]}, "groups": ["a"]}),
    ("flu-ode", {"compose": "ponds.py:Pond"}),
]


@pytest.fixture
def strange(monkeypatch, tmp_path):
    """A folder with somebody's model and scenario, in which nobody answers questions."""
    monkeypatch.setattr(trust, "_agreed", lambda *asked: False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ponds.py").write_text(MODEL)
    (tmp_path / "ponds.toml").write_text(SCENARIO)
    return tmp_path


@pytest.mark.parametrize("command", ["run", "check", "serve"])
def test_code_that_a_scenario_names_is_not_run_before_it_was_accepted(command, strange, policyloop):
    code, out, error = policyloop(command, "ponds.toml")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "ponds.py:Pond" in error and "--trust" in error
    assert not (strange / "was-run").exists() and not list(strange.glob("*.sqlite"))


def test_what_was_accepted_is_run_until_it_changes(strange, policyloop):
    assert policyloop("run", "ponds.toml", "--trust", "--quiet")[0] == 0
    assert (strange / "was-run").exists()
    again = ("run", "ponds.toml", "--out", "b.sqlite", "--quiet")
    assert policyloop(*again)[0] == 0 and policyloop("check", "ponds.toml")[0] in (0, 1)
    assert policyloop("resume", "ponds.study.sqlite", "--rounds", 4, "--quiet")[0] == 0
    with open("ponds.py", "a") as file:
        file.write("# other\n")
    for words in (again, ("resume", "b.sqlite", "--rounds", 4)):
        code, _, error = policyloop(*words)
        assert code == 2 and "--trust" in error and error.count("\n") == 1
    code, _, error = policyloop("resume", "b.sqlite", "--rounds", 4, "--trust")
    assert code == 2 and "ponds.py has changed" in error and "--accept-changes" in error


def test_what_is_typed_needs_no_acceptance(strange, policyloop):
    assert policyloop("check", "ponds.py:Pond")[0] in (0, 1)
    (strange / "agents.py").write_text(
        "import optimizer\ndef Mine(space, composition, seed=0):\n"
        "    return optimizer.make_agent('random', space, composition, seed=seed)\n"
    )
    text = 'name = "s"\nrounds = 1\ntrials = 1\nagents = ["random"]\n[environment]\nname = "valley"\n'
    (strange / "s.toml").write_text(text + "[prior]\nsamples = 0\n")
    assert policyloop("run", "s.toml", "--agents", "agents.py:Mine", "--quiet")[0] == 0
    (strange / "s.toml").write_text((strange / "s.toml").read_text().replace('"random"', '"agents.py:Mine"'))
    (strange / "agents.py").write_text((strange / "agents.py").read_text() + "# other\n")
    code, _, error = policyloop("run", "s.toml", "--out", "t.sqlite")
    assert code == 2 and "agents.py:Mine" in error


def test_a_terminal_is_asked_once(strange, monkeypatch, policyloop):
    asked = []
    monkeypatch.setattr(trust, "_agreed", lambda scenario, named: bool(asked.append(named) or True))
    for out in ("a.sqlite", "b.sqlite"):
        assert policyloop("run", "ponds.toml", "--out", out, "--quiet")[0] == 0
    assert asked == [[str(strange / "ponds.py:Pond")]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Studies of a finite space and of one of numbers."""
    folder = tmp_path_factory.mktemp("finished")
    for name, options in (("weather", "{}"), ("flu-ode", "{ days = 40 }")):
        (folder / f"{name}.toml").write_text(
            f'name = "own"\nrounds = 2\ntrials = 1\nagents = ["d-gpucb", "random"]\n[environment]\n'
            f'name = "{name}"\noptions = {options}\n[prior]\nsamples = 8\nrestarts = 0\n'
        )
        run(load(folder / f"{name}.toml"), out=folder / name)
    return folder


def hostile(study, path, name, options):
    """A copy of a study whose environment and agents are somebody's code."""
    shutil.copy(study, path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for table in ("meta", "meta_copy"):
            text = connection.execute(f"SELECT value FROM {table} WHERE key = 'scenario'").fetchone()[0]
            scenario = json.loads(text)
            scenario["environment"] |= {"name": name, "options": options}
            scenario["agents"][1]["name"] = "ponds.py:Pond"
            connection.execute(
                f"UPDATE {table} SET value = ? WHERE key = 'scenario'", (json.dumps(scenario),)
            )
        seal_all(connection)
    assert code_of(Study(path).scenario) and not is_own(Study(path).scenario)
    return path


@pytest.mark.parametrize(("name", "options"), HOSTILE)
def test_reading_a_study_runs_nothing_that_it_names(name, options, finished, strange, policyloop):
    path = hostile(finished / "flu-ode", strange / "s.sqlite", name, options)
    for command, *more in (("show",), ("compare",), ("compare", "--format", "json"), ("export",)):
        assert policyloop(command, path, *more)[0] == 0
    code, _, error = policyloop("resume", path, "--rounds", 4)
    assert code == 2 and "--trust" in error and error.count("\n") == 1
    assert not (strange / "was-run").exists() and "ponds" not in sys.modules


@pytest.mark.parametrize("base", ["weather", "flu-ode"])
def test_drawing_and_merging_studies_run_nothing_that_they_name(base, finished, strange, policyloop):
    path = hostile(finished / base, strange / "s.sqlite", *HOSTILE[0])
    assert policyloop("merge", path, path, "--out", "m.sqlite")[0] == 0
    code, _, error = policyloop("plot", path, "--bound")
    assert code == 2 and "no bound to draw" in error and error.count("\n") == 1
    assert policyloop("plot", path, "--out", "figures")[0] == 0
    assert (strange / "figures" / "recommended_policy.svg").exists()
    assert not (strange / "was-run").exists() and "ponds" not in sys.modules


def test_asking_and_reporting_run_nothing_that_a_study_names(finished, strange, policyloop):
    path = hostile(finished / "flu-ode", strange / "s.sqlite", *HOSTILE[0])
    for command, *more in (
        ("what-if", "--objective", "worst-group"),
        ("frontier", "--between", "0-19", "--and", "70+"),
        ("report", "--out", "r.html"),
        ("repair", "--out", "repaired.sqlite"),
    ):
        code, _, error = policyloop(command, path, *more)
        assert code in (0, 2) and error.count("\n") <= 3, (command, error)
        assert "Traceback" not in error
    assert (strange / "r.html").exists()
    assert not (strange / "was-run").exists() and "ponds" not in sys.modules


def test_bounds_of_a_stored_environment_are_those_of_the_environment_itself(strange, policyloop):
    assert policyloop("run", "ponds.toml", "--trust", "--quiet")[0] == 0
    study = Study("ponds.study.sqlite")
    found = study_bounds(study)["d-gpucb"]
    environment = simulators.make(str(strange / "ponds.py:Pond"))
    stored = StoredEnvironment(study.environment)
    rows = np.arange(9)
    outcomes = np.random.default_rng(0).normal(size=(9, 1))
    np.testing.assert_array_equal(stored.compose(outcomes, rows), environment.compose(outcomes, rows))
    np.testing.assert_array_equal(stored.policy_space.embed(rows), environment.policy_space.embed(rows))
    assert found.shape == (3,) and (np.diff(found) > 0).all()


@pytest.mark.parametrize("name", ["flu-ode", "weather", "synthetic"])
def test_what_readers_need_of_an_environment_is_stored(name):
    environment = simulators.make(name)
    facts = facts_of(environment)
    facts = facts.stored(json.loads(json.dumps(facts._asdict())))
    if facts.composition is None:
        with pytest.raises(ValueError, match="no linear composition"):
            StoredEnvironment(facts)
        return
    stored, rng = StoredEnvironment(facts), np.random.default_rng(0)
    space = environment.policy_space
    policies = (
        rng.integers(0, space.size, 5)
        if space.finite
        else [space.project(x) for x in rng.random((5, space.d))]
    )
    outcomes = rng.normal(size=(5, len(environment.groups)))
    np.testing.assert_allclose(stored.compose(outcomes, policies), environment.compose(outcomes, policies))
    np.testing.assert_array_equal(stored.policy_space.embed(policies), space.embed(policies))
    assert stored.policy_space.contains(policies).all()
    if not space.finite:
        assert (
            stored.policy_space.contains(rng.random((50, space.d)))
            == space.contains(rng.random((50, space.d)))
        ).any()
    with pytest.raises(simulators.SimulationError):
        stored.step(policies[0])


@pytest.mark.parametrize("target", ["subprocess:Popen", "os:system", "builtins:open", "pathlib:Path"])
def test_what_is_no_simulator_is_not_called(target, strange):
    with pytest.raises(ValueError, match="simulators.Environment"):
        simulators.make(target, args="touch was-run", shell=True)
    assert not (strange / "was-run").exists()


def test_without_a_terminal_nobody_is_asked(strange):
    code = "import sys; from scenarios.cli import invoke; sys.exit(invoke(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "run", "ponds.toml"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2 and "--trust" in done.stderr and done.stderr.count("\n") == 1
    with pytest.raises(UserError, match="ponds.py:Pond"):
        trust.refuse_strange_code(load("ponds.toml"), trust=False)


def test_weights_and_what_is_added_to_them_are_stored_apart(monkeypatch):
    environment = simulators.make("valley")
    composed = lambda outcomes, policies: np.asarray(outcomes) @ np.array([2.0, -3.0]) + 7.0  # noqa: E731
    monkeypatch.setattr(type(environment), "compose", staticmethod(composed))
    monkeypatch.setattr(
        type(environment), "weights", staticmethod(lambda policies: np.tile([2.0, -3.0], (len(policies), 1)))
    )
    assert facts_of(environment).composition == {"weights": [2.0, -3.0], "offset": 7.0}


@pytest.mark.parametrize(
    "options",
    [
        {"of": "command", "vary": {"a": [1]}, "options": {"command": ["touch", "X"]}},
        {"of": "command", "vary": {"command": [["touch", "X"], ["true"]]}},
        {
            "of": "ensemble",
            "vary": {"a": [1]},
            "options": {"of": "command", "vary": {"command": [["touch"]]}},
        },
        {
            "of": "ensemble",
            "vary": {"of": ["flu-ode", "command"]},
            "options": {"options": {"command": ["X"]}},
        },
        {"of": "my_model.py:Clinics", "vary": {"a": [1]}},
    ],
)
def test_what_an_ensemble_is_made_of_is_code_however_deep(options):
    scenario = Scenario.of(
        {
            "name": "s",
            "rounds": 1,
            "trials": 1,
            "agents": ["random"],
            "environment": {"name": "ensemble", "options": options},
        },
        "s.toml",
    )
    assert code_of(scenario)


def test_an_ensemble_of_our_own_is_no_code():
    table = {"name": "ensemble", "options": {"of": "flu-ode", "vary": {"r0": [1.3, 1.6]}}}
    data = {"name": "s", "rounds": 1, "trials": 1, "agents": ["random"], "environment": table}
    assert code_of(Scenario.of(data, "s.toml")) == []
