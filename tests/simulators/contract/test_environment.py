import pickle

import numpy as np
import pytest
from scipy.optimize import Bounds

from simulators import Environment, Outcomes, PolicySpace, SimulationError


class Dice(Environment):
    groups = ("left", "right")
    group_units = ("points", "points")
    objective_unit = "points"
    sense = "maximize"
    policy_space = PolicySpace(["force"], ["N"], bounds=Bounds(0, 1))

    def step(self, policy):
        x = self.policy_space.check(policy)
        return Outcomes(values=x[0] + self.rng.standard_normal(2))


class Product(Dice):
    def compose(self, outcomes, policies):
        return np.prod(outcomes, axis=-1)


def test_the_default_composition_is_the_sum_over_the_last_axis():
    outcomes = np.arange(12.0).reshape(2, 3, 2)
    assert np.array_equal(Dice().compose(outcomes, np.zeros((2, 3, 1))), outcomes.sum(axis=-1))


def test_the_default_sum_does_not_depend_on_the_memory_layout():
    outcomes = np.random.default_rng(0).standard_normal((50, 9))
    env = Dice()
    in_rows = env.compose(outcomes, np.zeros((50, 1)))
    in_columns = env.compose(np.asfortranarray(outcomes), np.zeros((50, 1)))
    assert np.array_equal(in_rows, in_columns)
    assert in_rows[7] == env.compose(outcomes[7], np.zeros(1))


def test_a_missing_group_makes_the_composed_value_missing():
    assert np.isnan(Dice().compose([1.0, np.nan], [0.5]))


def test_the_default_composition_has_unit_weights_and_an_overridden_one_has_none():
    assert np.array_equal(Dice().weights(np.zeros((4, 1))), np.ones((4, 2)))
    assert Dice().weights(np.arange(3)).shape == (3, 2)
    assert Product().weights(np.zeros((4, 1))) is None


@pytest.mark.parametrize("seed", [7, np.random.SeedSequence(7, spawn_key=(1, 2))])
def test_reset_with_the_same_seed_restarts_the_same_noise(seed):
    env = Dice()
    env.reset(seed)
    first = env.step([0.5]).values
    env.step([0.1])
    env.reset(seed)
    assert np.array_equal(first, env.step([0.5]).values)


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_reset_refuses_what_is_not_a_seed_in_one_line(seed):
    with pytest.raises(ValueError, match=f"^seed={seed!r} must be a whole number >= 0, .* or None$"):
        Dice().reset(seed)


def test_reset_without_a_seed_gives_fresh_noise():
    env = Dice()
    env.reset()
    first = env.step([0.5]).values
    env.reset()
    assert not np.array_equal(first, env.step([0.5]).values)


def test_the_name_is_the_class_name_unless_given():
    assert Dice().name == "Dice"
    assert Product().name == "Product"


def test_what_is_unknown_raises_not_implemented():
    with pytest.raises(NotImplementedError, match="Dice"):
        Dice().expected([[0.5]])
    with pytest.raises(NotImplementedError, match="no memory"):
        Dice().get_state()
    env = Dice()
    env.has_memory = True
    with pytest.raises(NotImplementedError, match="has_memory=True"):
        env.set_state({})


def test_a_simulation_error_keeps_its_policy_and_seed_between_processes():
    error = pickle.loads(pickle.dumps(SimulationError("the mesh broke", policy=[0.1, 0.2], seed=5)))
    assert str(error) == "the mesh broke"
    assert error.policy == [0.1, 0.2]
    assert error.seed == 5
    assert SimulationError("x").policy is None
