"""Methods of SciPy and samplers of Optuna as agents that are told the composed value."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint

import optimizer
import scenarios
import simulators
from bridges import Loop, make_agent
from bridges.agents.optuna_agent import OptunaAgent
from bridges.agents.scipy_agent import SciPyAgent
from bridges.agents.unit_box import UnitBox
from bridges.feedback import composition, search_space
from optimizer import Composition, SearchSpace
from simulators import Environment, Outcomes, PolicySpace

NAMES = ["optuna-cmaes", "optuna-tpe", "scipy-de", "scipy-nelder-mead"]
BEST = np.array([0.2, 0.5])


class Valley(Environment):
    groups, group_units = ("a", "b"), ("", "")
    objective_unit = ""

    def __init__(self, sense="minimize", budget=np.inf, fail_above=np.inf):
        self.sense, self.fail_above = sense, fail_above
        self.policy_space = PolicySpace(
            ("x", "y"),
            ("", ""),
            bounds=Bounds([0, 0], [1, 1]),
            constraint=LinearConstraint([1, 1], -np.inf, budget),
        )

    def step(self, policy):
        x = self.policy_space.check(policy)
        if x[0] > self.fail_above:
            raise RuntimeError("no such x")
        return Outcomes((x - BEST) ** 2 * (1 if self.sense == "minimize" else -1))


def test_their_names_are_known_before_any_of_them_or_a_heavy_library_is_imported():
    code = """
