"""The search in a bounded space: its best policy is found, within bounds and constraints."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize

from optimizer.space.local_search import climb
from optimizer.space.polytope import Polytope
from optimizer.space.search_space import SearchSpace
from tests.optimizer.helpers.spaces import (
    DOSES,
    SPACES,
    box,
    bumps,
    needle,
    treatment,
    two_budgets,
    vaccination,
)

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
