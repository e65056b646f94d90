"""Draws of hyperparameters about the most probable ones, where their density is known to be normal."""

import numpy as np
import pytest

from optimizer.prior.families import Family
from optimizer.prior.hyperparameters import DEGREES_OF_FREEDOM, Group

PRECISION = np.array([[30.0, 12.0, -4.0], [12.0, 9.0, 0.0], [-4.0, 0.0, 20.0]])
BEST = np.array([0.3, -0.7, -2.0])


class Normal:
    """A log density of three hyperparameters, strongly correlated; priors of other units each."""

    prior_deviations = np.array([1.0, 1.0, 2.0])

    def value(self, theta):
        return -0.5 * float((theta - BEST) @ PRECISION @ (theta - BEST))

    def __call__(self, theta):
        return self.value(theta), -PRECISION @ (theta - BEST)


def test_draws_are_of_a_t_distribution_with_the_inverse_precision_as_its_shape(monkeypatch):
    group = Group(Family("rbf"), np.linspace(0, 1, 8)[:, None], np.arange(8.0), np.full(8, np.nan))
    monkeypatch.setattr(group, "density", Normal)
    group.bounds = np.tile([-50.0, 50.0], (3, 1))
    thetas, weights = group.draws(BEST, 40_000, np.random.default_rng(0))
    nu, shape = DEGREES_OF_FREEDOM, np.linalg.inv(PRECISION)
    spread = np.sqrt(np.diag(shape))
    assert thetas.mean(axis=0) == pytest.approx(BEST, abs=1e-9)  # in pairs
    correlations = shape / np.outer(spread, spread)
    assert np.corrcoef(thetas.T) == pytest.approx(correlations, abs=0.03)
    assert thetas.std(axis=0) == pytest.approx(spread * np.sqrt(nu / (nu - 2)), rel=0.03)
    apart = thetas - BEST
    assert (apart.T * weights) @ apart == pytest.approx(shape, abs=0.03 * shape.max())
