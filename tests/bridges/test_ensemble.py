"""An ensemble is several worlds as one environment; agents may pick which of them a round runs."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
import simulators
from bridges.ensemble import EnsembleEnvironment, worlds
from optimizer.agents.agent import Query
from simulators import Environment, Outcomes, PolicySpace, SimulationError, check_environment


class Shifted(Environment):
    """f = ((x - shift)^2, (x - shift)^2 + 1), noise sd 0.01 from the seed alone; weights (1, 2)."""

    groups, group_units = ("a", "b"), ("points", "points")
    objective_unit, sense = "points", "minimize"

    def __init__(self, shift: float = 0.0, fails: bool = False) -> None:
        self.shift, self.fails, self.taken = shift, fails, 0
        self.policy_space = PolicySpace(("x",), ("share",), bounds=Bounds([0.0], [1.0]))

    def expected(self, policies):
        x = self.policy_space.resolve(policies)[:, 0]
        return np.stack([(x - self.shift) ** 2, (x - self.shift) ** 2 + 1], axis=1)

    def weights(self, policies):
        return np.tile([1.0, 2.0], (len(policies), 1))

    def compose(self, outcomes, policies):
        return np.asarray(outcomes) @ np.array([1.0, 2.0])

    def step(self, policy):
        self.taken += 1
        if self.fails:
            raise SimulationError("the pump broke")
        values = self.expected(np.asarray(policy)[None])[0] + self.rng.normal(0, 0.01, 2)
        return Outcomes(values, np.full(2, 1e-4), {"shift": self.shift})


simulators.register("shifted", Shifted)
X = np.array([[0.1], [0.4], [0.9]])


def ensemble(**options):
    return simulators.make("ensemble", of="shifted", vary={"shift": [0.0, 0.5, 1.0]}, **options)


def test_each_group_of_each_member_is_a_group():
    env = ensemble()
    assert env.groups[:3] == ("shift=0: a", "shift=0: b", "shift=0.5: a") and len(env.group_units) == 6
    np.testing.assert_array_equal(env.expected(X)[:, 2:4], Shifted(0.5).expected(X))
    assert check_environment(env) == []


def test_the_objective_is_the_mean_the_worst_or_the_worst_share_of_members():
    each = np.stack([Shifted(s).compose(Shifted(s).expected(X), X) for s in (0.0, 0.5, 1.0)], axis=1)
    F = ensemble().expected(X)
    np.testing.assert_allclose(ensemble().compose(F, X), each.mean(axis=1))
    np.testing.assert_allclose(ensemble(weights=[2, 1, 1]).compose(F, X), each @ [0.5, 0.25, 0.25])
    np.testing.assert_allclose(ensemble(objective="worst").compose(F, X), each.max(axis=1))
    two = np.sort(each, axis=1)[:, 1:].mean(axis=1)
    np.testing.assert_allclose(ensemble(objective="cvar:0.3333333333333").compose(F, X), two, rtol=1e-9)


def test_weights_and_slopes_are_those_of_the_objective():
    env = ensemble(weights=[2, 1, 1])
    np.testing.assert_allclose(env.weights(X)[0], [0.5, 1.0, 0.25, 0.5, 0.25, 0.5])
    worst = ensemble(objective="worst")
    assert worst.weights(X) is None
    F = worst.expected(X)
    for j in range(6):
        step = 1e-6 * np.eye(6)[j]
        change = (worst.compose(F + step, X) - worst.compose(F - step, X)) / 2e-6
        np.testing.assert_allclose(worst.gradient(F, X)[:, j], change, atol=1e-6)


def test_members_share_the_noise_of_a_seed_and_copies_give_the_same():
    env = ensemble()
    env.reset(3)
    one = env.step([0.2])
    noise = one.values.reshape(3, 2) - env.expected([[0.2]]).reshape(3, 2)
    np.testing.assert_allclose(noise[0], noise[2])
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        other.reset(3)
        np.testing.assert_array_equal(other.step([0.2]).values, one.values)
    assert one.info["shift=0.5"] == {"shift": 0.5}


def test_a_step_of_some_groups_runs_their_members_only():
    env = ensemble()
    env.reset(0)
    seen = env.step_groups([0.2], [2, 3])
    assert np.isfinite(seen.values).tolist() == [False, False, True, True, False, False]
    assert [one.taken for one in env.members] == [0, 1, 0]


def test_a_member_that_fails_is_missing_and_all_failing_is_a_failure():
    env = simulators.make("ensemble", of="shifted", vary={"fails": [False, True]})
    assert np.isfinite(env.step([0.2]).values).tolist() == [True, True, False, False]
    broken = simulators.make("ensemble", of="shifted", vary={"fails": [True]})
    with pytest.raises(SimulationError, match=r"fails=True: .*the pump broke"):
        broken.step([0.2])


def test_an_agent_that_picks_reaches_the_optimum_with_fewer_simulations():
    runs = {}
    for pick in ("all", "one"):
        env = ensemble(pick=pick, objective="worst")
        agent = bridges.make_agent("d-ei", env, seed=1)
        optimum = bridges.find_optimum(env)
        loop = bridges.Loop(env, agent, 1, design=bridges.initial_design(env, 5, 1), optimum=optimum)
        rounds = list(loop.run(14))
        assert optimum.policy[0] == pytest.approx(0.5, abs=1e-4)
        assert agent.recommend().policy[0] == pytest.approx(0.5, abs=0.02)
        runs[pick] = sum(int(np.isfinite(one.outcomes[::2]).sum()) for one in rounds)
    assert runs == {"all": 42, "one": 15 + 9}


def test_what_is_dear_or_known_is_not_picked():
    """The block with the largest sum of s_j^2 var_j^2 / (var_j + noise_j) for its cost."""
    costs = [1.0, 1.0, 1e6]
    env = ensemble(pick="one", costs=costs)
    agent = bridges.make_agent("d-gpucb", env, seed=2)
    loop = bridges.Loop(env, agent, 2, design=bridges.initial_design(env, 5, 2))
    for _ in loop.run(5):
        pass
    asked = agent.ask()
    assert isinstance(asked, Query)
    means, variances = agent.belief.at(None).predict_groups(asked.policies)
    s2, noise = env.weights(asked.policies)[0] ** 2, agent.belief.prior.noise_variances
    worth = (s2 * variances[0] ** 2 / (variances[0] + noise)).reshape(3, 2).sum(axis=1) / costs
    assert asked.groups == [[2 * int(worth.argmax()), 2 * int(worth.argmax()) + 1]]
    assert worth.argmax() != 2


def test_aggregate_agents_run_all_members():
    env = ensemble(pick="one")
    loop = bridges.Loop(env, bridges.make_agent("gp-ucb", env), 0, design=bridges.initial_design(env, 5, 0))
    assert all(one.status == "ok" for one in loop.run(7))


def test_members_come_from_lists_or_from_distributions_drawn_once():
    assert worlds({"a": [1, 2], "b": [3, 4]}, 5, 0)[1] == {"a": 1, "b": 4}
    drawn = worlds({"r": {"normal": (1.5, 0.1)}, "e": {"uniform": (0, 1)}}, 100, 7)
    assert drawn == worlds({"r": {"normal": (1.5, 0.1)}, "e": {"uniform": (0, 1)}}, 100, 7)
    r = np.array([one["r"] for one in drawn])
    assert r.mean() == pytest.approx(1.5, abs=0.04) and r.std() == pytest.approx(0.1, abs=0.03)
    assert len(worlds({"r": {"lognormal": (0, 1)}}, 3, 0)) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vary": {}}, "vary"),
        ({"vary": {"shift": 3}}, "a list of values"),
        ({"vary": {"shift": {"gamma": (1, 2)}}}, "uniform"),
        ({"vary": {"shift": {"uniform": (2, 1)}}}, "low < high"),
        ({"vary": {"shift": [0], "fails": {"normal": (0, 1)}}}, "only lists"),
        ({"vary": {"shft": [0]}}, "did you mean 'shift'"),
        ({"vary": {"shift": list(range(101))}}, "100 at most"),
        ({"vary": {"shift": [0, 1]}, "weights": [1]}, "weights"),
        ({"vary": {"shift": [0, 1]}, "weights": [1, -1]}, "above 0"),
        ({"vary": {"shift": [0, 1]}, "objective": "best"}, "worst"),
        ({"vary": {"shift": [0, 1]}, "objective": "cvar:1"}, "level"),
        ({"vary": {"shift": [0, 1]}, "objective": "worst", "weights": [1, 1]}, "weights are of the mean"),
        ({"vary": {"shift": [0, 1]}, "pick": "two"}, "pick"),
        ({"vary": {"shift": [0, 1]}, "costs": [1, 0]}, "costs"),
    ],
)
def test_what_is_impossible_is_refused_by_its_name(options, words):
    with pytest.raises(ValueError, match=words):
        EnsembleEnvironment("shifted", **options)
