"""The search space: what is feasible, how it is sampled, and that its best policy is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize
from scipy.stats import ks_2samp, kstest, qmc

from optimizer.space.local_search import climb
from optimizer.space.polytope import Polytope
from optimizer.space.search_space import SearchSpace

DOSES = np.array([0.262, 0.406, 0.197, 0.044, 0.091])
COSTS = np.array([24.0, 33.0, 15.0, 4.0, 6.0])


def box(d, low=0.0, high=1.0):
    return Bounds(np.full(d, low), np.full(d, high))


def vaccination():
    return SearchSpace(box(5), LinearConstraint(DOSES, -np.inf, 0.47))


def treatment():
    return SearchSpace(box(5, 0.12, 0.3), LinearConstraint(COSTS, 14.4, 14.4))


def two_budgets():
    rows = LinearConstraint(np.array([[1.0, 1, 1, 1], [1.0, -1, 0, 0]]), [2.0, -0.2], [2.0, 0.2])
    return SearchSpace(Bounds([0, -1, 0.5, 0], [1, 1, 0.5, 3]), [rows, LinearConstraint([0, 0, 1, 1], 1, 6)])


def box_only():
    return SearchSpace(Bounds([-3.0, 0.0], [5.0, 1e4]))


def needle():
    """Two per cent of a per cent of the box: sampled by hit-and-run."""
    return SearchSpace(box(4), LinearConstraint([1.0, 2, 3, 4], -np.inf, 0.5))


SPACES = [vaccination, treatment, box_only, needle]


def bumps(space, seed, count=6):
    """A sum of Gaussian bumps over the unit box, its value and its gradient by the coordinates."""
    rng = np.random.default_rng(seed)
    centres, heights = rng.random((count, space.d)), rng.normal(size=count)
    width = np.where(space.upper > space.lower, space.upper - space.lower, 1.0)

    def value_and_gradient(x):
        difference = (x - space.lower)[:, None] / width - centres
        e = heights * np.exp(-4 * (difference**2).sum(axis=2))
        return e.sum(axis=1), -8 * (e[..., None] * difference).sum(axis=1) / width

    return lambda x: value_and_gradient(x)[0], value_and_gradient


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


# ---- the search in a bounded space


def test_a_search_of_a_thin_space_begins_with_distinct_points_of_its_pool():
    polytope = needle().polytope
    v = polytope.scatter(512, np.random.default_rng(3))
    assert len(np.unique(v, axis=0)) == 512
    np.testing.assert_array_equal(v, needle().polytope.scatter(512, np.random.default_rng(3)))
    assert polytope.scatter(5000, np.random.default_rng(3)).shape == (5000, 4)


@pytest.mark.parametrize("make", SPACES)
def test_the_best_of_many_slsqp_runs_is_found(make):
    space = make()
    limits = [LinearConstraint(row, low, high) for row, low, high in space.constraint_rows()]
    for seed in range(4):
        value, value_and_gradient = bumps(space, seed)
        policy, best = space.maximise(value, value_and_gradient, np.random.default_rng(seed))
        assert best == value(policy[None])[0]
        assert space.contains(policy[None]).all()

        def negative(x, f=value_and_gradient):
            v, g = f(space.resolve(x))
            return -v[0], -g[0]

        runs = [
            minimize(negative, x0, jac=True, method="SLSQP", bounds=space.bounds, constraints=limits)
            for x0 in space.sample(25, np.random.default_rng(seed + 100))
        ]
        feasible = [-run.fun for run in runs if space.contains(run.x[None]).all()]
        assert best >= max(feasible) - 1e-5


# The same examples in every run: one in some hundred is as below.
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    rows=st.integers(0, 3),
    equal=st.booleans(),
    fixed=st.booleans(),
    scale=st.sampled_from([1e-6, 1.0, 1e5]),
)
def test_what_is_returned_is_feasible_and_solves_linear_problems(seed, d, rows, equal, fixed, scale):
    best, exact = linear_problem(seed, d, rows, equal, fixed, scale)
    assert best == pytest.approx(exact, rel=1e-6, abs=1e-6)


@pytest.mark.xfail(strict=True, reason="the last search stops where one step along the gradient gains little")
@pytest.mark.parametrize("seed", [35, 46])
def test_an_edge_along_which_values_hardly_rise_is_followed_to_its_end(seed):
    best, exact = linear_problem(seed, 5, 1, True, False, 1.0)
    assert best == pytest.approx(exact, rel=1e-6, abs=1e-6)  # it is short of it by up to 0.003


def linear_problem(seed, d, rows, equal, fixed, scale):
    """The highest value of a linear function that a search finds, and the highest there is."""
    rng = np.random.default_rng(seed)
    lower = scale * rng.normal(size=d)
    upper = lower + scale * rng.uniform(0.1, 2.0, d)
    if fixed:
        upper[0] = lower[0]
    inside = lower + rng.uniform(0.2, 0.8, d) * (upper - lower)
    A = rng.normal(size=(rows, d))
    least = np.full(rows, -np.inf)
    most = A @ inside + 0.05 * scale * rng.random(rows)
    if equal and rows:
        least[0] = most[0] = A[0] @ inside
    bounds, constraint = Bounds(lower, upper), LinearConstraint(A, least, most) if rows else None
    space = SearchSpace(bounds, constraint)
    assert space.contains(space.sample(50, rng)).all()
    slope = rng.normal(size=d)
    policy, best = space.maximise(
        lambda x: x @ slope, lambda x: (x @ slope, np.tile(slope, (len(x), 1))), rng, points=64
    )
    assert space.contains(policy[None]).all()
    # Scaled to 1, because linprog's tolerances are absolute.
    free = least != most
    exact = linprog(
        -slope,
        A[free] if rows else None,
        most[free] / scale if rows else None,
        A[~free] if rows else None,
        most[~free] / scale if rows else None,
        bounds=np.column_stack((lower, upper)) / scale,
    )
    return best / scale, -exact.fun


def test_entries_fixed_by_equal_bounds_stay_fixed_and_the_budget_holds():
    space = two_budgets()
    policy, _ = space.maximise(*bumps(space, 2), np.random.default_rng(0))
    assert policy[2] == 0.5
    assert space.contains(policy[None]).all()
    entirely = SearchSpace(Bounds([0.2, 0.3], [0.2, 0.3]))
    np.testing.assert_array_equal(
        entirely.maximise(*bumps(entirely, 0), np.random.default_rng(0))[0], [0.2, 0.3]
    )


def test_the_same_stream_gives_the_same_policy_bit_for_bit():
    space = vaccination()
    first, _ = space.maximise(*bumps(space, 3), np.random.default_rng(7))
    space.sample(10, np.random.default_rng(0))
    again, _ = space.maximise(*bumps(space, 3), np.random.default_rng(7))
    fresh = vaccination()
    other, _ = fresh.maximise(*bumps(fresh, 3), np.random.default_rng(7))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, other)


def test_the_result_is_never_below_the_best_evaluated_policy():
    space = vaccination()
    value, _ = bumps(space, 1)
    seen = []

    def watched(x):
        seen.append(value(x).max())
        return value(x)

    def misleading(x):
        return value(x), np.random.default_rng(0).normal(size=x.shape)

    assert space.maximise(watched, misleading, np.random.default_rng(0))[1] == max(seen)


@pytest.mark.parametrize("fault", ["nan", "nan gradient", "raise", "inf"])
def test_a_refinement_that_fails_is_dropped(fault):
    space = vaccination()
    value, right = bumps(space, 1)

    def faulty(x):
        v, g = right(x)
        if fault == "raise":
            raise np.linalg.LinAlgError("singular")
        return {"nan": (v * np.nan, g), "nan gradient": (v, g * np.nan), "inf": (v - np.inf, g)}[fault]

    policy, best = space.maximise(value, faulty, np.random.default_rng(0))
    screened = space.maximise(value, None, np.random.default_rng(0))
    np.testing.assert_array_equal(policy, screened[0])
    assert best == screened[1]


def test_nan_in_part_of_the_space_is_avoided():
    space = SearchSpace(box(2))
    value, value_and_gradient = bumps(space, 0)

    def holed(x):
        return np.where(x[:, 0] > 0.5, np.nan, value(x))

    policy, best = space.maximise(
        holed, lambda x: (holed(x), value_and_gradient(x)[1]), np.random.default_rng(0)
    )
    assert policy[0] <= 0.5
    assert np.isfinite(best)


def test_a_constant_value_gives_a_feasible_policy():
    space = treatment()
    policy, best = space.maximise(
        lambda x: np.ones(len(x)), lambda x: (np.ones(len(x)), np.zeros_like(x)), np.random.default_rng(0)
    )
    assert best == 1.0
    assert space.contains(policy[None]).all()


def test_an_extra_policy_is_considered_when_it_is_feasible():
    space = vaccination()
    peak = np.array([[0.3, 0.5, 0.1, 0.9, 0.2]])

    def spike(x):
        return -np.minimum(np.abs(x - peak).sum(axis=1), 1e-3)

    policy, best = space.maximise(
        spike, None, np.random.default_rng(0), extra=np.vstack((peak, np.full(5, 2.0)))
    )
    assert best == 0.0
    np.testing.assert_array_equal(policy, peak[0])


def test_climbs_do_not_end_below_their_starts():
    space = vaccination()
    value, value_and_gradient = bumps(space, 4)
    polytope = space.polytope
    starts = polytope.sample(20, np.random.default_rng(0))

    def by_coordinates(v):
        f, g = value_and_gradient(polytope.lift(v))
        return f, g @ polytope.map

    ends, values = climb(polytope, by_coordinates, starts, 6, look=9, kept=20)
    assert (values >= value(polytope.lift(starts))).all()
    np.testing.assert_allclose(values, value(polytope.lift(ends)), rtol=1e-12)
    assert space.contains(polytope.lift(ends)).all()
    best, _ = climb(polytope, by_coordinates, starts, 6, look=1, kept=3)
    assert len(best) == 3


def test_projection_is_the_nearest_feasible_point():
    polytope = Polytope(box(5), [LinearConstraint(DOSES, -np.inf, 0.47)])
    v = np.random.default_rng(0).uniform(-0.5, 1.5, (12, 5))
    for far, near in zip(v, polytope.project(v), strict=True):
        exact = minimize(
            lambda x, far=far: (((x - far) ** 2).sum(), 2 * (x - far)),
            np.full(5, 0.3),
            jac=True,
            method="SLSQP",
            bounds=box(5),
            constraints=LinearConstraint(DOSES, -np.inf, 0.47),
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(near, exact.x, atol=1e-6)


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
