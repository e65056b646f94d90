"""What is asked for is what is tried: nothing is rounded, and budgets hold for what the model gets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulators
from bridges import FunctionEnvironment
from simulators import OneOf, PolicySpace, Real, Whole, check_environment

AGES = ["children", "teens", "adults"]
WHOLE = {"whole": (0, 5)}


def made(policy, seen=None, **options):
    def f(x):
        if seen is not None:
            seen.append(list(x))
        return [0.0] * len(AGES)

    return FunctionEnvironment(f, policy, AGES, **options)


def test_a_budget_between_two_whole_numbers_is_never_passed():
    seen = []
    env = made({"a": WHOLE, "b": WHOLE, "c": WHOLE}, seen, budget=10.5)
    for policy in itertools.product(range(6), repeat=3):
        if sum(policy) <= 10:
            env.step(policy)
        else:
            with pytest.raises(ValueError, match="outside the constraint's limits"):
                env.step(policy)
    assert max(map(sum, seen)) == 10
    with pytest.raises(ValueError, match="'a' is 3.68; accepted: whole numbers 0..5"):
        env.step([3.68, 2.07, 4.75])


def test_thirds_of_a_budget_are_no_policy_of_whole_numbers():
    env = made({"a": WHOLE, "b": WHOLE, "c": WHOLE}, budget=5)
    with pytest.raises(ValueError, match="'a' is 1.6"):
        env.step([1.6, 1.6, 1.6])
    assert env.policy_space.project([1.6, 1.6, 1.6]).sum() == 5


def test_limits_that_are_not_whole_are_refused():
    with pytest.raises(ValueError, match="policy: 'n': low=0.2 must be a whole number"):
        made({"n": {"whole": (0.2, 0.4)}})


@pytest.mark.parametrize(
    ("whole", "now"),
    [
        (["n"], "policy = { n = { whole = [0, 5] } }"),
        (["n", "open hours"], 'policy = { n = { whole = [0, 5] }, "open hours" = { whole = [1, 20] } }'),
        ("n", "policy = { n = { whole = [0, 5] } }"),
        ([], "policy = { n = { whole = [0, 5] } }"),
    ],
)
@pytest.mark.parametrize(
    ("name", "needed"), [("function", {"f": "math:fsum"}), ("command", {"command": ["true"]})]
)
def test_the_former_option_says_how_it_is_written_now(name, needed, whole, now):
    policy = {"n": [0, 5], "open hours": [1, 20]}
    with pytest.raises(ValueError) as told:
        simulators.make(name, policy=policy, groups=["a"], whole=whole, **needed)
    assert str(told.value) == f"whole={whole!r} is no option; now it is written {now}"


def test_the_three_kinds_are_spelled_in_tables_and_in_python_alike():
    tables = made({"x": [0, 1], "n": {"whole": [0, 6], "step": 2}, "c": {"one_of": ["low", "high"]}})
    python = made({"x": Real(0, 1), "n": Whole(0, 6, 2), "c": OneOf(("low", "high"))})
    assert tables.policy_space.levers == python.policy_space.levers
    asked = tables.step([0.5, 4, "high"]).info["policy"]
    assert asked == {"x": 0.5, "n": 4, "c": "high"} and type(asked["n"]) is int
    assert tables.step([0.5, 4, 1]).info["policy"] == asked


def test_an_environment_of_all_kinds_keeps_the_contract():
    policy = {
        "n": {"whole": (1, 9), "step": 2},
        "c[*]": {"one_of": ["low", "high"]},
        "x[teens, adults]": (0, 1),
    }
    for options in ({}, {"budget": 7.5}):
        env = FunctionEnvironment(steady, policy, AGES, expected=steady, **options)
        assert check_environment(env) == []


def steady(x):
    n, *rest = x
    return [n, float(rest.count("high")), sum(entry for entry in rest if isinstance(entry, float))]


def test_a_star_is_one_lever_a_group():
    seen = []
    env = made({"open": WHOLE, "coverage[*]": (0, 1)}, seen, budget=3)
    assert env.policy_space.labels == ("open", *(f"coverage[{age}]" for age in AGES))
    asked = env.step([1, 0.1, 0.2, 0.3]).info["policy"]
    assert asked == {"open": 1, "coverage[children]": 0.1, "coverage[teens]": 0.2, "coverage[adults]": 0.3}
    assert seen == [[1, 0.1, 0.2, 0.3]]


def test_groups_named_together_have_one_lever_and_the_model_sees_no_difference():
    seen = []
    env = made({"coverage[adults, teens]": (0, 1), "dose": WHOLE, "coverage[*]": (0, 0.5)}, seen)
    assert env.policy_space.labels == ("coverage[adults, teens]", "dose", "coverage[children]")
    asked = env.step([0.7, 2, 0.1]).info["policy"]
    assert asked == {"coverage[children]": 0.1, "coverage[teens]": 0.7, "coverage[adults]": 0.7, "dose": 2}
    assert seen == [[0.1, 0.7, 0.7, 2]]
    made({"coverage[*]": (0, 1), "dose": WHOLE}, seen).step([0.1, 0.7, 0.7, 2])
    assert seen[1] == seen[0]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_however_groups_are_tied_the_budget_is_one_of_what_the_model_gets(data):
    ties = data.draw(st.lists(st.sampled_from(AGES), unique=True, min_size=1, max_size=3))
    kinds = {"whole": {"whole": (0, 3)}, "real": (0, 3), "category": {"one_of": ["no", "yes"]}}
    policy = {"n": WHOLE, f"a[{', '.join(ties)}]": kinds[data.draw(st.sampled_from(sorted(kinds)))]}
    if len(ties) < len(AGES):
        policy["a[*]"] = kinds[data.draw(st.sampled_from(sorted(kinds)))]
    budget = data.draw(st.floats(0, 15))
    env = made(policy, budget=budget)
    point = np.random.default_rng(data.draw(st.integers(0, 99))).uniform(0, 5, env.policy_space.d)
    free = made(policy)
    x = free.policy_space.project(point)
    spent = sum(value for value in free.levers.entries(x).values() if not isinstance(value, str))
    assert env.policy_space.contains([x])[0] == (spent <= budget + 1e-9 * max(1, budget))


def test_a_group_whose_name_has_a_comma_can_be_named_alone():
    env = FunctionEnvironment(lambda x: [0, 0], {"a[50-64, urban]": (0, 1)}, ["50-64, urban", "other"])
    assert env.step([0.5]).info["policy"] == {"a[50-64, urban]": 0.5}


def test_labels_of_a_space_are_taken_as_they_are():
    space = PolicySpace(["heat [K]"], ["K"], levers=[Whole(270, 300)])
    assert made(space).step([280]).info["policy"] == {"heat [K]": 280}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"a[childen]": (0, 1)}, "'a.childen.': unknown group 'childen'; did you mean 'children'"),
        ({"a[]": (0, 1)}, "unknown group ''.*accepted: children, teens, adults, .*"),
        ({"a[teens, teens]": (0, 1)}, "sets 'a' of 'teens', which has been set before"),
        ({"a[teens]": (0, 1), "a[adults,teens]": (0, 1)}, "sets 'a' of 'teens', which has been set before"),
        ({"a[children,teens,adults]": (0, 1), "a[*]": (0, 1)}, "'a.*' stands for no group"),
        ({"a[*]": (0, 1), "a [*]": (0, 1)}, "is there twice"),
        ({3: (0, 1)}, "the label 3 must be a text"),
        ({"a": {"whole": [0, 5], "steps": 2}}, r"'a' is .*; accepted: \[low, high\], { whole = "),
        ({"a": [1, [2, 3]]}, r"'a' is \[1, \[2, 3\]\]; accepted"),
        ({"a": {"one_of": "ab"}}, "one_of='ab' must be a list of names"),
        (
            {"a[*]": {"whole": [0, 5], "step": 2}},
            "'a...': step=2 must be 1 or more and divide the range 0..5",
        ),
    ],
)
def test_an_impossible_lever_is_refused_in_one_line(policy, message):
    with pytest.raises(ValueError, match=message) as refusal:
        made(policy)
    assert "\n" not in str(refusal.value)


def test_a_budget_needs_something_that_has_a_size():
    with pytest.raises(ValueError, match="budget=2: all levers are categories, which have no size"):
        made({"a": {"one_of": ["x", "y"]}}, budget=2)
    env = made({"a": {"one_of": ["x", "y"]}, "n": WHOLE}, budget=2)
    env.step(["y", 2])
    with pytest.raises(ValueError, match="outside the constraint"):
        env.step(["x", 3])
