"""The exact posterior, against scikit-learn's and against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from optimizer import GaussianProcess

KERNELS = [
    ConstantKernel(1.7) * RBF([0.3, 0.8]),
    Matern(0.4, nu=0.5),
    Matern(0.4, nu=1.5) + ConstantKernel(0.3),
    ConstantKernel(2.0) * Matern([0.2, 0.6], nu=2.5),
    RationalQuadratic(0.5, 0.7),
    RBF(0.5) * RationalQuadratic(0.9, 0.2) + DotProduct(0.5),
]


def data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n), rng.random((7, 2))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_posterior_equals_scikit_learns(kernel):
    X, y, new = data()
    gp = GaussianProcess(kernel, 0.01).observe(X, y)
    peer = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    mean, variance = gp.predict(new)
    peer_mean, peer_covariance = peer.predict(new, return_cov=True)
    np.testing.assert_allclose(mean, peer_mean, atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(peer_covariance), atol=1e-8)
    np.testing.assert_allclose(gp.predict_covariance(new)[1], peer_covariance, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_equal_finite_differences(kernel):
    X, y, new = data()
    gp = GaussianProcess(kernel, 0.01, prior_mean=0.3).observe(X, y)
    slopes = gp.predict_with_gradients(new)
    np.testing.assert_allclose(slopes.mean, gp.predict(new)[0], atol=1e-12)
    np.testing.assert_allclose(slopes.variance, gp.predict(new)[1], atol=1e-12)
    for i, point in enumerate(new):
        for moment, gradient in ((0, slopes.mean_gradient[i]), (1, slopes.variance_gradient[i])):
            error = check_grad(lambda x, m=moment: gp.predict(x[None])[m][0], lambda x, g=gradient: g, point)
            assert error < 1e-5


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 10**6))
def test_extending_by_any_blocks_equals_observing_at_once(blocks, seed):
    X, y, new = data(sum(blocks), seed)
    noise = np.random.default_rng(seed).uniform(0.001, 0.1, len(X))
    at_once = GaussianProcess(KERNELS[0], 0.0).observe(X, y, noise)
    in_blocks = GaussianProcess(KERNELS[0], 0.0)
    for part in np.split(np.arange(len(X)), np.cumsum(blocks)[:-1]):
        in_blocks.observe(X[part], y[part], noise[part])
    for a, b in zip(at_once.predict(new), in_blocks.predict(new), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_own_noise_variances_equal_scikit_learns_alpha_a_row():
    X, y, new = data()
    noise = np.random.default_rng(3).uniform(0.001, 1.0, len(X))
    peer = GaussianProcessRegressor(KERNELS[0], alpha=noise, optimizer=None).fit(X, y)
    mean, variance = GaussianProcess(KERNELS[0], 9.0).observe(X, y, noise).predict(new)
    peer_mean, peer_deviation = peer.predict(new, return_std=True)
    np.testing.assert_allclose(mean, peer_mean, atol=1e-8)
    np.testing.assert_allclose(variance, peer_deviation**2, atol=1e-8)


def test_one_policy_told_three_times_equals_one_average_with_a_third_of_the_noise():
    x, new = np.array([[0.4]]), np.linspace(0, 1, 11)[:, None]
    thrice = GaussianProcess(RBF(0.3), 0.06).observe(np.repeat(x, 3, axis=0), [1.0, 2.0, 4.5])
    once = GaussianProcess(RBF(0.3), 0.02).observe(x, [2.5])
    np.testing.assert_allclose(thrice.predict(new), once.predict(new), atol=1e-10)


def test_prior_mean_function_is_what_the_posterior_returns_to():
    gp = GaussianProcess(RBF(0.1), 1e-6, prior_mean=lambda X: 3 * X[:, 0]).observe([[0.1]], [5.0])
    mean, _ = gp.predict([[0.1], [9.0]])
    np.testing.assert_allclose(mean, [5.0, 27.0], atol=1e-4)


def test_one_observation_has_the_closed_form_posterior():
    gp = GaussianProcess(ConstantKernel(2.0) * RBF(0.5), 0.5).observe([[0.0]], [1.0])
    mean, variance = gp.predict([[0.5]])
    covariance = 2.0 * np.exp(-0.5)
    assert mean[0] == pytest.approx(covariance / 2.5)
    assert variance[0] == pytest.approx(2.0 - covariance**2 / 2.5)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-8])
def test_clustered_observations_keep_variance_between_zero_and_the_prior(noise):
    near = np.array([0.31, 0.52])
    X = np.vstack([np.tile(near, (40, 1)), np.tile(near + 1e-9, (40, 1))])
    y = np.random.default_rng(0).standard_normal(80) * np.sqrt(noise) + 1.0
    gp = GaussianProcess(RBF(0.3), noise)
    for x, value in zip(X, y, strict=True):
        gp.observe(x[None], [value])
    mean, variance = gp.predict(np.random.default_rng(1).random((200, 2)))
    assert np.isfinite(mean).all() and (variance >= 0).all() and (variance <= 1).all()
    assert gp.predict(near[None])[0][0] == pytest.approx(1.0, abs=1e-3)


def test_mixed_noise_over_close_points_gives_no_negative_variance():
    X = np.linspace(0, 0.01, 300)[:, None]
    noise = np.where(np.arange(300) % 2, 1e-10, 1e-2)
    gp = GaussianProcess(RBF(0.2), 1.0).observe(X, np.sin(X[:, 0]), noise)
    mean, variance = gp.predict(np.linspace(0, 0.02, 101)[:, None])
    assert np.isfinite(mean).all() and (variance >= 0).all()


def test_repeats_with_no_noise_at_all_record_their_jitter():
    gp = GaussianProcess(RBF(0.3), 0.0, least_noise=0.0).observe([[0.2]] * 3, [1.0, 1.0, 1.0])
    assert gp.jitter[0] == 0 and (gp.jitter[1:] > 0).all() and gp.jitter.max() <= 1e-9
    assert gp.predict([[0.2]])[0][0] == pytest.approx(1.0, abs=1e-6)


class Indefinite(RBF):
    """A kernel that is not positive-definite: nobody should write one, somebody will."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y)
        return K - 1.5 * (1 - K)


