"""Environments of whole numbers and categories, seen through the bridge."""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from bridges import Loop, find_optimum, initial_design, make_agent
from bridges.feedback import composition, search_space
from bridges.priors.outcomes import PriorOutcomes
from simulators import Environment, OneOf, Outcomes, PolicySpace, Real, Whole


class Batteries(Environment):
    """Three whole numbers from 0 to 5 under a budget of 10.5, without noise."""

    groups = ("gain", "strain")
    group_units = ("", "")
    objective_unit = ""
    sense = "maximize"

    def __init__(self):
        limits = LinearConstraint(np.ones(3), -np.inf, 10.5)
        self.policy_space = PolicySpace("abc", [""] * 3, levers=[Whole(0, 5)] * 3, constraint=limits)
        self.tried = []

    def expected(self, policies):
        x = self.policy_space.resolve(policies)
        return np.stack(
            [3 * x[:, 0] - 0.3 * x[:, 0] ** 2 + 2 * np.sqrt(x[:, 2]), np.sin(x).sum(axis=1)], axis=1
        )

    def step(self, policy):
        self.tried.append(np.array(policy))
        return Outcomes(self.expected(self.policy_space.check(policy)[None])[0])


class Tariff(Environment):
    """A tariff and a share, whose weights an environment looks up by the tariff's number."""

    groups = ("north", "south")
    group_units = ("", "")
    objective_unit = ""
    sense = "minimize"
    prices = np.array([[1.0, 2.0], [3.0, 0.5], [2.0, 2.0]])

    def __init__(self):
        levers = [OneOf(("flat", "peak", "dynamic")), Real(0.0, 1.0)]
        self.policy_space = PolicySpace(["tariff", "share"], ["", ""], levers=levers)

    def weights(self, policies):
        numbers = np.asarray(policies)[:, 0]
        assert (numbers == np.round(numbers)).all()  # no model should be asked between categories
        return self.prices[numbers.astype(int)]

    def compose(self, outcomes, policies):
        return (self.weights(policies) * outcomes).sum(axis=-1)

    def expected(self, policies):
        x = self.policy_space.resolve(policies)
        return np.stack([(x[:, 1] - 0.3) ** 2 + 1, (x[:, 1] - 0.7) ** 2 + x[:, 0]], axis=1)

    def step(self, policy):
        return Outcomes(self.expected(self.policy_space.check(policy)[None])[0] + self.rng.normal(0, 0.01, 2))


def test_the_optimum_of_whole_numbers_is_the_best_within_the_budget():
    environment = Batteries()
    grid = np.array([x for x in itertools.product(range(6), repeat=3) if sum(x) <= 10], dtype=float)
    values = environment.compose(environment.expected(grid), grid)
    found = find_optimum(environment)
    np.testing.assert_array_equal(found.policy, grid[values.argmax()])
    assert found.value == values.max() and found.policy.sum() <= 10


def test_the_optimum_of_a_category_and_a_share_is_that_of_the_best_category():
    environment, shares = Tariff(), np.linspace(0, 1, 100001)
    best = min(
        float(environment.compose(environment.expected(x), x).min())
        for x in (np.stack([np.full_like(shares, k), shares], axis=1) for k in range(3))
    )
    found = find_optimum(environment)
    assert found.value == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "d-ei", "d-ts", "random", "uniform"])
def test_what_is_asked_for_is_what_is_tried_and_within_the_budget(name):
    environment = Batteries()
    agent = make_agent(name, environment, seed=1)
    loop = Loop(environment, agent, 1, design=initial_design(environment, 6, 1))
    asked = np.array([one.policy for one in loop.run(20)])
    tried = np.array(environment.tried)
    np.testing.assert_array_equal(asked, tried)
    assert (tried == np.round(tried)).all() and (tried.sum(axis=1) <= 10).all()
    assert environment.policy_space.contains(np.asarray(agent.recommend().policy)[None])[0]


def test_the_best_of_whole_numbers_is_found_and_recommended():
    environment = Batteries()
    agent = make_agent("d-gpucb", environment, seed=2)
    for _ in Loop(environment, agent, 2, design=initial_design(environment, 6, 2)).run(40):
        pass
    np.testing.assert_array_equal(agent.recommend().policy, find_optimum(environment).policy)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_weights_that_are_looked_up_by_category_are_asked_for_at_categories_alone(name):
    environment = Tariff()
    agent = make_agent(name, environment, seed=0)
    for _ in Loop(environment, agent, 0, design=initial_design(environment, 5, 0)).run(12):
        pass
    best = find_optimum(environment)
    assert agent.recommend().policy[0] == best.policy[0]


def test_the_search_space_has_the_levers_and_the_limits_of_the_policies():
    space = search_space(Batteries())
    assert space.steps.tolist() == [1, 1, 1] and not space.categories.any()
    assert len(space.listed) == sum(sum(x) <= 10 for x in itertools.product(range(6), repeat=3))
    kinds = search_space(Tariff())
    assert kinds.steps.tolist() == [1, 0] and kinds.categories.tolist() == [True, False]
    assert composition(Tariff()).weights(np.array([[1.0, 0.2]])).tolist() == [[3.0, 0.5]]


@pytest.mark.parametrize("kind", [Batteries, Tariff])
def test_prior_means_of_another_environment_are_its_outcomes_at_every_policy(kind):
    environment = kind()
    space = search_space(environment)
    policies = space.sample(50, np.random.default_rng(0))
    means = PriorOutcomes(kind(), environment)
    np.testing.assert_allclose(means(policies), environment.expected(policies), atol=1e-12)
    np.testing.assert_allclose(means(policies + 1e-7 * space.steps), means(policies), atol=1e-12)


def test_prior_means_of_other_levers_are_refused():
    other = Batteries()
    other.policy_space = PolicySpace(
        "abc", [""] * 3, levers=[Real(0, 5)] * 3, constraint=LinearConstraint(np.ones(3), -np.inf, 10.5)
    )
    with pytest.raises(ValueError, match="another set of levers"):
        PriorOutcomes(other, Batteries())
