"""Ways to the gateways, against networkx, and what readings cost on them, by hand."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from simulators import make
from simulators.stations.sphere import arc_of_chord, points_on_sphere
from simulators.weather.radio import links_within, routes, spread_gateways
from simulators.weather.sensor_graph import nearest_neighbours


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return points_on_sphere(rng.uniform(-110, -90, 120), rng.uniform(30, 45, 120))


def test_hops_are_those_of_the_shortest_ways_in_networkx(points):
    links = nearest_neighbours(points, 3)
    gateways = np.array([5, 70])
    found = routes(links, 120, gateways)
    graph = nx.Graph(links.tolist())
    graph.add_nodes_from(range(120))
    known = nx.multi_source_dijkstra_path_length(graph, {5, 70}, weight=None)
    assert {i: h for i, h in enumerate(found.hops) if np.isfinite(h)} == known
    for row in known:
        way = [*found.way(row)]
        assert len(way) == found.hops[row]
        ends = [*way[1:], int(found.following[way[-1]])] if way else []
        assert all(graph.has_edge(a, b) for a, b in zip(way, ends, strict=True))
        assert not way or ends[-1] in (5, 70)


def test_a_sensor_that_does_not_relay_cuts_off_those_behind_it():
    links = np.array([[0, 1], [1, 2], [2, 3]])
    assert routes(links, 4, np.array([0])).hops.tolist() == [0, 1, 2, 3]
    without = routes(links, 4, np.array([0]), np.array([True, True, False, True]))
    assert without.hops.tolist() == [0, 1, np.inf, np.inf]
    assert without.way(3) == []
    nobody = routes(links, 4, np.array([0]), np.array([False, True, True, True]))
    assert np.isinf(nobody.hops).all()


def test_links_within_a_range_are_those_of_the_distance_along_the_ground(points):
    links = links_within(points, 150.0)
    km = arc_of_chord(np.linalg.norm(points[:, None] - points[None], axis=2))
    assert links.tolist() == [list(pair) for pair in np.argwhere(np.triu(km <= 150.0, 1))]


def test_gateways_lie_at_most_twice_as_far_away_as_the_best_choice(points):
    few = points[:14]
    chosen = spread_gateways(few, 3)

    def reach(rows):
        return np.linalg.norm(few[:, None] - few[None, list(rows)], axis=2).min(axis=1).max()

    best = min(reach(rows) for rows in combinations(range(14), 3))
    assert len(set(chosen.tolist())) == 3
    assert reach(chosen) <= 2 * best


def test_a_reading_costs_its_channels_and_its_hops():
    joules = {"packet_energy": 0.5, "channel_energy": 0.1, "sensing_energy": [1, 2, 4]}
    env = make("weather", sensors=60, gateways=2, **joules)
    hops = env.energy.routes.hops[env.nodes]
    assert hops.max() >= 2
    far = int(hops.argmax())
    env.reset(0)
    whole, part = env.step(far), env.step_groups(far, [0, 2])
    assert whole.info["cost"] == pytest.approx(7 + hops.max() * 0.8)
    assert part.info["cost"] == pytest.approx(5 + hops.max() * 0.7)
    assert np.isnan(part.values).tolist() == [False, True, False]
    assert env.query_costs([far])[0].sum() == pytest.approx(whole.info["cost"])
    assert env.info_units == {"cost": "J"}


def test_some_channels_read_what_all_of_them_read():
    env = make("weather", sensors=40)
    env.reset(3)
    whole = env.step(4)
    env.reset(3)
    part = env.step_groups(4, [1])
    assert part.values[1] == whole.values[1]
    assert "cost" not in part.info and env.query_costs is None


@pytest.mark.parametrize("name", ["weather", "weather-live"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radio_range": 50}, "radio_range=50 has no effect without gateways"),
        ({"energy_budget": 3.0}, r"energy_budget=3.0 has no effect without gateways"),
        ({"gateways": 31}, "gateways=31 must be at most the number of sensors, 30"),
        ({"gateways": 1, "radio_range": 20}, r"radio_range=20 leaves 2\d of 30 sensors without a way"),
        ({"gateways": 1, "packet_energy": -1}, "packet_energy=-1 must be a finite number >= 0"),
        ({"gateways": 1, "sensing_energy": [0, 0, 0]}, "every reading must cost something"),
        ({"gateways": 1, "packet_enrgy": 1}, "no option 'packet_enrgy'; did you mean 'packet_energy'"),
    ],
)
def test_an_impossible_cost_is_named(name, options, message):
    with pytest.raises(ValueError, match=message) as error:
        make(name, sensors=30, **options)
    assert "\n" not in str(error.value)
