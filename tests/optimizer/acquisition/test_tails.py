"""Far from the incumbent, where probabilities underflow, and how samples are read as a density."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from optimizer import ExpectedImprovement, ProbabilityOfImprovement
from optimizer.acquisition.gaussian import log_improvement
from optimizer.composition.objective import Samples
from optimizer.composition.propagation import Sampled

SAMPLES = np.random.default_rng(0).gamma(2.0, size=(64, 4)) * [0.1, 1, 5, 2] + [0, -1, 3, 0]


def mixture(samples):
    """Centres (S, n) and deviation (n,): a tenth of the samples', which are drawn in to keep the variance."""
    mean, deviation = samples.mean(axis=0), samples.std(axis=0)
    return mean + np.sqrt(1 - 0.1**2) * (samples - mean), 0.1 * deviation


def test_log_improvement_keeps_its_second_term_however_far_out():
    z = -np.array([1e3, 1e5, 0.9e6, 1.1e6, 1e7, 1e8])
    leading = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    spacing = np.spacing(np.abs(leading))
    assert (np.abs(log_improvement(z) - leading + 2 * np.log(-z)) <= 1e-4 + 2 * spacing).all()


@pytest.mark.parametrize("target", [-2.0, 1.0, 4.0, 10.0, 40.0, 1e3])
def test_the_score_of_samples_is_that_of_a_mixture_of_normals(target):
    centres, h = mixture(SAMPLES)
    S = len(SAMPLES)
    probability = logsumexp(norm.logsf(target, centres, h), axis=0) - np.log(S)
    np.testing.assert_allclose(
        ProbabilityOfImprovement(target).score(Samples(SAMPLES)), probability, atol=0.02
    )
    improvement = logsumexp(log_improvement((centres - target) / h) + np.log(h), axis=0) - np.log(S)
    np.testing.assert_allclose(ExpectedImprovement(target).score(Samples(SAMPLES)), improvement, atol=0.02)


def test_the_mixture_has_the_mean_and_the_variance_of_the_samples():
    for k in range(4):
        one = SAMPLES[:, [k]]
        mean, deviation = one.mean(), one.std()
        ends = mean - 12 * deviation, mean + 12 * deviation

        def above(target, one=one):
            return float(np.exp(ProbabilityOfImprovement(target).score(Samples(one)))[0])

        def second(target, above=above):
            return 2 * target * above(target)

        first = ends[0] + quad(above, *ends, limit=400)[0]
        square = ends[0] ** 2 + quad(second, *ends, limit=400)[0]
        assert first == pytest.approx(mean, abs=1e-4 * deviation)
        assert square - first**2 == pytest.approx(deviation**2, rel=1e-3)


def test_there_are_at_least_eight_samples_a_group():
    def count(J):
        return Sampled(J).outcomes(np.zeros((1, J)), np.ones((1, J))).shape[0]

    assert [count(J) for J in (1, 4, 5, 9, 20)] == [32, 32, 64, 128, 256]
