"""The mean of a linear objective without its variance is the same mean, with the same gradient."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, DecomposedGP
from optimizer.differences import jacobian

KERNELS = [ConstantKernel(2.0) * RBF(0.4), RBF([0.3, 0.7])]


def varying(X):
    return np.stack([1 + X[:, 0], np.cos(X[:, 1])], axis=1)


def models():
    linear = Composition(2, weights=[0.5, -2.0], sense="minimize")
    shaped = Composition(2, weights=varying, sense="minimize")
    means = [0.3, lambda X: X[:, 0] ** 2]
    pairs = [([k, ConstantKernel(0.5) * RBF(0.9)], [1e-3, 1e-2], [0.7, 0.3]) for k in KERNELS]
    return {
        "plain": DecomposedGP(KERNELS, [1e-3, 1e-2], linear),
        "prior means": DecomposedGP(KERNELS, [1e-3, 1e-2], linear, means),
        "varying weights": DecomposedGP(KERNELS, [1e-3, 1e-2], shaped, means),
        "features": DecomposedGP(KERNELS, [1e-3, 1e-2], linear, embed=lambda X: np.sin(X)),
        "mixtures": DecomposedGP.of_mixtures(pairs, linear, means),
    }


@pytest.mark.parametrize("observed", [0, 15])
@pytest.mark.parametrize("name", models())
def test_it_is_the_mean_of_the_posterior_and_its_gradient(name, observed):
    model, rng = models()[name], np.random.default_rng(1)
    if observed:
        model.observe(rng.random((observed, 2)), rng.normal(size=(observed, 2)))
    X = rng.random((7, 2))
    mean, gradient = model.mean_with_gradient(X)
    np.testing.assert_allclose(mean, model.predict(X).mean, rtol=1e-9, atol=1e-12)
    by_differences = jacobian(lambda points: model.predict(points).mean[:, None], X)[..., 0]
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", models())
def test_group_means_have_the_gradients_of_the_posterior(name):
    model, rng = models()[name], np.random.default_rng(1)
    model.observe(rng.random((15, 2)), rng.normal(size=(15, 2)))
    X = rng.random((7, 2))
    means, gradients = model.group_means_with_gradients(X)
    expected = model.predict_groups_with_gradients(X)
    np.testing.assert_allclose(means, expected.means, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradients, expected.mean_gradients, rtol=1e-7, atol=1e-9)
