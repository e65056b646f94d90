"""Spaces with whole numbers and categories: only policies on the grid, within limits, all of them found."""

import functools
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint
from scipy.stats import chisquare

from optimizer.space.mixed_space import LISTED, MixedSpace
from optimizer.space.search_space import SearchSpace

NO = -np.inf


def space(low, high, steps, constraint=None, categories=None):
    bounds = Bounds(np.array(low, dtype=float), np.array(high, dtype=float))
    return SearchSpace(bounds, constraint, steps=steps, categories=categories)


def staff():
    return space([0] * 3, [6] * 3, [1] * 3, LinearConstraint(np.ones(3), NO, 10))


def inventory():
    return space([0] * 4, [20] * 4, [1] * 4)


def spent_whole():
    return space([0] * 4, [20] * 4, [1] * 4, LinearConstraint(np.ones(4), 40, 40))


def tariffs():
    return space([0, 0, 0], [2, 1, 1], [1, 0, 0], LinearConstraint([0.0, 1, 1], NO, 1), [True, False, False])


def spent_mixed():
    """Whole and real entries that have to add up."""
    return space([0, 0, 0], [20, 10, 10], [1, 0, 0], LinearConstraint(np.ones(3), 17.3, 17.3))


@functools.cache  # dear to make, and never changed
def rare():
    """Of 50^6 points few meet the equation: found by linear programs and moves."""
    return space([0] * 6, [50] * 6, [1] * 6, LinearConstraint([2.0, 3, 5, 7, 2, 3], 101, 101))


def quarters():
    """Steps of a quarter, and a category among them."""
    return space([0.5, 0], [2.0, 3], [0.25, 1], categories=[False, True])


SPACES = [staff, inventory, spent_whole, tariffs, spent_mixed, rare, quarters]


def points_of(a_space):
    """All points of a space without real entries, by brute force."""
    axes = [
        low + step * np.arange(round((high - low) / step) + 1)
        for low, high, step in zip(a_space.lower, a_space.upper, a_space.steps, strict=True)
    ]
    grid = np.array(list(itertools.product(*axes)))
    for row, low, high in a_space.constraint_rows():
        grid = grid[(grid @ row >= low - 1e-9) & (grid @ row <= high + 1e-9)]
    return grid


def meets(a_space, x):
    """Whether policies keep every limit and lie on their steps, told by arithmetic alone."""
    k = (x - a_space.lower) / np.where(a_space.steps > 0, a_space.steps, np.inf)
    on = np.where(a_space.steps > 0, np.isclose(k, np.round(k), atol=1e-12), True).all(axis=1)
    on &= ((x >= a_space.lower) & (x <= a_space.upper)).all(axis=1)
    for row, low, high in a_space.constraint_rows():
        on &= (x @ row >= low - 1e-8) & (x @ row <= high + 1e-8)
    return on


@pytest.mark.parametrize("make", SPACES)
def test_what_is_drawn_designed_and_moved_to_is_feasible(make):
    a_space = make()
    assert isinstance(a_space, MixedSpace) and not a_space.finite
    drawn = a_space.sample(300, np.random.default_rng(0))
    design = a_space.sobol(20, 3)
    owner, near = a_space.neighbours(drawn[:40])
    for policies in (drawn, design, near):
        assert len(policies) and meets(a_space, policies).all() and a_space.contains(policies).all()
    assert (near != drawn[owner]).any(axis=1).all()
    np.testing.assert_array_equal(
        a_space.sobol(7, 3), design[:7]
    )  # a longer design begins with a shorter one
    np.testing.assert_array_equal(a_space.sample(300, np.random.default_rng(0)), drawn)
    assert not (design == a_space.sobol(20, 4)).all()


@pytest.mark.parametrize("make", [staff, quarters])
def test_a_small_space_is_a_list_of_all_its_policies(make):
    a_space = make()
    expected = points_of(a_space)
    assert len(expected) <= LISTED
    np.testing.assert_allclose(a_space.listed, expected, atol=1e-12)
    np.testing.assert_array_equal(a_space.rows_of(expected[::-1]), np.arange(len(expected))[::-1])
    assert len(np.unique(a_space.sobol(len(expected), 0), axis=0)) == len(expected)


def test_a_policy_that_is_none_has_no_row():
    with pytest.raises(ValueError, match=r"\[6.0, 6.0, 6.0\] is no policy of the space"):
        staff().rows_of(np.array([[6.0, 6, 6]]))


@pytest.mark.parametrize("make", [inventory, tariffs, spent_mixed, rare])
def test_a_large_or_real_space_is_no_list(make):
    assert make().listed is None


def test_draws_are_uniform_over_the_feasible_grid():
    # Ends of a range get their full share; a sum cuts the grid.
    small = space([0, 0], [4, 3], [1, 1], LinearConstraint([1.0, 1], NO, 5))
    cut = space([0, 0, 0], [4, 3, 1], [1, 1, 0], LinearConstraint([1.0, 1, 0], NO, 5))  # drawn by rejection
    assert small.listed is not None and cut.listed is None
    for one in (small, cut):
        drawn = one.sample(20000, np.random.default_rng(1))[:, :2]
        counts = np.unique(drawn, axis=0, return_counts=True)[1]
        assert len(counts) == len(points_of(small)) and chisquare(counts).pvalue > 1e-3


def test_a_whole_lever_without_constraints_draws_its_ends_as_often_as_the_rest():
    many = space([0] * 5, [20] * 5, [1] * 5)  # too many policies to be counted out
    counts = np.bincount(many.sample(21000, np.random.default_rng(0))[:, 0].astype(int))
    assert many.grid is None and len(counts) == 21 and chisquare(counts).pvalue > 1e-3


