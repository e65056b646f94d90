"""Actions of Gymnasium's spaces as policies, judged by the spaces' own `contains`."""

import numpy as np
import pytest

from bridges.environments.gymnasium_environment import GymnasiumEnvironment
from simulators import OneOf, PolicySpace, Real, SimulationError, Whole, check_environment

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple  # noqa: E402


class Still(gymnasium.Env):
    """Ends at once, and does nothing with its action."""

    observation_space = Discrete(1)

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, True, False, {}


def still(space, seen=None, **options):
    """An environment around `Still`; its actions come into `seen`."""

    def first(episode):
        if seen is not None:
            seen.append(episode.actions[0])
        return [0.0]

    return GymnasiumEnvironment(lambda: Still(space), first, groups=["one"], **options)


def action_of(space, tried, **options):
    seen = []
    still(space, seen, **options).step(tried)
    assert space.contains(seen[0])
    return seen[0]


CART = Dict(
    {
        "gear": Discrete(3, start=-1),
        "arm": Box(np.array([0, -1], np.float32), np.array([0.5, 1], np.float32)),
        "lamps": MultiBinary(2),
    }
)


@pytest.mark.parametrize(
    ("space", "levers", "policy", "action"),
    [
        (Discrete(4, start=2), {"action": Whole(2, 5)}, [5], 5),
        (MultiDiscrete([3, 4]), {"action.0": Whole(0, 2), "action.1": Whole(0, 3)}, [2, 1], [2, 1]),
        (
            MultiDiscrete([2, 2], start=[1, -1]),
            {"action.0": Whole(1, 2), "action.1": Whole(-1, 0)},
            [2, -1],
            [2, -1],
        ),
        (MultiBinary(2), {"action.0": Whole(0, 1), "action.1": Whole(0, 1)}, [0, 1], [0, 1]),
        (
            Box(-1, 2, (2, 1)),
            {"action.0.0": Real(-1, 2), "action.1.0": Real(-1, 2)},
            [0.5, 1.75],
            [[0.5], [1.75]],
        ),
        (Box(-3, 3, (), dtype=np.int64), {"action": Whole(-3, 3)}, [-2], -2),
        (
            Tuple([Discrete(2), Tuple([Box(0, 1, ())])]),
            {"0": Whole(0, 1), "1.0": Real(0, 1)},
            [1, 0.25],
            (1, (0.25,)),
        ),
    ],
)
def test_the_levers_of_an_action_are_read_off_its_space(space, levers, policy, action):
    environment = still(space)
    assert dict(zip(environment.policy_space.labels, environment.policy_space.levers, strict=True)) == levers
    made = action_of(space, policy)
    if isinstance(action, tuple):
        assert made == action
    else:
        assert np.array_equal(made, action)


def test_the_numbers_of_a_dict_are_given_by_name_in_any_order():
    policy = {
        "lamps.1": {"whole": (0, 1)},
        "lamps.0": {"whole": (0, 1)},
        "gear": {"one_of": ["back", "none", "ahead"]},
        "arm.0": (0, 0.5),
        "arm.1": (-1, 1),
    }
    made = action_of(CART, [1, 0, "ahead", 0.25, -0.5], policy=policy)
    assert made["gear"] == 1 and made["arm"].tolist() == [0.25, -0.5] and made["lamps"].tolist() == [0, 1]
    assert still(CART).policy_space.labels == ("arm.0", "arm.1", "gear", "lamps.0", "lamps.1")


def test_an_environment_with_levers_of_its_action_keeps_the_contract():
    environment = GymnasiumEnvironment("Blackjack-v1", total, groups=["won"], env_options={"sab": True})
    assert environment.policy_space.levers == (Whole(0, 1),)
    found = GymnasiumEnvironment("Pendulum-v1", total, groups=["cost"], steps=3)
    assert found.policy_space.levers == (Real(-2, 2),)
    assert [*check_environment(environment), *check_environment(found)] == []


