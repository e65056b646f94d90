"""Long work before the first step is shown, and done once a world, not once an agent."""

import contextlib

import numpy as np
import pytest
from scipy.optimize import Bounds

import simulators
from scenarios import load, run
from scenarios.running.progress import Progress
from scenarios.trial.world import World
from simulators.flu.abm import FluABM
from simulators.flu.season.pilot import POLICIES, SEASONS

prepared = []


class Slow(simulators.Environment):
    groups, group_units, objective_unit, sense = ("a",), ("",), "", "minimize"

    def __init__(self, fails: bool = False):
        self.policy_space = simulators.PolicySpace(("x",), ("",), bounds=Bounds([0], [1]))
        self.ready, self.fails = False, fails

    def prepare(self, say=lambda detail: None):
        if self.fails:
            raise SystemExit("no pilot")
        if not self.ready:
            self.ready = True
            prepared.append(say("half done"))

    def step(self, policy):
        assert self.ready or self.fails
        return simulators.Outcomes(np.array(policy))


simulators.register("slow-to-begin", Slow)


class Told(Progress):
    def __init__(self):
        self.words = []

    @contextlib.contextmanager
    def stage(self, text):
        self.words.append(text)
        yield lambda detail: self.words.append(f"{text}: {detail}")


@pytest.fixture
def scenario(tmp_path):
    def write(samples=0, options=""):
        (tmp_path / "s.toml").write_text(
            'name = "s"\nrounds = 2\ntrials = 2\nagents = ["random", "d-gpucb"]\n[environment]\n'
            f'name = "slow-to-begin"\n{options}\n[prior]\nsamples = {samples}\nrestarts = 0\n'
        )
        return load(tmp_path / "s.toml"), tmp_path / "s.sqlite"

    return write


@pytest.mark.parametrize("samples", [0, 8])
def test_it_is_shown_and_done_once_for_all_trials_and_agents_of_a_world(scenario, samples):
    prepared.clear()
    told = Told()
    declared, out = scenario(samples)
    run(declared, out=out, progress=told)
    assert "preparing slow-to-begin: half done" in told.words
    assert len(prepared) == 1


def test_one_that_fails_is_a_warning_and_the_rounds_are_run(scenario, caplog):
    declared, out = scenario(options="options = { fails = true }")
    assert len(run(declared, out=out).rounds()) == 8
    assert "slow-to-begin could not be prepared: SystemExit: no pilot" in caplog.text


def test_the_flu_among_persons_tells_of_its_pilot_seasons_where_it_needs_them():
    told = []
    town = FluABM(persons=500, days=20)
    town.prepare(told.append)
    assert told[-1].endswith(f" of {POLICIES * SEASONS} pilot seasons done")
    town.prepare(told.append)
    assert len(told) == POLICIES
    other = FluABM(persons=500, days=20)
    for environment in (town, other):
        environment.reset(1)
    x = town.policy_space.bounds.lb
    assert town.step(x).noise_variance.tolist() == other.step(x).noise_variance.tolist()
    for told_nothing in (FluABM(persons=500, days=20, replicates=2), FluABM(persons=500, noise_variance=1.0)):
        told_nothing.prepare(told.append)
    assert len(told) == POLICIES


def test_an_agents_environment_is_ready(scenario):
    declared, _ = scenario()
    assert World.of(declared, 1).fresh().ready
