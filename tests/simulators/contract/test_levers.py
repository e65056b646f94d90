"""Levers, and policy spaces of them, against lists of all their policies."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog

from simulators import OneOf, PolicySpace, Real, Whole
from simulators.contract.levers import as_lever
from simulators.contract.probes import feasible, infeasible


def space(*levers, rows=None, least=-np.inf, most=np.inf):
    constraint = None if rows is None else LinearConstraint(rows, least, most)
    labels = [f"x{j}" for j in range(len(levers))]
    return PolicySpace(labels, [""] * len(levers), levers=levers, constraint=constraint)


def grid(levers):
    """All policies, where no lever is a real number."""
    sides = [np.arange(lever.low, lever.high + 1, lever.step) for lever in levers]
    return np.array(list(itertools.product(*sides)), dtype=float)


MIXED = (Real(0, 1), Whole(2, 8, 3), OneOf(("low", "mid", "high")))


@pytest.mark.parametrize(
    ("given_as", "lever"),
    [
        ((0, 1), Real(0, 1)),
        ([0.5, 0.5], Real(0.5, 0.5)),
        (np.array([0, 1]), Real(0, 1)),
        ({"whole": [0, 5]}, Whole(0, 5)),
        ({"whole": (0, 6.0), "step": 2}, Whole(0, 6, 2)),
        ({"one_of": ["a", "b"]}, OneOf(("a", "b"))),
        (Whole(1, 2), Whole(1, 2)),
    ],
)
def test_a_lever_is_spelled_as_a_pair_or_by_its_kind(given_as, lever):
    assert as_lever("n", given_as) == lever


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        (3, r"'n' is 3; accepted: \[low, high\], { whole = \[low, high\], step = 1 } or { one_of"),
        ("ab", "'n' is 'ab'; accepted"),
        ([0, 1, 2], "accepted"),
        ([0, [1, 2]], "accepted"),
        ({}, "accepted"),
        ({"whole": [0, 5], "one_of": ["a"]}, "accepted"),
        ({"step": 2}, "accepted"),
        ([0, "x"], "high='x' must be a finite number"),
        ([0, np.nan], "high=.*nan.* must be a finite number"),
        ({"whole": 5}, r"whole=5 must be a pair"),
        ({"whole": [0.2, 0.4]}, "low=0.2 must be a whole number"),
        ({"whole": [0, 5], "step": 0.5}, "step=0.5 must be a whole number"),
        ({"whole": [0, 5], "step": 0}, "step=0 must be 1 or more"),
        ({"whole": [0, 5], "step": 2}, r"step=2 must be 1 or more and divide the range 0..5"),
        ({"whole": [0, 5], "step": None}, "step=None must be"),
        ({"one_of": []}, r"one_of=\[\] must be a list of names"),
        ({"one_of": "ab"}, "one_of='ab' must be a list of names"),
        ({"one_of": ["a", "a"]}, "must be different names"),
        ({"one_of": ["a", 1]}, "each a text"),
    ],
)
def test_what_is_no_lever_is_refused_in_one_line_that_names_it(given_as, message):
    with pytest.raises(ValueError, match=message) as refusal:
        as_lever("n", given_as)
    assert str(refusal.value).startswith("policy: 'n'") and "\n" not in str(refusal.value)


def test_a_policy_is_checked_by_the_kind_of_each_entry():
    mixed = space(*MIXED)
    assert mixed.steps.tolist() == [0, 3, 1]
    assert mixed.check([0.5, 5, "high"]).tolist() == [0.5, 5, 2]
    assert mixed.check(np.array([0.5, 5 + 1e-10, 2])).tolist() == [0.5, 5, 2]
    assert mixed.named([0.5, 5, 2]) == {"x0": 0.5, "x1": 5, "x2": "high"}
    assert [type(x) for x in mixed.named([0, 5, 2]).values()] == [float, int, str]
    assert pickle.loads(pickle.dumps(mixed)).levers == MIXED


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 6, 0], "'x1' is 6; accepted: whole numbers 2..8 in steps of 3"),
        ([0, 2.5, 0], "'x1' is 2.5; accepted: whole numbers 2..8 in steps of 3"),
        ([0, 11, 0], "'x1' is 11, outside its bounds 2..8"),
        ([0, 5, 1.5], "'x2' is 1.5; accepted: one of low, mid, high"),
        ([0, 5, 3], "'x2' is 3, outside its bounds 0..2"),
        ([0, 5, "hih"], "'x2': unknown category 'hih'; did you mean 'high'.*accepted: low, mid, high"),
        ([0, "high", 0], "a policy must be 3 numbers"),
        ([0, 5], "a policy must have 3 entries"),
        ("low", "a policy must "),
        (None, "a policy must "),
    ],
)
def test_a_policy_off_its_levers_is_refused_in_one_line(policy, message):
    with pytest.raises(ValueError, match=message) as refusal:
        space(*MIXED).check(policy)
    assert "\n" not in str(refusal.value)


def test_levers_have_limits_of_their_own():
    for options in ({"bounds": Bounds(0, 1)}, {"candidates": [[0.0]]}):
        with pytest.raises(ValueError, match="neither bounds nor candidates"):
            PolicySpace(["x"], [""], levers=[Real(0, 1)], **options)
    with pytest.raises(ValueError, match="levers must be one a label: 2 expected, got 1"):
        PolicySpace(["x", "y"], ["", ""], levers=[Real(0, 1)])
    with pytest.raises(ValueError, match="bounds of 'x0' are upside down"):
        space(Whole(5, 0))
    with pytest.raises(ValueError, match="constraint 1 weighs 'x1' by 2, but categories have no size"):
        space(Real(0, 1), OneOf(("a", "b")), rows=[[1, 2]], most=1)


def test_no_whole_number_between_two_limits_is_found_at_once():
    with pytest.raises(ValueError, match="no policy of whole numbers within the bounds satisfies all"):
        space(Whole(0, 9, 3), Whole(0, 9, 3), rows=[[1, 1]], least=4, most=5)
    with pytest.raises(ValueError, match="no policy of whole numbers"):
        space(Whole(0, 8, 2), Whole(0, 8, 2), rows=[[1, 1]], least=7, most=7)
    assert space(Whole(0, 8, 2), Real(0, 1), rows=[[1, 1]], least=7, most=7).project([0, 0]).tolist() == [
        6,
        1,
    ]


def test_the_projection_finds_a_policy_where_a_presolver_fails():
    one = space(Whole(0, 3), Real(0, 1), Whole(0, 1), rows=[[2, 1, 1]], least=4, most=5)
    for point in np.random.default_rng(0).uniform([0, 0, 0], [3, 1, 1], (60, 3)):
        assert one.contains([one.project(point)])[0]


def test_many_whole_numbers_under_two_budgets_are_projected():
    rng = np.random.default_rng(0)
    many = space(*[Whole(0, 50)] * 40, rows=rng.uniform(0.5, 2, (2, 40)), most=400)
    assert many.contains([many.project(rng.uniform(0, 50, 40))])[0]


def test_an_equation_that_rounding_makes_impossible_is_met():
    at = [0, np.nextafter(0.9, 0)]
    levers = Real(0, 1), OneOf(("a",)), Whole(0, 9, 3), Whole(0, 0)
    one = space(*levers, rows=[[0, 0, 0, 0], [0.5, 0, 0.3, 0]], least=at, most=at)
    assert one.contains(feasible(one, 8)).all()


LEVERS = st.one_of(
    st.builds(
        lambda low, n, step: Whole(low, low + n * step, step),
        st.integers(-4, 4),
        st.integers(0, 4),
        st.integers(1, 3),
    ),
    st.builds(lambda n: OneOf(tuple("abcd"[:n])), st.integers(1, 4)),
)
REAL = st.builds(lambda low, width: Real(low, low + width), st.integers(-3, 3), st.integers(0, 4))


@st.composite
def spaces(draw, levers=LEVERS):
    """A space with up to two rows that at least one of its policies satisfies."""
    made = draw(st.lists(levers, min_size=1, max_size=4))
    m = draw(st.integers(0, 2))
    if not m:
        return space(*made)
    weight = st.sampled_from([0.0, 1.0, 1.0, 2.0, -1.0, 0.5, 0.3, 1 / 3])
    rows = [[0.0 if isinstance(lever, OneOf) else draw(weight) for lever in made] for _ in range(m)]
    inside = np.array([draw(st.integers(0, 4)) / 4 * (lever.high - lever.low) + lever.low for lever in made])
    at = np.array(rows) @ space(*made).project(inside)
    equal = draw(st.booleans())
    least = at if equal else at - draw(st.sampled_from([0.0, 0.25, 1.0, np.inf]))
    most = at if equal else at + draw(st.sampled_from([0.0, 0.25, 1.0]))
    return space(*made, rows=rows, least=least, most=most)


def distance(one, x, point):
    """The sum of the entries' distances, each relative to its range."""
    width = one.bounds.ub - one.bounds.lb
    return (np.abs(x - point) / np.where(width > 0, width, 1.0)).sum(axis=-1)


