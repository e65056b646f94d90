"""Regret for equal cost, and cost to equal regret: by hand, and in a study."""

import json

import numpy as np
import pytest

from scenarios import load, run
from scenarios.errors import UserError
from scenarios.results.costs import cost_to, regret_for, spent
from scenarios.results.report import as_json
from scenarios.results.statistics import compare


def test_the_regret_for_a_cost_charges_each_unit_with_its_round():
    cost, regret = np.array([1.0, 3.0, 2.0]), np.array([9.0, 4.0, 1.0])
    assert regret_for(6.0, cost, regret) == pytest.approx((9 + 12 + 2) / 6)
    assert regret_for(5.0, cost, regret) == pytest.approx((9 + 12 + 1) / 5)
    assert regret_for(2.0, cost, regret) == pytest.approx((9 + 4) / 2)
    assert regret_for(3.0, np.ones(3), regret) == pytest.approx(regret.mean())
    assert np.isnan(regret_for(0.0, cost, regret))


def test_the_cost_to_a_regret_counts_the_round_that_reaches_it_and_all_where_none_does():
    cost, regret = np.array([1.0, 3.0, 2.0]), np.array([9.0, 4.0, 1.0])
    assert [cost_to(goal, cost, regret) for goal in (9.0, 4.0, 2.0, 0.5)] == [1.0, 4.0, 6.0, 6.0]


SCENARIO = """
name = "net"
rounds = 12
trials = 2
batch = 3
agents = ["d-gpucb", { name = "d-gpucb", label = "whole", observe = "all" }, "gp-ucb", "mutual-information"]
environment = { name = "weather", options = { sensors = 60, gateways = 2, energy_budget = 3.0 } }
prior = { samples = 20, family = "matern-1/2" }
exploration = { propagation = "delta" }
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("net")
    (folder / "net.toml").write_text(SCENARIO)
    return run(load(folder / "net.toml"), out=folder / "net.sqlite")


def test_the_table_has_what_each_agent_has_spent(study):
    costs = {one[:3]: one.value["cost"] for one in study.details("info")}
    table, found = compare(study), spent(study, "gp-ucb")
    for label in study.scenario.labels:
        totals = [sum(costs[t, label, r] for r in range(1, 13)) for t in (1, 2)]
        assert found[label].cost.tolist() == pytest.approx(totals)
        assert table[label]["cost"]["mean"] == pytest.approx(np.mean(totals))
    assert table["d-gpucb"]["cost"]["mean"] < table["whole"]["cost"]["mean"]
    frame = study.to_dataframe()
    least = min(found[label].cost[1] for label in found)
    own = frame[(frame["agent"] == "gp-ucb") & (frame["trial"] == 1)]
    each = [costs[1, "gp-ucb", r] for r in range(1, 13)]
    assert found["gp-ucb"].regret[1] == pytest.approx(
        regret_for(least, np.array(each), own["regret"].to_numpy())
    )
    assert table["gp-ucb"]["cost_saved_percent"]["mean"] == 0.0
    assert "cost_to_equal_regret" in json.loads(as_json(study))["whole"]


def test_the_readings_of_a_round_keep_to_the_budget_but_for_the_first_of_a_trial(study):
    costs = {one[:3]: one.value["cost"] for one in study.details("info")}
    for label in study.scenario.labels:
        for trial in (1, 2):
            each = np.array([costs[trial, label, r] for r in range(1, 13)])
            each[0] = 0.0
            assert each.reshape(4, 3).sum(axis=1).max() <= 3.0 * (1 + 1e-9)


def test_channels_that_were_not_asked_for_are_missing(study):
    frame = study.to_dataframe()
    chosen = frame[(frame["agent"] == "d-gpucb") & (frame["round"] > 1)]
    assert (chosen["status"] == "partial").any()
    assert (frame.loc[frame["agent"] != "d-gpucb", "status"] == "ok").all()


def test_without_costs_nothing_is_said_of_them(scenario_file, tmp_path):
    plain = run(load(scenario_file(agents='["random"]', trials=1, rounds=3)), out=tmp_path / "plain.sqlite")
    assert spent(plain, "random") is None
    assert compare(plain)["random"]["cost"] == {"mean": None, "low": None, "high": None}


def test_a_budget_that_does_not_pay_for_a_batch_is_refused_before_the_first_round(tmp_path):
    path = tmp_path / "net.toml"
    path.write_text(SCENARIO.replace("energy_budget = 3.0", "energy_budget = 0.3"))
    with pytest.raises(UserError, match="batch = 3: a budget of 0.3 does not pay for as many whole"):
        run(load(path), out=tmp_path / "net.sqlite")
