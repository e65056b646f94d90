"""What `check_environment` says of models that cannot be repeated; it is silent about those that can."""

import random

import mesa
import numpy as np
import pytest
from scipy.optimize import Bounds

from bridges import FunctionEnvironment, MesaEnvironment
from simulators import Environment, Outcomes, PolicySpace, check_environment

POLICY, GROUPS = {"x": (0, 1)}, ["a"]


def itself(x):
    return [float(x[0])]


def own_generator(x):
    return [float(x[0]) + np.random.default_rng(3).normal()]


def own_seed(x):
    np.random.seed(3)  # noqa: NPY002
    return [float(x[0]) + np.random.normal()]  # noqa: NPY002


def own_python_seed(x, seed):
    random.seed(3)
    return [float(x[0]) + random.gauss(0, 1)]


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (own_generator, "the model seeds itself, by numpy.random.default_rng(3)"),
        (own_seed, "the model seeds itself, by numpy.random.seed(3)"),
        (own_python_seed, "the model seeds itself, by random.seed(3)"),
    ],
)
def test_a_function_that_seeds_itself_is_found_unless_no_noise_is_meant(f, words):
    (finding,) = check_environment(FunctionEnvironment(f, POLICY, GROUPS))
    assert words in finding and "the same with seeds 0 and 7 at all of 8 policies" in finding
    assert check_environment(FunctionEnvironment(f, POLICY, GROUPS, noise_variance=0.0)) == []


def test_outcomes_said_to_be_noisy_that_no_seed_changes_are_found():
    (finding,) = check_environment(FunctionEnvironment(itself, POLICY, GROUPS, noise_variance=0.1))
    assert "noise_variance is not 0: the model does not use the seed" in finding


@pytest.mark.parametrize("noise", [None, 0.0])
def test_a_model_without_noise_is_ready(noise):
    assert check_environment(FunctionEnvironment(itself, POLICY, GROUPS, noise_variance=noise)) == []


class Fixed(mesa.Model):
    def __init__(self, x, seed=None):
        super().__init__(seed=42)
        self.a = x + self.random.random()


class Passed(mesa.Model):
    def __init__(self, x, seed=None):
        super().__init__(seed=seed)
        self.a = x


@pytest.mark.filterwarnings("ignore::simulators.contract.environment.SeedIgnored")
def test_a_mesa_model_that_fixes_its_own_seed_is_found():
    (finding,) = check_environment(MesaEnvironment(Fixed, POLICY, {"a": "a"}, 1))
    assert "Fixed was given a seed, and runs with 42 in place of it" in finding
    assert check_environment(MesaEnvironment(Fixed, POLICY, {"a": "a"}, 1, noise_variance=0.0)) == []
    assert check_environment(MesaEnvironment(Passed, POLICY, {"a": "a"}, 1)) == []


class Well(Environment):
    groups, group_units, objective_unit, sense = ("a",), ("",), "", "minimize"

    def __init__(self):
        self.policy_space = PolicySpace(("x",), ("",), bounds=Bounds([0], [1]))
        self.held, self.last, self.count = np.zeros(1), None, 0

    def step(self, policy):
        x = self.policy_space.check(policy)
        return Outcomes(x + self.rng.standard_normal(1))


class Returns(Well):
    def step(self, policy):
        self.held[:] = super().step(policy).values
        return Outcomes(self.held)


class Keeps(Well):
    has_memory = True

    def reset(self, seed=None):
        super().reset(seed)
        self.last = np.zeros(1)

    def step(self, policy):
        value = super().step(policy).values + self.last
        self.last = policy
        return Outcomes(value)

    def get_state(self):
        return {"last": self.last.copy()}

    def set_state(self, state):
        self.last = state["last"]


class Counts(Well):
    """Every eleventh step is another: no pair of steps shows it."""

    def step(self, policy):
        self.count += 1
        return Outcomes(super().step(policy).values + (self.count % 11 == 0))


class Changes(Well):
    def compose(self, outcomes, policies):
        outcomes *= 2
        return outcomes.sum(axis=-1)

    def weights(self, policies):
        policies[...] = 0
        return np.full((len(policies), 1), 2.0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Returns, "step changes the values that an earlier step returned; return a copy"),
        (Keeps, "step keeps the policy it was given, and reads it later; take a copy"),
        (Counts, "a step depends on what was asked before it, but has_memory is False: at (0."),
        (Changes, "compose changes the arrays it is given; take copies first"),
        (Changes, "weights changes the arrays it is given; take copies first"),
    ],
)
def test_what_is_shared_with_a_model_is_found(kind, words):
    assert any(words in finding for finding in check_environment(kind()))
    assert check_environment(Well()) == []


def test_a_check_survives_every_exception_but_ctrl_c():
    class Stops(Well):
        error: BaseException = GeneratorExit("done")

        def step(self, policy):
            raise self.error

    assert any("it raised GeneratorExit: done" in finding for finding in check_environment(Stops()))
    environment = Stops()
    environment.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        check_environment(environment)
