"""Priors: learned from samples, composed, and stored as plain data."""

import json

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic, WhiteKernel

from optimizer import Composition, DecomposedGP, GaussianProcess, Prior, learn_prior
from optimizer.kernels.composed import WeightedSumKernel
from optimizer.prior.prior import kernel_from_dict


def samples(kernel, n=150, noise=1e-3, span=(1.0, 40.0), seed=0):
    """A draw from a GP at random points of a box with sides `span`."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2)) * span
    K = kernel(X) + 1e-10 * np.eye(n)
    return X, 5.0 + np.linalg.cholesky(K) @ rng.standard_normal(n) + np.sqrt(noise) * rng.standard_normal(n)


def test_learned_prior_recovers_the_kernel_behind_the_samples():
    truth = ConstantKernel(2.0) * RBF([0.3, 20.0])
    X, y = samples(truth)
    prior = learn_prior("rbf", X, y[:, None], noise_variances=[1e-3])
    np.testing.assert_allclose(prior.kernels[0].k2.length_scale, [0.3, 20.0], rtol=0.35)
    assert 0.5 < prior.kernels[0].k1.constant_value / 2.0 < 3
    assert prior.means[0] == pytest.approx(y.mean())


def test_learned_likelihood_is_at_least_that_of_the_truth():
    truth = ConstantKernel(2.0) * RBF([0.3, 20.0])
    X, y = samples(truth)

    def log_likelihood(kernel):
        gp = GaussianProcess(kernel, 1e-3, y.mean()).observe(X, y)
        return -0.5 * gp._a @ gp._a - np.log(np.diag(gp.factor)).sum()

    learned = learn_prior("rbf", X, y[:, None], noise_variances=[1e-3]).kernels[0]
    assert log_likelihood(learned) >= log_likelihood(truth) - 1e-6


def test_unknown_noise_is_learned():
    X, y = samples(RBF([0.3, 12.0]), noise=0.04)
    assert learn_prior("rbf", X, y[:, None]).noise_variances[0] == pytest.approx(0.04, rel=0.5)


@pytest.mark.parametrize("family", ["rbf", "matern-1/2", "matern-3/2", "matern-5/2", "rq"])
def test_every_family_predicts_held_out_samples_better_than_the_mean(family):
    X, y = samples(ConstantKernel(2.0) * RBF([0.4, 16.0]))
    prior = learn_prior(family, X[:100], y[:100, None], noise_variances=[1e-3], restarts=1)
    model = DecomposedGP(prior.kernels, prior.noise_variances, Composition(1), prior.means)
    mean, _ = model.observe(X[:100], y[:100]).predict(X[100:])
    assert np.std(mean - y[100:]) < 0.5 * np.std(y[100:])


def test_equal_seeds_learn_equal_priors():
    X, y = samples(RBF([0.3, 12.0]))
    first, again = (learn_prior("rbf", X, y[:, None], seed=4).to_dict() for _ in range(2))
    assert first == again


def test_constant_group_is_certain_where_it_was_observed_and_not_elsewhere():
    X = np.random.default_rng(0).random((20, 2))
    prior = learn_prior("rbf", X, np.full((20, 1), 5.0), noise_variances=[0.0])
    model = DecomposedGP(prior.kernels, prior.noise_variances, Composition(1), prior.means)
    mean, variance = model.observe(X, np.full(20, 5.0)).predict(np.vstack([X, X + 1.5]))
    np.testing.assert_allclose(mean, 5.0)
    assert (variance[:20] < 1e-6).all() and (variance[20:] > 1.0).any()


def test_missing_samples_of_a_group_are_left_out():
    X, y = samples(RBF([0.3, 12.0]))
    Y = np.stack([y, y], axis=1)
    Y[::2, 1] = np.nan
    whole = learn_prior("rbf", X[1::2], y[1::2, None], noise_variances=[1e-3])
    holed = learn_prior("rbf", X, Y, noise_variances=[1e-3, 1e-3])
    assert holed.means[1] == whole.means[0]
    with pytest.raises(ValueError, match="group 1 has no sample"):
        learn_prior("rbf", X, np.stack([y, np.full(len(y), np.nan)], axis=1))


def test_prior_survives_json_to_the_last_bit():
    kernels = [
        ConstantKernel(1 / 3) * RBF([0.1, 0.7]),
        Matern(0.3, nu=1.5) + WhiteKernel(0.01),
        RationalQuadratic(0.2, 1.3) ** 2.0,
    ]
    prior = Prior(kernels, np.array([1e-5, 0.1, 0.3]), [0.0, 1 / 7, -2.0])
    again = Prior.from_dict(json.loads(json.dumps(prior.to_dict())))
    X = np.random.default_rng(0).random((5, 2))
    for before, after in zip(prior.kernels, again.kernels, strict=True):
        assert before == after
        np.testing.assert_array_equal(before(X), after(X))
    np.testing.assert_array_equal(prior.noise_variances, again.noise_variances)
    assert list(prior.means) == list(again.means)


def test_only_scikit_learns_kernels_are_ever_built_from_a_file():
    with pytest.raises(ValueError, match="unknown kernel 'Popen'"):
        kernel_from_dict({"class": "Popen", "args": "x"})


def test_composed_prior_has_the_composed_mean_kernel_and_noise():
    X = np.random.default_rng(0).random((5, 1))
    prior = Prior([RBF(0.3), RBF(0.6)], np.array([0.1, 0.2]), [1.0, 2.0])
    constant = Composition(2, weights=[1.0, -2.0], offset=0.5)
    one = prior.composed(constant)
    np.testing.assert_allclose(one.kernels[0](X), RBF(0.3)(X) + 4 * RBF(0.6)(X), atol=1e-14)
    assert one.noise_variances[0] == pytest.approx(0.1 + 4 * 0.2)
    np.testing.assert_allclose(one.means[0](X), 1 - 4 + 0.5)
    varying = prior.composed(Composition(2, weights=lambda X: np.hstack([X, -X])))
    assert isinstance(varying.kernels[0], WeightedSumKernel)


def test_unknown_family_is_refused_in_words():
    with pytest.raises(ValueError, match="unknown kernel family 'rfb'"):
        learn_prior("rfb", np.eye(3), np.eye(3))
