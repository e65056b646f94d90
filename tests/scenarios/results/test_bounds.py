"""Bounds of regret: averaged over the trials' worlds, with the delta of every agent."""

import numpy as np

import bridges
import simulators
from optimizer import FiniteBeta, regret_bounds
from scenarios import load, run
from scenarios.results.bounds import study_bounds

ROUNDS = 25
TEXT = f"""
name = "drawn"
rounds = {ROUNDS}
trials = 2
seed = 7
agents = ["d-gpucb", {{ name = "d-gpucb", label = "careful", delta = 0.001 }}, "gp-ucb"]
[environment]
name = "synthetic"
options = {{ groups = 2, points = 40, noise_variance = 0.05 }}
new_world_each_trial = true
[prior]
source = "environment"
[exploration]
delta = 0.05
"""


def test_bounds_are_means_over_worlds_that_differ_and_have_each_agents_delta(scenario_file, tmp_path):
    study = run(load(scenario_file(TEXT)), out=tmp_path / "s.sqlite")
    found = study_bounds(study)
    assert list(found) == ["d-gpucb", "careful", "gp-ucb"]

    def bounds(trial, delta):
        seed = bridges.as_int(bridges.seed_sequence(7, trial, "world"))
        world = simulators.make("synthetic", groups=2, points=40, noise_variance=0.05, seed=seed)
        return regret_bounds(
            bridges.known_prior(world),
            bridges.composition(world),
            bridges.search_space(world),
            FiniteBeta(40, delta),
            ROUNDS,
        )

    first, second = (bounds(trial, 0.05) for trial in (1, 2))
    assert abs(first.decomposed[-1] / second.decomposed[-1] - 1) > 0.01
    np.testing.assert_allclose(found["d-gpucb"], (first.decomposed + second.decomposed) / 2)
    np.testing.assert_allclose(found["gp-ucb"], (first.entire + second.entire) / 2)
    careful = [bounds(trial, 0.001).decomposed for trial in (1, 2)]
    np.testing.assert_allclose(found["careful"], np.mean(careful, axis=0))