def test_kernel_that_is_not_positive_definite_raises_nothing():
    X, y, new = data()
    gp = GaussianProcess(Indefinite(0.3), 0.0).observe(X, y)
    mean, variance = gp.predict(new)
    assert np.isfinite(mean).all() and (variance >= 0).all() and gp.jitter.max() > 0.1


def test_nan_values_are_left_out():
    X, y, new = data()
    holed = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    full = GaussianProcess(KERNELS[0], 0.01).observe(X[~np.isnan(holed)], holed[~np.isnan(holed)])
    np.testing.assert_array_equal(
        full.predict(new), GaussianProcess(KERNELS[0], 0.01).observe(X, holed).predict(new)
    )


def test_white_kernel_is_noise_of_the_observations_as_in_scikit_learn():
    X, y, new = data()
    kernel = RBF(0.4) + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None).fit(X, y)
    np.testing.assert_allclose(
        GaussianProcess(kernel, 1e-6).observe(X, y).predict(new)[0], peer.predict(new), atol=1e-8
    )


def test_points_of_another_width_are_refused():
    gp = GaussianProcess(RBF(0.3), 0.1).observe(np.eye(2), [1.0, 2.0])
    for misuse in (lambda: gp.predict(np.ones((4, 1))), lambda: gp.observe([[1.0]], [1.0])):
        with pytest.raises(ValueError, match="2 entries, not 1"):
            misuse()


@pytest.mark.parametrize(
    ("X", "y", "noise", "message"),
    [
        ([[0.0]], [1.0, 2.0], None, "1 points, but 2 values"),
        ([[np.nan]], [1.0], None, "finite"),
        ([[0.0]], [np.inf], None, "infinite"),
        ([[0.0]], [1.0], -0.1, "not negative"),
    ],
)
def test_bad_observations_are_refused_in_words(X, y, noise, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess(RBF(), 0.1).observe(X, y, noise)
