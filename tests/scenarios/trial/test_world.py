"""The environment of a world is made once, and every agent has one of its own that nobody has used."""

import threading
import weakref

import numpy as np
import pytest
from scipy.optimize import Bounds
from studies import assert_same

import simulators
from scenarios import load, run
from scenarios.trial.trial import replay
from scenarios.trial.whole_copy import whole_copy
from scenarios.trial.world import World, Worlds
from simulators import FluODE, make


@pytest.fixture
def made(monkeypatch):
    """The environments made from now on, by name."""
    found, original = [], simulators.make

    def counting(name, **options):
        found.append(name)
        return original(name, **options)

    monkeypatch.setattr(simulators, "make", counting)
    return found


def test_a_world_that_all_trials_share_is_made_once_for_all_of_them(scenario_file, tmp_path, made):
    run(load(scenario_file(environment="flu-ode", rounds=2, trials=2)), out=tmp_path / "s.sqlite")
    assert made == ["flu-ode"]


def test_a_world_of_a_trial_is_made_once_for_all_its_agents(scenario_file, tmp_path, made):
    agents = '["random", "gp-ucb", "d-gpucb"]'
    path = scenario_file(environment="synthetic", agents=agents, new_world="true", rounds=2, trials=3)
    scenario = load(path)
    run(scenario, out=tmp_path / "s.sqlite")
    assert len(made) == 3 + 3  # to be learned, and to be lived in: the first was made to look for mistakes
    made.clear()
    worlds = Worlds(scenario)
    assert worlds.of(1).environment is worlds.of(1).environment
    assert worlds.of(2).trial == 2 and made == ["synthetic"] * 2


class Stubborn(simulators.Environment):
    """Draws its noise, and counts its steps, in a way that its copies must not share."""

    groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "minimize"
    name = "stubborn"

    def __init__(self, how: str = "plain") -> None:
        self.policy_space = simulators.PolicySpace(["x"], [""], bounds=Bounds(0, 1))
        self.steps = [0]
        if how == "closure":
            self.noise = lambda: self.rng.standard_normal(2)
        elif how == "default":
            self.noise = lambda me=self: me.rng.standard_normal(2)
        elif how == "weak":
            reference = weakref.ref(self)
            self.noise = _Weak(reference)
        else:
            self.noise = self.draw
        self.lock = threading.Lock() if how == "lock" else None
        self.tool = _Program() if how == "program" else None

    def draw(self):
        return self.rng.standard_normal(2)

    def step(self, policy):
        self.steps[0] += 1
        x = self.policy_space.check(policy)[0]
        return simulators.Outcomes(np.array([x, 1 - x]) + 0.1 * self.noise() + 0.01 * self.steps[0])


class _Weak:
    def __init__(self, reference):
        self.reference = reference

    def __call__(self):
        return self.reference().rng.standard_normal(2)


class _Program:
    def __del__(self):
        """End what all copies would share."""


SPLIT = ["closure", "default", "weak", "lock", "program"]


@pytest.mark.parametrize("how", SPLIT)
def test_a_copy_that_would_share_a_part_of_its_original_is_none(how):
    assert whole_copy(Stubborn(how)) is None


@pytest.mark.parametrize(
    "environment",
    [
        Stubborn,
        FluODE,
        lambda: make("synthetic"),
        lambda: make("weather"),
        lambda: make("weather-live"),
        lambda: make("flu-abm", persons=500, noise_variance=0.002),
        lambda: make("command", command=["cat"], policy={"a": (0, 1)}, groups=["x"]),
    ],
)
def test_a_whole_copy_steps_as_its_original_and_leaves_it_alone(environment):
    original = environment()
    copied = whole_copy(original)
    assert copied is not original and type(copied) is type(original)
    if original.name == "command":
        return
    policy = 0 if original.policy_space.finite else original.policy_space.bounds.lb
    taken = []
    for one in (copied, environment(), original):
        one.reset(5)
        taken.append(one.step(policy).values.tolist())
    assert taken[0] == taken[1] == taken[2]


@pytest.mark.parametrize("how", ["plain", *SPLIT])
def test_every_agent_sees_the_same_whoever_lived_before_it_in_its_process(how, scenario_file, tmp_path):
    simulators.register("stubborn", Stubborn)
    path = scenario_file(environment="stubborn", options=f'how = "{how}"', agents='["random", "gp-ucb"]')
    both = run(load(path), out=tmp_path / "both.sqlite")
    for agent in ("random", "gp-ucb"):
        alone = run(load(path, {"agents": [agent]}), out=tmp_path / f"{agent}.sqlite")
        seconds = {"seconds": 0.0, "step_seconds": 0.0}
        mine = [one._replace(**seconds) for one in both.rounds() if one.agent == agent]
        assert mine == [one._replace(**seconds) for one in alone.rounds()]
    assert_same(run(load(path), out=tmp_path / "again.sqlite"), both)


def test_a_replay_makes_a_world_of_its_own(scenario_file, tmp_path, made):
    study = run(load(scenario_file(trials=1)), out=tmp_path / "s.sqlite")
    made.clear()
    environment, agent = replay(study.scenario, 1, "uniform", study.world(1), study.history(1, "uniform"))
    assert made == ["valley"] and environment.steps == 0 and agent.rounds == 4
    assert World.of(study.scenario, 1).key == "all"
