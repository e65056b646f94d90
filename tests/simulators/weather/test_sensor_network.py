"""The sensor network: the paper's protocol, the facts of both data sets, geometry, graph and composition."""

import os
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import haversine_distances

from simulators import SensorNetwork, check_environment, make
from simulators.stations import default_snapshot, read_stations
from simulators.stations.units import convert
from simulators.weather.perceived_temperature import perceived_temperature

SHARED = Path(os.environ.get("POLICYLOOP_DATA", Path(__file__).parents[4] / "shared" / "data"))
PAPER_FILE = SHARED / "owm_us2906_20170314.csv"
papers_file = pytest.mark.skipif(
    not PAPER_FILE.exists(), reason="the OpenWeatherMap file of 2017 is not at hand"
)
COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degF", "humidity": "percent", "wind": "mph"}


def table(n=12, **changes):
    rng = np.random.default_rng(n)
    rows = {
        "id": [f"s{i}" for i in range(n)],
        "lon": -100 + rng.uniform(0, 5, n),
        "lat": 35 + rng.uniform(0, 5, n),
        "t": rng.uniform(30, 95, n),
        "h": rng.uniform(5, 100, n),
        "w": rng.uniform(0, 30, n),
    }
    return pd.DataFrame({**rows, **changes})


def network(frame=None, **options):
    return SensorNetwork(data=table() if frame is None else frame, columns=COLUMNS, units=UNITS, **options)


@pytest.fixture(scope="module")
def weather():
    return make("weather")


def test_the_default_network_keeps_the_contract(weather):
    assert check_environment(weather) == []


@pytest.mark.parametrize("options", [{"rule": "paper"}, {"features": "degrees"}, {"features": "graph"}])
def test_its_variants_keep_the_contract(options):
    assert check_environment(network(**options)) == []


def test_a_third_is_set_aside_and_the_rest_are_the_candidates(weather):
    features, outcomes = weather.set_aside
    assert (len(features), weather.policy_space.size, weather.graph.number_of_nodes()) == (475, 951, 1426)
    rows = np.arange(951)
    everyone = np.concatenate([outcomes, weather.expected(rows)])
    snapshot = read_stations()[0].readings
    assert np.array_equal(np.unique(everyone, axis=0), np.unique(snapshot, axis=0))
    places = np.concatenate([features, weather.policy_space.embed(rows)])
    assert len(np.unique(places, axis=0)) == len(
        np.unique(np.stack([read_stations()[0].lon, read_stations()[0].lat], axis=1), axis=0)
    )


def test_the_split_is_drawn_from_the_seed():
    again, other = network(seed=3), network(seed=4)
    assert np.array_equal(network(seed=3).nodes, again.nodes)
    assert not np.array_equal(other.nodes, again.nodes)
    sequence = np.random.SeedSequence(3)
    assert np.array_equal(network(seed=sequence).nodes, again.nodes)
    assert network(set_aside_share=0).set_aside is None
    assert len(network(set_aside_share=0.5).nodes) == 6


def test_the_best_station_of_2007_is_robstown_in_texas():
    everyone = make("weather", set_aside_share=0)  # with or without the quality control
    rows = np.arange(1426)
    felt = everyone.compose(everyone.expected(rows), rows)
    assert everyone.step(int(felt.argmax())).info == {"id": "KRBO"}
    assert felt.max() == pytest.approx(98.40, abs=0.005)


@papers_file
@pytest.mark.parametrize(
    ("rule", "name", "value"), [("nws", "Key West", 73.38), ("paper", "Immokalee", 72.69)]
)
def test_the_best_station_of_2017_depends_on_the_rule(rule, name, value):
    paper = make("weather", data=PAPER_FILE, rule=rule, set_aside_share=0, quality="off")
    rows = np.arange(2906)
    felt = paper.compose(paper.expected(rows), rows)
    assert paper.stations.names[paper.nodes[felt.argmax()]] == name
    assert felt.max() == pytest.approx(value, abs=0.005)
    assert nx.is_connected(paper.graph)
    assert np.isfinite(paper.bounds).all()


