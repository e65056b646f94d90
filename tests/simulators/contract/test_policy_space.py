import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, minimize

from simulators import BoundedPolicySpace, FinitePolicySpace, PolicySpace

W = np.array([24.0, 33.0, 15.0, 4.0, 6.0])
LABELS = ("young", "adult", "middle", "senior", "elder")


def treatment():
    return PolicySpace(
        LABELS, ["1/day"] * 5, bounds=Bounds(0.12, 0.3), constraint=LinearConstraint(W, 14.4, 14.4)
    )


def vaccines():
    return PolicySpace(
        LABELS, ["share"] * 5, bounds=Bounds(0, 1), constraint=LinearConstraint(W / W.sum(), -np.inf, 0.47)
    )


def two_rows():
    A = np.array([[1.0, 1, 1, 0, 0], [0, 1, -2, 1, 1]])
    return PolicySpace(
        LABELS,
        ["u"] * 5,
        bounds=Bounds(-1, [1, 2, 1, 0.5, 3]),
        constraint=LinearConstraint(A, [0.5, -np.inf], [0.5, 1]),
    )


def finite(**options):
    return PolicySpace(["lon", "lat"], ["deg", "deg"], candidates=[[0, 0], [1, 0], [0, 1], [3, 4]], **options)


def test_a_policy_in_the_space_comes_back_as_a_float_copy():
    space, policy = vaccines(), [0, 0, 0, 1, 1]
    checked = space.check(policy)
    assert checked.dtype == float
    given_array = np.full(5, 0.2)
    assert space.check(given_array) is not given_array


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0.2] * 4, r"5 entries .*shape \(4,\)"),
        ([[0.2] * 5], r"5 entries"),
        ([0.2, 0.2, 1.5, 0, 0], r"'middle' is 1.5, outside its bounds 0..1"),
        ([-0.25, 0.2, 0, 0, 0], r"'young' is -0.25, outside its bounds 0..1"),
        ([0.2, np.nan, 0, 0, 0], r"'adult' is nan"),
        ([0.2, np.inf, 0, 0, 0], r"'adult' is inf"),
        ([1, 1, 1, 1, 1], r"\[young\].* = 1, outside the constraint's limits -inf..0.47"),
        ("many", "5 numbers"),
    ],
)
def test_a_policy_outside_is_refused_by_the_name_of_its_entry(policy, message):
    with pytest.raises(ValueError, match=message) as refusal:
        vaccines().check(policy)
    assert "\n" not in str(refusal.value)


def test_feasible_means_within_a_billionth_of_the_bound():
    space = PolicySpace(["x"], ["u"], bounds=Bounds(0, 1000))
    assert (
        space.contains([[1000 + 0.9e-6], [1000 + 1.1e-6], [-0.9e-9], [-1.1e-9]]).tolist() == [True, False] * 2
    )
    assert treatment().contains([np.full(5, 14.4 / 82), np.full(5, 14.4 / 82) + 1e-9]).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(bounds=Bounds([0, 0, 0.5, 0, 0], [1, 1, 0.4, 1, 1])), "'middle' are upside down"),
        (dict(bounds=Bounds(0, [1, 1])), "limits must be one number or 5"),
        (dict(bounds=Bounds(0, [1, 1, np.nan, 1, 1])), "'middle' must be finite"),
        (dict(bounds=Bounds(0, np.inf)), "'young' must be finite"),
        (dict(bounds=Bounds(0, 1), constraint=LinearConstraint(W, -np.inf, -1)), "infeasible constraint 1"),
        (
            dict(bounds=Bounds(0, 1), constraint=LinearConstraint(W, 83, np.inf)),
            r"lies in 0..82, never in 83",
        ),
        (dict(bounds=Bounds(0, 1), constraint=LinearConstraint(W[:4], 0, 1)), "5 coefficients"),
        (dict(bounds=Bounds(0, 1), constraint=LinearConstraint(W * np.nan, 0, 1)), "must be finite"),
        (dict(bounds=Bounds(0, 1), constraint=LinearConstraint(W, 2, 1)), "lower <= upper"),
        (
            dict(
                bounds=Bounds(0, 1),
                constraint=LinearConstraint(
                    [[1, 1, 0, 0, 0], [1, -1, 0, 0, 0], [0, 1, 0, 0, 0]], [1.5, 0.9, 0.5], 2
                ),
            ),
            "all of them at once",
        ),
        (dict(), "needs bounds, levers or candidates"),
        (dict(bounds=Bounds(0, 1), features=np.eye(5)), "no"),
        (dict(candidates=np.eye(4)), r"candidates must have shape \(n, 5\)"),
        (dict(candidates=np.full((1, 5), np.nan)), "row 0"),
        (dict(candidates=np.eye(5), features=np.eye(4)), "one row a candidate"),
        (dict(candidates=np.eye(5), bounds=Bounds(2, 3)), "no candidate lies within"),
    ],
)
def test_limits_that_no_policy_satisfies_are_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        PolicySpace(LABELS, ["u"] * 5, **options)
    assert "\n" not in str(refusal.value)


