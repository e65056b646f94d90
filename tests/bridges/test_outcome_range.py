"""Outcomes that keep to a range: an observation outside fails its round, and intervals end at the range."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

import bridges
import scenarios
from bridges.environments.function_environment import FunctionEnvironment
from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from simulators import check_environment
from simulators.contract.validation import outcome_ranges

BOX = {"x": (0.0, 1.0)}
GRID = np.linspace(0, 1, 9)[:, None]
PRIOR = Prior([RBF(0.3), RBF(0.3)], np.full(2, 0.01), [0.2, 50.0])


def test_an_observation_outside_its_range_fails_the_round_and_is_never_clipped():
    env = FunctionEnvironment(
        lambda x: [x[0] - 0.5, 101.0 if x[0] > 0.9 else 5.0],
        policy=BOX,
        groups=["sick", "humidity"],
        outcome_range=[(0.0, np.inf), (0.0, 100.0)],
    )
    agent = bridges.make_agent("random", env)
    design = np.array([[0.2], [0.7], [0.95]])
    rounds = list(bridges.Loop(env, agent, 0, design=design).run(3))
    assert [one.status for one in rounds] == ["failed", "ok", "failed"]
    assert "the outcome of sick is -0.3, outside its outcome_range (0, inf)" in rounds[0].error
    assert "the outcome of humidity is 101, outside its outcome_range (0, 100)" in rounds[2].error
    assert "\n" not in rounds[0].error and np.isnan(rounds[0].outcomes).all()
    assert rounds[1].outcomes == pytest.approx([0.2, 5.0])
    assert any("outside its outcome_range" in finding for finding in check_environment(env))


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_intervals_of_a_linear_objective_end_where_the_groups_do(name, sense):
    ranges = np.array([[0.0, np.inf], [49.5, 50.5]])
    g = Composition(2, weights=[1.0, 2.0], offset=3.0, sense=sense)
    agent = make_agent(name, SearchSpace(candidates=GRID), g, prior=PRIOR, outcome_range=ranges)
    free = make_agent(name, SearchSpace(candidates=GRID), g, prior=PRIOR)
    found, plain = agent.predicted(4), free.predicted(4)
    assert plain.low < 0 + 2 * 49.5 + 3 == found.low and found.high == plain.high
    assert found.mean == plain.mean
    if name == "d-gpucb":
        half = norm.ppf(0.975)
        assert found.group_low == pytest.approx([0.0, 49.5])
        assert found.group_high == pytest.approx([0.2 + half, 50.5])
        assert plain.group_low == pytest.approx([0.2 - half, 50.0 - half])


def test_samples_of_a_general_objective_keep_to_the_range():
    g = GeneralComposition(2, lambda F, X: np.exp(F[..., 0]) + 0 * F[..., 1])
    ranges = np.array([[0.0, 1.0], [-np.inf, np.inf]])
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), g, prior=PRIOR, outcome_range=ranges)
    found = agent.predicted(4)
    assert found.low == pytest.approx(1.0) and found.high == pytest.approx(np.e)
    # Half of the mass lies in between, the rest at the ends, in the shares of a normal about 0.2.
    f = np.clip(np.random.default_rng(0).normal(0.2, 1.0, 400_000), 0, 1)
    assert found.mean == pytest.approx(np.exp(f).mean(), rel=0.01)


def test_an_agent_hears_of_its_environments_range():
    env = FunctionEnvironment(lambda x: [x[0]], policy=BOX, groups=["a"], outcome_range=(0.0, 1.0))
    agent = bridges.make_agent("d-gpucb", env, prior=Prior([RBF(0.3)], np.ones(1), [0.5]))
    found = agent.predicted(np.array([0.5]))
    assert (found.group_low[0], found.group_high[0]) == (0.0, 1.0) == (found.low, found.high)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1.0, 0.0), "of group 'a' is .1, 0.; low must be below high"),
        ((0.0, np.nan), "of group 'a'"),
        ([(0, 1), (0, 1), (0, 1)], "must be a pair .low, high., or 2 of them"),
        ("0..1", "must be a pair"),
        (3.0, "must be a pair"),
    ],
)
def test_what_is_no_range_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        outcome_ranges(value, ["a", "b"])


def test_without_a_range_nothing_is_refused():
    assert outcome_ranges(None, ["a"]) is None
    assert (
        SearchSpace(Bounds([0.0], [1.0]))
        and outcome_ranges((0, np.inf), ["a", "b"]).tolist() == [[0, np.inf]] * 2
    )


def test_an_open_end_is_told_as_text_where_a_file_cannot_hold_infinity():
    found = outcome_ranges([[0, 100], ["-inf", "inf"]], ["a", "b"])
    assert found.tolist() == [[0.0, 100.0], [-np.inf, np.inf]]
    with pytest.raises(ValueError, match="must be a pair"):
        outcome_ranges([0, "many"], ["a"])


def test_a_scenario_declares_that_outcomes_are_not_below_zero(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("def ward(x):\n    return [x, x**2]\n")
    (tmp_path / "s.toml").write_text(
        'name = "s"\nrounds = 6\ntrials = 1\nagents = ["d-gpucb"]\n[environment]\nname = "function"\n'
        '[environment.options]\nf = "m.py:ward"\npolicy = { x = [0, 1] }\ngroups = ["a", "b"]\n'
        'outcome_range = [[0, 100], [0, "inf"]]\n'
    )
    study = scenarios.run(scenarios.load("s.toml"), out="s.sqlite")
    assert study.environment.outcome_range == [[0.0, 100.0], [0.0, None]]