@papers_file
def test_842_stations_of_2017_read_what_their_nearest_neighbour_reads():
    paper = make("weather", data=PAPER_FILE)
    readings, same = paper.stations.readings, 0
    for node, edges in paper.graph.adjacency():
        nearest = min(edges.items(), key=lambda edge: edge[1]["distance"])[0]
        same += bool((readings[node] == readings[nearest]).all())
    assert same == 842


def test_the_groups_are_in_canonical_units_and_the_objective_in_fahrenheit():
    frame = table()
    net = network(frame, set_aside_share=0)
    expected = net.expected(np.arange(12))
    assert expected[:, 0] == pytest.approx((frame["t"] + 459.67) * 5 / 9, rel=1e-12)
    assert expected[:, 2] == pytest.approx(frame["w"] * 0.44704, rel=1e-12)
    felt = perceived_temperature(frame["t"], frame["h"], frame["w"])
    assert net.compose(expected, np.arange(12)) == pytest.approx(felt, abs=1e-7)


def test_what_a_model_may_predict_is_composed_and_a_missing_group_is_missing(weather):
    predicted = [[300.0, 130.0, -4.0], [300.0, 100.0, 0.0], [270.0, -20.0, -1.0], [270.0, 0.0, 0.0]]
    felt = weather.compose(predicted, np.arange(4))
    assert felt[0] == felt[1]
    assert felt[2] == felt[3] == convert(270.0, "temperature", "K", "degF")
    mild = np.array([[288.0, 50.0, 3.0]] * 3)
    mild[np.arange(3), np.arange(3)] = np.nan
    assert np.isnan(weather.compose(mild, np.arange(3))).all()
    assert np.isnan(weather.gradient(mild, np.arange(3))).all()


def test_the_slopes_are_those_of_the_composition_and_within_the_bounds(weather):
    rows = np.arange(weather.policy_space.size)
    readings = weather.expected(rows)
    slopes = weather.gradient(readings, rows)
    assert (np.abs(slopes) <= weather.bounds).all()
    for j, h in enumerate((1e-4, 1e-3, 1e-4)):
        change = np.zeros(3)
        change[j] = h
        ends = weather.compose(readings + change, rows) - weather.compose(readings - change, rows)
        wrong = np.abs(ends / (2 * h) - slopes[:, j]) > 1e-3
        assert wrong.sum() <= 40  # readings at round numbers stand at the jumps of g


def test_every_sensor_is_joined_to_its_nearest_on_the_sphere():
    net = network(table(30), neighbours=5)
    radians = np.radians(np.stack([net.stations.lat, net.stations.lon], axis=1))
    km = 6371.0 * haversine_distances(radians)
    for node in net.graph:
        nearest = np.argsort(km[node])[1:6]
        assert set(nearest) <= set(net.graph[node])
        for other, edge in net.graph[node].items():
            assert edge["distance"] == pytest.approx(km[node, other], rel=1e-9)
            assert node in np.argsort(km[other])[1:6] or other in nearest


def test_the_antimeridian_does_not_part_neighbours():
    net = network(table(4, lon=[179.0, -179.0, 177.0, -177.0], lat=[0.0, 0.0, 0.0, 0.0]), neighbours=1)
    assert set(net.graph.edges) == {(0, 1), (0, 2), (1, 3)}


def test_features_are_points_degrees_or_nodes():
    sphere, degrees, nodes = (network(features=name) for name in ("sphere", "degrees", "graph"))
    rows = np.arange(sphere.policy_space.size)
    assert np.linalg.norm(sphere.policy_space.embed(rows), axis=1) == pytest.approx(6.371)
    assert np.array_equal(degrees.policy_space.embed(rows), degrees.policy_space.resolve(rows))
    assert np.array_equal(nodes.policy_space.embed(rows)[:, 0], nodes.nodes)
    both = np.concatenate([nodes.policy_space.embed(rows), nodes.set_aside[0]])
    assert sorted(both[:, 0]) == list(range(12))


