"""Levers of all kinds as actions of Gymnasium."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from simulators import Environment, OneOf, Outcomes, PolicySpace, Real, Whole

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from bridges.exports.gymnasium_env import PolicyEnv  # noqa: E402


class Clinic(Environment):
    """Answers with its policy: a group an entry."""

    sense = "maximize"

    def __init__(self, *levers, most=np.inf):
        labels = [f"x{i}" for i in range(len(levers))]
        self.groups, self.group_units, self.objective_unit = tuple(labels), ("",) * len(labels), ""
        sized = [not isinstance(lever, OneOf) for lever in levers]
        limit = LinearConstraint(sized, -np.inf, most)
        self.policy_space = PolicySpace(labels, self.group_units, levers=levers, constraint=limit)

    def expected(self, policies):
        return np.asarray(policies, dtype=float)

    def step(self, policy):
        return Outcomes(self.policy_space.check(policy))


NURSES, BEDS, TARIFF, SHARE = (
    Whole(1, 4),
    Whole(10, 30, step=5),
    OneOf(("flat", "peak", "dynamic")),
    Real(0, 2),
)


@pytest.mark.filterwarnings("ignore:.*Box (observation|action) space", "ignore:.*not having a spec")
@pytest.mark.parametrize(
    ("levers", "action_space"),
    [
        ([SHARE, SHARE], gymnasium.spaces.Box(0, 2, (2,), np.float64)),
        ([NURSES, BEDS, TARIFF], gymnasium.spaces.MultiDiscrete([4, 5, 3], start=[1, 0, 0])),
        ([NURSES], gymnasium.spaces.Discrete(4, start=1)),
        ([TARIFF], gymnasium.spaces.Discrete(3)),
        (
            [SHARE, BEDS],
            gymnasium.spaces.Dict(
                x0=gymnasium.spaces.Box(0, 2, (1,), np.float64), x1=gymnasium.spaces.Discrete(5)
            ),
        ),
    ],
)
def test_actions_are_of_the_kinds_that_the_levers_are(levers, action_space):
    env = PolicyEnv(Clinic(*levers))
    assert env.action_space == action_space
    check_env(env)
    policies = set()
    for seed in range(200):
        env.action_space.seed(seed)
        action = env.action_space.sample()
        env.reset(seed=seed)
        observation, _, _, _, info = env.step(action)
        assert not info["projected"] and observation.tolist() == info["policy"].tolist()
        policies.add(tuple(info["policy"]))
        back = env.actions.action(info["policy"])
        assert env.action_space.contains(back)
        assert np.allclose(env.actions.policy(back), info["policy"], rtol=0, atol=1e-12)
    if SHARE not in levers:
        assert len(policies) == np.prod([(one.high - one.low) // one.step + 1 for one in levers])


def test_an_action_of_whole_numbers_over_the_budget_becomes_whole_numbers_within_it():
    env = PolicyEnv(Clinic(NURSES, BEDS, TARIFF, most=27))
    env.reset(seed=0)
    info = env.step(np.array([4, 4, 2]))[4]  # 4 nurses, 30 beds, the last tariff
    # Relative to their ranges, 20 beds are 1/2 away; 2 nurses and 25 beds are 2/3 + 1/4.
    assert info["projected"] and info["policy"].tolist() == [4, 20, 2]
    info = env.step(np.array([2, 3, 2]))[4]
    assert not info["projected"] and info["policy"].tolist() == [2, 25, 2]
