"""Agents that learn their kernels from their own rounds: when, from what, and what they then believe."""

import copy
from itertools import product

import numpy as np
import pytest
from every_agent import EVERY_AGENT
from scipy.optimize import Bounds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, RowStorage, SearchSpace, make_agent
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.candidates import CandidatePosterior
from optimizer.prior import own_rounds
from optimizer.prior.own_rounds import OwnRounds

X = np.array([[0.05], [0.3], [0.45], [0.7], [0.95]])
Y = np.stack([np.sin(6 * X[:, 0]), 2 + X[:, 0] ** 2], axis=1)
NEW = np.linspace(0, 1, 9)[:, None]
WEIGHTS = np.array([1.0, -2.0])
STATED = np.array([[0.01, 0.02], [0.03, 0.05], [0.002, 0.01], [0.02, 0.02], [0.04, 0.3]])
UNIT = SearchSpace(Bounds([0.0], [1.0]))
SIDE = np.linspace(0, 1, 12)
GRID = np.array(list(product(SIDE, SIDE)))


def mixed(mixture, j, y, noise):
    """Moments of a group at NEW: its components by scikit-learn's regressor, mixed by hand."""
    means, variances = [], []
    for prior in mixture.components:
        alpha = np.where(np.isnan(noise), prior.noise_variances[j], noise)
        peer = GaussianProcessRegressor(prior.kernels[j], alpha=alpha, optimizer=None)
        mean, deviation = peer.fit(X, y - prior.means[j]).predict(NEW, return_std=True)
        means.append(mean + prior.means[j])
        variances.append(deviation**2)
    weights = mixture.weights[:, j]
    mean = weights @ np.array(means)
    return mean, weights @ (np.array(variances) + np.square(means)) - mean**2


@pytest.mark.parametrize("stated", ["all", "some", "none"])
def test_after_its_design_a_decomposed_agent_predicts_by_mixtures_learned_from_it(stated):
    g = Composition(2, weights=WEIGHTS, sense="minimize")
    agent = make_agent("d-gpucb", UNIT, g, seed=4)
    says = {"all": [True] * 5, "some": [True, False, True, True, False], "none": [False] * 5}[stated]
    for i in range(5):
        assert np.isnan(agent.predict(NEW)[0]).all()
        agent.tell(X[[i]], Y[[i]], STATED[[i]] if says[i] else None)
    noise = np.where(np.array(says)[:, None], STATED, np.nan)
    mixture = OwnRounds("rbf", 4).learn(X, Y, noise).mixture()
    assert len(mixture.components) == 24
    moments = [mixed(mixture, j, Y[:, j], noise[:, j]) for j in range(2)]
    found = agent.predict(NEW)
    np.testing.assert_allclose(found[0], sum(w * m for w, (m, _) in zip(WEIGHTS, moments, strict=True)))
    variance = sum(w**2 * v for w, (_, v) in zip(WEIGHTS, moments, strict=True))
    np.testing.assert_allclose(found[1], np.sqrt(variance), rtol=1e-6)


def test_after_its_design_an_aggregate_agent_predicts_by_a_mixture_of_composed_values():
    agent = make_agent("gp-ucb", UNIT, Composition(2, weights=WEIGHTS), seed=4)
    y, noise = Y @ WEIGHTS, STATED @ WEIGHTS**2
    agent.tell(X, y, noise)
    learned = OwnRounds("rbf", 4).learn(X, y[:, None], noise[:, None])
    mean, variance = mixed(learned.mixture(), 0, y, noise)
    found = agent.predict(NEW)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.sqrt(variance), rtol=1e-6)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "d-ts"])
@pytest.mark.parametrize("given", [True, False])
def test_an_observation_whose_noise_is_nan_has_the_agents_own(name, given):
    prior = Prior([RBF(0.3), RBF(0.4)], np.array([0.1, 0.2]), [0.0, 0.0]) if given else None
    g = Composition(2, weights=lambda rows: np.stack([1 + GRID[rows, 0], GRID[rows, 1]], axis=1))
    rows = np.arange(0, 144, 20)
    F = np.stack([np.sin(4 * GRID[rows, 0]), GRID[rows, 1] ** 2], axis=1)
    unstated, silent = (make_agent(name, SearchSpace(candidates=GRID), g, prior=prior) for _ in range(2))
    told = F if unstated.feedback == "decomposed" else g.unsigned(F, rows)
    unstated.tell(rows, told, np.full(told.shape, np.nan))
    silent.tell(rows, told)
    np.testing.assert_array_equal(unstated.predict(np.arange(144)), silent.predict(np.arange(144)))
    np.testing.assert_array_equal(unstated.ask(), silent.ask())
    with pytest.raises(ValueError, match="noise variance must be finite and not negative"):
        silent.tell(rows, told, np.full(told.shape, -1.0))


