"""How far levers may move: held against a grid of the posterior, which is another way to the same ends."""

import itertools

import numpy as np
import pytest
from clinic import Clinic
from shares import TEXT, Few, Shares

import scenarios
import simulators
from optimizer.acquisition.search import posterior_means
from scenarios.reporting.known import gathered
from scenarios.reporting.reaching import LOSS, reaches


@pytest.fixture(scope="module", autouse=True)
def known():
    for name, made in (("reach-shares", Shares), ("reach-few", Few), ("reach-clinic", Clinic)):
        simulators.register(name, made)


def study(folder, environment, rounds=12, tail=""):
    values = {"rounds": rounds, "trials": 1, "agents": '["d-ei"]', "head": "", "environment": environment}
    values |= {"options": "", "apart": "false", "samples": 0, "tail": tail}
    (folder / "s.toml").write_text(TEXT.format(**values))
    found = scenarios.run(scenarios.load(folder / "s.toml"), out=folder / f"{environment}.sqlite")
    return found, gathered(found)


def near(known, grid):
    """Which policies of a grid lose no more than is allowed."""
    model = known.believed.agent.belief.at(None)
    best = posterior_means(model, np.asarray([known.chosen.point.travels]))[0]
    return posterior_means(model, grid) >= best - LOSS * abs(best)


def test_real_levers_reach_as_far_as_on_a_fine_grid(tmp_path):
    found, known = study(tmp_path, "reach-shares")
    axis = np.linspace(0, 1, 501)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[grid.sum(axis=1) <= 1.2]
    good = grid[near(known, grid)]
    for i, one in enumerate(reaches(found, known.believed, known.chosen.point).each):
        assert one.low == pytest.approx(good[:, i].min(), abs=0.004)
        assert one.high == pytest.approx(good[:, i].max(), abs=0.004)
        assert one.low <= one.chosen <= one.high


def test_of_candidates_all_are_looked_at(tmp_path):
    found, known = study(tmp_path, "reach-few")
    space = known.believed.agent.space
    good = near(known, np.arange(len(found.environment.space["candidates"])))
    made = reaches(found, known.believed, known.chosen.point)
    assert made.candidates == good.sum() > 0
    policies = space.resolve(np.flatnonzero(good))
    assert [one.low for one in made.each] == policies.min(axis=0).tolist()
    assert [one.high for one in made.each] == policies.max(axis=0).tolist()


def test_categories_and_whole_numbers_reach_as_far_as_on_a_grid(tmp_path):
    found, known = study(tmp_path, "reach-clinic", rounds=16)
    each = [np.linspace(0, 1, 65), np.arange(1, 21), np.arange(10, 31, 5), np.arange(3)]
    grid = np.array(list(itertools.product(*each)), dtype=float)
    good = grid[near(known, grid)]
    share, nurses, beds, tariff = reaches(found, known.believed, known.chosen.point).each
    names = ("flat", "peak", "dynamic")
    assert {names.index(name) for name in tariff.names} == set(good[:, 3].astype(int)) | {int(tariff.chosen)}
    for i, one in ((1, nurses), (2, beds)):
        assert (one.low, one.high) == (good[:, i].min(), good[:, i].max())
    assert share.low <= good[:, 0].min() + 0.2 and share.high >= good[:, 0].max() - 0.2


@pytest.mark.slow
def test_limits_are_kept_as_surely(tmp_path):
    tail = '[[limits]]\ngroup = "x,y"\nat_most = 0.06'
    found, known = study(tmp_path, "reach-shares", rounds=16, tail=tail)
    agent = known.believed.agent
    chance = agent.settings.limits.probability
    model = agent.belief.at(None)
    asked = min(0.95, float(chance(*model.predict_groups(known.chosen.point.travels[None]))[0])) - 1e-3
    axis = np.linspace(0, 1, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[grid.sum(axis=1) <= 1.2]
    kept = chance(*model.predict_groups(grid)) >= asked
    good = grid[near(known, grid) & kept]
    for i, one in enumerate(reaches(found, known.believed, known.chosen.point).each):
        assert one.low >= good[:, i].min() - 0.01 and one.high <= good[:, i].max() + 0.01
