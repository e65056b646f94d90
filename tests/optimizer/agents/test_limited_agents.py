"""Agents under limits on outcomes: the constrained optimum in closed form, and each choice by brute force.

Groups are a gain x_1 + x_2 and a harm x_1^2 + x_2^2; the objective is gain - harm / 2, to be maximised. With
at most 0.5 of harm the best policy is (0.5, 0.5), of value 0.75; without the limit it is (1, 1), of value 1.
"""

import numpy as np
import pytest
from limited import BOX, GRID, LIMITS, NAMES, PRIOR, WEIGHTS, G, told, truth
from scipy.optimize import Bounds, LinearConstraint
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.composition.outcome_limits import OutcomeLimits
from optimizer.composition.ready import WorstGroup


def run(agent, rounds, finite, limits=LIMITS, of=truth, g=G):
    tried = []
    for _ in range(rounds):
        x = agent.ask()
        X = GRID[x] if finite else x
        agent.tell(x, told(agent, of(X), limits, g))
        tried.append(X[0])
    return np.array(tried)


# The constrained optimum


@pytest.mark.parametrize("name", NAMES)
def test_the_best_candidate_within_the_limit_is_recommended(name):
    agent = make_agent(name, SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS, seed=1)
    run(agent, 12, finite=True)
    F = truth(GRID)
    best = np.where(F[:, 1] <= 0.5, F @ WEIGHTS, -np.inf).argmax()
    assert (F @ WEIGHTS).argmax() != best  # the limit matters
    assert agent.recommend().policy == best


@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "d-ts", "gp-ucb", "ei"])
def test_the_optimum_on_the_disc_is_found_and_the_limit_kept(name):
    agent = make_agent(name, SearchSpace(BOX), G, prior=PRIOR, limits=LIMITS, seed=1)
    run(agent, 9, finite=False)
    policy = agent.recommend().policy
    gain, harm = truth(policy[None])[0]
    assert harm <= 0.5 + 1e-4
    assert gain - harm / 2 == pytest.approx(0.75, abs=0.01)


def test_the_optimum_within_a_limit_and_a_linear_constraint():
    """x_1 <= x_2 / 3 as well: on the circle at the angle of tan = 3."""
    space = SearchSpace(BOX, LinearConstraint([[1.0, -1 / 3]], -np.inf, 0.0))
    agent = make_agent("d-ei", space, G, prior=PRIOR, limits=LIMITS, seed=1)
    tried = run(agent, 8, finite=False)
    policy = agent.recommend().policy
    assert space.contains(policy[None])[0] and space.contains(tried).all()
    best = np.sqrt(0.5 / 10) * np.array([1.0, 3.0])
    value = (truth(policy[None]) @ WEIGHTS)[0]
    assert value == pytest.approx((truth(best[None]) @ WEIGHTS)[0], abs=0.01)
    assert truth(policy[None])[0, 1] <= 0.5 + 1e-4


@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "ei"])
def test_the_optimum_of_whole_numbers_and_categories_keeps_the_limit(name):
    """Gain n / 10 + 0.3 of the second category, harm n^2 / 100 + 0.4 of it: at most 0.5 of harm."""
    space = SearchSpace(Bounds([0.0, 0.0], [10.0, 2.0]), steps=np.array([1.0, 1.0]), categories=[False, True])

    def of(X):
        extra = X[:, 1] == 1
        return np.stack([X[:, 0] / 10 + 0.3 * extra, X[:, 0] ** 2 / 100 + 0.4 * extra], axis=1)

    prior = Prior([ConstantKernel(4.0) * RBF([8.0, 1.0, 1.0, 1.0])] * 2, np.full(2, 1e-6), [0.0, 0.0])
    if space.features(np.array([[0.0, 0.0]])).shape[1] == 2:
        prior = Prior([ConstantKernel(4.0) * RBF([8.0, 1.0])] * 2, np.full(2, 1e-6), [0.0, 0.0])
    agent = make_agent(name, space, Composition(2, weights=[1.0, 0.0]), prior=prior, limits=LIMITS, seed=2)
    run(agent, 14, finite=False, of=of, g=Composition(2, weights=[1.0, 0.0]))
    grid = np.array([[n, c] for n in range(11) for c in range(3)], dtype=float)
    F = of(grid)
    best = F[F[:, 1] <= 0.5, 0].max()
    found = of(agent.recommend().policy[None])[0]
    assert best == pytest.approx(0.7) and F[:, 0].max() == pytest.approx(1.3)
    assert found[0] == pytest.approx(best) and found[1] <= 0.5