def test_the_noise_of_a_missing_group_enters_nothing():
    """Rounds that miss a group come with noise 0 for it, and teach nothing of its noise."""
    agent = make_agent("d-gpucb", UNIT, Composition(2), seed=4)
    gone = np.array([np.nan, 1.0])
    agent.tell(X, Y, STATED)
    agent.tell([[0.5]], [gone], [[0.0, 0.1]])
    other = make_agent("d-gpucb", UNIT, Composition(2), seed=4)
    other.tell(X, Y, STATED)
    other.tell([[0.5]], [gone], [[7.0, 0.1]])
    np.testing.assert_array_equal(agent.predict(NEW), other.predict(NEW))


def learned(agent, monkeypatch):
    """Observations at which an agent learns, and whether it searches from other starts as well."""
    times = []
    original = OwnRounds.learn

    def noting(self, X, Y, noise, **options):
        times.append((len(Y), bool(options["surprised"])))
        return original(self, X, Y, noise, **options)

    monkeypatch.setattr(OwnRounds, "learn", noting)
    return times


def test_kernels_are_learned_after_every_tell_and_later_when_observations_have_grown(monkeypatch):
    monkeypatch.setattr(own_rounds, "GROWTH", 1.2)
    agent = make_agent("d-gpucb", UNIT, Composition(2))
    times = learned(agent, monkeypatch)
    rng = np.random.default_rng(0)
    for x in rng.random((20, 1, 1)):
        agent.tell(x, np.hstack([np.sin(x), np.cos(x)]) + 0.1 * rng.standard_normal((1, 2)))
    # From 5 on after each; from 10 on they have to grow by a fifth: 11 is less than 1.2 * 10.
    assert [T for T, surprised in times if not surprised] == [5, 6, 8, 10, 12, 15, 18]


def test_a_surprise_is_learned_from_at_once(monkeypatch):
    monkeypatch.setattr(own_rounds, "GROWTH", 3.0)
    agent = make_agent("d-gpucb", UNIT, Composition(2))
    agent.tell(X, Y, np.full(Y.shape, 1e-4))
    times = learned(agent, monkeypatch)
    at = np.array([[0.6]])
    means, variances = agent.belief.at(None).predict_groups(at)
    beyond = np.sqrt(variances + 1e-4)
    agent.tell(at, means + 3.9 * beyond, [[1e-4, 1e-4]])
    assert times == []
    means, variances = agent.belief.at(None).predict_groups(at)
    agent.tell(at, means + [[0.0, 4.1]] * np.sqrt(variances + 1e-4), [[1e-4, 1e-4]])
    assert times == [(7, True)]


def hinge(X):
    """Benefit that falls, and an overflow that is nothing below 0.85 and steep above it."""
    return np.stack([-2 * X[:, 0], np.maximum(100 * (X[:, 0] - 0.85), 0)], axis=1)


def test_a_group_that_has_not_varied_yet_is_not_certain_and_a_surprise_widens_it():
    agent = make_agent(
        "d-gpucb", SearchSpace(Bounds([0, 0], [1, 1])), Composition(2, sense="minimize"), seed=1
    )
    said, widths = [], []
    for _ in range(10):
        x = agent.ask()
        agent.tell(x, hinge(x))
        said.append(agent.recommend())
        model = agent.belief.at(None)  # asked of where nothing was tried
        widths.append(
            np.nan if model is None else 2 * 1.96 * model.predict_groups([[1.0, 0.5]])[1][0, 1] ** 0.5
        )
    seen = [bool(overflow > 0) for overflow in np.cumsum(hinge(agent.observed)[:, 1])]
    first = seen.index(True)
    assert 4 < first < 9
    # Before the first overflow: as wide as the other group varies, in order of magnitude.
    assert 0.05 < widths[first - 1] < 10
    for recommendation in said[first:]:
        truth = hinge(recommendation.policy[None])[0]
        assert recommendation.group_low[1] <= truth[1] <= recommendation.group_high[1]
        assert recommendation.low <= truth.sum() <= recommendation.high
        assert truth.sum() < -1.0


def test_groups_that_never_vary_stay_uncertain_where_nothing_was_observed():
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(2))
    rows = np.arange(0, 60, 3)
    agent.tell(rows, np.full((20, 2), [7.0, 0.0]))
    _, variances = agent.belief.at(None).predict_groups(np.array([0, len(GRID) - 1]))
    assert (variances[1] > 0.01).all() and (variances[0] < 1e-3 * variances[1]).all()


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", EVERY_AGENT)
def test_told_the_same_again_an_agent_believes_the_same_to_the_last_bit(name, finite):
    space = SearchSpace(candidates=GRID) if finite else SearchSpace(Bounds([0, 0], [1, 1]))
    g = Composition(2)
    first = make_agent(name, space, g, seed=3)
    asked = []
    for _ in range(9):
        x = first.ask()
        at = GRID[x] if finite else x
        F = np.stack([np.sin(4 * at[:, 0]), np.cos(3 * at[:, 1])], axis=1)
        F[:, 1] += 40 * (len(asked) == 7)  # a surprise
        told = F if first.feedback == "decomposed" else F.sum(axis=1)
        asked.append((x, told))
        first.tell(x, told)
        first.recommend()
    again = make_agent(name, space, g, seed=3)
    for x, told in asked:
        again.tell(x, told)
    at = np.arange(len(GRID)) if finite else GRID
    np.testing.assert_array_equal(first.predict(at), again.predict(at))
    np.testing.assert_array_equal(first.ask(), again.ask())
    other = make_agent(name, space, g, seed=4)
    for x, told in asked:
        other.tell(x, told)
    assert np.abs(other.predict(at)[1] - first.predict(at)[1]).max() > 0  # other draws


