"""Kernels and their gradients by the input, held against scikit-learn and finite differences."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from optimizer.kernels.composed import WeightedSumKernel
from optimizer.kernels.gradients import bind, diag_and_gradient, value_and_pullback

ARD = (0.3, 0.7, 1.9)
KERNELS = [
    RBF(0.4),
    RBF(ARD),
    Matern(0.4, nu=0.5),
    Matern(ARD, nu=0.5),
    Matern(ARD, nu=1.5),
    Matern(0.6, nu=2.5),
    Matern(ARD, nu=2.5),
    Matern(ARD, nu=np.inf),
    Matern(0.8, nu=1.1),
    RationalQuadratic(0.5, alpha=0.2),
    ConstantKernel(2.5),
    WhiteKernel(0.3),
    ConstantKernel(3.0) * RBF(ARD),
    RBF(ARD) * ConstantKernel(3.0) + WhiteKernel(0.1),
    RBF(ARD) * Matern(0.9, nu=1.5) + 0.3 * RationalQuadratic(0.7, alpha=1.4),
    (RBF(0.8) + ConstantKernel(0.2)) ** 3,
    DotProduct(0.5),
    ConstantKernel(0.7) * DotProduct(0.5) ** 2 + RBF(0.9),
    ExpSineSquared(0.8, 1.3),
    WeightedSumKernel([RBF((0.3, 0.7))]),
    WeightedSumKernel([2.0 * RBF(0.6), Matern(0.9, nu=2.5) + DotProduct(0.5)]),
]


def names(kernel):
    return str(kernel)


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    return rng.random((6, 3)), rng.random((11, 3)), rng.normal(size=(6, 11))


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_value_is_scikit_learns(kernel, points):
    X, Z, _ = points
    np.testing.assert_allclose(bind(kernel, Z).value(X), kernel(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(value_and_pullback(kernel, X, Z)[0], kernel(X, Z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_pullback_is_the_gradient_of_the_weighted_sum(kernel, points):
    X, Z, W = points
    gradient = value_and_pullback(kernel, X, Z)[1](W)
    assert gradient.shape == X.shape
    h = 1e-5
    for i in range(3):
        e = h * np.eye(3)[i]

        # A fourth-order difference of scikit-learn's own values, independent of the code's second-order one.
        def total(shift, e=e):
            return (W * kernel(X + shift * e, Z)).sum(axis=1)

        numeric = (8 * (total(1) - total(-1)) - (total(2) - total(-2))) / (12 * h)
        np.testing.assert_allclose(gradient[:, i], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_diagonal_is_scikit_learns_and_its_gradient_is_right(kernel, points):
    X = points[0]
    diagonal, gradient = diag_and_gradient(kernel, X)
    np.testing.assert_allclose(diagonal, kernel.diag(X), rtol=1e-12)
    for i in range(3):
        e = 1e-5 * np.eye(3)[i]
        numeric = (kernel.diag(X + e) - kernel.diag(X - e)) / 2e-5
        np.testing.assert_allclose(gradient[:, i], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_an_observed_point_has_a_finite_gradient(kernel, points):
    _, Z, _ = points
    K, pullback = value_and_pullback(kernel, Z.copy(), Z)
    assert np.isfinite(K).all()
    assert np.isfinite(pullback(np.ones_like(K))).all()


def test_matern_half_has_zero_gradient_at_its_kink():
    z = np.array([[0.2, 0.4]])
    _, pullback = value_and_pullback(Matern(0.5, nu=0.5), z, z)
    np.testing.assert_array_equal(pullback(np.ones((1, 1))), np.zeros((1, 2)))


def test_white_noise_is_not_shared_even_at_equal_policies(points):
    Z = points[1]
    assert not bind(WhiteKernel(0.3), Z).value(Z).any()


def test_close_points_far_from_the_origin_lose_no_digits():
    rng = np.random.default_rng(0)
    Z = 6371.0 + 1e-3 * rng.random((30, 3))
    X = Z[:5] + 1e-6
    for kernel in (RBF(1e-2), Matern(1e-2, nu=0.5)):
        K, pullback = value_and_pullback(kernel, X, Z)
        np.testing.assert_allclose(K, kernel(X, Z), rtol=1e-9)
        difference = X[:, None] - Z[None]
        r = np.linalg.norm(difference, axis=2) / 1e-2
        slope = K if isinstance(kernel, RBF) and not isinstance(kernel, Matern) else K / r
        exact = -(slope[..., None] * difference).sum(axis=1) / 1e-4
        np.testing.assert_allclose(pullback(np.ones_like(K)), exact, rtol=1e-8)


def test_a_pullback_can_be_used_again_and_leaves_its_arguments(points):
    X, Z, W = points
    K, pullback = value_and_pullback(ConstantKernel(2.0) * RBF(ARD) * Matern(1.0, nu=2.5), X, Z)
    before = K.copy(), W.copy()
    first = pullback(W)
    np.testing.assert_array_equal(pullback(W), first)
    np.testing.assert_array_equal(K, before[0])
    np.testing.assert_array_equal(W, before[1])


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_several_weights_at_once_give_each_ones_pullback(kernel, points):
    X, Z, W = points
    pullback = bind(kernel, Z).value_and_pullback(X)[1]
    both = pullback(np.stack((W, W**2)))
    np.testing.assert_allclose(both, [pullback(W), pullback(W**2)], rtol=1e-12, atol=1e-14)


def test_no_points_give_empty_arrays():
    K, pullback = value_and_pullback(ConstantKernel(2.0) * RBF(ARD), np.ones((4, 3)), np.empty((0, 3)))
    assert K.shape == (4, 0)
    np.testing.assert_array_equal(pullback(K), np.zeros((4, 3)))
    assert diag_and_gradient(RBF(1.0), np.empty((0, 3)))[0].shape == (0,)


def test_length_scales_that_do_not_fit_the_points_are_refused():
    with pytest.raises(ValueError, match="3 length scales, the points have 2 entries"):
        bind(RBF(ARD), np.ones((4, 2)))
