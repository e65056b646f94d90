"""What the regressors predict: composed by weights or by a general g, given kernels or learned ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import r2_score
from three_groups import BOTH, KERNELS, NOISE, data, norm, varying

from optimizer import AggregateGPRegressor, Composition, DecomposedGP, DecomposedGPRegressor, learn_prior
from optimizer.kernels.composed import compose_kernels

# Linear composition


@pytest.mark.parametrize("weights", [None, [1.0, -2.0, 0.5], varying], ids=["sum", "constant", "varying"])
def test_decomposed_prediction_composes_scikit_learns_regressors(weights):
    X, Y, new = data()
    model = DecomposedGPRegressor(KERNELS, NOISE, weights=weights).fit(X, Y)
    peers = [
        GaussianProcessRegressor(k, alpha=v, optimizer=None).fit(X, Y[:, j])
        for j, (k, v) in enumerate(zip(KERNELS, NOISE, strict=True))
    ]
    moments = [peer.predict(new, return_cov=True) for peer in peers]
    W = (
        np.ones((9, 3))
        if weights is None
        else varying(new)
        if callable(weights)
        else np.tile(weights, (9, 1))
    )
    mean = sum(W[:, j] * m for j, (m, _) in enumerate(moments))
    covariance = sum(np.outer(W[:, j], W[:, j]) * c for j, (_, c) in enumerate(moments))
    got_mean, got_covariance, groups = model.predict(new, return_cov=True, return_groups=True)
    np.testing.assert_allclose(got_mean, mean, atol=1e-10)
    np.testing.assert_allclose(got_covariance, covariance, atol=1e-10)
    np.testing.assert_allclose(groups.mean, np.stack([m for m, _ in moments], axis=1), atol=1e-10)
    np.testing.assert_allclose(groups.std**2, np.stack([np.diag(c) for _, c in moments], axis=1), atol=1e-10)
    _, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(std**2, np.diag(covariance), atol=1e-10)


@pytest.mark.parametrize("weights", [None, [1.0, -2.0, 0.5]], ids=["sum", "constant"])
def test_aggregate_twin_is_scikit_learns_regressor_with_the_composed_kernel(weights):
    X, Y, new = data()
    W = np.ones(3) if weights is None else np.array(weights)
    kernel = sum((ConstantKernel(w**2) * k for w, k in zip(W, KERNELS, strict=True)), ConstantKernel(1e-300))
    peer = GaussianProcessRegressor(kernel, alpha=float(W**2 @ NOISE), optimizer=None).fit(X, Y @ W)
    model = AggregateGPRegressor(KERNELS, NOISE, weights=weights)
    for fitted in (clone(model).fit(X, Y), clone(model).fit(X, Y @ W)):
        np.testing.assert_allclose(
            fitted.predict(new, return_std=True), peer.predict(new, return_std=True), atol=1e-9
        )


def test_aggregate_twin_with_varying_weights_has_noise_and_kernel_of_every_point():
    X, Y, new = data()
    model = AggregateGPRegressor(KERNELS, NOISE, weights=varying).fit(X, Y)
    W, V = varying(X), varying(new)

    def k(X, W, Z, V):
        return sum(np.outer(W[:, j], V[:, j]) * kernel(X, Z) for j, kernel in enumerate(KERNELS))

    K = k(X, W, X, W) + np.diag(W**2 @ NOISE)
    cross = k(new, V, X, W)
    mean, covariance = model.predict(new, return_cov=True)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, (W * Y).sum(axis=1)), atol=1e-9)
    expected = k(new, V, new, V) - cross @ np.linalg.solve(K, cross.T)
    np.testing.assert_allclose(covariance, expected, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 15), st.floats(1e-4, 1.0), st.integers(0, 10**6))
def test_decomposed_deviation_is_never_above_its_twins(J, T, noise, seed):
    """Theorem 1, through the two estimators."""
    rng = np.random.default_rng(seed)
    kernels = [RBF(rng.uniform(0.05, 2)) for _ in range(J)]
    weights = rng.standard_normal(J)
    X, Y, new = rng.random((T, 1)), rng.standard_normal((T, J)), rng.random((8, 1))
    below, above = (cls(kernels, noise, weights=weights).fit(X, Y).predict(new, True)[1] for cls in BOTH)
    assert (below**2 <= above**2 + 1e-9 * (1 + above**2)).all()


def test_prior_means_are_what_both_return_to_far_from_data():
    X, Y, _ = data()
    for cls in BOTH:
        model = cls(RBF(0.3), 0.01, weights=[1.0, 2.0, -1.0], prior_means=[1.0, lambda X: X[:, 0], 0.5])
        far = model.fit(X, Y).predict([[50.0, 0.0], [80.0, 0.0]])
        np.testing.assert_allclose(far, [1 + 2 * 50 - 0.5, 1 + 2 * 80 - 0.5])


def test_score_is_r2_of_composed_values():
    X, Y, new = data()
    truth = np.stack([np.sin(4 * new[:, 0]), new[:, -1] ** 2, new.sum(axis=1)], axis=1)
    for cls in BOTH:
        model = cls(KERNELS, NOISE, weights=varying).fit(X, Y)
        values = (varying(new) * truth).sum(axis=1)
        assert model.score(new, truth) == pytest.approx(r2_score(values, model.predict(new)))
        holed = truth.copy()
        holed[2, 1] = np.nan
        rest = np.arange(len(new)) != 2
        assert model.score(new, holed) == model.score(new[rest], truth[rest])
        sample_weight = np.arange(1.0, 10.0)
        expected = r2_score(values, model.predict(new), sample_weight=sample_weight)
        assert model.score(new, truth, sample_weight) == pytest.approx(expected)
    composed = AggregateGPRegressor(KERNELS, NOISE, weights=varying).fit(X, Y)
    assert composed.score(new, values) == pytest.approx(composed.score(new, truth))


# General composition


def test_general_g_predicts_g_of_the_means_and_first_order_deviation():
    X, Y, new = data()
    model = DecomposedGPRegressor(KERNELS, NOISE, g=norm).fit(X, Y)
    mean, std, groups = model.predict(new, return_std=True, return_groups=True)
    np.testing.assert_array_equal(mean, norm(groups.mean))
    slopes = groups.mean / norm(groups.mean)[:, None]
    np.testing.assert_allclose(std**2, (slopes**2 * groups.std**2).sum(axis=1), rtol=1e-7)
    covariance = model.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(np.diag(covariance), std**2, rtol=1e-9)
    peer = GaussianProcessRegressor(KERNELS[1], alpha=NOISE[1], optimizer=None).fit(X, Y[:, 1])
    alone = DecomposedGPRegressor(KERNELS, NOISE, g=lambda F: 3 * F[:, 1]).fit(X, Y)
    np.testing.assert_allclose(
        alone.predict(new, return_cov=True)[1], 9 * peer.predict(new, return_cov=True)[1], atol=1e-9
    )


def test_general_deviation_agrees_with_sampled_outcomes_where_variances_are_small():
    X, Y, new = data()
    model = DecomposedGPRegressor(KERNELS, NOISE, g=norm).fit(X, Y)
    _, std, groups = model.predict(new, return_std=True, return_groups=True)
    draws = groups.mean + groups.std * np.random.default_rng(0).standard_normal((20_000, 9, 3))
    sampled = norm(draws.reshape(-1, 3)).reshape(20_000, 9).std(axis=0)
    np.testing.assert_allclose(std, sampled, rtol=0.1)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_differences_through_g_keep_to_the_size_of_the_outcomes(scale):
    X, Y, new = data()
    kernels = [ConstantKernel(scale**2) * k for k in KERNELS]

    def product(F):
        return F[:, 0] * F[:, 2]

    model = DecomposedGPRegressor(kernels, np.array(NOISE) * scale**2, g=product).fit(X, scale * Y)
    _, std, groups = model.predict(new, return_std=True, return_groups=True)
    (a, _, b), (u, _, v) = groups.mean.T, groups.std.T
    np.testing.assert_allclose(std**2, b**2 * u**2 + a**2 * v**2, rtol=1e-6)


def test_linear_g_equals_its_weights():
    X, Y, new = data()
    weights = np.array([1.0, -2.0, 0.5])
    linear = DecomposedGPRegressor(KERNELS, NOISE, weights=weights).fit(X, Y)
    general = DecomposedGPRegressor(KERNELS, NOISE, g=lambda F: F @ weights).fit(X, Y)
    for a, b in zip(linear.predict(new, return_std=True), general.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)


def test_aggregate_twin_of_a_general_g_is_one_process_with_propagated_noise():
    X, Y, new = data()
    noise = ((Y / norm(Y)[:, None]) ** 2) @ NOISE
    peer = GaussianProcessRegressor(RBF(0.4), alpha=noise, optimizer=None).fit(X, norm(Y))
    model = AggregateGPRegressor(RBF(0.4), NOISE, g=norm).fit(X, Y)
    np.testing.assert_allclose(model.predict(new, True), peer.predict(new, True), atol=1e-7)
    values = AggregateGPRegressor(RBF(0.4), 0.02, g=norm).fit(X, norm(Y))
    peer = GaussianProcessRegressor(RBF(0.4), alpha=0.02, optimizer=None).fit(X, norm(Y))
    np.testing.assert_allclose(values.predict(new, True), peer.predict(new, True), atol=1e-10)


# Learning


def test_learned_kernels_are_those_of_learn_prior():
    X, Y, new = data(25)
    prior = learn_prior("matern-5/2", X, Y, restarts=0, seed=0)
    model = DecomposedGPRegressor("matern-5/2").fit(X, Y)
    by_hand = DecomposedGP(prior.kernels, prior.noise_variances, Composition(3), prior.means).observe(X, Y)
    np.testing.assert_allclose(model.predict(new), by_hand.predict(new)[0], atol=1e-6)
    np.testing.assert_allclose(model.prior_.means, Y.mean(axis=0))
    twin = AggregateGPRegressor("matern-5/2").fit(X, Y)
    composed = compose_kernels(model.prior_.kernels, Composition(3))
    # The estimator takes hyperparameters through their logarithms, which may change the last bit.
    np.testing.assert_allclose(twin.processes_[0].kernel(X), composed(X), rtol=1e-14)


def test_learning_takes_the_prior_mean_off_first():
    X, Y, new = data(25)
    plain = DecomposedGPRegressor(RBF(0.5), 0.01, optimizer="marginal-likelihood").fit(X, Y)
    shifted = DecomposedGPRegressor(
        RBF(0.5), 0.01, prior_means=[lambda X: 7 * X[:, 0], 3.0, 0.0], optimizer="marginal-likelihood"
    ).fit(X, Y + np.stack([7 * X[:, 0], np.full(25, 3.0), np.zeros(25)], axis=1))
    np.testing.assert_allclose(shifted.predict(new), plain.predict(new) + 7 * new[:, 0] + 3.0, atol=1e-5)


def test_learned_kernel_of_a_composed_value_is_its_own():
    X, Y, new = data(25)
    alone = AggregateGPRegressor("rbf", weights=[1.0, 2.0, 3.0]).fit(X, Y @ [1.0, 2.0, 3.0])
    single = DecomposedGPRegressor("rbf").fit(X, Y @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(alone.predict(new, True), single.predict(new, True), atol=1e-9)
