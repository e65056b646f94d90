"""What is learned from samples, against the posterior density of the hyperparameters written out."""

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic

from optimizer import learn_prior

SPANS = np.array([1.0, 40.0, 0.02])


def samples(n, p, noise, seed=0):
    """A draw of a smooth process over a box whose sides have exactly the spans, far from mean 0, spread 1."""
    rng = np.random.default_rng(seed)
    unit = np.vstack([np.zeros(p), np.ones(p), rng.random((n - 2, p))])
    K = RBF(0.4)(unit) + 1e-10 * np.eye(n)
    y = 50 + 3 * np.linalg.cholesky(K) @ rng.standard_normal(n) + np.sqrt(noise) * rng.standard_normal(n)
    return unit * SPANS[:p], y


def log_density(X, y, amplitude, scales, noise, log_noise_prior):
    """Likelihood in the samples' own units; priors in units of their spread and spans, as documented."""
    spread, p = np.std(y), X.shape[1]
    Z = X / scales
    K = amplitude * np.exp(-0.5 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2)) + noise * np.eye(len(X))
    density = multivariate_normal(np.full(len(y), y.mean()), K).logpdf(y)
    density += norm(0.0, 1.0).logpdf(np.log(amplitude / spread**2))
    # Hvarfner, Hellsten & Nardi (2024): more features mean smoother functions.
    hvarfner = norm(np.sqrt(2) + np.log(p) / 2, np.sqrt(3))
    density += hvarfner.logpdf(np.log(scales / np.ptp(X, axis=0))).sum()
    return density + (norm(-4.0, 2.0).logpdf(np.log(noise / spread**2)) if log_noise_prior else 0.0)


@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize(
    ("known", "noise"),
    [(True, 0.09), (True, 0.002), (False, 0.09)],
    ids=["known", "known and small", "learned"],
)
def test_learned_kernels_are_the_most_probable_ones(known, noise, p):
    X, y = samples(40, p, noise)
    prior = learn_prior("rbf", X, y[:, None], noise_variances=[noise] if known else None)
    kernel = prior.kernels[0]
    found = np.log([kernel.k1.constant_value, *np.atleast_1d(kernel.k2.length_scale)])
    if known:
        assert prior.noise_variances[0] == noise

        def objective(theta):
            return log_density(X, y, np.exp(theta[0]), np.exp(theta[1:]), noise, False)
    else:
        found = np.append(found, np.log(prior.noise_variances[0]))

        def objective(theta):
            return log_density(X, y, np.exp(theta[0]), np.exp(theta[1:-1]), np.exp(theta[-1]), True)

    assert prior.means[0] == pytest.approx(y.mean())
    assert np.abs(approx_fprime(found, objective, 1e-6)).max() < 0.02
    for step in 0.1 * np.vstack([np.eye(len(found)), -np.eye(len(found))]):
        assert objective(found + step) < objective(found)


def test_of_many_samples_all_have_their_say():
    """Restarts search on 200 of them; the best is then refined on all."""
    X, y = samples(260, 1, 0.09, seed=2)
    kernel = learn_prior("rbf", X, y[:, None], noise_variances=[0.09]).kernels[0]
    found = np.log([kernel.k1.constant_value, float(kernel.k2.length_scale)])

    def objective(theta):
        return log_density(X, y, np.exp(theta[0]), np.exp(theta[1:]), 0.09, False)

    assert np.abs(approx_fprime(found, objective, 1e-6)).max() < 0.02


def test_one_length_scale_for_all_features_is_in_their_geometric_mean_span():
    X, y = samples(40, 2, 0.09, seed=1)
    kernel = learn_prior("rq", X, y[:, None], noise_variances=[0.09]).kernels[0]
    unit = np.sqrt(SPANS[0] * SPANS[1])
    found = np.log([kernel.k1.constant_value, kernel.k2.alpha, kernel.k2.length_scale])

    def objective(theta):
        amplitude, alpha, scale = np.exp(theta)
        K = amplitude * RationalQuadratic(scale, alpha)(X) + 0.09 * np.eye(len(X))
        density = multivariate_normal(np.full(len(y), y.mean()), K).logpdf(y)
        density += norm(0, 1).logpdf(np.log(amplitude / np.var(y))) + norm(0, 1.5).logpdf(np.log(alpha))
        return density + norm(np.sqrt(2) + np.log(2) / 2, np.sqrt(3)).logpdf(np.log(scale / unit))

    assert (np.log([1e-2, 1e-2, 2e-2 * unit]) < found).all() and found[1] < np.log(1e2)
    assert np.abs(approx_fprime(found, objective, 1e-6)).max() < 0.02


