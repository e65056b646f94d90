"""Kernels of samples that go on being learned: where they begin, how far they move, what they keep."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from optimizer import Prior
from optimizer.prior import own_rounds
from optimizer.prior.own_rounds import OwnRounds

RNG = np.random.default_rng(0)
X = RNG.random((60, 2)) * [4.0, 0.5]
NOISE = np.full((60, 1), 0.01)
BEGIN = Prior([ConstantKernel(9.0) * Matern([1.0, 2.0], nu=0.5)], np.array([0.01]), [5.0])


def drawn(lengths, amplitude=9.0):
    K = amplitude * Matern(lengths, nu=0.5)(X) + 0.01 * np.eye(60)
    return 5.0 + (np.linalg.cholesky(K) @ RNG.standard_normal(60))[:, None]


def learned(Y, begin=BEGIN):
    return OwnRounds("matern-1/2", 1, begin).learn(X, Y, NOISE).mixture()


def test_without_freedom_the_kernel_stays_the_one_of_the_samples(monkeypatch):
    monkeypatch.setattr(own_rounds, "BEGUN_DEVIATION", 1e-6)
    (kernel,) = learned(drawn([1.0, 2.0])).most_probable.kernels
    np.testing.assert_allclose(np.exp(kernel.theta), [9.0, 1.0, 2.0], rtol=1e-3)


def test_the_kernel_moves_to_what_the_rounds_say_and_not_all_the_way():
    rough = drawn([0.02, 0.02])
    (kernel,) = learned(rough).most_probable.kernels
    free = learned(rough, None).most_probable.kernels[0].k1
    assert np.all(free.k2.length_scale < kernel.k2.length_scale)
    assert np.all(kernel.k2.length_scale < [1.0, 2.0])


def test_the_mean_is_that_of_the_samples_and_there_is_one_draw():
    mixture = learned(drawn([1.0, 2.0]) + 3.0)
    assert len(mixture.components) == 1
    assert mixture.most_probable.means == [5.0]


@pytest.mark.parametrize(
    ("observations", "last", "due"), [(4, 0, False), (5, 0, True), (6, 5, False), (7, 5, True)]
)
def test_learning_begins_at_five_observations_and_is_sparse(observations, last, due):
    own = OwnRounds("matern-1/2", 1, BEGIN)
    if last:
        own.learn(X[:last], drawn([1.0, 2.0])[:last], NOISE[:last])
    assert own.due(observations, surprised=False) is due
