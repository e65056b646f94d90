"""Policies that fail teach no value, and are not asked for again and again."""

import numpy as np
import pytest
from every_agent import EVERY_AGENT
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.space.mixed_space import MixedSpace

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
@pytest.mark.parametrize("name", EVERY_AGENT)
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


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("name", EVERY_AGENT)
def test_few_of_the_policies_asked_for_fail_and_none_is_recommended(name, finite):
    """The best policy lies at the edge of what fails, as in benchmarks/bench_failures.py."""
    side = np.linspace(0, 1, 21)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    space = SearchSpace(candidates=grid) if finite else SearchSpace(BOX)
    composition = Composition(2, sense="minimize")
    agent = make_agent(name, space, composition, seed=1)
    failed = []
    for _ in range(25):
        policy = agent.ask()
        x = space.resolve(policy)
        Y = np.where(x[:, [0]] > 0.8, np.nan, -x * [1.0, 0.3])
        agent.tell(policy, Y if agent.feedback == "decomposed" else composition.unsigned(Y, policy))
        failed += [tuple(x[0])] if np.isnan(Y).any() else []
    assert len(failed) <= 7 and len(set(failed)) == len(failed)
    x = space.resolve(agent.recommend().policy)[0]
    assert x[0] <= 0.8 and x @ [1.0, 0.3] > 0.95


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_a_policy_that_is_lost_is_asked_again_once_and_then_counts_as_failed(name):
    composition = Composition(2, sense="minimize")
    space = SearchSpace(candidates=np.random.default_rng(0).random((40, 2)))
    agent = make_agent(name, space, composition, prior=prior())
    nothing = np.full((1, 2) if agent.feedback == "decomposed" else 1, np.nan)
    for row in (3, 4):
        Y = outcomes(space.candidates[[row]] / 2)
        agent.tell([row], Y if agent.feedback == "decomposed" else Y.sum(axis=1))
    asked = agent.ask()
    agent.lose(asked, nothing)
    assert agent.belief.caution(None, 0.8) is None and agent.rounds == 3
    agent.rounds -= 1  # the same round again: nothing was learned
    assert agent.ask() == asked
    agent.rounds += 1
    agent.lose(asked, nothing)
    assert agent.rounds == 4 and agent.belief.history.failures == 1
    assert agent.ask() != asked


def test_a_silent_place_of_a_living_world_is_left_and_returned_to():
    space = SearchSpace(candidates=np.linspace(0, 1, 6)[:, None])
    kernel = RBF([0.1, 50.0])
    agent = make_agent(
        "d-gpucb",
        space,
        Composition(2),
        prior=Prior([kernel] * 2, np.full(2, 1e-4), [0.0, 0.0]),
        context=True,
    )
    asked = []
    for hour in range(80):
        row = agent.ask(context=float(hour))
        at = space.candidates[row, 0]
        silent = row[0] == 5 and hour < 20
        Y = np.stack([at, np.where(silent, np.nan, at)], axis=1)  # one channel of the best place is dead
        agent.tell(row, Y, context=float(hour))
        asked.append(int(row[0]))
    assert asked[:20].count(5) <= 2
    assert asked[-20:].count(5) >= 10


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


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-ts"])
def test_a_category_that_fails_is_found_out_by_its_name_and_not_by_its_neighbours(name):
    """The middle one of three categories fails, whatever the whole number beside it."""
    space = MixedSpace(Bounds([0, 0, 0.0], [2, 9, 1.0]), steps=[1, 1, 0], categories=[True, False, False])
    agent = make_agent(name, space, Composition(1), seed=2)
    failed = 0
    for _ in range(30):
        x = agent.ask()
        worth = np.array([0.2, 1.0, 0.4])[x[:, 0].astype(int)] + 0.02 * x[:, 1] - (x[:, 2] - 0.4) ** 2
        agent.tell(x, np.where(x[:, 0] == 1, np.nan, worth)[:, None])
        failed += int(x[0, 0] == 1)
    assert failed <= 9  # of the design, a third
    best = agent.recommend().policy
    assert best[0] == 2 and best[1] >= 7
