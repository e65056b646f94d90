"""Acquisitions of Gaussian posteriors against integrals and closed forms; the table of their names."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from optimizer import UCB, ExpectedImprovement, ProbabilityOfImprovement
from optimizer.acquisition.acquisition import Acquisition, PosteriorMean, ScoredAcquisition
from optimizer.acquisition.gaussian import log_improvement
from optimizer.acquisition.names import ACQUISITIONS
from optimizer.composition.objective import Moments, Samples


def ei(incumbent, mean, variance):
    """EI in the objective's unit."""
    return np.exp(ExpectedImprovement(incumbent).score(Moments(mean, variance)))


def test_expected_improvement_equals_its_integral():
    for mean, deviation in ((0.3, 0.5), (-1.0, 0.4), (2.0, 0.1)):
        integral = quad(lambda y, m=mean, s=deviation: y * norm.pdf(y, m - 0.2, s), 0, 20, points=[mean])[0]
        assert ei(0.2, np.array([mean]), np.array([deviation**2]))[0] == pytest.approx(integral, rel=1e-6)


def test_the_score_of_the_probability_of_improvement_is_its_normal_quantile():
    mean, variance = np.array([0.3, -1.0, 2.0]), np.array([0.25, 0.16, 0.01])
    score = ProbabilityOfImprovement(0.2, 0.1).score(Moments(mean, variance))
    np.testing.assert_allclose(norm.cdf(score), norm.sf(0.3, mean, np.sqrt(variance)), rtol=1e-12)


def test_the_upper_confidence_bound_is_the_mean_and_so_many_deviations():
    mean, variance = np.array([0.3, -1.0]), np.array([0.25, 0.16])
    np.testing.assert_allclose(UCB(4.0).score(Moments(mean, variance)), mean + 2 * np.array([0.5, 0.4]))
    np.testing.assert_array_equal(PosteriorMean().score(Moments(mean, variance)), mean)


def test_without_spread_the_gain_is_certain():
    mean = np.array([1.0, 1.3, 0.4])
    np.testing.assert_allclose(ei(1.0, mean, np.zeros(3)), [0.0, 0.3, 0.0], atol=1e-15)
    score = ProbabilityOfImprovement(1.0).score(Moments(mean, np.zeros(3)))
    np.testing.assert_array_equal(score, [-np.inf, np.inf, -np.inf])


def test_log_improvement_follows_its_asymptote_where_ei_underflows():
    z = np.array([-5.0, -38.0, -1e3, -1e5, -1e8])
    asymptote = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(-z)
    np.testing.assert_allclose(log_improvement(z), asymptote, rtol=2e-2)
    np.testing.assert_allclose(log_improvement(z[2:]), asymptote[2:], rtol=1e-7)
    moderate = np.linspace(-6, 6, 49)
    direct = np.log(norm.pdf(moderate) + moderate * norm.cdf(moderate))
    np.testing.assert_allclose(log_improvement(moderate), direct, rtol=1e-6)


@pytest.mark.parametrize(
    "acquisition",
    [PosteriorMean(), UCB(4.0), ExpectedImprovement(0.7), ProbabilityOfImprovement(0.7, 0.1)],
)
def test_slopes_equal_finite_differences_of_the_score(acquisition):
    mean, variance, h = np.linspace(-3, 2, 11), np.linspace(0.05, 2, 11), 1e-6
    in_mean, in_variance = acquisition.slopes(Moments(mean, variance))

    def score(mean, variance):
        return acquisition.score(Moments(mean, variance))

    np.testing.assert_allclose(
        in_mean, (score(mean + h, variance) - score(mean - h, variance)) / (2 * h), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        in_variance, (score(mean, variance + h) - score(mean, variance - h)) / (2 * h), rtol=1e-5, atol=1e-6
    )


def test_ucb_without_spread_has_a_finite_slope():
    in_mean, in_variance = UCB(9.0).slopes(Moments(np.zeros(1), np.zeros(1)))
    assert in_mean[0] == 1 and in_variance[0] == 0


class SharpeRatio(ScoredAcquisition):
    """An acquisition of one's own, which knows nothing of samples."""

    @classmethod
    def of(cls, search):
        return cls()

    def score_moments(self, mean, variance):
        return mean / np.sqrt(variance)

    def slopes_in_moments(self, mean, variance):
        return 1 / np.sqrt(variance), -mean / (2 * variance**1.5)


def test_a_new_acquisition_reads_samples_by_their_moments_unless_it_says_otherwise():
    samples, h = np.random.default_rng(0).standard_normal((16, 3)) + [0.0, 2.0, 5.0], 1e-6
    acquisition = SharpeRatio()
    expected = samples.mean(axis=0) / samples.std(axis=0)
    np.testing.assert_allclose(acquisition.score(Samples(samples)), expected)
    slopes = acquisition.slopes(Samples(samples)).values
    for s in range(16):
        ahead, behind = samples.copy(), samples.copy()
        ahead[s] += h
        behind[s] -= h
        numeric = (acquisition.score(Samples(ahead)) - acquisition.score(Samples(behind))) / (2 * h)
        np.testing.assert_allclose(slopes[s], numeric, rtol=1e-5, atol=1e-8)


def test_every_acquisition_stands_in_the_table():
    assert all(issubclass(acquisition, Acquisition) for acquisition in ACQUISITIONS.values())
    assert ACQUISITIONS["ucb"] is UCB and ACQUISITIONS["ei"] is ExpectedImprovement
