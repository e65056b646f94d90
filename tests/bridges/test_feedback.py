"""What agents are told of a step: outcomes, composed values and their noise, by number."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from bridges import Loop, Optimum, find_optimum, make_agent
from optimizer import Agent, Prior, Recommendation, SearchSpace
from simulators import Environment, Outcomes, PolicySpace


class World(Environment):
    """Three groups whose sum is minimised; some of them are missing in some rounds."""

    name, groups, group_units, objective_unit = "world", ("a", "b", "c"), ("", "", ""), ""
    sense = "minimize"
    missing: dict[int, list[int]] = {}
    stated: np.ndarray | None = np.array([0.01, 0.04, 0.09])

    def __init__(self, missing=None):
        self.policy_space = PolicySpace(["x"], [""], bounds=Bounds([0.0], [1.0]))
        self.missing, self.steps = missing or {}, 0

    def expected(self, policies):
        x = np.asarray(policies)[:, 0]
        return np.stack([x, (x - 0.5) ** 2, 1 + 0 * x], axis=1)

    def step(self, policy):
        self.steps += 1
        values = self.expected(np.asarray(policy)[None])[0] + 0.1 * self.rng.standard_normal(3)
        values[self.missing.get(self.steps, [])] = np.nan
        return Outcomes(values, self.stated)


class Weighted(World):
    def weights(self, policies):
        x = np.asarray(policies)[:, 0]
        return np.stack([1 + x, 2 * np.ones_like(x), -x], axis=1)


class Product(World):
    def compose(self, outcomes, policies):
        return np.prod(outcomes, axis=-1)


class Listener(Agent):
    """Asks for a few policies and keeps what it is told."""

    def __init__(self, feedback):
        super().__init__("listener", SearchSpace(Bounds([0.0], [1.0])), -1.0, 0)
        self.feedback, self.told = feedback, []

    def ask(self, n=1, context=None):
        return np.array([[0.25 * ((len(self.told) + i) % 5)] for i in range(n)])

    def tell(self, policies, observations, noise_variance=None, context=None):
        self.told.append((policies[0], observations, noise_variance))

    def recommend(self, context=None):
        return Recommendation(np.array([0.5]), 0.0, 0.0, 0.0)


def told(environment, feedback, rounds=5):
    agent = Listener(feedback)
    done = list(Loop(environment, agent, seed=1).run(rounds))
    return agent.told, done


def test_a_decomposed_agent_is_told_every_groups_outcome_and_noise():
    for (policy, values, noise), one in zip(*told(World(), "decomposed"), strict=True):
        assert (policy == one.policy).all() and values.tolist() == [one.outcomes.tolist()]
        assert noise.tolist() == [[0.01, 0.04, 0.09]]


def test_composed_values_of_weights_have_the_noise_of_their_squares():
    for (policy, values, noise), one in zip(*told(Weighted(), "aggregate"), strict=True):
        x = policy[0]
        assert values == pytest.approx((1 + x) * one.outcomes[0] + 2 * one.outcomes[1] - x * one.outcomes[2])
        assert values[0] == one.objective
        assert noise == pytest.approx((1 + x) ** 2 * 0.01 + 4 * 0.04 + x**2 * 0.09)


def test_composed_values_of_a_general_g_have_the_noise_of_its_squared_slopes():
    for (_, values, noise), one in zip(*told(Product(), "aggregate"), strict=True):
        a, b, c = one.outcomes
        assert values == pytest.approx(a * b * c)
        assert noise == pytest.approx((b * c) ** 2 * 0.01 + (a * c) ** 2 * 0.04 + (a * b) ** 2 * 0.09)


def test_where_no_noise_is_stated_none_is_told():
    for kind in (World, Weighted, Product):
        for feedback in ("decomposed", "aggregate"):
            environment = kind()
            environment.stated = None
            assert all(noise is None for _, _, noise in told(environment, feedback)[0])


@pytest.mark.parametrize("kind", [Weighted, Product])
def test_a_round_without_a_group_has_no_composed_value_and_a_noise_that_agents_take(kind):
    records, done = told(kind({2: [1], 4: [0, 2]}), "aggregate")
    for t, (_, values, noise) in enumerate(records, 1):
        assert np.isnan(values).all() == (t in (2, 4)) == (done[t - 1].status == "partial")
        assert noise is None if t in (2, 4) else np.isfinite(noise).all() and (noise >= 0).all()
    groups = 3 if kind is Weighted else 1  # a general g has a prior of the composed value alone
    prior = Prior([RBF(0.5)] * groups, np.full(groups, 0.1), [0.0] * groups)
    for name in ("gp-ucb", "ei"):  # which refuse a noise variance that is not a number
        environment = kind({2: [1], 4: [0, 2]})
        agent = make_agent(name, environment, prior=prior)
        assert len(list(Loop(environment, agent, seed=1).run(5))) == 5
        assert len(agent.observed) == 3


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_a_missing_group_may_be_stated_with_a_noise_that_is_missing_too(name):
    class Honest(Weighted):
        def step(self, policy):
            outcomes = super().step(policy)
            return Outcomes(outcomes.values, np.where(np.isnan(outcomes.values), np.nan, self.stated))

    environment = Honest({2: [1], 4: [0, 2]})
    agent = make_agent(name, environment, prior=Prior([RBF(0.5)] * 3, np.full(3, 0.1), [0.0] * 3))
    done = list(Loop(environment, agent, seed=1).run(5))
    assert [one.status for one in done] == ["ok", "partial", "ok", "partial", "ok"]
    assert len(agent.observed) == (5 if name == "d-gpucb" else 3)


def test_regret_is_the_noise_free_distance_to_the_optimum_in_either_sense():
    class Upward(World):
        sense = "maximize"

    for environment, sign in ((World(), -1.0), (Upward(), 1.0)):
        best = find_optimum(environment)
        grid = np.linspace(0, 1, 1001)[:, None]
        values = environment.expected(grid).sum(axis=1)
        assert best.value == pytest.approx((sign * values).max() * sign, abs=1e-6)
        for one in Loop(environment, Listener("aggregate"), seed=1, optimum=best).run(4):
            x = one.policy[0]
            assert one.expected == pytest.approx(x + (x - 0.5) ** 2 + 1)
            assert one.regret == pytest.approx(sign * (best.value - one.expected))
            assert one.regret >= 0
    other = Optimum(np.array([0.0]), None, 7.0, np.zeros(3))
    (one,) = Loop(World(), Listener("aggregate"), seed=1, optimum=other).run(1)
    assert one.regret == pytest.approx(one.expected - 7.0)
