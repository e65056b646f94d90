"""Scenarios of places: own kernels under a general composition, data from a file, living worlds, the map."""

import shutil

import numpy as np
import pytest

from scenarios import Study, UserError, load, run
from scenarios.figures.plot import plot
from scenarios.figures.station_map import has_map, station_map, unwrapped
from scenarios.trial.trial import replay
from scenarios.trial.world import World

TEXT = """
name = "places"
rounds = 6
trials = 1
seed = 4
agents = ["d-gpucb", "gp-ucb", {{ name = "d-gpucb", label = "bold", propagation = "bound" }}, "random"]
[environment]
name = "{environment}"
options = {{ sensors = 60, neighbours = 12 }}
new_world_each_trial = true
[prior]
family = "{family}"
samples = 40
restarts = 0
"""


def places(scenario_file, environment="weather", family="rbf"):
    return load(scenario_file(TEXT.format(environment=environment, family=family)))


@pytest.fixture
def study(scenario_file, tmp_path):
    return run(places(scenario_file), out=tmp_path / "s.sqlite")


def test_aggregate_agents_get_a_kernel_of_the_composed_values(study):
    priors = study.worlds["1"].priors
    assert set(priors) == {"groups", "own"}
    assert len(priors["groups"]["kernels"]) == 3 and len(priors["own"]["kernels"]) == 1
    assert 30 < priors["own"]["means"][0] < 90  # degF, while the groups' temperature is in K
    frame = study.to_dataframe()
    assert (frame["status"] == "ok").all() and (frame["regret"] >= -1e-9).all()


def test_propagation_of_one_agent_is_its_own(study):
    frame = study.to_dataframe().pivot(index="round", columns="agent", values="x_lon")
    assert (frame["bold"] != frame["d-gpucb"]).any()


def test_diffusion_kernel_is_chosen_by_one_option(scenario_file, tmp_path):
    study = run(places(scenario_file, family="diffusion"), out=tmp_path / "s.sqlite")
    kernel = study.worlds["1"].priors["groups"]["kernels"][0]
    assert kernel["k2"]["class"] == "DiffusionKernel" and kernel["k2"]["beta"] > 0
    text = TEXT.format(environment="flu-ode", family="diffusion")
    with pytest.raises(UserError, match="no option 'features'"):
        World.of(load(scenario_file(text.replace("options = { sensors = 60, neighbours = 12 }", ""))), 1)


def test_living_study_has_the_regret_of_the_hour_and_no_optimum_of_its_world(scenario_file, tmp_path):
    study = run(places(scenario_file, "weather-live"), out=tmp_path / "s.sqlite")
    assert study.environment.lives and study.optimum(1) is None
    assert (study.to_dataframe()["regret"] >= -1e-9).all()
    advice = study.recommendations()
    assert len(advice) == 4 and all(one.simple_regret >= -1e-9 for one in advice)
    assert all(
        kernel["k2"]["k2"]["class"] == "Matern" for kernel in study.worlds["1"].priors["own"]["kernels"]
    )


def test_living_study_that_was_stopped_ends_bit_for_bit_as_one_that_was_not(scenario_file, tmp_path):
    scenario = places(scenario_file, "weather-live")
    whole = run(scenario, out=tmp_path / "whole.sqlite")
    short = scenario.model_copy(update={"rounds": 3})
    run(short, out=tmp_path / "parts.sqlite")
    parts = run(scenario, out=tmp_path / "parts.sqlite", resume=True, jobs=2)
    untimed = [study.to_dataframe().drop(columns="seconds") for study in (whole, parts)]
    assert untimed[0].equals(untimed[1])
    assert whole.recommendations() == parts.recommendations()


def test_replayed_agent_stands_where_it_stood(study):
    history = study.history(1, "d-gpucb")
    environment, agent = replay(study.scenario, 1, "d-gpucb", study.world(1), history)
    advice = next(one for one in study.recommendations() if one.agent == "d-gpucb")
    assert agent.recommend().policy == advice.row and agent.rounds == 6
    mean, deviation = agent.predict(np.arange(environment.policy_space.size))
    assert mean[advice.row] == pytest.approx(advice.mean, rel=2e-3)  # the advice is of more samples
    assert (deviation >= 0).all()


def test_map_is_drawn_for_places_in_true_proportion(study, tmp_path):
    assert has_map(study)
    drawn = {path.name for path in plot(study, tmp_path / "figures")}
    assert {"map.png", "map.svg", "cumulative_regret.svg"} <= drawn
    assert not any(name.startswith("recommended_policy") for name in drawn)
    figure = station_map(study)
    panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
    lat = np.array(study.to_dataframe()["x_lat"])
    for axes in panels:
        assert 1 / np.cos(np.radians(20)) < axes.get_aspect() < 1 / np.cos(np.radians(50))
        low, high = axes.get_ylim()
        assert low < lat.min() and lat.max() < high
    assert [axes.get_title(loc="left") for axes in panels] == [
        "noise-free objective",
        "6 stations asked, in order",
        "posterior mean",
        "posterior standard deviation",
    ]


def test_map_does_not_tear_at_the_antimeridian():
    lon = unwrapped(np.array([178.0, -179.0, 175.0, -172.0]))
    assert np.ptp(lon) == pytest.approx(13) and ((lon - [178, -179, 175, -172]) % 360 == 0).all()


def test_data_come_from_a_file_named_on_the_command_line(study, scenario_file, policyloop, tmp_path):
    csv = tmp_path / "stations.csv"
    rng = np.random.default_rng(0)
    lines = [
        f"s{i},{rng.uniform(-100, -90):.3f},{rng.uniform(30, 40):.3f},{rng.uniform(280, 300):.2f},50,3"
        for i in range(40)
    ]
    csv.write_text("\n".join(["id,lon,lat,temperature_k,humidity_percent,wind_mps", *lines]) + "\n")
    path = tmp_path / "own.toml"
    path.write_text(
        TEXT.format(environment="weather", family="rbf").replace(
            "sensors = 60, neighbours = 12",
            "neighbours = 12, "
            'columns = { id = "id", lon = "lon", lat = "lat", temperature = "temperature_k", '
            'humidity = "humidity_percent", wind = "wind_mps" }, '
            'units = { temperature = "K", humidity = "percent", wind = "m/s" }',
        )
    )
    out = tmp_path / "own.sqlite"
    code, _, error = policyloop("run", path, "--data", csv, "--agents", "random", "--out", out, "--quiet")
    assert (code, error) == (0, "")
    assert Study(out).scenario.environment.options["data"] == str(csv)
    for broken, words in ((tmp_path / "none.csv", "none.csv"), (tmp_path / "empty.csv", "empty.csv")):
        if "empty" in words:
            broken.write_text("")
        code, _, error = policyloop("run", path, "--data", broken, "--out", tmp_path / "t.sqlite")
        assert code == 2 and error.count("\n") == 1 and words in error
        assert not (tmp_path / "t.sqlite").exists()
    shutil.move(csv, tmp_path / "gone.csv")
    code, _, error = policyloop("run", path, "--data", csv, "--out", out, "--resume")
    assert code == 2 and error.count("\n") == 1


def test_paper_scenario_asks_for_its_data(policyloop, tmp_path):
    code, _, error = policyloop("run", "weather-paper", "--out", tmp_path / "t.sqlite")
    assert code == 2 and error.count("\n") == 1 and "--data FILE" in error and "14 March 2017" in error
    assert not (tmp_path / "t.sqlite").exists()
