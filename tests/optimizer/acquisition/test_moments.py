"""Acquisitions against integrals and closed forms; beta_t against the paper."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from optimizer import (
    UCB,
    ConstantBeta,
    ContinuousBeta,
    ExpectedImprovement,
    FiniteBeta,
    ProbabilityOfImprovement,
)
from optimizer.acquisition.moments import log_improvement


def test_expected_improvement_equals_its_integral():
    for mean, deviation in ((0.3, 0.5), (-1.0, 0.4), (2.0, 0.1)):
        integral = quad(lambda y, m=mean, s=deviation: y * norm.pdf(y, m - 0.2, s), 0, 20, points=[mean])[0]
        value = ExpectedImprovement(0.2)(np.array([mean]), np.array([deviation**2]))[0]
        assert value == pytest.approx(integral, rel=1e-6)


def test_expected_improvement_without_spread_is_the_gain():
    mean = np.array([1.0, 1.3, 0.4])
    values = ExpectedImprovement(1.0)(mean, np.zeros(3))
    np.testing.assert_allclose(values, [0.0, 0.3, 0.0], atol=1e-15)
    np.testing.assert_array_equal(ProbabilityOfImprovement(1.0)(mean, np.zeros(3)), [0.0, 1.0, 0.0])


def test_log_improvement_follows_its_asymptote_where_ei_underflows():
    z = np.array([-5.0, -38.0, -1e3, -1e5, -1e8])
    asymptote = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(-z)
    np.testing.assert_allclose(log_improvement(z), asymptote, rtol=2e-2)
    np.testing.assert_allclose(log_improvement(z[2:]), asymptote[2:], rtol=1e-7)
    moderate = np.linspace(-6, 6, 49)
    direct = np.log(norm.pdf(moderate) + moderate * norm.cdf(moderate))
    np.testing.assert_allclose(log_improvement(moderate), direct, rtol=1e-6)


@pytest.mark.parametrize(
    "acquisition", [UCB(4.0), ExpectedImprovement(0.7), ProbabilityOfImprovement(0.7, 0.1)]
)
def test_partials_equal_finite_differences_of_the_score(acquisition):
    mean, variance, h = np.linspace(-3, 2, 11), np.linspace(0.05, 2, 11), 1e-6
    in_mean, in_variance = acquisition.partials(mean, variance)
    score = acquisition.score
    np.testing.assert_allclose(
        in_mean, (score(mean + h, variance) - score(mean - h, variance)) / (2 * h), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        in_variance, (score(mean, variance + h) - score(mean, variance - h)) / (2 * h), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("acquisition", [ExpectedImprovement(0.7), ProbabilityOfImprovement(0.7)])
def test_score_orders_policies_as_the_acquisition_does(acquisition):
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal(200), rng.uniform(0.1, 2, 200)
    order = np.argsort(acquisition(mean, variance))
    assert (np.diff(acquisition.score(mean, variance)[order]) >= 0).all()


def test_ucb_without_spread_has_a_finite_slope():
    in_mean, in_variance = UCB(9.0).partials(np.zeros(1), np.zeros(1))
    assert in_mean[0] == 1 and in_variance[0] == 0


def test_finite_beta_is_theorem_2s():
    t, n, delta = 7, 1000, 0.05
    assert FiniteBeta(n, delta, 5.0).beta(t) == pytest.approx(
        2 * np.log(n * t**2 * np.pi**2 / (6 * delta)) / 5, rel=1e-12
    )
    assert FiniteBeta(n, delta, groups=3).beta(t) == pytest.approx(
        2 * np.log(n * 3 * t**2 * np.pi**2 / (6 * delta)), rel=1e-12
    )


def test_finite_beta_of_an_astronomic_space_is_finite():
    assert FiniteBeta(100**12).beta(1) == pytest.approx(2 * (12 * np.log(100) + np.log(np.pi**2 / 0.6)))


def test_continuous_beta_is_section_7s():
    t, d, delta = 4, 5, 0.1
    direct = 2 * np.log(2 * t**2 * np.pi**2 / (3 * delta)) + 2 * d * np.log(
        t**2 * d * np.sqrt(np.log(4 * d / delta))
    )
    assert ContinuousBeta(d, delta).beta(t) == pytest.approx(direct, rel=1e-12)
    assert ContinuousBeta(d, delta, scale_down=5).beta(t) == pytest.approx(direct / 5, rel=1e-12)
    assert ConstantBeta(4.0, scale_down=2.0).beta(99) == 2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FiniteBeta(0), "size"),
        (lambda: FiniteBeta(5, delta=1.5), "delta"),
        (lambda: ContinuousBeta(2, scale_down=0.0), "scale_down"),
        (lambda: ConstantBeta(-1.0), "beta"),
    ],
)
def test_bad_schedules_are_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
