"""Greedy mutual information by number: entropies of Gaussian vectors, all sets tried."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from optimizer import Composition, SearchSpace, make_agent
from optimizer.prior.prior import Prior

N = 8
RNG = np.random.default_rng(3)
PLACES = RNG.uniform(0, 1, (N, 2))
KERNELS = [2.0 * RBF(0.4), 0.7 * Matern(0.3, nu=0.5)]
NOISE = np.array([0.1, 0.05])


def made(**settings):
    prior = Prior(KERNELS, NOISE, [0.0, 0.0])
    space = SearchSpace(candidates=PLACES)
    return make_agent("mutual-information", space, Composition(2), prior=prior, **settings)


def information(chosen):
    """MI(A; V - A) of what sensors read, summed over the groups: (log|K_A| + log|K_rest| - log|K|) / 2."""
    rest = [i for i in range(N) if i not in chosen]
    total = 0.0
    for kernel, noise in zip(KERNELS, NOISE, strict=True):
        K = kernel(PLACES) + noise * np.eye(N)
        parts = [np.linalg.slogdet(K[np.ix_(part, part)])[1] for part in (list(chosen), rest) if len(part)]
        total += 0.5 * (sum(parts) - np.linalg.slogdet(K)[1])
    return total


def greedy(size, cost=None):
    chosen = []
    for _ in range(size):
        left = [i for i in range(N) if i not in chosen]
        gains = [information([*chosen, i]) - information(chosen) for i in left]
        gains = gains if cost is None or max(gains) <= 0 else np.array(gains) / cost[left]
        chosen.append(left[int(np.argmax(gains))])
    return chosen


def test_each_gain_is_the_difference_of_mutual_informations():
    agent = made()
    agent.tell([2, 5], np.zeros((2, 2)))
    rows = np.array([0, 1, 3, 4, 6, 7])
    gains = agent.gains(agent.belief.model, rows, [2, 5])
    brute = [information([2, 5, row]) - information([2, 5]) for row in rows]
    assert gains == pytest.approx(brute, abs=1e-10)


def test_it_asks_for_the_greedy_choice_in_one_batch_and_one_by_one():
    assert made().ask(6).tolist() == greedy(6)
    agent, one_by_one = made(), []
    for _ in range(6):
        one_by_one += agent.ask(1).tolist()
        agent.tell(one_by_one[-1:], RNG.standard_normal((1, 2)))
    assert one_by_one == greedy(6)


def test_the_greedy_choice_is_near_the_best_set():
    best = max(information(chosen) for chosen in combinations(range(N), 3))
    assert information(made().ask(3).tolist()) >= (1 - 1 / np.e) * best


def test_what_is_asked_and_not_told_yet_counts_as_chosen():
    assert made().ask(3, pending=[greedy(1)[0]]).tolist() == greedy(4)[1:]


def test_with_costs_the_gain_for_the_cost_decides():
    cost = np.array([1.0, 5.0, 1.0, 9.0, 1.0, 2.0, 30.0, 1.0])
    costs = np.stack([0.5 * cost, 0.25 * cost, 0.25 * cost], axis=1)
    asked = made(query_costs=lambda rows: costs[rows]).ask(4).tolist()
    assert asked == greedy(4, cost) != greedy(4)


def test_it_begins_again_when_all_are_observed():
    asked = made().ask(N + 2)
    assert sorted(asked[:N].tolist()) == list(range(N))
    assert set(asked[N:].tolist()) <= set(range(N))


def test_it_recommends_the_best_posterior_mean():
    agent = made()
    values = RNG.standard_normal((N, 2))
    agent.tell(np.arange(N), values)
    expected = []
    for kernel, noise, y in zip(KERNELS, NOISE, values.T, strict=True):
        K = kernel(PLACES)
        expected.append(K @ np.linalg.solve(K + noise * np.eye(N), y))
    assert agent.recommend().policy == int(np.sum(expected, axis=0).argmax())


def test_ranges_and_a_world_that_lives_are_refused():
    from scipy.optimize import Bounds

    with pytest.raises(ValueError, match="mutual-information needs a list of candidates, of at most 5000"):
        make_agent("mutual-information", SearchSpace(bounds=Bounds([0.0], [1.0])), Composition(2))
    with pytest.raises(ValueError, match="mutual-information knows no time"):
        made(context=True)