@settings(max_examples=25, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_feasible_are_the_listed_policies_and_no_others(one, seed):
    listed = grid(one.levers)
    if one.constraint is not None:
        values = listed @ one.constraint.A.T
        keep = ((values >= one.constraint.lb - 1e-9) & (values <= one.constraint.ub + 1e-9)).all(axis=1)
    else:
        keep = np.ones(len(listed), dtype=bool)
    assert np.array_equal(one.contains(listed), keep)
    rng = np.random.default_rng(seed)
    shifted = listed + rng.uniform(0.01, 0.99, (len(listed), 1)) * (np.arange(one.d) == rng.integers(one.d))
    assert not one.contains(shifted).any()


@settings(max_examples=30, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_the_projection_is_the_nearest_of_the_listed_policies(one, seed):
    point = np.random.default_rng(seed).uniform(-6, 10, one.d)
    listed = grid(one.levers)
    listed = listed[one.contains(listed)]
    x = one.project(point)
    assert one.contains([x])[0]
    assert distance(one, x, point) <= 1.01 * distance(one, listed, point).min() + 1e-6


@settings(max_examples=20, deadline=None)
@given(spaces(st.one_of(LEVERS, REAL)), st.integers(0, 2**32 - 1))
def test_the_projection_of_a_mixed_space_is_feasible_and_its_whole_entries_are_nearest(one, seed):
    """Beside it, a linear program for every choice of the whole entries."""
    assume(one.steps.any() and not one.steps.all())
    point = np.random.default_rng(seed).uniform(-6, 10, one.d)
    x, whole = one.project(point), one.steps > 0
    assert one.contains([x])[0]
    assert one.project(x) == pytest.approx(x, abs=1e-9)
    if np.array_equal(x[whole], np.clip(one._limits.snap(point), one.bounds.lb, one.bounds.ub)[whole]):
        return  # the nearest of all, whatever the others are
    width = np.where(one.bounds.ub > one.bounds.lb, one.bounds.ub - one.bounds.lb, 1.0)
    best = np.inf
    for choice in grid([lever for lever in one.levers if not isinstance(lever, Real)]):
        low, high = one.bounds.lb.copy(), one.bounds.ub.copy()
        low[whole] = high[whole] = choice
        best = min(best, least_distance(one, point, width, low, high))
    found = least_distance(
        one, point, width, np.where(whole, x, one.bounds.lb), np.where(whole, x, one.bounds.ub)
    )
    assert found <= 1.01 * best + 1e-6


def least_distance(one, point, width, low, high):
    """The least sum of relative distances within a box and the rows, inf where there is no policy."""
    d, rows = one.d, []
    if one.constraint is not None:
        A, lb, ub = one.constraint.A, one.constraint.lb, one.constraint.ub
        rows = [(A, ub + 1e-9), (-A, 1e-9 - lb)]
    eye = np.eye(d)
    A_ub = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye])])
    b_ub = np.concatenate([point, -point])
    for A, limit in rows:
        keep = np.isfinite(limit)
        A_ub = np.vstack([A_ub, np.hstack([A[keep], np.zeros((keep.sum(), d))])])
        b_ub = np.concatenate([b_ub, limit[keep]])
    bounds = [*zip(low, high, strict=True), *[(0, None)] * d]
    answer = linprog(np.concatenate([np.zeros(d), 1 / width]), A_ub, b_ub, bounds=bounds)
    return answer.fun if answer.status == 0 else np.inf


@settings(max_examples=40, deadline=None)
@given(spaces(st.one_of(LEVERS, REAL)))
def test_probes_are_what_they_say(one):
    assert all(one.contains([policy])[0] for policy in feasible(one, 8))
    for policy, why in infeasible(one):
        with pytest.raises(ValueError):
            one.check(policy)
            pytest.fail(why)


def test_every_category_and_step_is_probed():
    seen = np.array(feasible(space(*MIXED), 9))
    assert set(seen[:, 1]) == {2, 5, 8} and set(seen[:, 2]) == {0, 1, 2}
