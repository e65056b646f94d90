"""Noise-free outcomes that keep to a range which noisy observations may exceed: intervals end there."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

import bridges
from optimizer import Prior
from scenarios.questions.evaluation import mean_of
from scenarios.study.stored_environment import StoredEnvironment, facts_of
from simulators import Environment, FluODE, Outcomes, PolicySpace, check_environment
from simulators.contract.validation import expected_ranges


class Deaths(Environment):
    """Of which there is hardly one in a group, and a noise of ten times as many."""

    groups, group_units, objective_unit = ("a", "b"), ("deaths",) * 2, "deaths"
    sense = "minimize"
    policy_space = PolicySpace(("x",), ("1",), bounds=Bounds([0.0], [1.0]))
    expected_range = (0.0, np.inf)

    def step(self, policy):
        noise = 0.1 * self.rng.standard_normal(2)
        return Outcomes(self.expected([policy])[0] + noise, np.full(2, 0.01))

    def expected(self, policies):
        x = self.policy_space.resolve(policies)
        return np.hstack([np.full_like(x, 0.01), x])


def test_observations_may_lie_below_where_noise_free_outcomes_cannot():
    env = Deaths()
    rounds = list(bridges.Loop(env, bridges.make_agent("random", env), 0).run(20))
    assert {one.status for one in rounds} == {"ok"}
    assert min(one.outcomes[0] for one in rounds) < 0


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "uniform"])
def test_what_is_recommended_and_what_is_read_again_of_a_study_end_at_the_range(name):
    env = Deaths()
    for one in (env, StoredEnvironment(facts_of(env)), bridges.ReframedEnvironment(env)):
        assert np.array_equal(expected_ranges(one), [[0, np.inf]] * 2)
    prior = {} if name == "uniform" else {"prior": Prior([RBF(0.3)] * 2, np.full(2, 0.01), [0.0, 0.0])}
    agent = bridges.make_agent(name, env, **prior)
    agent.tell(np.full((2, 1), 1.0), np.array([-0.4, 0.2]) if name != "d-gpucb" else [[-0.3, -0.1], [0.2, 0]])
    found = bridges.kept_in_range(env, agent.recommend())
    assert found.low == 0 <= found.mean <= found.high
    if name == "d-gpucb":
        assert (found.group_low >= 0).all() and (found.group_means >= 0).all()


def test_members_of_an_ensemble_keep_to_their_ranges():
    ensemble = bridges.EnsembleEnvironment("flu-ode", vary={"r0": [1.3, 1.6]})
    assert np.array_equal(expected_ranges(ensemble), [[0, np.inf]] * 10)
    assert ensemble.outcome_range is None


def test_a_mean_of_simulations_ends_at_the_range():
    values = np.array([-1.0, 0.5, 0.2, 0.1, 0.4])
    assert mean_of(values).low < 0
    assert (mean_of(values, (0.0, np.inf)).low, mean_of(values, (0.0, np.inf)).mean) == (
        0.0,
        mean_of(values).mean,
    )
    assert bridges.objective_range(Deaths(), [0.5]) == (0.0, np.inf)


def test_no_outcome_of_a_season_lies_below_zero_unless_a_weight_is_negative():
    assert FluODE().expected_range == (0.0, np.inf)
    table = {"cost": np.ones(5)}
    assert FluODE(outcome_weights={"cost": 1.0, "infections": 2.0}, **table).expected_range == (0.0, np.inf)
    assert FluODE(outcome_weights={"cost": 1.0, "infections": -2.0}, **table).expected_range is None


def test_noise_free_outcomes_outside_their_range_are_a_finding():
    env = Deaths()
    assert not any("expected_range" in finding for finding in check_environment(env))
    env.expected_range = (0.05, np.inf)
    assert any("outside its expected_range (0.05, inf)" in finding for finding in check_environment(env))
    env.expected_range = (1.0, 0.0)
    assert any("expected_range of group 'a'" in finding for finding in check_environment(env))
