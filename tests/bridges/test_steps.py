"""Steps outside a loop: who takes them, from which seed, and what is made of what comes back."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
from bridges import Taken, observe
from bridges.steps import OneByOne
from simulators import Environment, Outcomes, PolicySpace, SimulationError


class Drift(Environment):
    """A group whose noise-free outcome is x, unknown to all, with noise of its own stream."""

    groups, group_units, objective_unit, sense = ("a",), ("",), "", "minimize"
    name = "drift"

    def __init__(self, fault=None):
        self.policy_space = PolicySpace(["x"], [""], bounds=Bounds(0, 1))
        self.fault = fault

    def step(self, policy):
        if self.fault is not None:
            raise self.fault
        return Outcomes(policy + self.rng.standard_normal(1))


class Elsewhere:
    """Takes the steps of an environment of its own, and remembers the seeds."""

    def __init__(self, environment):
        self.own, self.seeds = OneByOne(environment), []

    def take(self, asked):
        self.seeds += [seed for seed, _ in asked]
        yield from self.own.take(asked)


def test_noise_begins_anew_with_a_seed_and_goes_on_without():
    x = np.array([0.5])
    taken = list(OneByOne(Drift()).take([(3, x), (None, x), (3, x)]))
    first, second, third = (float(one.outcomes.values[0]) for one in taken)
    noise = np.random.default_rng(3).standard_normal(2)
    assert [first, second] == (0.5 + noise).tolist() and third == first
    assert [one.which for one in taken] == [0, 1, 2] and min(one.seconds for one in taken) >= 0


def test_a_prior_does_not_depend_on_who_takes_the_steps():
    settings = {"samples": 12, "restarts": 0, "seed": 4}
    own = bridges.learn_prior(Drift(), **settings)
    elsewhere = Elsewhere(Drift())
    assert bridges.learn_prior(Drift(), **settings, steps=elsewhere).to_dict() == own.to_dict()
    assert elsewhere.seeds[0] is not None and elsewhere.seeds[1:] == [None] * 11


def test_a_step_is_observed_where_it_is_taken():
    here, there = Drift(ValueError("not asked")), Drift()
    policy = np.array([0.25])
    alone = observe(there, policy, 7).values
    assert observe(here, policy, 7, OneByOne(there)).values.tolist() == alone.tolist()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ValueError("two\nlines"), "ValueError: two lines"),
        (SystemExit(3), "the simulator asked to exit with code 3"),
    ],
)
def test_what_goes_wrong_is_one_line_that_can_be_repeated(fault, words):
    with pytest.raises(SimulationError) as failed:
        observe(Drift(fault), np.array([0.5]), 7)
    assert str(failed.value) == words and failed.value.seed == 7 and failed.value.policy == [0.5]


def test_what_others_bring_back_is_checked_too():
    class Wrong:
        def take(self, asked):
            yield Taken(0, Outcomes(np.ones(3)), 0.0)

    with pytest.raises(SimulationError, match=r"outcomes must have shape \(1,\)"):
        observe(Drift(), np.array([0.5]), 7, Wrong())