def test_every_other_category_is_one_move_away():
    _, near = tariffs().neighbours(np.array([[1.0, 0.3, 0.3]]))
    changed = near[near[:, 0] != 1]
    np.testing.assert_array_equal(changed[np.argsort(changed[:, 0])], [[0, 0.3, 0.3], [2, 0.3, 0.3]])
    three = space([0, 0], [4, 1], [1, 0], categories=[True, False])
    for category in range(5):
        _, near = three.neighbours(np.array([[category, 0.5]]))
        assert sorted(near[near[:, 0] != category][:, 0]) == [k for k in range(5) if k != category]


@pytest.mark.parametrize("make", [staff, inventory, spent_whole, quarters])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_policy_of_a_grid_is_found(make, seed):
    a_space = make()
    centre = np.random.default_rng(seed).random(a_space.d)

    def value(x):
        u = a_space.to_unit(x)
        return np.cos(5 * (u - centre)).sum(axis=1) - ((u - centre) ** 2).sum(axis=1)

    best = value(points_of(a_space)).max()
    policy, reached = a_space.maximise(value, rng=np.random.default_rng(seed))
    assert a_space.contains(policy[None])[0]
    assert reached == pytest.approx(best, abs=1e-12) and value(policy[None])[0] == reached


@pytest.mark.parametrize("given_gradient", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_real_entries_is_found_for_the_best_category(seed, given_gradient):
    a_space = tariffs()
    rng = np.random.default_rng(seed)
    heights, centres = rng.random(3), rng.random((3, 2)) * 0.6

    def value_and_gradient(x):
        at = centres[x[:, 0].astype(int)]
        gradient = np.zeros_like(x)
        gradient[:, 1:] = -2 * (x[:, 1:] - at)
        return heights[x[:, 0].astype(int)] - ((x[:, 1:] - at) ** 2).sum(axis=1), gradient

    def best_of(category):  # the projection on the budget is known
        excess = max(0.0, centres[category].sum() - 1)
        return heights[category] - 2 * (excess / 2) ** 2

    policy, reached = a_space.maximise(
        lambda x: value_and_gradient(x)[0],
        value_and_gradient if given_gradient else None,
        np.random.default_rng(seed),
    )
    assert reached == pytest.approx(max(map(best_of, range(3))), abs=2e-4)
    assert a_space.contains(policy[None])[0]


def test_real_entries_settle_what_whole_ones_leave_of_an_equation():
    a_space = spent_mixed()
    x, feasible = a_space.settle(np.array([[7.4, 5.0, 5.0], [0.0, 10.0, 10.0], [20.0, 0.0, 0.0]]))
    np.testing.assert_allclose(x[0], [7, 5.15, 5.15], atol=1e-12)  # 0.3 more, shared by their ranges
    np.testing.assert_allclose(x[1], [0, 8.65, 8.65], atol=1e-12)
    assert feasible.tolist() == [True, True, False]  # 20 is more than the sum may be


def test_categories_are_as_far_apart_whatever_their_order():
    a_space = space([0, 0], [3, 2], [1, 1], categories=[False, True])
    np.testing.assert_array_equal(
        a_space.features(np.array([[2.0, 0], [2, 1], [2, 2]])), [[2, 1, 0, 0], [2, 0, 1, 0], [2, 0, 0, 1]]
    )


@given(seed=st.integers(0, 10**6), d=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_point_off_the_grid_is_refused_and_snaps_to_the_nearest(seed, d):
    rng = np.random.default_rng(seed)
    a_space = space(rng.integers(-5, 1, d), rng.integers(1, 6, d), np.ones(d))
    x = a_space.lower + rng.random((1, d)) * (a_space.upper - a_space.lower)
    on = a_space.snap(x)
    assert a_space.contains(on)[0] and (np.abs(on - x) <= 0.5).all()
    np.testing.assert_array_equal(
        a_space.from_unit(a_space.to_unit(x)), a_space.snap(a_space.from_unit(a_space.to_unit(x)))
    )
    if not np.allclose(on, x):
        assert not a_space.contains(x)[0]
        with pytest.raises(ValueError, match="between its steps"):
            a_space.as_policies(x)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 0], [5, 5], [2, 2], LinearConstraint(np.ones(2), 3, 3)), "no policy meets the constraints"),
        (
            ([0] * 9, [50] * 9, [2] * 9, LinearConstraint(np.ones(9), 101, 101)),
            "no policy meets the constraints",
        ),
        (([0, 0], [2, 5], [1, 0], LinearConstraint(np.ones(2), 3, 3), [True, False]), "weighs a category"),
        (([0, 0], [np.inf, 5], [1, 0]), "finite bounds"),
        (([0, 3], [1, 2], [1, 0]), "entry 1: the lower bound 3 is above the upper bound 2"),
    ],
)
def test_impossible_spaces_are_refused_in_one_line(arguments, words):
    with pytest.raises(ValueError, match=words):
        space(*arguments)


def test_an_upper_bound_between_steps_is_lowered_to_the_last_one():
    assert space([0.0], [1.0], [0.3]).listed.ravel() == pytest.approx([0, 0.3, 0.6, 0.9])


def test_a_copy_is_of_the_same_kind():
    copied = pickle.loads(pickle.dumps(tariffs()))
    assert isinstance(copied, MixedSpace)
    np.testing.assert_array_equal(copied.sobol(5, 0), tariffs().sobol(5, 0))
