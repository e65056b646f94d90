"""The hypervolume is the volume that policies dominate above the reference point."""

import numpy as np
import pytest

from scenarios.results.hypervolume import hypervolume


def test_of_one_policy_it_is_the_box_to_the_reference():
    assert hypervolume(np.array([[3.0, 5.0]]), np.array([1.0, 1.0])) == 8.0
    assert hypervolume(np.array([[2.0, 3.0, 4.0]]), np.zeros(3)) == 24.0


def test_what_does_not_reach_the_reference_adds_nothing():
    values = np.array([[3.0, 5.0], [0.5, 99.0], [99.0, 1.0], [2.0, 2.0]])
    assert hypervolume(values, np.ones(2)) == 8.0
    assert hypervolume(values[:0], np.ones(2)) == 0.0


@pytest.mark.parametrize("objectives", [2, 3])
def test_it_is_the_share_of_random_points_that_are_dominated(objectives):
    rng = np.random.default_rng(objectives)
    values = rng.random((12, objectives)) ** 0.5
    points = rng.random((400_000, objectives))
    dominated = np.zeros(len(points), dtype=bool)
    for one in values:
        dominated |= (points <= one).all(axis=1)
    assert hypervolume(values, np.zeros(objectives)) == pytest.approx(dominated.mean(), abs=0.003)


@pytest.mark.parametrize("objectives", [2, 3])
def test_it_is_that_of_optuna(objectives):
    compute = pytest.importorskip("optuna._hypervolume").compute_hypervolume
    values = np.random.default_rng(7).random((25, objectives))
    theirs = compute(-values, np.zeros(objectives))  # minimises, below the reference
    assert hypervolume(values, np.zeros(objectives)) == pytest.approx(theirs, rel=1e-12)
