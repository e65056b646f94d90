"""beta, scale_down and delta change what is asked for under a general g, however large beta_t is."""

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.gaussian_process.kernels import RBF

from optimizer import UCB, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.composition.propagation import Sampled

GRID = np.random.default_rng(0).random((200, 2))
PRIOR = Prior([RBF(0.2), 0.5 * RBF(0.3)], np.full(2, 1e-3), [0.0, 0.0])
TOLD = np.arange(0, 40, 4)
Y = np.random.default_rng(1).normal(0, 0.7, (10, 2))


def asked(**options):
    g = GeneralComposition(2, lambda F, X: F.sum(axis=-1) + 0.1 * np.sin(F[..., 0]))
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), g, prior=PRIOR, **options)
    trace = []
    for t in range(12):
        row = agent.ask()
        agent.tell(row, np.random.default_rng(t).normal(0, 0.7, (1, 2)) + GRID[row])
        trace.append(int(row[0]))
    return trace


@pytest.mark.parametrize("name", ["scale_down", "delta", "beta"])
def test_settings_of_exploration_change_what_is_asked_for(name):
    values = {"scale_down": (5.0, 1.0, 0.1), "delta": (0.5, 1e-6, 1e-40), "beta": (30.0, 150.0, 1500.0)}[name]
    traces = [asked(**{name: value}) for value in values]
    assert traces[0] != traces[1] != traces[2] != traces[0]


@pytest.mark.parametrize("beta", [1.0, 4.0, 9.0, 50.0])
def test_of_a_group_alone_the_bound_is_that_of_a_normal(beta):
    """g(f) = f: m + sqrt(beta) s, whether the samples hold the level or not."""
    same = GeneralComposition(1, lambda F, X: F[..., 0]).propagated(Sampled(1))
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), same, prior=Prior([RBF(0.2)], [1e-3], [0.0]))
    agent.tell(TOLD, Y[:, :1])
    rows = np.arange(200)
    means, variances = agent.belief.model.predict_groups(rows)
    bound = UCB(beta)
    found = bound.score(bound.reaching(agent.belief.model).posterior(rows))
    expected = means[:, 0] + np.sqrt(beta * variances[:, 0])
    # 32 samples tell a quantile to a quarter of itself; how far it goes is in proportion to sqrt(beta).
    assert np.abs((found - expected) / np.sqrt(variances[:, 0])).max() < 0.32 * np.sqrt(beta)


def test_spread_samples_reach_the_level_and_no_further():
    z = Sampled(1).z
    top = ndtri(1 - 0.5 / len(z))
    same = GeneralComposition(1, lambda F, X: F[..., 0]).propagated(Sampled(1))
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), same, prior=Prior([RBF(0.2)], [1e-3], [0.0]))
    model = agent.belief.model
    assert UCB(0.99 * top**2).reaching(model) is model
    spread = UCB(4 * top**2).reaching(model)
    assert spread.composition.propagation.z == pytest.approx(2 * z)
    assert model.composition.propagation.z == pytest.approx(z)


@pytest.mark.parametrize("propagation", ["delta", "sampled", "bound"])
def test_the_mean_of_a_recommendation_is_of_the_same_samples_as_its_interval(propagation):
    """The square of a group about zero: its mean is its variance, and not g at the mean."""
    square = GeneralComposition(1, lambda F, X: F[..., 0] ** 2, bounds=[9.0])
    agent = make_agent(
        "d-gpucb",
        SearchSpace(candidates=GRID),
        square,
        prior=Prior([RBF(0.2)], [1e-3], [0.0]),
        propagation=propagation,
    )
    found = agent.predicted(0)
    assert found.mean == pytest.approx(1.0, rel=0.02)
    assert found.low < found.mean < found.high
