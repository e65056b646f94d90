"""What others bring: installed packages with entry points, and files that a scenario names."""

import json
import re

import pytest

import optimizer
import simulators
from optimizer.agents import plugins

PACKAGE = """
import numpy as np
from optimizer import Agent, Recommendation
from scipy.optimize import Bounds
from simulators import Environment, Outcomes, PolicySpace


class Pond(Environment):
    groups, group_units, objective_unit, sense = ("fish", "frogs"), ("kg", "kg"), "kg", "maximize"

    def __init__(self, size=1.0):
        self.policy_space = PolicySpace(["nets"], ["1"], bounds=Bounds(0, 1))
        self.size = size

    def expected(self, policies):
        return self.size * np.asarray(policies) * [1.0, -0.5]

    def step(self, policy):
        x = self.policy_space.check(policy)
        return Outcomes(self.expected([x])[0] + 0.01 * self.rng.standard_normal(2))


class Always(Agent):
    feedback = "decomposed"

    def __init__(self, space, composition, prior=None, seed=0):
        super().__init__("always", space, composition.sign, seed)
        self.prior = prior

    def ask(self, n=1, context=None):
        return np.full((n, self.space.d), 0.25)

    def tell(self, policies, observations, noise_variance=None, context=None):
        assert np.shape(observations) == (len(policies), 2)
        self.rounds += len(policies)

    def recommend(self, context=None):
        return Recommendation(np.array([0.25]), 1.0, 0.0, 2.0)
"""

ENTRY_POINTS = """
[policyloop.simulators]
pond = ponds_of_a_test:Pond
broken-pond = broken_ponds_of_a_test:Pond
flu-ode = ponds_of_a_test:Pond

[policyloop.agents]
always = ponds_of_a_test:Always
broken-agent = ponds_of_a_test:Never
gp-ucb = ponds_of_a_test:Always
"""

SCENARIO = """
name = "ponds"
rounds = 3
trials = 1
agents = {agents}
[environment]
name = "{environment}"
options = {{ size = 4.0 }}
[prior]
samples = 0
"""


def forget():
    simulators.plugins.cache_clear()
    optimizer.agent_plugins.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package in a folder of the import path, with the metadata that an installer writes."""
    home = tmp_path / "site"
    metadata = home / "ponds-1.2.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ponds\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (home / "ponds_of_a_test.py").write_text(PACKAGE)
    (home / "broken_ponds_of_a_test.py").write_text("raise OSError('no\\nwater')")
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.setattr(plugins, "_factories", dict(plugins._factories))
    forget()
    yield home
    monkeypatch.undo()
    forget()


def test_an_environment_and_an_agent_of_a_package_are_known_by_their_names(
    installed, tmp_path, monkeypatch, policyloop
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(SCENARIO.format(agents='["always", "random"]', environment="pond"))
    code, out, err = policyloop("run", "p.toml", "--quiet")
    assert (code, err) == (0, "")
    found = json.loads(policyloop("compare", "ponds.study.sqlite", "--format", "json")[1])
    assert "always" in json.dumps(found)
    assert simulators.make("pond").name == "pond"


def test_the_list_shows_where_each_comes_from_and_which_cannot_be_used(installed, policyloop):
    code, out, err = policyloop("list")
    assert code == 0, err
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "ponds" in line]
    states = {(row[0], row[1]): (row[2], row[3]) for row in rows}
    assert states["pond", "environment"] == ("ponds 1.2 (ponds_of_a_test:Pond)", "ready")
    assert states["always", "agent"] == ("ponds 1.2 (ponds_of_a_test:Always)", "ready")
    assert states["broken-pond", "environment"][1] == "cannot be imported: OSError: no water"
    assert states["broken-agent", "agent"][1].startswith("cannot be imported: AttributeError")
    assert states["flu-ode", "environment"][1] == "not used: its name is taken"
    assert states["gp-ucb", "agent"][1] == "not used: its name is taken"


def test_a_package_that_cannot_be_imported_harms_nothing_else(installed, policyloop):
    with pytest.raises(
        ValueError, match="'broken-pond', a plug-in of ponds, cannot be imported: OSError: no"
    ):
        simulators.make("broken-pond")
    assert isinstance(simulators.make("flu-ode"), simulators.FluODE)
    code, _, err = policyloop("check", "broken-pond")
    assert code == 2
    assert err.count("\n") == 1


def test_an_agent_that_cannot_be_imported_is_named(installed, tmp_path, monkeypatch, policyloop):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(SCENARIO.format(agents='["broken-agent"]', environment="pond"))
    code, _, err = policyloop("run", "p.toml", "--quiet")
    assert code == 2
    assert "p.toml: agents[0] (broken-agent): agent 'broken-agent', a plug-in of ponds, cannot" in err
    assert err.count("\n") == 1


def test_a_scenario_names_files_seen_from_its_own_folder(tmp_path, monkeypatch, policyloop):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "ponds.py").write_text(PACKAGE)
    text = SCENARIO.format(agents='["ponds.py:Always", "random"]', environment="ponds.py:Pond")
    (tmp_path / "models" / "p.toml").write_text(text)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, err = policyloop("run", "../models/p.toml", "--quiet", "--step-timeout", "60")
    assert (code, err) == (0, "")
    assert "Always" in out  # the class's name is its label
    code, out, err = policyloop("resume", "ponds.study.sqlite", "--rounds", "4", "--quiet")
    assert (code, err) == (0, "")
    assert policyloop("check", "../models/p.toml")[0] == 0


@pytest.mark.parametrize(
    ("agents", "environment", "message"),
    [
        ('["random"]', "ponds.py:Lake", "p.toml: environment: .*ponds.py has no 'Lake'; it has Pond"),
        ('["random"]', "lakes.py:Lake", "p.toml: environment: .*there is no file .*lakes.py"),
        ('["random"]', "lakes.py", "p.toml: environment.name: unknown environment 'lakes.py'"),
        ('["ponds.py:Never"]', "ponds.py:Pond", r"p.toml: agents\[0\] .*has no 'Never'"),
        ('["ponds.py:Pond"]', "ponds.py:Pond", r"p.toml: agents\[0\] "),
    ],
)
def test_a_file_that_will_not_do_is_one_line(agents, environment, message, tmp_path, monkeypatch, policyloop):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ponds.py").write_text(PACKAGE)
    (tmp_path / "p.toml").write_text(SCENARIO.format(agents=agents, environment=environment))
    code, _, err = policyloop("run", "p.toml", "--quiet")
    assert code == 2
    assert re.search(message, err)
    assert err.count("\n") == 1


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(plugins, "_factories", {})
    optimizer.register_agent("mine", dict)
    optimizer.register_agent("mine", dict)
    with pytest.raises(ValueError, match="already registered"):
        optimizer.register_agent("mine", list)
    with pytest.raises(ValueError, match="must not be empty"):
        optimizer.register_agent("", dict)
    with pytest.raises(ValueError, match="must be a class or a function, not 3"):
        optimizer.register_agent("number", 3)
