"""The density of a group's hyperparameters, against scikit-learn, SciPy and central differences."""

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import approx_fprime, check_grad, minimize
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from optimizer.kernels.diffusion import DiffusionKernel, GraphLaplacian
from optimizer.kernels.space_time import SpaceTimeKernel
from optimizer.prior.families import Family
from optimizer.prior.hyperparameters import Group, LengthPrior, laplace, truncated_weights
from optimizer.prior.marginal_likelihood import AnyKernel, LogPosterior, shape_of

RNG = np.random.default_rng(0)
X = RNG.random((25, 3))
Y = np.sin(5 * X.sum(axis=1)) + 0.1 * RNG.standard_normal(25)
LENGTHS = np.array([0.4, 0.9, 1.7])
NODES = np.arange(25.0)[:, None]
RING = GraphLaplacian.of(nx.cycle_graph(25))
PLACES_AND_TIME = SpaceTimeKernel(Matern([0.4, 0.8], nu=2.5), Matern(0.6, nu=1.5))
KERNELS = {
    "rbf": RBF(LENGTHS),
    "matern-1/2": Matern(LENGTHS, nu=0.5),
    "matern-3/2": Matern(LENGTHS, nu=1.5),
    "matern-5/2": Matern(LENGTHS, nu=2.5),
    "rq": RationalQuadratic(0.7, 1.3),
    "diffusion": DiffusionKernel(RING, 3.0),
    "space-time": PLACES_AND_TIME,
    "one length scale": RBF(0.5),
    "one's own": RBF(0.5) + DotProduct(0.3),
}


def flat(kernel, y=Y, noise=np.nan, mean_variance=0.0, at=None):
    """The density without priors, and theta in the middle of nowhere."""
    points = X if at is None else at
    n = 1 + len(kernel.theta) + bool(np.isnan(noise).any())
    shape = shape_of(kernel, points)
    noises = np.broadcast_to(noise, y.shape)
    density = LogPosterior(shape, y, noises, np.zeros(n), np.full(n, np.inf), mean_variance)
    theta = np.concatenate([[np.log(1.7)], kernel.theta, [np.log(0.05)]])[:n]
    return density, theta + 0.1 * np.sin(np.arange(n))


@pytest.mark.parametrize("name", KERNELS)
def test_log_likelihood_and_gradient_are_scikit_learns(name):
    at = NODES if name == "diffusion" else X
    density, theta = flat(KERNELS[name], at=at)
    kernel = ConstantKernel(1.0) * KERNELS[name] + WhiteKernel(1.0)
    peer = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(at, Y)
    value, gradient = peer.log_marginal_likelihood(theta, eval_gradient=True)
    found = density(theta)
    assert found[0] == pytest.approx(value, rel=1e-9)
    assert density.value(theta) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq", "space-time"])
def test_families_never_go_through_scikit_learns_gradients(name):
    assert not isinstance(shape_of(KERNELS[name], X), AnyKernel)


@pytest.mark.parametrize("name", KERNELS)
def test_with_noise_stated_for_some_and_a_mean_of_its_own_the_gradient_is_that_of_differences(name):
    noise = np.where(np.arange(25) % 3 == 0, np.nan, 0.02 + 0.01 * np.arange(25))
    at = NODES if name == "diffusion" else X
    density, theta = flat(KERNELS[name], noise=noise, mean_variance=1.3, at=at)
    slopes = approx_fprime(theta, density.value, 1e-6)
    np.testing.assert_allclose(density(theta)[1], slopes, rtol=1e-3, atol=1e-3)
    amplitude, learned = np.exp(theta[[0, -1]])
    K = amplitude * (KERNELS[name].clone_with_theta(theta[1:-1])(at) + 1.3)
    K = K + np.diag(np.where(np.isnan(noise), learned, noise))
    assert density.value(theta) == pytest.approx(multivariate_normal(np.zeros(25), K).logpdf(Y))


def test_priors_are_added_to_the_density_and_its_gradient():
    density, theta = flat(KERNELS["rbf"])
    means, deviations = np.arange(5.0), 1 + np.arange(5.0)
    with_priors = LogPosterior(density.shape, Y, np.full(25, np.nan), means, deviations, 0.0)
    other = theta + 0.2
    added = with_priors.value(theta) - density.value(theta) - with_priors.value(other) + density.value(other)
    prior = norm(means, deviations)
    assert added == pytest.approx(prior.logpdf(theta).sum() - prior.logpdf(other).sum())
    assert check_grad(with_priors.value, lambda at: with_priors(at)[1], theta) < 1e-4


def test_a_covariance_that_cannot_be_factorised_has_no_density():
    twice = np.repeat(X[:1], 25, axis=0)
    density, theta = flat(RBF(np.ones(3)), noise=0.0, at=twice)
    assert density.value(theta) == -np.inf and density(theta)[0] == -np.inf


