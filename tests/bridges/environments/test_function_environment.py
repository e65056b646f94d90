import random

import numpy as np
import pytest
from scipy.optimize import Bounds

from bridges import FunctionEnvironment, find_optimum
from simulators import PolicySpace, SimulationError, check_environment

POLICY = {"north": (1, 20), "south": (1, 20)}


def waiting(nurses, rng):
    return {"south": 90 / nurses[1] + rng.normal(), "north": 40 / nurses[0]}


def test_a_function_keeps_the_contract():
    def product(outcomes, policies):
        return outcomes[..., 0] * outcomes[..., 1] + policies[..., 0]

    for options in ({}, {"weights": [2, 3]}, {"compose": product}, {"budget": 25}):
        env = FunctionEnvironment(waiting, POLICY, ["north", "south"], **options)
        findings = [one for one in check_environment(env) if "pickled" not in one]
        assert findings == []


def test_a_function_of_a_module_can_be_pickled():
    env = FunctionEnvironment("math:fsum", {"a": (0, 1)}, ["sum"])
    assert not [one for one in check_environment(env) if "pickled" in one]


def test_groups_are_found_by_their_names():
    env = FunctionEnvironment(waiting, POLICY, ["north", "south"])
    env.reset(1)
    assert env.step([8, 9]).values[0] == 5.0


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: [np.random.normal()],  # noqa: NPY002
        lambda x: [random.random()],
        lambda x, seed: [seed],
        lambda x, rng: [rng.normal()],
    ],
)
def test_equal_seeds_give_equal_outcomes_and_nothing_else_is_touched(draw):
    env = FunctionEnvironment(draw, {"a": (0, 1)}, ["one"])

    def step(seed):
        env.reset(seed)
        return env.step([0.5]).values[0], env.step([0.5]).values[0]

    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    first = step(1)
    assert step(1) == first != step(2)
    assert first[0] != first[1]
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_the_best_policy_of_a_function_without_noise_is_found():
    def f(x):
        return [(x[0] - 0.2) ** 2, 2 * (x[1] - 0.6) ** 2]

    env = FunctionEnvironment(f, {"a": (0, 1), "b": (0, 1)}, ["a", "b"], expected=f)
    assert find_optimum(env).value == pytest.approx(0.0, abs=1e-8)


def test_a_function_gets_an_array_of_real_numbers_or_a_list_of_entries():
    asked = []

    def f(x):
        asked.append(x)
        return [1]

    FunctionEnvironment(f, POLICY, ["one"]).step([2.5, 2.6])
    FunctionEnvironment(f, {"n": {"whole": (0, 5)}, "x": (0, 1)}, ["one"]).step([2, 1])
    assert isinstance(asked[0], np.ndarray) and asked[0].tolist() == [2.5, 2.6]
    assert asked[1] == [2, 1.0] and [type(x) for x in asked[1]] == [int, float]


def test_expected_gets_what_the_function_gets():
    def f(x):
        nurses, tariff = x
        return [nurses * {"low": 1, "high": 10}[tariff]]

    policy = {"nurses": {"whole": (0, 9)}, "tariff": {"one_of": ["low", "high"]}}
    env = FunctionEnvironment(f, policy, ["one"], expected=f)
    assert env.expected([[3, 0], [4, 1]]).tolist() == [[3.0], [40.0]]
    assert env.step([4, "high"]).values.tolist() == [40.0]
    for off, message in (
        ([2.5, 0], "'nurses' is 2.5; accepted: whole"),
        ([2, 2], "'tariff' is 2; accepted: one of low"),
    ):
        with pytest.raises(ValueError, match=message):
            env.expected([off])


def test_candidates_are_given_by_their_entries():
    space = PolicySpace(["a", "b"], ["", ""], candidates=[[1, 2], [3, 4]])
    env = FunctionEnvironment(sum_and_difference, space, ["sum", "difference"], expected=sum_and_difference)
    assert env.step(1).values.tolist() == [7.0, -1.0]
    assert env.expected([1, 0]).tolist() == [[7.0, -1.0], [3.0, -1.0]]
    assert check_environment(env) == []


def sum_and_difference(x):
    return np.array([x[0] + x[1], x[0] - x[1]])


