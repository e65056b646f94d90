"""The agent "auto" is d-gpucb with the settings that evidence chose, by whatever way it is made."""

import numpy as np
import pytest

import bridges
import optimizer
import simulators
from optimizer.agents.names import AUTO
from scenarios import load, run


def policies(agent, environment, rounds=12):
    loop = bridges.Loop(environment, agent, 3, design=bridges.initial_design(environment, 5, 1))
    return np.array([one.policy for one in loop.run(rounds)])


@pytest.fixture
def environment():
    return simulators.make("flu-ode", days=60)


def test_it_asks_what_d_gpucb_asks_with_its_settings_and_not_what_it_asks_without(environment):
    made = [
        bridges.make_agent("auto", environment),
        bridges.make_agent("d-gpucb", environment, **AUTO),
        bridges.make_agent("d-gpucb", environment),
    ]
    auto, same, other = (policies(agent, environment) for agent in made)
    np.testing.assert_array_equal(auto, same)
    assert np.abs(auto - other).max() > 1e-3
    assert made[0].name == "auto"


def test_what_is_given_counts_more_than_its_settings():
    space, g = optimizer.SearchSpace(candidates=np.linspace(0, 1, 9)[:, None]), optimizer.Composition(2)
    assert optimizer.make_agent("auto", space, g).settings.scale_down == AUTO["scale_down"]
    assert optimizer.make_agent("auto", space, g, scale_down=3.0).settings.scale_down == 3.0
    given = optimizer.AgentSettings(scale_down=4.0)
    assert optimizer.make_agent("auto", space, g, given).settings.scale_down == 4.0


def test_a_scenario_says_what_it_was_and_takes_other_settings_of_its_own_entry(
    scenario_file, policyloop, tmp_path
):
    path = scenario_file(
        agents='["auto", "d-gpucb", { name = "auto", label = "bolder", scale_down = 2.0 }]', rounds=4
    )
    scenario = load(path)
    assert [scenario.exploration_of(one).scale_down for one in scenario.agents] == [AUTO["scale_down"], 5, 2]
    study = run(scenario, out=tmp_path / "s.sqlite")
    code, text, _ = policyloop("show", study.path)
    assert code == 0
    assert "auto        auto is d-gpucb with scale_down 25" in text
    assert "auto        bolder is d-gpucb with scale_down 2" in text