def test_labels_and_units_must_match():
    with pytest.raises(ValueError, match="2 expected, got 1"):
        PolicySpace(["a", "b"], ["u"], bounds=Bounds(0, 1))
    with pytest.raises(ValueError, match="differ"):
        PolicySpace(["a", "a"], ["u", "u"], bounds=Bounds(0, 1))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([treatment, vaccines, two_rows]), st.integers(0, 2**32 - 1), st.floats(-2, 4))
def test_projection_is_feasible_and_nearest(make_space, seed, magnitude):
    """The projection p of z onto a convex set has (z - p)'(y - p) <= 0 for every y of the set."""
    space, rng = make_space(), np.random.default_rng(seed)
    point = rng.standard_normal(5) * 10**magnitude
    nearest = space.project(point)
    assert space.contains(nearest[None])[0]
    others = np.array([space.project(rng.uniform(-1, 2, 5)) for _ in range(30)])
    obtuse = (others - nearest) @ (point - nearest)
    assert obtuse.max() <= 1e-8 * max(1.0, np.linalg.norm(point))


@pytest.mark.filterwarnings("ignore:Equality and inequality")
@pytest.mark.parametrize("make_space", [treatment, vaccines, two_rows])
def test_projection_agrees_with_a_general_optimizer(make_space):
    space, rng = make_space(), np.random.default_rng(3)
    for point in rng.uniform(-1, 2, (5, 5)):
        answer = minimize(
            lambda x, z=point: (0.5 * np.square(x - z).sum(), x - z),
            np.full(5, 0.2),
            jac=True,
            method="SLSQP",
            bounds=space.bounds,
            constraints=space.constraint,
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert space.project(point) == pytest.approx(answer.x, abs=2e-6)


@pytest.mark.parametrize("make_space", [treatment, vaccines, two_rows])
def test_a_feasible_policy_is_its_own_projection(make_space):
    space = make_space()
    inside = space.project(np.linspace(0, 1, 5))
    assert space.project(inside) == pytest.approx(inside, abs=1e-12)


def test_an_entry_fixed_by_equal_bounds_stays_fixed():
    space = PolicySpace(
        ["a", "b", "c"],
        ["u"] * 3,
        bounds=Bounds([0, 0.3, 0], [1, 0.3, 1]),
        constraint=LinearConstraint([1, 1, 1], 1, 1),
    )
    assert space.project([5, 5, 0.0]).tolist() == pytest.approx([0.7, 0.3, 0.0])


def test_only_finite_points_of_the_right_length_are_projected():
    with pytest.raises(ValueError, match="5 finite numbers"):
        vaccines().project([0.1, np.nan, 0, 0, 0])
    with pytest.raises(ValueError, match="5 finite numbers"):
        vaccines().project([0.1, 0])


def test_policies_of_a_finite_space_are_rows():
    space = finite()
    assert space.finite and space.size == 4 and space.d == 2
    assert space.check(np.int64(3)) == 3 and isinstance(space.check(np.int64(3)), int)
    assert space.resolve([3, 0]).tolist() == [[3, 4], [0, 0]]
    assert space.contains([0, 3, 4, -1]).tolist() == [True, True, False, False]
    assert space.project([2.9, 4.2]) == 3
    for wrong in (4, -1, 1.5, [0.0, 0.0], "1", None):
        with pytest.raises(ValueError, match="row"):
            space.check(wrong)
    with pytest.raises(ValueError, match="rows"):
        space.resolve([[0.0, 0.0]])
    with pytest.raises(ValueError, match="0..3"):
        space.resolve([4])


def test_kernels_see_the_features_where_there_are_any():
    features = np.arange(12.0).reshape(4, 3)
    assert np.array_equal(finite(features=features).embed([2, 1]), features[[2, 1]])
    assert finite().embed([2, 1]).tolist() == [[0, 1], [1, 0]]
    assert vaccines().embed([[0.1] * 5]).tolist() == [[0.1] * 5]


def test_candidates_outside_the_limits_are_infeasible():
    space = finite(bounds=Bounds(0, 2), constraint=LinearConstraint([1, -1], -np.inf, 0))
    assert space.contains(np.arange(4)).tolist() == [True, False, True, False]
    assert space.project([3, 4]) == 2
    with pytest.raises(ValueError, match="outside the constraint"):
        space.check(1)


@pytest.mark.parametrize("again", [lambda space: pickle.loads(pickle.dumps(space)), copy.deepcopy])
def test_a_space_survives_pickling_and_copying(again):
    space = again(treatment())
    assert type(space) is BoundedPolicySpace
    assert space.check(np.full(5, 14.4 / 82)) == pytest.approx(14.4 / 82)
    space = again(finite(features=np.eye(4)))
    assert type(space) is FinitePolicySpace
    assert space.embed([2]).tolist() == [[0, 0, 1, 0]]


def test_a_space_is_of_the_kind_that_its_arguments_ask_for():
    bounded, rows = (
        PolicySpace(["x"], [""], bounds=Bounds(0, 1), candidates=None),
        finite(bounds=Bounds(0, 9)),
    )
    assert isinstance(bounded, BoundedPolicySpace) and not bounded.finite
    assert bounded.candidates is None and bounded.size is None
    assert isinstance(rows, FinitePolicySpace) and rows.bounds is not None
    assert type(BoundedPolicySpace(["x"], [""], bounds=Bounds(0, 1))) is BoundedPolicySpace
    with pytest.raises(ValueError, match="needs bounds, levers or candidates"):
        BoundedPolicySpace(["x"], [""])
    with pytest.raises(ValueError, match="belong to a finite policy space"):
        BoundedPolicySpace(["x"], [""], candidates=[[1]])


def test_a_space_with_features_of_its_own_derives_from_one_of_the_two_kinds():
    class Neither(PolicySpace):
        pass

    class Squared(BoundedPolicySpace):
        def embed(self, policies):
            return np.square(self.resolve(policies))

    assert Squared(["x"], [""], bounds=Bounds(0, 2)).embed([[2.0]]).tolist() == [[4.0]]
    with pytest.raises(TypeError, match="derives from BoundedPolicySpace or FinitePolicySpace"):
        Neither(["x"], [""], bounds=Bounds(0, 1))


def test_a_policy_travels_as_an_array_or_as_a_row():
    form = vaccines().same_form([0, 1, 0, 0, 2])
    assert form.dtype == float and form.tolist() == [0, 1, 0, 0, 2]
    for row in (np.int64(3), np.array(3), 3.0, 3):
        assert finite().same_form(row) == 3 and type(finite().same_form(row)) is int
