"""Time as an input of the kernels, for worlds that live on while they are asked."""

import numpy as np
import pytest
from every_agent import EVERY_AGENT
from scipy.optimize import Bounds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.agents.names import BASELINES, GP_AGENTS

GRID = np.linspace(0, 1, 21)[:, None]
KERNELS = [RBF([0.3, 4.0]), RBF([0.2, 6.0])]  # of a place and the hour
PRIOR = Prior(KERNELS, np.full(2, 1e-4), [0.0, 0.5])
LINEAR = Composition(2)
GENERAL = GeneralComposition(2, lambda F, X: F.prod(axis=-1) + F[..., 0])


def outcomes(X, hour):
    """A hill that travels."""
    return np.stack([np.exp(-(((X[:, 0] - 0.05 * hour) / 0.2) ** 2)), np.cos(X[:, 0])], axis=1)


def space(finite):
    return SearchSpace(candidates=GRID) if finite else SearchSpace(Bounds([0.0], [1.0]))


def run(agent, composition, hours, finite):
    for hour in hours:
        x = agent.ask(context=hour)
        Y = outcomes(GRID[x] if finite else x, hour)
        told = Y if agent.feedback == "decomposed" else composition.unsigned(Y, x)
        agent.tell(x, told, context=hour)


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("composition", [LINEAR, GENERAL])
@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-mpi", "d-ts"])
def test_agent_follows_what_moves(name, composition, finite):
    agent = make_agent(name, space(finite), composition, prior=PRIOR, context=True)
    places = []
    for hour in range(16):
        run(agent, composition, [float(hour)], finite)
        policy = agent.recommend().policy
        places.append(GRID[policy, 0] if finite else policy[0])
    assert np.abs(np.array(places) - 0.05 * np.arange(16))[6:].mean() < 0.2


def test_posterior_is_that_of_regression_on_place_and_time():
    agent = make_agent("d-gpucb", space(True), LINEAR, prior=PRIOR, context=True)
    rows, hours = np.array([3, 9, 15, 3]), np.array([0.0, 1.0, 2.5, 9.0])
    for row, hour in zip(rows, hours, strict=True):
        agent.tell([row], outcomes(GRID[[row]], hour), context=hour)
    means, variances = agent.belief.at(11.0).predict_groups(np.arange(21))
    for j, kernel in enumerate(KERNELS):
        y = np.array([outcomes(GRID[[row]], hour)[0, j] for row, hour in zip(rows, hours, strict=True)])
        peer = GaussianProcessRegressor(kernel, alpha=1e-4, optimizer=None)
        peer.fit(np.column_stack([GRID[rows], hours]), y - PRIOR.means[j])
        mean, deviation = peer.predict(np.column_stack([GRID, np.full(21, 11.0)]), return_std=True)
        np.testing.assert_allclose(means[:, j], mean + PRIOR.means[j], atol=1e-8)
        np.testing.assert_allclose(variances[:, j], deviation**2, atol=1e-8)


def test_old_readings_fade():
    agent = make_agent("d-gpucb", space(True), LINEAR, prior=PRIOR, context=True)
    agent.tell([10], [[1.0, 1.0]], context=0.0)
    known = [agent.belief.at(hour).predict_groups(np.array([10]))[1][0, 0] for hour in (0.0, 3.0, 100.0)]
    assert known[0] < 1e-3 < known[1] < known[2] and known[2] == pytest.approx(1.0)


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", EVERY_AGENT)
@pytest.mark.parametrize("composition", [LINEAR, GENERAL])
def test_agent_told_the_same_again_asks_the_same(name, finite, composition):
    """With kernels of its own: what it learns from has the hours of its readings."""

    def told(agent):
        rng = np.random.default_rng(0)
        for hour in range(9):
            x = np.array([2 * hour]) if finite else rng.random((1, 1))
            Y = outcomes(GRID[x] if finite else x, hour)
            told = Y if agent.feedback == "decomposed" else composition.unsigned(Y, x)
            agent.tell(x, told, context=float(hour))
        return agent

    first, second = (told(make_agent(name, space(finite), composition, context=True)) for _ in range(2))
    second.ask(context=3.0)  # asking leaves no trace
    np.testing.assert_array_equal(first.ask(context=9.0), second.ask(context=9.0))


def test_composed_kernels_see_the_time_as_well():
    composition = Composition(2, weights=lambda rows: np.stack([1 + GRID[rows, 0], GRID[rows, 0]], axis=1))
    agent = make_agent("gp-ucb", space(True), composition, prior=PRIOR, context=True)
    run(agent, composition, [0.0, 1.0, 2.0], True)
    variances = [agent.belief.at(hour).predict(np.arange(21)).variance for hour in (2.0, 50.0)]
    assert (variances[0] <= variances[1]).all()


@pytest.mark.parametrize("name", [*GP_AGENTS, *BASELINES])  # others register theirs when imported
def test_every_agent_takes_a_context(name):
    agent = make_agent(name, space(False), LINEAR, prior=PRIOR, current=[0.5], context=True)
    x = agent.ask(context=1.0)
    Y = outcomes(x, 1.0)
    agent.tell(x, Y if agent.feedback == "decomposed" else Y.sum(axis=1), context=1.0)
    assert 0 <= agent.ask(context=2.0)[0, 0] <= 1


@pytest.mark.parametrize(
    ("context", "given", "message"),
    [(True, None, "context must be one finite number"), (True, np.nan, "finite"), (False, 1.0, "no input")],
)
def test_missing_or_needless_context_is_refused_in_words(context, given, message):
    agent = make_agent("d-ei", space(True), LINEAR, prior=PRIOR if context else None, context=context)
    with pytest.raises(ValueError, match=message):
        agent.ask(context=given)
    with pytest.raises(ValueError, match=message):
        agent.tell([1], [[1.0, 1.0]], context=given)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_what_was_told_before_kernels_were_learned_keeps_its_hours(name):
    """All outcomes are of one place, and change with the hour alone."""
    agent = make_agent(name, space(True), LINEAR, context=True)
    hours = np.arange(12.0)
    told = np.stack([np.sin(hours), np.cos(hours / 2)], axis=1)
    for hour, Y in zip(hours, told, strict=True):
        agent.tell([10, 11], [Y, Y] if name == "d-gpucb" else [Y.sum()] * 2, context=hour)
    agent.ask(context=12.0)
    for hour, Y in zip(hours, told, strict=True):
        assert agent.predict([10], context=hour)[0][0] == pytest.approx(Y.sum(), abs=0.15)