import bridges, sys
from optimizer.agents.plugins import registered_names
print(registered_names(), {"numpy", "scipy", "sklearn", "optuna"} & {*sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{sorted(['optuna-gp', *NAMES])} set()\n"


def rounds(agent, environment, n, history=()):
    return list(Loop(environment, agent, seed=0).run(n, history=history))


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize("name", NAMES)
def test_each_comes_near_the_best_policy_in_either_sense(name, sense):
    environment = Valley(sense)
    agent = make_agent(name, environment, seed=1)
    assert agent.name == name and agent.feedback == "aggregate"
    rounds(agent, environment, 60)
    assert np.linalg.norm(agent.recommend().policy - BEST) < 0.12


@pytest.mark.parametrize("name", NAMES)
def test_ask_works_with_no_observation_and_with_one_and_at_any_time(name):
    space = SearchSpace(Bounds([0, 0], [1, 1]), LinearConstraint([1, 1], -np.inf, 1.2))
    agent = optimizer.make_agent(name, space, Composition(2), context=True)
    for hour in range(2):
        x = agent.ask(context=float(hour))
        assert space.contains(x).all()
        agent.tell(x, x.sum(axis=1), context=float(hour))
    assert space.contains(agent.ask(3, context=2.0)).all()
    assert space.contains(np.asarray([agent.recommend().policy])).all()


def test_cma_es_closes_in_on_the_best_policy_as_random_search_does_not():
    ends = {}
    for name in ("optuna-cmaes", "random"):
        told = rounds(make_agent(name, Valley(), seed=1), Valley(), 90)
        ends[name] = np.mean([one.objective for one in told[-20:]])
    assert ends["optuna-cmaes"] < ends["random"] / 20


def test_nelder_mead_finds_the_best_policy_to_three_digits():
    environment = Valley()
    agent = make_agent("scipy-nelder-mead", environment, seed=1)
    rounds(agent, environment, 60)
    assert np.abs(agent.recommend().policy - BEST).max() < 2e-3


@pytest.mark.parametrize("name", NAMES)
def test_policies_keep_the_budget(name):
    environment = Valley(budget=0.5)
    agent = make_agent(name, environment, seed=2)
    told = rounds(agent, environment, 30)
    assert {one.status for one in told} == {"ok"}
    assert len(agent.projected) == 30 and any(agent.projected)
    for one, projected in zip(told, agent.projected, strict=True):
        assert not projected or one.policy.sum() == pytest.approx(0.5)
    free = make_agent(name, Valley(), seed=2)
    rounds(free, Valley(), 30)
    assert free.projected == [False] * 30


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_told_again_goes_on_as_the_first_did(name):
    environment = Valley(budget=0.9)
    whole = rounds(make_agent(name, environment, seed=3), environment, 24)
    rest = rounds(make_agent(name, environment, seed=3), environment, 24, history=whole[:13])
    assert all(np.array_equal(a.policy, b.policy) for a, b in zip(whole[13:], rest, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_may_be_told_in_any_order(name):
    agent = make_agent(name, Valley(), seed=4)
    for _ in range(4):
        policies = agent.ask(5)
        assert len(np.unique(policies, axis=0)) >= 4  # evolution may try a policy twice
        back = policies[::-1]
        agent.tell(back, ((back - BEST) ** 2).sum(axis=1))
    assert agent.rounds == 20 and np.isfinite(agent.recommend().mean)


@pytest.mark.parametrize("name", NAMES)
def test_failed_rounds_are_survived_and_never_recommended(name):
    environment = Valley(fail_above=0.4)
    agent = make_agent(name, environment, seed=5)
    told = rounds(agent, environment, 30)
    assert {one.status for one in told} == {"ok", "failed"}
    assert agent.recommend().policy[0] <= 0.4


@pytest.mark.parametrize("name", NAMES)
def test_candidates_are_asked_for_by_row(name):
    environment = simulators.make("weather")
    told = rounds(make_agent(name, environment, seed=6), environment, 15)
    assert all(one.row is not None and one.status != "failed" for one in told)


def test_every_point_of_the_unit_box_is_a_feasible_policy():
    space = SearchSpace(Bounds([0, -1, 2], [4, 1, 2]), LinearConstraint([1, 1, 0], -np.inf, 2))
    box = UnitBox(space)
    for point in np.random.default_rng(0).random((50, box.d)):
        policy, moved = box.policy(point)
        assert space.contains(policy[None])[0]
        assert moved != np.allclose(box.points(policy[None])[0], point, atol=1e-9)


def test_they_are_compared_in_a_scenario(tmp_path):
    file = tmp_path / "peers.toml"
    agents = ", ".join(f'"{name}"' for name in ["d-gpucb", *NAMES])
    file.write_text(
        f'name = "peers"\nrounds = 4\ntrials = 1\nseed = 1\nagents = [{agents}]\n'
        '[environment]\nname = "flu-ode"\n[prior]\nsamples = 20\n'
    )
    study = scenarios.run(scenarios.load(file), out=tmp_path / "peers.sqlite")
    assert set(study.to_dataframe()["agent"]) == {"d-gpucb", *NAMES}


def test_a_missing_library_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"^sampler GPSampler needs torch, .*: pip install torch$"):
        make_agent("optuna-gp", Valley())
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"needs optuna, .* pip install 'policyloop\[bridges\]'"):
        make_agent("optuna-tpe", Valley())


def test_optuna_gp_learns_where_torch_is_installed():
    pytest.importorskip("torch")
    environment = Valley()
    agent = make_agent("optuna-gp", environment, seed=1)
    rounds(agent, environment, 20)
    assert np.linalg.norm(agent.recommend().policy - BEST) < 0.1


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        ("TPE", "sampler='TPE'; accepted: .*TPESampler"),
        ("QMCSampler", "QMCSampler keeps its state in the study"),
    ],
)
def test_samplers_that_cannot_be_agents_are_refused_in_one_line(sampler, words):
    environment = Valley()
    with pytest.raises(ValueError, match=words) as told:
        OptunaAgent(search_space(environment), composition(environment), sampler=sampler)
    assert "\n" not in str(told.value)


def test_an_unknown_method_is_refused_with_those_accepted():
    with pytest.raises(ValueError, match="method='bfgs'; accepted: 'de', 'nelder-mead'"):
        SciPyAgent(SearchSpace(Bounds([0], [1])), Composition(1), method="bfgs")


def test_any_sampler_of_optuna_is_an_agent():
    optuna = pytest.importorskip("optuna")
    environment = Valley()
    agent = OptunaAgent(
        search_space(environment),
        composition(environment),
        sampler=lambda seed: optuna.samplers.RandomSampler(seed=seed),
    )
    assert len(np.unique(agent.ask(3), axis=0)) == 3
