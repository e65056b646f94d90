"""Central differences against derivatives in closed form."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

from optimizer import SearchSpace
from optimizer.differences import central_differences, jacobian
from optimizer.space.feasible_gradient import feasible_differences

X = np.array([[0.3, 2.0], [1e3, -0.7], [0.0, 5e-3]])


def value(X):
    return np.sin(X[:, 0]) * X[:, 1] ** 2


def gradient(X):
    return np.stack([np.cos(X[:, 0]) * X[:, 1] ** 2, 2 * np.sin(X[:, 0]) * X[:, 1]], axis=1)


def test_differences_of_one_value_and_of_many():
    np.testing.assert_allclose(jacobian(value, X), gradient(X), rtol=1e-5, atol=1e-6)
    many = jacobian(lambda X: np.stack([X[:, 0] ** 2, X[:, 1], X.prod(axis=1)], axis=1), X)
    assert many.shape == (3, 2, 3)
    zero, one = np.zeros(3), np.ones(3)
    expected = np.stack(
        [np.stack([2 * X[:, 0], zero, X[:, 1]], axis=1), np.stack([zero, one, X[:, 0]], axis=1)], axis=1
    )
    np.testing.assert_allclose(many, expected, rtol=1e-6, atol=1e-6)


def test_slopes_in_every_entry_of_an_array():
    np.testing.assert_allclose(central_differences(value, X), gradient(X), rtol=1e-5, atol=1e-6)
    deep = np.random.default_rng(0).random((4, 3, 2))
    slopes = central_differences(lambda F: F[..., 0] ** 2 * F[..., 1], deep, np.full(deep.shape, 1e-5))
    expected = np.stack([2 * deep.prod(axis=-1), deep[..., 0] ** 2], axis=-1)
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)


@pytest.mark.parametrize("constraint", [None, LinearConstraint([[1, 1]], -np.inf, 2.5)])
def test_differences_inside_the_feasible_set_are_the_gradient(constraint):
    space = SearchSpace(Bounds([0.0, -1.0], [2.0, 3.0]), constraint)
    policies = np.vstack([space.sample(20, np.random.default_rng(0)), [[0.0, -1.0], [0.0, 2.5], [2.0, -1.0]]])
    seen = []

    def watched(X):
        seen.append(X)
        return value(X)

    values, slopes = feasible_differences(space.polytope, watched)(policies)
    np.testing.assert_array_equal(values, value(policies))
    np.testing.assert_allclose(slopes, gradient(policies), atol=2e-3)
    assert space.contains(np.vstack(seen)).all()


def test_on_an_equation_the_gradient_is_the_one_along_it():
    space = SearchSpace(Bounds([0.0, 0.0], [1.0, 1.0]), LinearConstraint([[1, 1]], 1.0, 1.0))
    policies = np.array([[0.2, 0.8], [0.5, 0.5]])
    _, slopes = feasible_differences(space.polytope, value)(policies)
    along = np.array([1.0, -1.0]) / np.sqrt(2)
    np.testing.assert_allclose(slopes @ along, gradient(policies) @ along, atol=1e-3)
