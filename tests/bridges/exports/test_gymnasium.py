"""Gymnasium in both directions, judged by its own checker and by ours."""

import math

import numpy as np
import pytest

import simulators
from bridges.environments.gymnasium_environment import GymnasiumEnvironment
from simulators import Environment, Outcomes, PolicySpace, SimulationError

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from bridges.exports.gymnasium_env import PolicyEnv  # noqa: E402


@pytest.mark.filterwarnings("ignore:.*Box observation space", "ignore:.*not having a spec")
@pytest.mark.parametrize(("name", "steps"), [("flu-ode", 1), ("weather", 1), ("weather-live", 4)])
def test_environments_pass_gymnasiums_check(name, steps):
    check_env(PolicyEnv(simulators.make(name), steps))


def test_observation_and_reward_are_outcomes_and_composed_value():
    environment = simulators.make("flu-ode")
    env = PolicyEnv(environment)
    env.reset(seed=3)
    observation, reward, terminated, truncated, info = env.step(np.full(5, 0.2))
    assert observation.shape == (5,) and terminated and not truncated and not info["projected"]
    assert reward == -float(environment.compose(observation, np.full(5, 0.2)))


def test_an_action_over_the_budget_is_projected_and_said_to_be():
    env = PolicyEnv(simulators.make("flu-ode"))
    env.reset(seed=3)
    info = env.step(np.ones(5))[4]
    assert info["projected"]
    assert env.environment.policy_space.contains(info["policy"][None])[0]


def test_an_environment_with_memory_ends_after_its_steps():
    env = PolicyEnv(simulators.make("weather-live", sensor_life=math.inf), steps=3)
    env.reset(seed=0)
    ended = [env.step(5)[2] for _ in range(3)]
    assert ended == [False, False, True]


def test_a_missing_group_has_no_reward():
    class Silent(Environment):
        groups, group_units, objective_unit, sense = ("a", "b"), ("", ""), "", "maximize"
        policy_space = PolicySpace(("x",), ("",), candidates=[[0], [1]])

        def step(self, policy):
            return Outcomes(np.array([1.0, np.nan]))

    env = PolicyEnv(Silent())
    env.reset(seed=0)
    with pytest.raises(SimulationError, match="the outcome of b is missing"):
        env.step(1)


def test_several_steps_need_memory():
    with pytest.raises(ValueError, match="steps=5 of flu-ode; accepted: 1"):
        PolicyEnv(simulators.make("flu-ode"), steps=5)


def balance(policy, observation):
    return int(policy @ observation[2:] > 0)


def course(episode):
    return {"upright": len(episode.rewards), "drift": abs(float(episode.observations[-1][0]))}


def cart_pole(**changed):
    options = {
        "policy": {"angle": (-2, 2), "speed": (-2, 2)},
        "groups": ["upright", "drift"],
        "act": balance,
        "sense": "maximize",
        "weights": [1, -10],
        "steps": 200,
    }
    return GymnasiumEnvironment("CartPole-v1", course, **(options | changed))


def test_a_controller_of_a_gymnasium_environment_is_a_policy():
    environment = cart_pole()
    assert simulators.check_environment(environment) == []
    environment.reset(0)
    assert environment.step([1, 1]).values[0] == 200  # a controller that is known to balance
    assert environment.step([-1, -1]).values[0] < 50


def test_the_episode_is_the_one_that_gymnasium_runs_from_the_seed():
    environment = cart_pole()
    environment.reset(5)
    outcomes = environment.step([0.5, 0.1])
    env = gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=outcomes.info["seed"])
    steps, ended = 0, False
    while not ended and steps < 200:
        observation, _, ended, _, _ = env.step(balance(np.array([0.5, 0.1]), observation))
        steps += 1
    assert outcomes.values.tolist() == [steps, abs(float(observation[0]))]


def total(episode):
    return [sum(episode.rewards)]


def test_what_cannot_be_made_is_told_in_one_line():
    with pytest.raises(ValueError, match="env='Nope-v1' cannot be made: NameNotFound") as told:
        GymnasiumEnvironment("Nope-v1", total, policy={"a": (0, 1)}, groups=["cost"])
    assert "\n" not in str(told.value)
