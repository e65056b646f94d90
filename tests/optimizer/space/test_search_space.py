"""The search space: what is feasible, how it is sampled, and that its best policy is found."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint
from scipy.stats import ks_2samp, kstest, qmc

from optimizer.space.search_space import SearchSpace
from tests.optimizer.helpers.spaces import (
    COSTS,
    DOSES,
    SPACES,
    box,
    box_only,
    bumps,
    needle,
    treatment,
    two_budgets,
    vaccination,
)

# ---- feasibility


def test_feasible_means_within_1e_9_relative():
    space = SearchSpace(Bounds([0.0, 0.0], [1.0, 1e6]), LinearConstraint([[1.0, 1.0]], -np.inf, 5e5))
    x = np.array([[1 + 5e-10, 0], [1 + 2e-9, 0], [0, 5e5 + 4e-4], [0, 5e5 + 6e-4], [np.nan, 0]])
    assert space.contains(x).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("bounds", "constraint", "words"),
    [
        (Bounds([0.0, 1.0], [1.0, 0.0]), None, "entry 1: the lower bound 1 is above the upper bound 0"),
        (Bounds([0.0, np.nan], [1.0, 1.0]), None, "entry 1: the lower bound nan"),
        (Bounds([0.0, 0.0], [1.0, np.inf]), None, "a finite lower and upper bound for every entry"),
        (box(2), LinearConstraint([[1.0, 1.0]], 2.1, 3.0), "no policy meets the constraints"),
        (box(2), LinearConstraint([[1.0, 1.0]], 2.1, 2.1), "no policy meets the constraints"),
        (
            box(2),
            LinearConstraint([[1.0, 1.0], [1.0, 1.0]], [1.0, 1.2], [1.0, 1.2]),
            "no policy meets the constraints",
        ),
        (
            box(2),
            LinearConstraint([[1.0, 1.0]], 1.0, 0.5),
            "constraint 0: the lower bound 1 is above the upper bound 0.5",
        ),
        (box(2), LinearConstraint([[1.0, 1.0, 1.0]], 0.0, 0.5), "a constraint has 3 columns"),
        (
            Bounds([0.5, 0.5], [0.5, 0.5]),
            LinearConstraint([[1.0, 1.0]], 1.1, 1.1),
            "no policy meets the constraints",
        ),
        (None, None, "a search space needs bounds or candidates"),
    ],
)
def test_a_space_without_policies_is_refused_in_one_line(bounds, constraint, words):
    with pytest.raises(ValueError, match=words) as error:
        SearchSpace(bounds, constraint)
    assert "\n" not in str(error.value)


def test_no_feasible_candidate_is_refused_in_one_line():
    with pytest.raises(ValueError, match="none of the 2 candidates"):
        SearchSpace(constraint=LinearConstraint([1.0], -np.inf, 0.0), candidates=[[1.0], [2.0]])


def test_constraint_rows_are_given_one_by_one():
    rows = two_budgets().constraint_rows()
    assert [(low, high) for _, low, high in rows] == [(2.0, 2.0), (-0.2, 0.2), (1.0, 6.0)]
    np.testing.assert_array_equal(rows[1][0], [1, -1, 0, 0])


def test_constraints_that_only_one_policy_meets_leave_that_policy():
    space = SearchSpace(box(3), LinearConstraint([1.0, 1.0, 1.0], 3.0, np.inf))
    np.testing.assert_allclose(space.sample(4, np.random.default_rng(0)), np.ones((4, 3)), atol=1e-9)
    policy, value = space.maximise(*bumps(space, 0), np.random.default_rng(0))
    np.testing.assert_allclose(policy, np.ones(3), atol=1e-9)


def test_inequalities_that_meet_in_a_plane_are_an_equality():
    rows = [LinearConstraint(np.ones(3), 1.5, 9.0), LinearConstraint(np.ones(3), -9.0, 1.5)]
    space = SearchSpace(box(3), rows)
    x = space.sample(500, np.random.default_rng(0))
    np.testing.assert_allclose(x.sum(axis=1), 1.5, atol=1e-9)
    assert np.linalg.matrix_rank(x - x.mean(axis=0), tol=1e-6) == 2


# ---- samples and designs


@pytest.mark.parametrize("make", SPACES)
def test_samples_and_designs_are_feasible(make):
    space = make()
    assert space.contains(space.sample(300, np.random.default_rng(1))).all()
    design = space.sobol(37, 5)
    assert design.shape == (37, space.d)
    assert space.contains(design).all()
    assert len(np.unique(design, axis=0)) == 37


@pytest.mark.parametrize("make", SPACES)
def test_a_longer_design_begins_with_a_shorter_one(make):
    space = make()
    np.testing.assert_array_equal(space.sobol(40, 5)[:7], space.sobol(7, 5))


@pytest.mark.parametrize("method", ["sample", "hit_and_run"])
def test_an_inequality_budget_is_sampled_uniformly(method):
    polytope = vaccination().polytope
    x = polytope.lift(getattr(polytope, method)(3000, np.random.default_rng(0)))
    draws = np.random.default_rng(1).random((12000, 5))
    accepted = draws[draws @ DOSES <= 0.47]
    for statistic in (*np.eye(5), DOSES, np.array([1.0, -1, 0, 0, 0])):
        assert ks_2samp(x @ statistic, accepted @ statistic).pvalue > 0.005


@pytest.mark.parametrize("method", ["sample", "hit_and_run"])
def test_an_equality_budget_is_sampled_uniformly(method):
    polytope = treatment().polytope
    x = polytope.lift(getattr(polytope, method)(3000, np.random.default_rng(0)))
    # Uniform on the plane is uniform in any four entries, where the fifth, solved for, is within its bounds.
    draws = np.random.default_rng(1).uniform(0.12, 0.3, (60000, 5))
    draws[:, 4] = (14.4 - draws[:, :4] @ COSTS[:4]) / COSTS[4]
    accepted = draws[(draws[:, 4] >= 0.12) & (draws[:, 4] <= 0.3)]
    assert len(accepted) > 2000
    for statistic in np.eye(5):
        assert ks_2samp(x @ statistic, accepted @ statistic).pvalue > 0.005


def test_a_thin_simplex_is_sampled_uniformly():
    # In a simplex sum_i w_i x_i <= b below the box, w_1 x_1 / b is Beta(1, d).
    space = needle()
    x = space.sample(3000, np.random.default_rng(0))
    assert space.polytope._acceptance < 0.02
    for i, w in enumerate((1.0, 2.0, 3.0, 4.0)):
        assert kstest(x[:, i] * w / 0.5, "beta", (1, 4)).pvalue > 0.005


def test_a_design_fills_a_box_more_evenly_than_chance():
    space = box_only()
    design = space.to_unit(space.sobol(64, 0))
    chance = space.to_unit(space.sample(64, np.random.default_rng(0)))
    assert qmc.discrepancy(design) < qmc.discrepancy(chance) / 3


def test_unit_coordinates_are_undone():
    space = SearchSpace(Bounds([-3.0, 0.4, 0.0], [5.0, 0.4, 1e4]))
    x = space.sample(20, np.random.default_rng(0))
    u = space.to_unit(x)
    assert ((u >= 0) & (u <= 1)).all()
    np.testing.assert_array_equal(u[:, 1], 0.0)
    np.testing.assert_allclose(space.from_unit(u), x, rtol=1e-12)


# ---- candidates


def test_the_best_feasible_candidate_is_chosen():
    candidates = np.array([[2.0], [0.1], [0.2], [3.0]])
    space = SearchSpace(constraint=LinearConstraint([1.0], -np.inf, 1.0), candidates=candidates)
    values = np.array([9.0, 1.0, 5.0, 7.0])
    assert space.feasible.tolist() == [False, True, True, False]
    assert space.maximise(lambda rows: values[rows], None, np.random.default_rng(0)) == (2, 5.0)


def test_ties_go_to_the_lowest_row_and_nan_is_never_chosen():
    space = SearchSpace(candidates=np.arange(5.0)[:, None])
    values = np.array([np.nan, 1.0, 3.0, 3.0, np.nan])
    assert space.maximise(lambda rows: values[rows], None, np.random.default_rng(0))[0] == 2
    lowest = np.array([np.nan, -np.inf, -np.inf, np.nan, np.nan])
    assert space.maximise(lambda rows: lowest[rows], None, np.random.default_rng(0))[0] == 1
    with pytest.raises(ValueError, match="nan at every policy"):
        space.maximise(lambda rows: values[rows] * np.nan, None, np.random.default_rng(0))


def test_candidates_travel_by_row():
    candidates = np.random.default_rng(0).random((30, 2))
    calls = []

    def embed(rows):
        calls.append(len(rows))
        return np.column_stack((np.sin(candidates[rows]), rows))

    space = SearchSpace(box(2, 0.2, 1.0), candidates=candidates, embed=embed)
    assert (space.finite, space.size, space.d) == (True, 30, 2)
    np.testing.assert_array_equal(space.resolve([3, 1]), candidates[[3, 1]])
    np.testing.assert_array_equal(space.resolve(np.int64(4)), candidates[[4]])
    np.testing.assert_array_equal(space.features(np.array([3, 1]))[:, 2], [3, 1])
    space.features(np.array([5]))
    assert calls == [30]
    inside = (candidates >= 0.2).all(axis=1)
    np.testing.assert_array_equal(space.contains(np.arange(30)), inside)
    assert space.contains(np.array([-1, 30])).tolist() == [False, False]
    rows = space.sample(2000, np.random.default_rng(0))
    assert set(rows) == set(np.flatnonzero(inside))
    with pytest.raises(ValueError, match="integer rows"):
        space.resolve([0.5])


def test_a_design_of_candidates_repeats_none_before_all_are_used():
    space = SearchSpace(box(2, 0.2, 1.0), candidates=np.random.default_rng(0).random((30, 2)))
    feasible = set(np.flatnonzero(space.feasible))
    rows = space.sobol(len(feasible), 3)
    assert set(rows) == feasible
    np.testing.assert_array_equal(space.sobol(6, 3), rows[:6])
    assert len(space.sobol(70, 3)) == 70
    np.testing.assert_array_equal(space.from_unit(space.to_unit(rows)), rows)


def test_features_of_a_bounded_space_are_the_policies_unless_embedded():
    x = np.array([[0.1, 0.2]])
    np.testing.assert_array_equal(SearchSpace(box(2)).features(x), x)
    np.testing.assert_array_equal(SearchSpace(box(2), embed=np.exp).features(x), np.exp(x))
    with pytest.raises(ValueError, match="2 entries"):
        SearchSpace(box(2)).resolve(np.ones(3))
