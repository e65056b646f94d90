"""How groups go together, by draws of an intrinsic model of coregionalisation, whose correlation is known."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer.prior.correlation import DOUBT, residual_correlation
from optimizer.prior.prior import Prior

TRUE = np.array([[1.0, -0.7, 0.2], [-0.7, 1.0, 0.0], [0.2, 0.0, 1.0]])


def drawn(n=400, seed=0):
    """Three groups with one kernel, in units of their own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 2))
    K = Matern(2.0, nu=1.5)(X) + 1e-6 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal((n, 3)) @ np.linalg.cholesky(TRUE).T
    return X, f * [1.0, 10.0, 0.1] + [280.0, 50.0, 3.0]


def prior_of(kernels):
    return Prior(kernels, np.array([1e-6, 1e-4, 1e-8]), [280.0, 50.0, 3.0])


SAME = [ConstantKernel(s**2) * Matern(2.0, nu=1.5) for s in (1.0, 10.0, 0.1)]


def test_the_correlation_of_an_intrinsic_model_is_found_but_for_the_doubt():
    X, Y = drawn()
    found = residual_correlation(prior_of(SAME), X, Y)
    np.testing.assert_allclose(found * (1 + DOUBT / 400) * (1 - np.eye(3)), TRUE - np.eye(3), atol=0.1)
    np.testing.assert_array_equal(np.diag(found), np.ones(3))


def test_samples_that_miss_a_group_are_left_out():
    X, Y = drawn()
    holes = Y.copy()
    holes[100:, 1] = np.nan
    assert np.array_equal(
        residual_correlation(prior_of(SAME), X, holes), residual_correlation(prior_of(SAME), X[:100], Y[:100])
    )


def test_few_samples_leave_groups_nearly_independent():
    X, Y = drawn(2)
    off = residual_correlation(prior_of(SAME), X, Y) - np.eye(3)
    assert np.abs(off).max() <= 2 / (2 + DOUBT)


def test_the_posterior_correlation_of_an_intrinsic_model_is_that_of_its_groups():
    """Autokrigeability: of the joint posterior, written out with a Kronecker product."""
    X, _ = drawn(12)
    Z = np.array([[5.0, 5.0]])
    k = RBF(2.0)
    K, c = np.kron(TRUE, k(X)), np.kron(TRUE, k(X, Z))
    posterior = np.kron(TRUE, k(Z)) - c.T @ np.linalg.solve(K + 1e-12 * np.eye(36), c)
    deviations = np.sqrt(np.diag(posterior))
    np.testing.assert_allclose(posterior / np.outer(deviations, deviations), TRUE, atol=1e-6)
