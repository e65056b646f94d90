"""Policies that fail teach no value, and are not asked for again and again."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.agents.names import GP_AGENTS

BOX = Bounds([0.0, 0.0], [1.0, 1.0])
BEST = np.array([0.8, 0.6])


def outcomes(X):
    """Best at (0.8, 0.6), where the simulator fails: it does so wherever x > 0.5."""
    return np.where(X[:, [0]] > 0.5, np.nan, (X - BEST) ** 2)


def prior():
    return Prior([0.3 * RBF([0.4, 0.4])] * 2, np.full(2, 1e-4), [0.3, 0.3])


def run(agent, composition, rounds):
    told = []
    for _ in range(rounds):
        x = agent.ask()
        Y = outcomes(x)
        agent.tell(x, Y if agent.feedback == "decomposed" else composition.unsigned(Y, x))
        told.append((x[0], np.isfinite(Y).all()))
    policies, succeeded = zip(*told, strict=True)
    return np.array(policies), np.array(succeeded)


@pytest.mark.parametrize("known", [True, False], ids=["prior", "no prior"])
@pytest.mark.parametrize("name", GP_AGENTS)
def test_an_agent_learns_beside_policies_that_fail(name, known):
    composition = Composition(2, sense="minimize")
    agent = make_agent(name, SearchSpace(BOX), composition, prior=prior() if known else None)
    policies, succeeded = run(agent, composition, 30)
    assert succeeded.sum() >= 5
    assert len(np.unique(policies.round(6), axis=0)) >= 20
    assert agent.recommend().best_observed_value < 0.09 + 0.07  # 0.09 is the least that does not fail


def test_a_nonlinear_composition_is_led_away_in_its_own_direction():
    composition = GeneralComposition(2, lambda F, X: (F**2).sum(axis=-1), sense="minimize")
    agent = make_agent("d-gpucb", SearchSpace(BOX), composition, prior=prior())
    _, succeeded = run(agent, composition, 30)
    assert succeeded.sum() >= 5


def test_a_candidate_that_fails_is_left_for_others():
    composition = Composition(1)
    space = SearchSpace(candidates=np.linspace(0, 1, 11)[:, None])
    agent = make_agent("d-gpucb", space, composition, prior=Prior([RBF(0.1)], np.array([1e-4]), [0.0]))
    for _ in range(11):
        row = agent.ask()
        agent.tell(row, np.where(row == 5, np.nan, -np.abs(row - 5.0))[:, None])
    assert len(agent.observed) >= 9


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_predictions_know_nothing_of_what_failed(name):
    composition = Composition(2, sense="minimize")
    agents = [make_agent(name, SearchSpace(BOX), composition, prior=prior()) for _ in range(2)]
    X = np.random.default_rng(0).random((8, 2))
    X[:, 0] /= 2
    lost = np.array([[0.9, 0.6], [0.7, 0.2]])
    for agent in agents:
        Y = outcomes(X)
        agent.tell(X, Y if agent.feedback == "decomposed" else composition.unsigned(Y, X))
    agents[0].tell(lost, np.full((2, 2) if agents[0].feedback == "decomposed" else 2, np.nan))
    grid = np.random.default_rng(1).random((50, 2))
    for one, other in zip(agents[0].predict(grid), agents[1].predict(grid), strict=True):
        assert np.array_equal(one, other)
    assert not np.allclose(agents[0].ask(), agents[1].ask(), atol=1e-3)
