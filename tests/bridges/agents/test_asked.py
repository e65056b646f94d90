"""An agent asked another question answers as one that was made for it, and told the same."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import bridges
import simulators
from bridges import ReframedEnvironment, Reweighing
from optimizer.composition.ready import ready
from optimizer.space.search_space import SearchSpace
from simulators.contract.outcome_limit import Limit


class Trade(simulators.Environment):
    """f_1 = (x - 0.2)^2 + y^2, f_2 = (x - 0.8)^2 + (y - 1)^2."""

    groups, group_units, objective_unit, sense = ("a", "b"), ("days", "days"), "days", "minimize"

    def __init__(self):
        self.policy_space = simulators.PolicySpace(("x", "y"), ("", ""), bounds=Bounds([0, 0], [1, 1]))

    def expected(self, policies):
        x, y = np.asarray(policies, dtype=float).T
        return np.stack([(x - 0.2) ** 2 + y**2, (x - 0.8) ** 2 + (y - 1) ** 2], axis=1)

    def step(self, policy):
        return simulators.Outcomes(self.expected(np.asarray([policy]))[0], np.full(2, 1e-6))


def told(environment, **settings):
    agent = bridges.make_agent("d-ei", environment, seed=3, **settings)
    X = np.random.default_rng(0).random((24, 2))
    agent.tell(X, Trade().expected(X), np.full((24, 2), 1e-6))
    return agent


HALF = SearchSpace(bounds=Bounds([0, 0], [1, 1]), constraint=LinearConstraint([[1, 1]], -np.inf, 0.7))
QUESTIONS = {
    "weights": ({"objective": Reweighing(np.array([1.0, 8.0]), np.full(2, np.nan))}, None),
    "worst": ({"objective": ready("worst-group", "minimize")}, None),
    "limit": ({"limits": [Limit({"a": 1.0}, at_most=0.1)]}, None),
    "budget": ({}, HALF),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_recommends_what_an_agent_made_for_the_question_does(name):
    changes, within = QUESTIONS[name]
    environment = ReframedEnvironment(Trade(), **changes)
    expected = told(environment, within=within).recommend()
    found = bridges.asked(told(Trade()), environment, within=within).recommend()
    assert found.mean == pytest.approx(expected.mean, rel=1e-3)
    np.testing.assert_allclose(found.policy, expected.policy, atol=0.01)
    np.testing.assert_allclose(found.group_high, expected.group_high, atol=5e-3)


def test_the_first_agent_answers_as_before():
    agent = told(Trade())
    before = agent.recommend()
    for changes, within in QUESTIONS.values():
        bridges.asked(agent, ReframedEnvironment(Trade(), **changes), within=within).recommend()
    after = agent.recommend()
    np.testing.assert_array_equal(after.policy, before.policy)
    assert after.mean == before.mean


def test_a_search_begins_also_where_it_is_told_to():
    agent = bridges.asked(told(Trade()), Trade(), near=([0.123, 0.456], [7.0, 7.0]))
    starts = agent.search().leaders()
    assert [0.123, 0.456] in starts.tolist() and [7.0, 7.0] not in starts.tolist()


def test_who_knows_the_composed_value_alone_cannot_be_asked():
    agent = bridges.make_agent("gp-ucb", Trade())
    with pytest.raises(ValueError, match="knows nothing of the groups"):
        bridges.asked(agent, Trade())


def test_observations_of_a_policy_are_counted():
    agent = told(Trade())
    X = agent.observed
    agent.tell(X[[4]], Trade().expected(X[[4]]), np.full((1, 2), 1e-6))
    assert [agent.times_observed(one) for one in (X[4], X[5], X[5] + 1e-9)] == [2, 1, 0]
