"""UCB and the probability of improvement under limits: what is promised, times the probability of keeping."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.acquisition.probability import LogProbabilityOfImprovement
from optimizer.acquisition.ucb import LEAST_GAIN, KeptUCB
from optimizer.composition.outcome_limits import OutcomeLimits

GRID = np.linspace(0.0, 1.0, 201)[:, None]
LIMITS = OutcomeLimits([[0.0, 1.0]], [-np.inf], [0.5])


def informed(name, observed):
    """Told of a gain x and a harm x: the best within the limit is x = 0.5, on it."""
    kernel = ConstantKernel(1.0) * RBF([0.3])
    prior = Prior([kernel, kernel], np.full(2, 1e-4), [0.0, 0.0])
    space = SearchSpace(candidates=GRID)
    agent = make_agent(name, space, Composition(2, weights=[1.0, 0.0]), prior=prior, limits=LIMITS)
    rows = np.array([int(round(200 * x)) for x in observed])
    agent.tell(rows, np.repeat(GRID[rows], 2, axis=1))
    return agent


def test_before_a_policy_is_known_to_keep_the_limit_the_worst_one_is_what_is_improved_on():
    agent = informed("d-gpucb", [0.6, 0.8, 1.0])
    means, variances = agent.belief.at(None).predict_groups(agent.space.rows)
    keeps = norm.cdf((0.5 - means[:, 1]) / np.sqrt(variances[:, 1]))
    assert keeps[[120, 160, 200]].max() < 0.5
    bound = means[:, 0] + np.sqrt(agent.exploration.beta(4) * variances[:, 0])
    assert agent.ask()[0] == (np.maximum(bound - means[120, 0], 0.0) * keeps).argmax()


@pytest.mark.parametrize("name", ["d-gpucb", "auto", "gp-ucb"])
def test_few_rounds_break_a_limit_on_which_the_best_policy_lies(name):
    """On the disc x^2 + y^2 <= 0.5 with x + y to be large; a random policy breaks it in 61 % of all cases."""
    kernel = ConstantKernel(4.0) * RBF([1.0, 1.0])
    space, g = SearchSpace(Bounds([0.0, 0.0], [1.0, 1.0])), Composition(2, weights=[1.0, 0.0])
    prior = Prior([kernel, kernel], np.full(2, 1e-4), [0.0, 0.0])
    agent = make_agent(name, space, g, prior=prior, limits=LIMITS, seed=1)
    rng, harms = np.random.default_rng(0), []
    for _ in range(30):
        x = agent.ask()
        F = np.stack([x.sum(axis=1), (x**2).sum(axis=1)], axis=1)
        Y = F + rng.normal(0, 0.01, (1, 2))
        agent.tell(x, Y)
        harms.append(F[0, 1])
    broken = np.array(harms) > 0.5
    assert broken.mean() < 0.5
    assert np.max(np.where(broken, 0, harms)) > 0.45  # and it is not by staying away from it


@pytest.mark.parametrize(
    "acquisition", [KeptUCB(2.0, 0.3, 1.0), LogProbabilityOfImprovement(0.3, 0.01)], ids=["ucb", "mpi"]
)
def test_slopes_are_those_of_differences(acquisition):
    mean = np.array([-3.0, 0.1, 0.5, 2.0, 0.29])
    variance = np.array([0.2, 0.04, 0.3, 1.0, 1e-6])
    in_mean, in_variance = acquisition.slopes_in_moments(mean, variance)
    for slopes, step in ((in_mean, (1e-7, 0.0)), (in_variance, (0.0, 1e-9))):
        above = acquisition.score_moments(mean + step[0], variance + step[1])
        below = acquisition.score_moments(mean - step[0], variance - step[1])
        np.testing.assert_allclose(slopes, (above - below) / (2 * sum(step)), rtol=1e-3, atol=1e-4)


def test_samples_are_scored_by_their_quantile_and_its_slopes():
    samples = np.random.default_rng(0).normal(1.0, 0.5, (40, 3))
    kept = KeptUCB(1.0, 0.2, 1.0)
    quantile = np.quantile(samples, norm.cdf(1.0), axis=0, method="hazen")
    np.testing.assert_allclose(kept.score_samples(samples), np.log(quantile - 0.2))
    slopes = kept.slopes_in_samples(samples)
    np.testing.assert_allclose(slopes.sum(axis=0), 1 / (quantile - 0.2))


def test_bounds_below_what_is_known_go_on_as_a_line_without_a_kink():
    kept = KeptUCB(0.0, 0.0, 1.0)
    around = LEAST_GAIN * np.array([1 - 1e-6, 1 + 1e-6])
    zero = np.zeros(2)
    np.testing.assert_allclose(kept.score_moments(around, zero), np.log(LEAST_GAIN), rtol=1e-5)
    np.testing.assert_allclose(kept.slopes_in_moments(around, zero)[0], 1 / LEAST_GAIN, rtol=1e-5)
    far = kept.score_moments(np.array([-1.0, -2.0]), zero)
    assert np.isfinite(far).all() and far[0] > far[1]