def test_a_reading_is_the_truth_with_noise_of_the_stated_variance(weather):
    weather.reset(0)
    readings = np.array([weather.step(7).values for _ in range(4000)])
    assert readings.var(axis=0) == pytest.approx([0.04, 0.03, 0.005], rel=0.1)
    assert readings.mean(axis=0) == pytest.approx(weather.expected([7])[0], abs=0.015)
    assert weather.step(7).noise_variance.tolist() == [0.04, 0.03, 0.005]


def test_a_copy_reads_the_same(weather):
    copy = pickle.loads(pickle.dumps(weather))
    for one in (weather, copy):
        one.reset(5)
    assert np.array_equal(weather.step(3).values, copy.step(3).values)


def test_the_default_neighbours_are_as_many_as_connect_the_sensors():
    lon = np.concatenate([np.linspace(-100, -99, 12), np.linspace(-80, -79, 12)])
    split = table(24, lon=lon, lat=40.0)
    assert nx.is_connected(network(split).graph)
    assert nx.is_connected(make("weather", neighbours=8).graph)
    with pytest.raises(
        ValueError, match=r"neighbours=8 leaves the sensors in 2 parts .* neighbours >= (\d+)"
    ) as e:
        network(split, neighbours=8)
    least = int(str(e.value).split(">= ")[1].split(",")[0])
    assert nx.is_connected(network(split, neighbours=least).graph)
    with pytest.raises(ValueError, match="2 parts"):
        network(split, neighbours=least - 1)


def test_two_values_at_one_place_need_noise(tmp_path):
    path = tmp_path / "twice.csv"
    frame = table(6)
    frame.loc[4, ["lon", "lat"]] = frame.loc[1, ["lon", "lat"]]
    frame.loc[4, "h"] = frame.loc[1, "h"]
    frame.to_csv(path, index=False)
    options = {"data": path, "columns": COLUMNS, "units": UNITS}
    assert "same place as an earlier station" in str(SensorNetwork(**options).report)
    SensorNetwork(**options, noise_variance=[0.04, 0.0, 0.005])
    with pytest.raises(ValueError) as error:
        SensorNetwork(**options, noise_variance=[0.0, 0.0, 0.005])
    assert str(error.value) == (
        f"{path}: row 6: station 's4' has the place of 's1' in row 3 but another temperature, "
        "and noise_variance of 'temperature' is 0"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "nsw"}, "rule='nsw' must be one of 'nws', 'paper'; did you mean 'nws'"),
        ({"features": "map"}, "features='map' must be one of"),
        ({"neighbours": 0}, "neighbours=0 must be a whole number >= 1"),
        ({"set_aside_share": 1.0}, "set_aside_share=1.0 must be >= 0 and < 1"),
        ({"sensors": 1}, "sensors=1 must be a whole number >= 2"),
        ({"noise_variance": -1}, "noise_variance of group 'temperature' is -1"),
        ({"seed": -1}, "seed=-1 must be a whole number >= 0"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_accepted(options, message):
    with pytest.raises(ValueError, match=message) as error:
        make("weather", **options)
    assert "\n" not in str(error.value)


def test_there_are_no_rows_beyond_the_candidates(weather):
    for rows in ([951], [-1], [0.5]):
        with pytest.raises(ValueError, match=r"candidate rows must be whole numbers in 0\.\.950"):
            weather.expected(rows)


def test_a_smaller_network_is_drawn_from_the_seed():
    some = make("weather", sensors=100, seed=2)
    assert len(some.stations) == 100
    assert set(some.stations.ids) < set(default_snapshot().ids)
    assert set(some.stations.ids) != set(make("weather", sensors=100, seed=1).stations.ids)


def test_the_report_of_the_import_is_at_hand(weather):
    assert (weather.report.rows, weather.report.stations, weather.report.findings) == (1439, 1426, ())
    assert set(weather.left_out.ids) == {flag.station for flag in weather.report.flags}
    assert len(weather.left_out) == 13
    assert weather.report is read_stations()[1]
