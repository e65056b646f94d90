"""An agent that others bring has what our own agents have: it depends on what it models, not on its name."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
import simulators
from scenarios import load, run
from scenarios.trial.building import GROUPS, OWN, needed_priors

TWINS = """
from optimizer import AgentSettings
from optimizer.agents.gp_agent import GPAgent


class Twin(GPAgent):
    def __init__(self, space, composition, settings):
        super().__init__("twin", space, composition, settings, feedback="decomposed", acquisition="ucb")


def composed(space, composition, settings):
    return GPAgent("composed", space, composition, settings, feedback="aggregate", acquisition="ucb")


def by_prior(space, composition, prior, seed, exploration):
    settings = AgentSettings(prior=prior, seed=seed, exploration=exploration)
    return GPAgent("by prior", space, composition, settings, feedback="decomposed", acquisition="ucb")
"""
PAIRS = {"d-gpucb": "Twin", "gp-ucb": "composed"}

SCENARIO = """
name = "twins"
rounds = {rounds}
trials = 2
seed = 4
agents = [{agents}]
[environment]
name = "{environment}"
[prior]
restarts = 0
{prior}
[exploration]
propagation = "{propagation}"
"""


class Hilly(simulators.Environment):
    """Two groups whose outcomes another world tells well, if not exactly."""

    groups, group_units, objective_unit, sense = ("left", "right"), ("m", "m"), "m", "maximize"

    def __init__(self, shift: float = 0.0, bounds: tuple[float, float] | None = None) -> None:
        self.policy_space = simulators.PolicySpace(["x", "y"], ["", ""], bounds=Bounds([0, 0], [1, 1]))
        self.shift = shift

    def expected(self, policies):
        x, y = np.asarray(policies).T
        return np.stack([np.sin(5 * x + self.shift) - y, np.cos(4 * y + self.shift) * x], axis=1)

    def step(self, policy):
        noisy = self.expected(np.asarray(policy)[None])[0] + self.rng.normal(0, 0.1, 2)
        return simulators.Outcomes(noisy, np.full(2, 0.01))


class Hardest(Hilly):
    """The same world, judged by its worse group: no linear composition."""

    bounds = np.ones(2)

    def weights(self, policies):
        return None

    def compose(self, outcomes, policies):
        return np.asarray(outcomes).min(axis=-1)


@pytest.fixture(scope="module", autouse=True)
def worlds():
    simulators.register("hilly", Hilly)
    simulators.register("hardest", Hardest)


def made(folder, agents, environment="hilly", prior="samples = 12", rounds=4, propagation="default"):
    (folder / "twins.py").write_text(TWINS)
    path = folder / "twins.toml"
    text = SCENARIO.format(
        agents=agents, environment=environment, prior=prior, rounds=rounds, propagation=propagation
    )
    path.write_text(text)
    return load(path)


def policies(study, label):
    frame = study.to_dataframe()
    return frame[frame["agent"] == label][["x_x", "x_y"]].to_numpy()


@pytest.mark.parametrize("environment", ["hilly", pytest.param("hardest", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    ("prior", "rounds"),
    [
        ("samples = 12", 4),
        ('samples = 12\nmean_from = { name = "hilly", options = { shift = 0.3 } }', 4),
        ('samples = 12\nkernel = "own"', 4),
        ("samples = 0", 8),
    ],
    ids=["prior given", "another world's outcomes", "kernel of composed values", "learned on the way"],
)
def test_the_same_agent_under_another_name_asks_for_the_same(tmp_path, environment, name, prior, rounds):
    agents = f'"{name}", "twins.py:{PAIRS[name]}"'
    study = run(made(tmp_path, agents, environment, prior, rounds), out=tmp_path / "s.sqlite")
    ours, theirs = policies(study, name), policies(study, PAIRS[name])
    assert len(ours) == 2 * rounds and np.array_equal(ours, theirs)
    said = {one.agent: one for one in study.recommendations() if one.trial == 1}
    for field in ("policy", "mean", "low", "high", "group_means"):
        assert getattr(said[name], field) == getattr(said[PAIRS[name]], field)


def test_a_propagation_that_the_scenario_names_is_the_twins_as_well(tmp_path):
    found = {}
    for propagation in ("bound", "delta"):
        agents = '"d-gpucb", "twins.py:Twin"'
        scenario = made(tmp_path, agents, "hardest", propagation=propagation)
        study = run(scenario, out=tmp_path / f"{propagation}.sqlite")
        found[propagation] = policies(study, "Twin")
        assert np.array_equal(policies(study, "d-gpucb"), found[propagation])
    assert not np.array_equal(found["bound"], found["delta"])


def test_an_agent_that_asks_for_a_prior_alone_has_the_other_worlds_outcomes_in_it(tmp_path):
    prior = 'samples = 12\nmean_from = { name = "hilly", options = { shift = 0.3 } }'
    study = run(made(tmp_path, '"d-gpucb", "twins.py:by_prior"', prior=prior), out=tmp_path / "s.sqlite")
    assert np.array_equal(policies(study, "d-gpucb"), policies(study, "by_prior"))


def test_priors_are_learned_for_a_brought_agent_on_its_own_and_for_none_that_takes_none(tmp_path):
    def needed(agents, environment="hilly", prior="samples = 12"):
        world = Hilly() if environment == "hilly" else Hardest()
        return needed_priors(made(tmp_path, agents, environment, prior), world)

    assert needed('"twins.py:Twin"') == needed('"twins.py:composed"') == {GROUPS}
    assert needed('"twins.py:composed"', "hardest") == {GROUPS, OWN}
    assert needed('"twins.py:Twin"', "hardest") == {GROUPS}
    assert needed('"twins.py:composed"', prior='samples = 12\nkernel = "own"') == {GROUPS, OWN}
    assert needed('"random", "optuna-tpe", "scipy-de"') == set()
    assert needed('"twins.py:Twin"', prior="samples = 0") == set()


def test_what_an_agent_models_is_told_of_every_kind():
    world = Hilly()
    told = {name: bridges.modelled(name, world) for name in ("d-ts", "ei", "random", "scipy-de")}
    assert told == {"d-ts": "decomposed", "ei": "aggregate", "random": None, "scipy-de": None}
