"""Correlated groups through a composition: by hand where it is a sum, by differences, by draws."""

import numpy as np
import pytest

from optimizer.composition.general import GeneralComposition
from optimizer.composition.propagation import Delta, Sampled, credible_interval
from optimizer.differences import central_differences

R = np.array([[1.0, -0.6, 0.2], [-0.6, 1.0, 0.1], [0.2, 0.1, 1.0]])
MEANS = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0]])
VARIANCES = np.array([[0.04, 0.09, 0.01], [0.25, 0.0, 0.16]])
AT = np.zeros((2, 1))
SUM = GeneralComposition(3, lambda f, x: f.sum(axis=-1))
BENT = GeneralComposition(3, lambda f, x: np.exp(0.3 * f[..., 0]) * f[..., 1] + f[..., 2] ** 2)


def by_hand(variances):
    deviations = np.sqrt(variances)
    return np.einsum("nj,jk,nk->n", deviations, R, deviations)


@pytest.mark.parametrize("through", [Delta(R), Sampled(3, correlation=R)])
def test_the_variance_of_a_sum_has_its_covariances(through):
    mean, variance = through.moments(SUM, MEANS, VARIANCES, AT)
    np.testing.assert_allclose(mean, MEANS.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(variance, by_hand(VARIANCES), rtol=1e-6)


def test_an_identity_is_as_no_correlation():
    for one, other in ((Delta(np.eye(3)), Delta()), (Sampled(3, correlation=np.eye(3)), Sampled(3))):
        for a, b in zip(*(t.moments(BENT, MEANS, VARIANCES, AT) for t in (one, other)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_slopes_of_the_variance_are_those_of_differences():
    at = MEANS[:1], VARIANCES[:1]
    _, slopes = Delta(R).moment_slopes(BENT, *at, AT[:1])
    steps = 1e-5 * np.ones((1, 3))
    through = Delta(R)
    in_variances = central_differences(lambda v: through.moments(BENT, at[0], v, AT[:1])[1], at[1], steps)
    in_means = central_differences(lambda m: through.moments(BENT, m, at[1], AT[:1])[1], at[0], steps)
    np.testing.assert_allclose(slopes.variances, in_variances, rtol=1e-4)
    np.testing.assert_allclose(slopes.means, in_means, rtol=1e-3)


def test_an_interval_is_that_of_draws_of_the_joint_normal():
    L = np.linalg.cholesky(np.sqrt(np.outer(VARIANCES[0], VARIANCES[0])) * R)
    draws = MEANS[0] + np.random.default_rng(0).standard_normal((200_000, 3)) @ L.T
    low, high = np.quantile(BENT.g(draws, AT), [0.025, 0.975])
    found = credible_interval(BENT.propagated(Delta(R)), MEANS[:1], VARIANCES[:1], AT[:1])
    np.testing.assert_allclose(found[1:], [low, high], rtol=0.02)
