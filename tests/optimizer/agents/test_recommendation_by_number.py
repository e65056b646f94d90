"""What agents predict and recommend, against scikit-learn's regressor and SciPy's normal distribution."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.stats import ncx2, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent

KERNELS = [ConstantKernel(1.5) * RBF(0.3), ConstantKernel(0.4) * Matern(0.5, nu=2.5)]
NOISE = np.array([0.05, 0.2])
MEANS = [0.7, -1.2]
WEIGHTS = np.array([2.0, -0.5])
PRIOR = Prior(KERNELS, NOISE, MEANS)
GRID = np.linspace(0, 1, 25)[:, None]
TOLD = np.array([2, 9, 9, 17, 23])
Y = np.random.default_rng(4).normal(0, 0.6, (5, 2))
SENSES = {"maximize": 1.0, "minimize": -1.0}


def offset(rows):
    return 0.3 + GRID[np.asarray(rows), 0]


def groups(at=GRID):
    """Posterior means and standard deviations of both groups, (n, 2), by scikit-learn."""
    found = [
        GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
        .fit(GRID[TOLD], Y[:, j] - MEANS[j])
        .predict(at, return_std=True)
        for j, (kernel, noise) in enumerate(zip(KERNELS, NOISE, strict=True))
    ]
    return np.stack([m + MEANS[j] for j, (m, _) in enumerate(found)], axis=1), np.stack(
        [s for _, s in found], axis=1
    )


def composed():
    """Posterior mean and standard deviation of the composed value by scikit-learn, from composed values."""
    one = WEIGHTS[0] ** 2 * KERNELS[0] + WEIGHTS[1] ** 2 * KERNELS[1]
    mean = MEANS @ WEIGHTS
    gp = GaussianProcessRegressor(one, alpha=float(WEIGHTS**2 @ NOISE), optimizer=None)
    m, s = gp.fit(GRID[TOLD], Y @ WEIGHTS - mean).predict(GRID, return_std=True)
    return m + mean, s


def made(name, sense, **options):
    """An agent that was told the five observations, and the composition."""
    g = Composition(2, weights=WEIGHTS, offset=offset, sense=sense)
    agent = make_agent(name, SearchSpace(candidates=GRID), g, prior=PRIOR, **options)
    agent.tell(TOLD, Y if agent.feedback == "decomposed" else g.unsigned(Y, TOLD))
    return agent


def chosen(mean, deviation, sign):
    """The best mean, or of the rows tried the best, where that is safer and the other not better for sure.

    In these data it makes no difference whether the two are taken to be independent.
    """
    best, tried = int(np.argmax(sign * mean)), TOLD[np.argmax(sign * mean[TOLD])]
    gain = sign * (mean[best] - mean[tried])
    sure = gain >= norm.ppf(0.75) * np.hypot(deviation[best], deviation[tried])
    safer = gain >= norm.ppf(0.975) * (deviation[best] - deviation[tried])
    return best if sure or safer else int(tried)


@pytest.mark.parametrize(("sense", "sign"), SENSES.items())
def test_a_decomposed_agent_recommends_the_best_mean_with_normal_intervals(sense, sign):
    means, deviations = groups()
    mean, deviation = means @ WEIGHTS + offset(range(25)), np.sqrt(deviations**2 @ WEIGHTS**2)
    found = made("d-gpucb", sense).recommend()
    best = chosen(mean, deviation, sign)
    assert best != np.argmax(sign * mean + 2 * deviation)  # not the best upper bound
    assert found.policy == best and found.mean == pytest.approx(mean[best], abs=1e-9)
    assert [found.low, found.high] == pytest.approx(norm(mean[best], deviation[best]).interval(0.95))
    assert found.group_means == pytest.approx(means[best], abs=1e-9)
    low, high = norm(means[best], deviations[best]).interval(0.95)
    assert found.group_low == pytest.approx(low) and found.group_high == pytest.approx(high)


@pytest.mark.parametrize(("sense", "sign"), SENSES.items())
def test_an_aggregate_agent_recommends_the_best_mean_with_a_normal_interval(sense, sign):
    mean, deviation = composed()
    mean = mean + offset(range(25))
    found = made("gp-ucb", sense).recommend()
    best = chosen(mean, deviation, sign)
    assert best != np.argmax(sign * mean + 2 * deviation)
    assert found.policy == best and found.mean == pytest.approx(mean[best], abs=1e-9)
    assert [found.low, found.high] == pytest.approx(norm(mean[best], deviation[best]).interval(0.95))


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_predictions_have_the_objectives_own_sign_before_and_after_observations(name, sense):
    g = Composition(2, weights=WEIGHTS, offset=offset, sense=sense)
    agent = make_agent(name, SearchSpace(candidates=GRID), g, prior=PRIOR)
    mean, deviation = agent.predict(range(25))
    assert mean == pytest.approx(2 * 0.7 + 0.5 * 1.2 + offset(range(25)))
    assert deviation == pytest.approx(np.sqrt(4 * 1.5 + 0.25 * 0.4))
    agent.tell(TOLD, Y if name == "d-gpucb" else g.unsigned(Y, TOLD))
    means, deviations = groups()
    expected = (means @ WEIGHTS, np.sqrt(deviations**2 @ WEIGHTS**2)) if name == "d-gpucb" else composed()
    mean, deviation = agent.predict(range(25))
    assert mean == pytest.approx(expected[0] + offset(range(25)))
    assert deviation == pytest.approx(expected[1])


def test_an_aggregate_agents_noise_follows_weights_that_vary_with_the_policy():
    """It is told sum_j g_j(x)^2 sigma_j^2 of every observation, on the kernel sum_j g_j k_j g_j."""

    def weights(X):
        return np.stack([1 + X[:, 0], 2 - 3 * X[:, 0]], axis=1)

    g = Composition(2, weights=weights)
    agent = make_agent("gp-ucb", SearchSpace(Bounds([0.0], [1.0])), g, prior=PRIOR)
    X, W = GRID[TOLD], weights(GRID[TOLD])
    agent.tell(X, g.unsigned(Y, X))
    new, V = GRID[::3], weights(GRID[::3])
    K = sum(W[:, [j]] * KERNELS[j](X) * W[:, j] for j in range(2)) + np.diag(W**2 @ NOISE)
    k = sum(V[:, [j]] * KERNELS[j](new, X) * W[:, j] for j in range(2))
    prior = V**2 @ [1.5, 0.4]
    mean = V @ MEANS + k @ np.linalg.solve(K, (Y * W).sum(axis=1) - W @ MEANS)
    variance = prior - np.einsum("nt,tn->n", k, np.linalg.solve(K, k.T))
    found = agent.predict(new)
    assert found[0] == pytest.approx(mean) and found[1] == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("propagation", ["bound", "delta", "sampled"])
@pytest.mark.parametrize(("sense", "sign"), SENSES.items())
def test_the_interval_of_a_general_objective_is_its_quantiles_in_either_sense(sense, sign, propagation):
    """The square of one group has a noncentral chi-square law, far from normal and from symmetric."""
    square = GeneralComposition(
        1, lambda F, X: F[..., 0] ** 2, gradient=lambda F, X: 2 * F, bounds=[9.0], sense=sense
    )
    one = Prior(KERNELS[:1], NOISE[:1], [0.4])
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), square, prior=one, propagation=propagation)
    agent.tell(TOLD, Y[:, [0]])
    found = agent.recommend()
    middle = (found.group_high[0] + found.group_low[0]) / 2
    deviation = (found.group_high[0] - found.group_low[0]) / 2 / norm.ppf(0.975)
    law = ncx2(1, (middle / deviation) ** 2, scale=deviation**2)
    assert [found.low, found.high] == pytest.approx(list(law.interval(0.95)), rel=0.02, abs=2e-3)
    assert found.low >= 0 and found.mean >= 0  # a square, whatever the sense


def test_a_fixed_agents_interval_is_that_of_the_mean_of_its_observations():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    agent = make_agent("current", SearchSpace(Bounds([0.0], [1.0])), Composition(1), current=[0.5])
    agent.tell(np.full((4, 1), 0.5), values)
    agent.tell([[0.1]], [99.0])  # another policy tells nothing of this one
    found = agent.recommend()
    assert found.mean == 4.0
    low, high = norm(4.0, np.std(values, ddof=1) / 2).interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high])
