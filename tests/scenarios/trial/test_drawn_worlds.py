"""Scenarios whose every trial has a world of its own, drawn from kernels that the agents are given."""

import numpy as np
import pytest

import bridges
import simulators
from optimizer import Prior
from optimizer.acquisition.exploration import FiniteBeta
from optimizer.theory import regret_bounds
from scenarios import UserError, load, run
from scenarios.results.bounds import study_bounds
from scenarios.trial.building import build_environment

TEXT = """
name = "drawn"
rounds = 8
trials = 2
seed = 7
agents = [
    "d-gpucb", "gp-ucb", "random",
    { name = "gp-ucb", label = "bold", kernel = "composed", scale_down = 1.0 },
]
[environment]
name = "synthetic"
options = { groups = 3, points = 60 }
new_world_each_trial = true
[prior]
source = "environment"
[exploration]
delta = 0.05
"""


@pytest.fixture
def study(scenario_file, tmp_path):
    return run(load(scenario_file(TEXT)), out=tmp_path / "s.sqlite")


def test_a_trials_world_follows_from_its_seed_and_its_prior_is_the_one_it_was_drawn_from(study):
    optima = set()
    for trial in (1, 2):
        seed = bridges.as_int(bridges.seed_sequence(7, trial, "world"))
        world = simulators.make("synthetic", groups=3, points=60, seed=seed)
        stored = study.worlds[str(trial)]
        assert stored.seed == seed
        prior = Prior.from_dict(stored.priors["groups"])
        assert [kernel.length_scale for kernel in prior.kernels] == [k.length_scale for k in world.kernels]
        assert prior.noise_variances.tolist() == world.noise_variances.tolist() and prior.means == [0, 0, 0]
        total = world.expected(np.arange(60)).sum(axis=1)
        optimum = study.optimum(trial)
        assert optimum.row == total.argmax() and optimum.value == pytest.approx(total.max())
        optima.add(optimum.value)
    assert len(optima) == 2
    frame = study.to_dataframe()
    assert (frame["regret"] >= -1e-12).all() and frame["regret"].max() > 0


def test_agents_of_a_trial_meet_its_first_policy_and_choose_from_the_second(study):
    frame = study.to_dataframe().set_index(["trial", "agent", "round"])["x_x"].unstack("agent")
    assert frame.xs(1, level="round").nunique(axis=1).tolist() == [1, 1]
    assert (frame.xs(2, level="round").nunique(axis=1) > 1).all()


def test_samples_on_the_command_line_take_the_place_of_the_worlds_own_kernels(scenario_file, tmp_path):
    path = scenario_file(TEXT)
    learned = load(path, {"samples": 20, "trials": 1, "agents": ["gp-ucb"]})
    assert learned.prior.source == "samples" and learned.prior.samples == 20
    study = run(learned, out=tmp_path / "s.sqlite")
    world = build_environment(learned, 1)
    prior = Prior.from_dict(study.worlds["1"].priors["groups"])
    assert prior.kernels[0] != world.kernels[0] and prior.kernels[0].theta.size > 0
    assert load(path).prior.given and not load(path, {"samples": 0}).prior.given
    rounds = scenario_file(TEXT.replace('"environment"', '"rounds"'))
    assert not load(rounds).prior.given


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('source = "environment"', 'source = "enviroment"', ["prior.source", "did you mean 'environment'"]),
        ('name = "synthetic"\noptions = { groups = 3, points = 60 }', 'name = "flu-ode"', ["names no prior"]),
        ('kernel = "composed"', 'kernel = "own"', ["prior.source", '"composed"']),
        ("points = 60", "points = 0", ["points=0"]),
    ],
)
def test_a_prior_that_no_world_names_is_refused(old, new, words, scenario_file, policyloop, tmp_path):
    assert old in TEXT
    text = TEXT.replace(old, new).replace("new_world_each_trial = true", "")
    code, _, error = policyloop("run", scenario_file(text), "--out", tmp_path / "s.sqlite")
    assert code == 2 and len(error.splitlines()) == 1 and all(word in error for word in words)
    assert not (tmp_path / "s.sqlite").exists()


def test_bounds_are_those_of_each_trials_world_averaged(study):
    bounds = study_bounds(study)
    assert list(bounds) == ["d-gpucb", "gp-ucb", "bold"]
    expected = []
    for trial in (1, 2):
        world = build_environment(study.scenario, trial)
        space = bridges.search_space(world)
        one = regret_bounds(
            bridges.known_prior(world), bridges.composition(world), space, FiniteBeta(60, 0.05), 8
        )
        expected.append((one.decomposed, one.entire))
    decomposed, entire = np.mean(expected, axis=0)
    np.testing.assert_allclose(bounds["d-gpucb"], decomposed, rtol=1e-10)
    np.testing.assert_allclose(bounds["gp-ucb"], entire, rtol=1e-10)
    # The theorem's beta_t is not scaled down, so that an agent's own scaling has no part in its bound.
    np.testing.assert_allclose(bounds["bold"], bounds["gp-ucb"], rtol=1e-12)
    frame = study.to_dataframe()
    for label, bound in bounds.items():
        own = frame[frame["agent"] == label].pivot(index="trial", columns="round", values="regret")
        assert (own.to_numpy().cumsum(axis=1) < bound).all()


def test_plot_draws_the_bounds_or_says_why_there_are_none(study, scenario_file, policyloop, tmp_path):
    code, out, error = policyloop("plot", study.path, "--bound", "--out", tmp_path / "f")
    assert code == 0 and error == ""
    assert "bound of d-gpucb" in (tmp_path / "f" / "cumulative_regret.svg").read_text()
    assert "bound of" not in (tmp_path / "f" / "average_regret.svg").read_text()
    run(load(scenario_file(agents='["gp-ucb"]', trials=1)), out=tmp_path / "valley.sqlite")
    code, _, error = policyloop("plot", tmp_path / "valley.sqlite", "--bound", "--out", tmp_path / "g")
    assert code == 2 and "finite" in error and not (tmp_path / "g").exists()
    run(load(scenario_file(agents='["random"]', trials=1)), out=tmp_path / "random.sqlite")
    with pytest.raises(UserError, match="no agent of d-gpucb, gp-ucb"):
        study_bounds(type(study)(tmp_path / "random.sqlite"))