def test_the_objective_is_the_weighted_sum():
    env = FunctionEnvironment(waiting, POLICY, ["north", "south"], weights=[2, 3])
    assert env.compose([1, 10], [5, 5]) == 32


def missing_model(x):
    raise FileNotFoundError("model.bin\nis not there")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (missing_model, "the model raised FileNotFoundError: model.bin is not there;"),
        (lambda x: [1.0], "answered 1 values for the 2 groups north, south"),
        (lambda x: {"north": 1.0}, "no group south; it must name north, south"),
        (lambda x: {"north": 1.0, "sud": 2.0}, "no group south and unknown groups sud;"),
        (lambda x: {"north": 1.0, "south": 2.0, "east": 3.0}, "answer has unknown groups east;"),
        (lambda x: {"north": "7", "south": 1.0}, "outcome of north is '7', not a number"),
        (lambda x: [True, 1.0], "outcome of north is True, not a number"),
        (lambda x: [1.0, float("inf")], "outcome of south is infinite"),
        (lambda x: [1.0, [2.0, 3.0]], r"outcome of south is \[2.0, 3.0\], not a number"),
        (lambda x: 3.0, "answered 3.0; it must be one number a group"),
        (lambda x: None, "answered None; it must be one number a group"),
        (lambda x: "12", "answered '12'; it must be one number a group"),
    ],
)
def test_a_bad_answer_is_told_in_one_line_with_policy_and_seed(f, message):
    env = FunctionEnvironment(f, POLICY, ["north", "south"])
    env.reset(3)
    with pytest.raises(SimulationError, match=message) as failure:
        env.step([2, 3])
    assert "\n" not in str(failure.value)
    assert failure.value.policy.tolist() == [2, 3]
    assert f"north=2, south=3 and seed {failure.value.seed}" in str(failure.value)


def test_a_missing_group_is_nan():
    env = FunctionEnvironment(lambda x: {"north": None, "south": np.float32(2)}, POLICY, ["north", "south"])
    assert np.array_equal(env.step([2, 3]).values, [np.nan, 2.0], equal_nan=True)


def test_a_policy_outside_the_limits_never_reaches_the_function():
    env = FunctionEnvironment(missing_model, POLICY, ["one"], budget=25)
    with pytest.raises(ValueError, match="'north' is 21, outside its bounds 1..20"):
        env.step([21, 2])
    with pytest.raises(ValueError, match="outside the constraint's limits"):
        env.step([20, 6])


SPACE = PolicySpace(["a"], [""], bounds=Bounds(0, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"f": 3}, "f=3 must be a function"),
        ({"f": "clinics"}, "'clinics' must read package.module:Class or file.py:Class"),
        ({"policy": {}}, "policy={} must be a table"),
        ({"policy": ["a"]}, "policy=.* must be a table"),
        ({"policy": {"a": 3}}, "policy: 'a' is 3; accepted: .low, high., "),
        ({"policy": {"a": (0, "x")}}, "policy: 'a': high='x' must be a finite number"),
        ({"policy": {"a": (1, 0)}}, "upside down"),
        ({"policy": SPACE, "budget": 1}, "budget: a PolicySpace has a constraint of its own"),
        ({"groups": "north"}, "groups='north' must be a list of names"),
        ({"groups": ["n", "n"]}, "must differ"),
        ({"group_units": ["h", "h"]}, "group_units=.* must be one unit, or 1"),
        ({"sense": "smallest"}, "sense='smallest' must be one of"),
        ({"weights": [1, 2]}, "weights must be one number, or 1"),
        ({"weights": [1], "compose": sum}, "exclude each other"),
        ({"noise_variance": -1}, "noise_variance of group 'one' is -1"),
        ({"whole": ["a"]}, r"whole=.'a'. is no option; .* policy = \{ a = \{ whole = \[0, 1\] \} \}"),
        ({"budget": -1}, "infeasible constraint"),
    ],
)
def test_an_impossible_declaration_is_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as refusal:
        FunctionEnvironment(**{"f": waiting, "policy": {"a": (0, 1)}, "groups": ["one"], **changes})
    assert "\n" not in str(refusal.value)