def brute_force(theta, points, y, noise, length, mean_variance):
    """The density of the hyperparameters of an RBF kernel, written out."""
    p = points.shape[1]
    amplitude, scales = np.exp(theta[0]), np.exp(theta[1 : 1 + p])
    K = np.exp(-0.5 * (((points[:, None] - points[None]) / scales) ** 2).sum(axis=2)) + mean_variance
    K = amplitude * K + np.diag(np.where(np.isnan(noise), np.exp(theta[-1]), noise))
    density = multivariate_normal(np.zeros(len(y)), K).logpdf(y) + norm(0, 1).logpdf(theta[0])
    density += norm(length.mean + np.log(p) / 2, length.deviation).logpdf(theta[1 : 1 + p]).sum()
    return density + norm(-4, 2).logpdf(theta[-1])


def test_the_most_probable_hyperparameters_are_those_of_a_search_by_other_code():
    y, noise, length = (Y - Y.mean()) / Y.std(), np.full(25, np.nan), LengthPrior(np.log(0.35), 1.0)
    noise[:5] = 0.03
    group = Group(Family("rbf"), X, y, noise, length, 1.0)
    found = group.most_probable([group.default], np.random.default_rng(0))
    start = np.log([0.8, 0.4, 0.7, 0.5, 0.02])
    peer = minimize(lambda theta: -brute_force(theta, X, y, noise, length, 1.0), start, method="BFGS")
    np.testing.assert_allclose(found, peer.x, atol=5e-3)


def test_the_laplace_approximation_has_the_inverse_of_the_curvature():
    y, length = (Y - Y.mean()) / Y.std(), LengthPrior(np.log(0.35), 1.0)
    group = Group(Family("rbf"), X, y, np.full(25, np.nan), length, 1.0)
    best = group.most_probable([group.default], np.random.default_rng(0))
    root = laplace(group.density(), best)

    def value(theta):
        return brute_force(theta, X, y, np.full(25, np.nan), length, 1.0)

    step, n = 1e-3, len(best)
    hessian = np.empty((n, n))
    for i, e in enumerate(step * np.eye(n)):
        for j, f in enumerate(step * np.eye(n)):
            corners = value(best + e + f) - value(best + e - f) - value(best - e + f) + value(best - e - f)
            hessian[i, j] = -corners / (4 * step**2)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(hessian), rtol=0.03, atol=1e-3)


def test_no_direction_is_less_certain_after_data_than_before():
    """At a single observation the likelihood says nothing of length scales."""
    group = Group(Family("rbf"), X[:2], np.zeros(2), np.full(2, np.nan), LengthPrior(0.0, 0.7), 1.0)
    best = group.most_probable([group.default], np.random.default_rng(0))
    covariance = np.diag(group.deviations**-1) @ laplace(group.density(), best)
    assert np.linalg.eigvalsh(covariance @ covariance.T).max() <= 1 + 1e-9


def test_weighted_draws_have_the_posteriors_own_moments():
    """Against an integral over a grid: the posterior is skewed, the Laplace approximation is not."""
    y = np.array([0.3, -0.9, 0.4, 1.2])
    points, noise = np.array([[0.0], [0.35], [0.6], [1.0]]), np.full(4, 0.01)
    length = LengthPrior(np.log(0.35), 1.0)
    group = Group(Family("rbf"), points, y, noise, length, 1.0)
    density = group.density()
    axes = np.linspace(*np.log([1e-2, 1e3]), 90), np.linspace(*np.log([2e-2, 1e1]), 90)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp([density.value(theta) for theta in grid])
    mass /= mass.sum()
    expected = mass @ grid
    rng = np.random.default_rng(1)
    best = group.most_probable([group.default, group.random(rng)], rng)
    thetas, weights = group.draws(best, 4000, rng)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ thetas, expected, atol=0.12)
    spread = mass @ (grid - expected) ** 2
    np.testing.assert_allclose(weights @ (thetas - expected) ** 2, spread, rtol=0.15)
    assert np.abs(best - expected).max() > 0.2


def test_a_weight_counts_for_at_most_the_root_of_their_number_of_average_ones():
    raw = np.array([30.0, 1.0, 2.0, 3.0])
    expected = np.array([18.0, 1.0, 2.0, 3.0]) / 24  # 36 / 4 * sqrt(4) = 18
    np.testing.assert_allclose(truncated_weights(np.log(raw) + 700), expected)
    np.testing.assert_allclose(truncated_weights(np.log([1.0, 2.0])), [1 / 3, 2 / 3])


def test_one_draw_is_the_most_probable_and_more_surround_it():
    group = Group(Family("rbf"), X, Y - Y.mean(), np.full(25, np.nan), LengthPrior(np.log(0.35), 1.0), 1.0)
    rng = np.random.default_rng(0)
    best = group.most_probable([group.default], rng)
    assert group.draws(best, 1, rng).thetas.tolist() == [best.tolist()]
    for S in (2, 3, 24):
        draws = group.draws(best, S, rng)
        assert draws.thetas.shape == (S, 5) and draws.weights.shape == (S,)
        np.testing.assert_allclose(draws.thetas[0] + draws.thetas[(S + 1) // 2], 2 * best)