def test_the_time_on_a_graph_is_learned_under_its_prior():
    graph = nx.path_graph(30)
    L = nx.normalized_laplacian_matrix(graph, nodelist=range(30)).toarray()
    heat = expm(-6.0 * L)
    y = (
        3
        * np.linalg.cholesky(heat / np.diag(heat).mean() + 1e-10 * np.eye(30))
        @ np.random.default_rng(0).standard_normal(30)
    )
    nodes = np.arange(30.0)[:, None]
    kernel = learn_prior("diffusion", nodes, y[:, None], graph=graph, noise_variances=[0.05]).kernels[0]
    found = np.log([kernel.k1.constant_value, kernel.k2.beta])

    def objective(theta):
        heat = expm(-np.exp(theta[1]) * L)
        K = np.exp(theta[0]) * heat / np.diag(heat).mean() + 0.05 * np.eye(30)
        density = multivariate_normal(np.full(30, y.mean()), K).logpdf(y)
        density += norm(0, 1).logpdf(theta[0] - np.log(np.var(y)))
        return density + norm(2, 2).logpdf(theta[1])

    assert np.abs(approx_fprime(found, objective, 1e-6)).max() < 0.02


@pytest.mark.parametrize("scale", [1e-4, 1e3])
@pytest.mark.parametrize("family", ["rbf", "matern-3/2", "rq"])
def test_other_units_of_features_and_outcomes_change_a_prior_by_their_factors_alone(family, scale):
    X, y = samples(30, 2, 0.09, seed=1)
    for noise in (None, [0.09]):
        scaled = None if noise is None else [scale**2 * noise[0]]
        first = learn_prior(family, X, y[:, None], noise_variances=noise)
        other = learn_prior(family, 7 * X, scale * y[:, None], noise_variances=scaled)
        assert other.noise_variances[0] == pytest.approx(scale**2 * first.noise_variances[0], rel=1e-4)
        assert other.means[0] == pytest.approx(scale * first.means[0])
        one, two = first.kernels[0], other.kernels[0]
        assert two.k1.constant_value == pytest.approx(scale**2 * one.k1.constant_value, rel=1e-4)
        assert two.k2.length_scale == pytest.approx(7 * one.k2.length_scale, rel=1e-4)


def test_a_kernel_of_ones_own_is_learned_in_its_own_units_without_priors():
    X, y = samples(40, 1, 0.09)
    learned = learn_prior(RBF(1.0), X, y[:, None], noise_variances=[0.09]).kernels[0]
    theta = np.log([learned.k1.constant_value, learned.k2.length_scale])

    def likelihood(theta):
        K = np.exp(theta[0]) * RBF(np.exp(theta[1]))(X) + 0.09 * np.eye(len(X))
        return multivariate_normal(np.full(len(y), y.mean()), K).logpdf(y)

    assert np.abs(approx_fprime(theta, likelihood, 1e-6)).max() < 0.02


@pytest.mark.parametrize("noise", [None, [0.3, 0.01, 0.3]])
def test_a_group_that_does_not_vary_keeps_the_width_of_the_others_or_of_its_value(noise):
    X = np.linspace(0, 1, 8)[:, None]
    still = np.full(8, 5.0)
    prior = learn_prior(
        "rbf", X, np.stack([still, 3 * np.sin(7 * X[:, 0]), 0 * still], axis=1), noise_variances=noise
    )
    spread = 3 * np.std(np.sin(7 * X[:, 0]))
    for j in (0, 2):
        assert prior.kernels[j].k1.constant_value == pytest.approx(spread**2)
        assert prior.kernels[j].k2.length_scale == pytest.approx(0.5)
        assert prior.noise_variances[j] == (0.0 if noise is None else 0.3)
    alone = learn_prior("rbf", X, still[:, None])  # nothing else varies: as wide as its value
    assert alone.kernels[0].k1.constant_value == pytest.approx(25.0)
    small = learn_prior("rbf", X, np.stack([0.01 * still, 3 * np.sin(7 * X[:, 0])], axis=1))
    assert small.kernels[0].k1.constant_value == pytest.approx(0.05**2)
    nothing = learn_prior("rbf", X, np.zeros((8, 1)))
    assert nothing.kernels[0].k1.constant_value == pytest.approx(1.0)


def test_one_sample_teaches_a_mean_and_no_certainty():
    """A single station that is set aside."""
    prior = learn_prior("matern-3/2", [[0.2, 0.4]], [[25.0, 0.0]], noise_variances=[0.01, 0.02])
    assert list(prior.means) == [25.0, 0.0]
    assert prior.kernels[0].diag(np.zeros((1, 2)))[0] == pytest.approx(25.0**2)
    assert prior.kernels[1].diag(np.zeros((1, 2)))[0] == pytest.approx(1.0)
