"""The same simulator, asked another question: weights, objectives, units, limits; copies of it."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
from bridges.feedback import composition, observation
from bridges.reframed import ReframedEnvironment, Reweighing, outcome_limits
from optimizer import Composition, GeneralComposition
from optimizer.composition.ready import CountBeyond, CVaR, GroupGap, WorstGroup
from simulators import Environment, Outcomes, PolicySpace
from simulators.contract.outcome_limit import Limit

X = np.random.default_rng(0).random((6, 2))
F = np.random.default_rng(1).normal(size=(6, 3))


class Plain(Environment):
    """Three groups, plain sum."""

    groups, group_units, objective_unit, sense = ("a", "b", "c"), ("days",) * 3, "days", "minimize"

    def __init__(self):
        self.policy_space = PolicySpace(("x", "y"), ("", ""), bounds=Bounds([0.0, 0.0], [1.0, 1.0]))
        self.speed = 7

    def expected(self, policies):
        x = self.policy_space.resolve(policies)
        return np.stack([x[:, 0], x[:, 1], x.sum(axis=1)], axis=1)

    def step(self, policy):
        return Outcomes(self.expected(np.asarray(policy)[None])[0], np.array([0.1, 0.2, 0.3]))


class Weighted(Plain):
    """Weights that vary with the policy, and a known cost."""

    def weights(self, policies):
        return 1 + np.asarray(policies)[:, [0]] * np.array([1.0, 2.0, 3.0])

    def compose(self, outcomes, policies):
        values = np.asarray(outcomes)
        rows = np.reshape(policies, (-1, 2))
        weights = self.weights(rows).reshape(values.shape)
        return (values * weights).sum(axis=-1) + 10 * np.asarray(policies)[..., 1]


class Product(Plain):
    """A general objective."""

    bounds = np.array([1.0, 2.0, 3.0])

    def compose(self, outcomes, policies):
        return np.asarray(outcomes)[..., :2].prod(axis=-1)

    def gradient(self, outcomes, policies):
        return np.stack([outcomes[..., 1], outcomes[..., 0], 0 * outcomes[..., 0]], axis=-1)


def double_first(outcomes, policies):
    return 2 * outcomes[..., 0] ** 2 + policies[..., 1]


CHANGES = Reweighing(np.array([1.0, 3.0, 0.0]), np.array([np.nan, np.nan, 5.0]))


def test_weights_are_multiplied_or_set():
    asked = ReframedEnvironment(Plain(), objective=CHANGES)
    np.testing.assert_array_equal(asked.weights(X), np.tile([1.0, 3.0, 5.0], (6, 1)))
    np.testing.assert_allclose(asked.compose(F, X), F @ [1.0, 3.0, 5.0])
    g = composition(asked)
    assert isinstance(g, Composition)
    np.testing.assert_array_equal(g.constant_weights, [1.0, 3.0, 5.0])
    np.testing.assert_allclose(g.compose(F, X), -F @ [1.0, 3.0, 5.0])


def test_weights_that_vary_are_multiplied_and_the_known_cost_stays():
    asked = ReframedEnvironment(Weighted(), objective=CHANGES)
    weights = np.stack([1 + X[:, 0], 3 * (1 + 2 * X[:, 0]), np.full(6, 5.0)], axis=1)
    expected = (F * weights).sum(axis=1) + 10 * X[:, 1]
    np.testing.assert_allclose(asked.weights(X), weights)
    np.testing.assert_allclose(asked.compose(F, X), expected)
    np.testing.assert_allclose(asked.compose(F.reshape(2, 3, 3), X.reshape(2, 3, 2)), expected.reshape(2, 3))
    g = composition(asked)
    np.testing.assert_allclose(g.unsigned(F, X), expected)
    np.testing.assert_allclose(g.weights(X), weights)


@pytest.mark.parametrize(
    "ready",
    [WorstGroup("minimize"), GroupGap("maximize"), CVaR("maximize", 0.4), CountBeyond("maximize", 0.1)],
)
def test_a_ready_made_objective_brings_its_sense_and_its_slopes(ready):
    for inner in (Plain(), Weighted(), Product()):
        asked = ReframedEnvironment(inner, objective=ready)
        assert asked.sense == ready.own_sense and asked.weights(X) is None
        np.testing.assert_array_equal(asked.compose(F, X), ready(F))
        g = composition(asked)
        assert isinstance(g, GeneralComposition) and g.ready is ready and bridges.is_general(asked)
        np.testing.assert_array_equal(g.slopes(F, X), ready.slopes(F))
        np.testing.assert_allclose(g.compose(F, X), g.sign * ready(F))


def test_a_function_of_outcomes_and_policies_replaces_the_objective_and_not_its_gradient():
    asked = ReframedEnvironment(Product(), objective=double_first, unit="squared days")
    np.testing.assert_allclose(asked.compose(F, X), 2 * F[:, 0] ** 2 + X[:, 1])
    assert asked.objective_unit == "squared days" and asked.sense == "minimize"
    assert getattr(asked, "gradient", None) is None and getattr(asked, "bounds", None) is None
    slopes = composition(asked).slopes(F, X)
    np.testing.assert_allclose(slopes, np.column_stack([4 * F[:, 0], 0 * F[:, :2]]), atol=1e-6)


def test_a_function_may_bring_a_gradient_and_bounds_of_its_own():
    def g(outcomes, policies):
        return outcomes[..., 0] ** 2

    g.gradient = lambda outcomes, policies: np.stack([7 + 0 * outcomes[..., 0]] * 3, axis=-1)
    g.bounds = np.array([4.0, 5.0, 6.0])
    made = composition(ReframedEnvironment(Product(), objective=g))
    np.testing.assert_array_equal(made.slopes(F, X), np.full((6, 3), 7.0))
    np.testing.assert_array_equal(made.bounds, g.bounds)


def test_without_another_objective_everything_is_the_environment_s():
    asked = ReframedEnvironment(Product(), limits=[Limit({"a": 1.0}, at_most=0.5)])
    np.testing.assert_array_equal(asked.compose(F, X), F[:, 0] * F[:, 1])
    np.testing.assert_array_equal(composition(asked).slopes(F, X), Product().gradient(F, X))
    np.testing.assert_array_equal(asked.bounds, Product.bounds)
    assert asked.speed == 7 and asked.sense == "minimize" and asked.objective_unit == "days"
    assert asked.groups == ("a", "b", "c") and asked.name == "Product"
    with pytest.raises(AttributeError):
        asked.nothing_of_the_sort  # noqa: B018


def test_steps_and_what_is_known_are_the_environment_s():
    inner = Plain()
    asked = ReframedEnvironment(inner, objective=CHANGES)
    np.testing.assert_array_equal(asked.expected(X), inner.expected(X))
    np.testing.assert_array_equal(asked.step(X[0]).values, inner.step(X[0]).values)
    assert asked.context is None and asked.set_aside is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
@pytest.mark.parametrize("objective", [None, CHANGES, CVaR("minimize", 0.4), double_first])
def test_copies_ask_the_same(copied, objective):
    asked = ReframedEnvironment(Plain(), objective=objective, limits=[Limit({"a": 1.0}, at_most=0.5)])
    other = copied(asked)
    np.testing.assert_array_equal(other.compose(F, X), asked.compose(F, X))
    assert other.inner is not asked.inner and other.speed == 7 and other.sense == asked.sense
    assert [one.text for one in other.limits] == ["a <= 0.5"]


def test_weights_of_what_is_no_sum_are_refused():
    for inner in (Product(), ReframedEnvironment(Plain(), objective=WorstGroup("minimize"))):
        with pytest.raises(ValueError, match="weights can be changed of a linear composition only"):
            ReframedEnvironment(inner, objective=CHANGES)


def test_limits_add_up_and_an_unknown_group_is_told_with_the_nearest():
    first = ReframedEnvironment(Plain(), limits=[Limit({"a": 1.0}, at_most=0.5)])
    both = ReframedEnvironment(first, limits=[Limit({"b": 1.0, "c": -2.0}, at_least=0.1, at_most=0.2)])
    made = outcome_limits(both)
    np.testing.assert_array_equal(made.A, [[1, 0, 0], [0, 1, -2]])
    np.testing.assert_array_equal(made.low, [-np.inf, 0.1])
    np.testing.assert_array_equal(made.high, [0.5, 0.2])
    assert made.names == ["a <= 0.5", "0.1 <= b + -2*c <= 0.2"]
    assert outcome_limits(Plain()) is None
    with pytest.raises(ValueError, match="unknown group 'd'|'d'"):
        ReframedEnvironment(Plain(), limits=[Limit({"d": 1.0}, at_most=0.5)])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"weights": {"a": 1.0}}, "at_most, at_least or both"),
        ({"at_most": 1.0}, "weights of groups, or a function"),
        ({"weights": {"a": 1.0}, "function": len, "at_most": 1.0}, "not both"),
        ({"weights": {"a": 1.0}, "at_most": np.nan}, "at_most = nan"),
        ({"weights": {"a": 1.0}, "at_least": 2.0, "at_most": 1.0}, "at_least = 2 is above at_most = 1"),
    ],
)
def test_limits_that_limit_nothing_are_refused(parts, words):
    with pytest.raises(ValueError, match=words):
        Limit(**parts)


def test_a_limit_is_told_as_people_write_it():
    assert Limit({"70+": 1.0}, at_most=0.02).text == "70+ <= 0.02"
    assert Limit({"70+": 1.0}, at_least=3).text == "70+ >= 3"
    assert Limit({"a": 1.0, "b": 2.0}, 1.0, 2.0).text == "1 <= a + 2*b <= 2"
    assert Limit(function=double_first, at_most=2.0).text == "double_first <= 2"


# What aggregate agents are told


class Agent:
    feedback = "aggregate"

    def __init__(self, limits):
        self.beside = limits


def test_an_aggregate_agent_is_told_limits_with_the_noise_of_their_sums():
    asked = ReframedEnvironment(
        Plain(),
        objective=CHANGES,
        limits=[Limit({"a": 1.0, "c": 2.0}, at_most=0.5), Limit(function=lambda f: f[..., 0], at_most=1.0)],
    )
    limits, f = outcome_limits(asked), np.array([1.0, 2.0, 3.0])
    outcomes = Outcomes(f, np.array([0.1, 0.2, 0.3]))
    told, noise = observation(Agent(limits), asked, outcomes, X[0], 22.0)
    np.testing.assert_allclose(told, [[22.0, 7.0, 1.0]])
    np.testing.assert_allclose(noise, [[0.1 + 9 * 0.2 + 25 * 0.3, 0.1 + 4 * 0.3, np.nan]])
    covariance = np.diag([0.1, 0.2, 0.3])
    covariance[0, 2] = covariance[2, 0] = 0.05
    _, noise = observation(Agent(limits), asked, Outcomes(f, covariance), X[0], 22.0)
    assert noise[0, 1] == pytest.approx(0.1 + 4 * 0.3 + 2 * 2 * 0.05)
    told, _ = observation(Agent(limits), asked, Outcomes(np.array([1.0, np.nan, 3.0])), X[0], np.nan)
    assert np.isnan(told[0, :2]).all()  # of a round with a missing group it learns no sum