def total(episode):
    return [sum(episode.rewards)]


@pytest.mark.parametrize(
    ("space", "policy", "message"),
    [
        (Discrete(2), {"n": (0, 1)}, r"'n' is a real number, .* whole one; accepted: { whole = \[0, 1\] }"),
        (Discrete(2), {"n": {"whole": (0, 2)}}, "'n' lies in 0..2, but 'action' of an action in 0..1"),
        (
            Discrete(3, start=1),
            {"n": {"whole": (0, 3)}},
            "'n' lies in 0..3, but 'action' of an action in 1..3",
        ),
        (Box(0, 255, (1,), dtype=np.uint8), {"n": {"whole": (-1, 3)}}, "'n' lies in -1..3"),
        (Box(-2, 2, (1,)), {"x": (0, 5)}, "'x' lies in 0..5, but 'action.0' of an action in -2..2"),
        (Box(-2, 2, (1,)), {"x": {"one_of": ["a", "b"]}}, "'x' has 2 categories, .* takes real numbers"),
        (Discrete(3), {"x": {"one_of": ["a", "b"]}}, "'x' has 2 categories, .* takes 3 values"),
        (Discrete(2), {"a": (0, 1), "b": (0, 1)}, r"policy has 2 entries, an action of Discrete\(2\) has 1;"),
        (Box(-1, 2, (3,)), {"a": (0, 1)}, "policy has 1 entries, an action of Box.* has 3; without act"),
        (
            Text(3),
            {"a": (0, 1)},
            "act=None: an action of Text.* is not made of numbers; accepted: a function",
        ),
        (Tuple([Discrete(2), Text(3)]), None, "act=None: an action of Text"),
        (Box(-np.inf, 1, (1,)), None, "policy=None: 'action.0' of Box.* has no limits"),
        (Box(-(2**63), 2**63 - 1, (1,), dtype=np.int64), None, "'action.0' of Box.* has no limits"),
    ],
)
def test_what_is_no_action_is_refused_in_one_line_when_it_is_declared(space, policy, message):
    with pytest.raises(ValueError, match=message) as refusal:
        still(space, policy=policy)
    assert "\n" not in str(refusal.value)


def test_limits_that_the_type_of_an_action_rounds_are_its_own():
    high = 0.7  # above the nearest number of 32 bits, which is the box's limit
    assert action_of(Box(0, high, (1,), dtype=np.float32), [high], policy={"x": (0, high)}) == np.float32(
        high
    )


def test_candidates_of_whole_numbers_are_actions_of_whole_numbers():
    whole = PolicySpace(["n"], [""], candidates=[[0], [2]])
    assert action_of(Discrete(3), 1, policy=whole) == 2
    with pytest.raises(ValueError, match="'n' is a real number"):
        still(Discrete(3), policy=PolicySpace(["n"], [""], candidates=[[0], [0.5]]))


def test_a_controller_gets_what_a_function_gets_and_its_actions_are_never_clipped():
    seen = []

    def act(policy, observation):
        seen.append(policy)
        gain, mode = policy
        return np.array([gain * (2 if mode == "bold" else 1)], dtype=np.float32)

    policy = {"gain": (0, 2), "mode": {"one_of": ["shy", "bold"]}}
    environment = GymnasiumEnvironment("Pendulum-v1", total, policy=policy, groups=["cost"], act=act, steps=3)
    assert environment.step([1.0, "bold"]).values[0] < 0 and seen[0] == [1.0, "bold"]
    with pytest.raises(SimulationError, match="is outside Box.*gain=1.5, mode=bold"):
        environment.step([1.5, "bold"])
    with pytest.raises(ValueError, match="policy=None: beside act there must be a policy for it"):
        GymnasiumEnvironment("Pendulum-v1", total, groups=["cost"], act=act)
    assert environment.policy_space.levers[1] == OneOf(("shy", "bold"))
