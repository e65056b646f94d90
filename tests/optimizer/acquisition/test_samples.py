"""Acquisitions of samples against the closed forms of a linear g, scipy's quantiles, and differences."""

import numpy as np
import pytest
from scipy.stats import ncx2, norm

from optimizer import UCB, ExpectedImprovement, GeneralComposition, ProbabilityOfImprovement
from optimizer.acquisition.acquisition import PosteriorMean
from optimizer.composition.objective import Moments, Samples
from optimizer.composition.propagation import Sampled

EVERY = [PosteriorMean(), UCB(1.0), ExpectedImprovement(0.7), ProbabilityOfImprovement(0.7, 0.1)]


def score(acquisition, samples):
    return acquisition.score(Samples(samples))


def normal_samples(S=4096, J=3):
    """Means, variances and samples of a linear g over 40 policies whose incumbent is 0.5."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(J)
    composition = GeneralComposition(J, lambda F, X: F @ weights)
    means, variances = rng.standard_normal((40, J)) / 2, rng.uniform(0.05, 0.5, (40, J))
    samples = Sampled(J, samples=S).samples(composition, means, variances, np.zeros((40, 1)))
    return means @ weights, variances @ weights**2, samples


def test_sampled_improvement_agrees_with_the_closed_form_of_a_linear_g():
    mean, variance, samples = normal_samples()
    closed = np.exp(ExpectedImprovement(0.5).score(Moments(mean, variance)))
    for S, bound in ((4096, 3 / 64), (64, 0.02)):
        smoothed = np.exp(score(ExpectedImprovement(0.5), normal_samples(S)[2]))
        assert (np.abs(smoothed - closed) < bound * np.sqrt(variance)).all()
    average = np.maximum(samples - 0.5, 0.0).mean(axis=0)
    np.testing.assert_allclose(np.exp(score(ExpectedImprovement(0.5), samples)), average, atol=0.01)


def test_sampled_probability_agrees_with_the_closed_form_of_a_linear_g():
    mean, variance, samples = normal_samples()
    closed = norm.sf(0.6, mean, np.sqrt(variance))
    np.testing.assert_allclose(np.exp(score(ProbabilityOfImprovement(0.5, 0.1), samples)), closed, atol=0.01)
    few = normal_samples(S=64)[2]
    np.testing.assert_allclose(np.exp(score(ProbabilityOfImprovement(0.5, 0.1), few)), closed, atol=0.05)


def test_sampled_bound_agrees_with_the_closed_form_of_a_linear_g():
    mean, variance, samples = normal_samples()
    deviations = (score(UCB(4.0), samples) - mean) / np.sqrt(variance) - 2.0
    assert (np.abs(deviations) < 0.1).all()
    np.testing.assert_allclose(score(PosteriorMean(), samples), mean, atol=1e-12)


def test_sampled_bound_of_a_square_is_the_noncentral_chi_squares():
    mean, sd = np.array([[0.3], [1.5], [-2.0]]), np.array([[0.8], [0.4], [0.1]])
    square = GeneralComposition(1, lambda F, X: F[..., 0] ** 2)
    samples = Sampled(1, samples=4096).samples(square, mean, sd**2, np.zeros((3, 1)))
    law = ncx2(1, (mean / sd)[:, 0] ** 2, scale=sd[:, 0] ** 2)
    for beta in (0.25, 1.0, 4.0):
        np.testing.assert_allclose(score(UCB(beta), samples), law.ppf(norm.cdf(np.sqrt(beta))), rtol=0.02)


def test_sampled_bound_never_exceeds_what_g_can_reach():
    """Where g has a maximum, no bound above it is worth a try: the distance from a target is below zero."""
    target = GeneralComposition(2, lambda F, X: -((F - 1) ** 2).sum(axis=-1))
    means, variances = np.random.default_rng(0).standard_normal((50, 2)), np.full((50, 2), 2.0)
    samples = Sampled(2).samples(target, means, variances, np.zeros((50, 1)))
    closed = samples.mean(axis=0) + 3 * samples.std(axis=0)
    assert score(UCB(9.0), samples).max() <= 0 < closed.min()


@pytest.mark.parametrize("acquisition", EVERY)
def test_slopes_equal_finite_differences_of_the_score(acquisition):
    samples = np.random.default_rng(1).standard_normal((16, 5)) * [0.1, 1, 1, 2, 3] + [0, 0, 1, -3, -4]
    slopes, h = acquisition.slopes(Samples(samples)).values, 1e-6
    for s in range(16):
        ahead, behind = samples.copy(), samples.copy()
        ahead[s] += h
        behind[s] -= h
        numeric = (score(acquisition, ahead) - score(acquisition, behind)) / (2 * h)
        np.testing.assert_allclose(slopes[s], numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cls", [ExpectedImprovement, ProbabilityOfImprovement])
def test_score_still_orders_policies_where_no_sample_improves(cls):
    z = np.random.default_rng(0).standard_normal((64, 1))
    samples = z * 0.1 - np.array([1.0, 2.0, 5.0, 50.0, 1e4])
    assert samples.max() < 0
    scores = score(cls(0.0), samples)
    assert np.isfinite(scores).all() and (np.diff(scores) < 0).all()


def test_without_spread_the_gain_is_certain():
    samples = np.tile([1.0, 1.3, 0.4], (64, 1))
    np.testing.assert_allclose(np.exp(score(ExpectedImprovement(1.0), samples)), [0, 0.3, 0], atol=1e-12)
    assert np.exp(score(ProbabilityOfImprovement(1.1), samples)) == pytest.approx([0, 1, 0])