def test_the_optimum_of_a_general_g_keeps_the_limit():
    """The worse of gain and harm - 0.2, made small, with at least 0.6 of gain: 0.6 wherever x_1 + x_2 is."""
    limits = OutcomeLimits([[1.0, 0.0]], [0.6], [np.inf])
    g = GeneralComposition.of(WorstGroup("minimize"), 2)
    agent = make_agent("d-ei", SearchSpace(candidates=GRID), g, prior=PRIOR, limits=limits, seed=1)
    run(agent, 12, finite=True, limits=limits, g=g)
    F = truth(GRID)
    best = np.where(F[:, 0] >= 0.6, F.max(axis=1), np.inf)
    found = agent.recommend().policy
    assert F[found, 0] >= 0.6 and best[found] == pytest.approx(best.min(), abs=0.01)


def test_two_limits_that_share_a_group_and_one_of_a_function_are_kept():
    limits = OutcomeLimits(
        [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]],
        [-np.inf, -np.inf, 0.0],
        [0.5, 1.3, np.inf],
        [None, None, lambda F: F[..., 0] ** 2 - F[..., 1]],  # 2 x_1 x_2 >= 0, always kept
    )
    agent = make_agent("d-ei", SearchSpace(candidates=GRID), G, prior=PRIOR, limits=limits, seed=1)
    run(agent, 14, finite=True, limits=limits)
    F = truth(GRID)
    keeps = (F[:, 1] <= 0.5) & (F.sum(axis=1) <= 1.3)
    found = agent.recommend().policy
    assert keeps[found]
    assert (F @ WEIGHTS)[found] == pytest.approx((F @ WEIGHTS)[keeps].max(), abs=0.02)


def test_batches_are_of_different_candidates_and_lead_to_the_optimum():
    for name in ("d-ei", "d-gpucb", "gp-ucb"):
        agent = make_agent(name, SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS, seed=1)
        for _ in range(4):
            rows = agent.ask(4)
            assert len(set(rows.tolist())) == 4
            agent.tell(rows, told(agent, truth(GRID[rows])))
        F = truth(GRID)
        best = np.where(F[:, 1] <= 0.5, F @ WEIGHTS, -np.inf).max()
        found = agent.recommend().policy
        assert F[found, 1] <= 0.5 and (F @ WEIGHTS)[found] == pytest.approx(best, abs=0.01)


@pytest.mark.parametrize("name", ["d-ei", "d-gpucb", "ei"])
def test_failures_and_limits_are_both_avoided(name):
    """Policies with x_1 < 0.4 fail; the best that works and keeps the limit is looked for."""
    agent = make_agent(name, SearchSpace(candidates=GRID), G, prior=PRIOR, limits=LIMITS, seed=1)
    F, works = truth(GRID), GRID[:, 0] >= 0.4
    for _ in range(25):
        row = agent.ask()
        Y = np.where(works[row][:, None], truth(GRID[row]), np.nan)
        agent.tell(row, told(agent, Y))
    found = agent.recommend().policy
    keeps = works & (F[:, 1] <= 0.5)
    assert keeps[found]
    assert (F @ WEIGHTS)[found] == pytest.approx((F @ WEIGHTS)[keeps].max(), abs=0.05)


def test_policies_are_looked_for_within_a_part_of_the_space():
    part = SearchSpace(Bounds([0.0, 0.8], [1.0, 0.8 + 1e-9]))
    agent = make_agent("d-ei", SearchSpace(BOX), G, prior=PRIOR, limits=None, within=part, seed=1)
    agent.tell(GRID[:8], truth(GRID[:8]))  # what is told may lie outside it
    assert agent.ask()[0][1] == pytest.approx(0.8, abs=1e-8)
    found = agent.recommend().policy
    assert found[1] == pytest.approx(0.8, abs=1e-8)
    assert (truth(found[None]) @ WEIGHTS)[0] == pytest.approx(0.98, abs=0.005)  # at (1, 0.8)