def test_a_batch_differs_and_asking_leaves_no_trace():
    agent = make_agent("d-ei", SearchSpace(candidates=GRID), Composition(2), seed=2)
    rows = np.arange(0, 144, 13)
    agent.tell(rows, np.stack([np.sin(5 * GRID[rows, 0]), GRID[rows, 1]], axis=1))
    before = agent.predict(np.arange(144))
    assert len(set(agent.ask(5).tolist())) == 5
    np.testing.assert_array_equal(agent.predict(np.arange(144)), before)
    copied = copy.deepcopy(agent)
    copied.tell([1], [[0.3, 0.3]])
    np.testing.assert_array_equal(agent.predict(np.arange(144)), before)


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-mpi", "d-ts"])
def test_general_compositions_learn_as_well(name):
    g = GeneralComposition(2, lambda F, X: F[..., 0] * F[..., 1])
    agent = make_agent(name, SearchSpace(Bounds([0, 0], [1, 1])), g, seed=2)
    for _ in range(14):
        x = agent.ask()
        agent.tell(x, np.stack([np.sin(3 * x[:, 0]), np.cos(x[:, 1] - 0.5)], axis=1))
    assert np.abs(agent.recommend().policy - [np.pi / 6, 0.5]).max() < 0.15


def test_over_many_candidates_mixtures_have_fewer_components_and_at_last_one(monkeypatch):
    sizes = {}
    for observations in (10, 60, 600):
        agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(1), storage=RowStorage())
        rows = np.arange(observations) % 144
        agent.tell(rows, np.sin(GRID[rows, :1] * 5) + 0.1 * np.cos(np.arange(observations))[:, None])
        model = agent.belief.model
        sizes[observations] = len(model._groups[0].weights) if isinstance(model, CandidateMixture) else 1
    assert sizes == {10: 24, 60: 16, 600: 1}
    assert isinstance(model, CandidatePosterior)
    assert own_rounds.draws(10, room=3.7) == 3 and own_rounds.draws(10, room=0.1) == 1


def calibration_problem(seed):
    """Three functions on a grid, 12 observations of each: is the truth covered, at the best and overall?"""
    rng = np.random.default_rng(seed)
    F = np.empty((144, 3))
    for j in range(3):
        K = RBF(rng.uniform(0.15, 0.5))(GRID) + 1e-8 * np.eye(144)
        F[:, j] = np.linalg.cholesky(K) @ rng.standard_normal(144)
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(3), seed=seed)
    rows = rng.permutation(144)[:12]
    agent.tell(rows, F[rows] + 0.1 * rng.standard_normal((12, 3)))
    mean, deviation = agent.predict(np.arange(144))
    said = agent.recommend()
    truth = F.sum(axis=1)
    assert said.low == pytest.approx(mean[said.policy] - 1.959964 * deviation[said.policy], rel=1e-5)
    return said.low <= truth[said.policy] <= said.high, np.abs(truth - mean) <= 1.959964 * deviation


@pytest.mark.slow
def test_intervals_contain_the_truth_as_often_as_they_say(monkeypatch):
    problems = [calibration_problem(seed) for seed in range(40)]
    assert np.mean([recommended for recommended, _ in problems]) >= 0.875
    assert np.mean([inside for _, inside in problems]) >= 0.88
    # The most probable hyperparameters alone, as if they were certain, do not.
    monkeypatch.setattr(own_rounds, "DRAWS", 1)
    plugged_in = [calibration_problem(seed) for seed in range(40)]
    assert np.mean([inside for _, inside in plugged_in]) < 0.86


ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
SLOPES = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HILLS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(X):
    """Hartmann's function of six variables by its terms, (n, 4); their sum is 3.322 at best."""
    return ALPHA * np.exp(-(SLOPES * (X[:, None] - HILLS) ** 2).sum(axis=2))


@pytest.mark.slow
def test_what_is_recommended_is_hardly_worse_than_the_best_policy_tried():
    """In six dimensions, after 32 rounds: kernels that lag behind the data recommended -0.10 there."""
    for seed in (0, 1):
        agent = make_agent("d-ei", SearchSpace(Bounds(np.zeros(6), np.ones(6))), Composition(4), seed=seed)
        rng = np.random.default_rng(seed)
        tried = []
        for _ in range(32):
            x = agent.ask()
            tried.append(float(hartmann(x).sum()))
            agent.tell(x, hartmann(x) + 0.02 * rng.standard_normal((1, 4)))
        recommended = float(hartmann(agent.recommend().policy[None]).sum())
        assert recommended > 2.0 and recommended > max(tried) - 0.3
