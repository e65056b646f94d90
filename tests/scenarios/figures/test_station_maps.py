"""Maps of stations: coasts where they are, a field that is the posterior, marks of what happened."""

import json

import numpy as np
import pandas as pd
import pytest

from scenarios import load, report, run
from scenarios.figures.field import posterior_at
from scenarios.figures.import_map import import_map
from scenarios.figures.outline import BORDER, COAST, STATE, Box, outline, plain_lines
from scenarios.figures.station_map import draw_view, view_of
from scenarios.study.facts import Facts
from scenarios.trial.trial import replay
from simulators.stations import default_snapshot, read_stations

TEXT = """
name = "places"
rounds = 8
trials = 1
seed = 4
agents = ["{agent}", "random"]
[environment]
name = "{environment}"
options = {{ sensors = 60, neighbours = 12{more} }}
[prior]
samples = 40
restarts = 0
"""

AMERICA = Box(-126.0, 24.0, -66.0, 50.0)


def studied(folder, agent="d-gpucb", environment="weather", more=""):
    path = folder / f"{agent}-{environment}.toml"
    path.write_text(TEXT.format(agent=agent, environment=environment, more=more))
    return run(load(path), out=folder / f"{agent}-{environment}.study.sqlite")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return studied(tmp_path_factory.mktemp("maps"))


def nearest(lines, lon, lat):
    """How far the nearest point of some lines is from a place, degrees."""
    return min(np.hypot(*(line - (lon, lat)).T).min() for line in lines)


def test_coasts_and_borders_are_where_the_atlas_has_them():
    found = outline(AMERICA)
    assert nearest(found[COAST], -80.53, 28.46) < 0.1  # Cape Canaveral
    assert nearest(found[COAST], -124.73, 48.38) < 0.1  # Cape Flattery
    northern = np.concatenate(found[BORDER])
    assert (np.abs(northern[:, 1] - 49.0) < 0.02).sum() > 3  # the 49th parallel
    kansas = np.concatenate(found[STATE])
    assert ((np.abs(kansas[:, 1] - 40.0) < 0.02) & (kansas[:, 0] > -102) & (kansas[:, 0] < -95.3)).any()
    assert nearest(outline(Box(5, 35, 20, 48))[BORDER], 7.05, 45.92) < 0.3  # where three countries meet


def test_a_line_is_cut_without_losing_what_is_seen():
    box = Box(-10.0, 50.0, 2.0, 60.0)
    whole = outline(Box(-180.0, -90.0, 180.0, 90.0))[COAST]
    inside = lambda p: (p[:, 0] > -10) & (p[:, 0] < 2) & (p[:, 1] > 50) & (p[:, 1] < 60)  # noqa: E731
    points = np.concatenate(whole)
    expected = points[inside(points)]
    got = np.concatenate(outline(box)[COAST])
    assert {tuple(p) for p in expected} <= {tuple(p) for p in got}
    assert len(got) < 1.2 * len(expected)


def test_a_map_across_the_antimeridian_has_both_of_its_sides_and_no_seam():
    lines = outline(Box(160.0, -50.0, 200.0, 70.0))[COAST]
    lon = np.concatenate(lines)[:, 0]
    assert (
        lon.min() < 175 and lon.max() > 185 and all(np.abs(np.diff(line[:, 0])).max() < 20 for line in lines)
    )
    for line in outline(Box(-180.0, -90.0, 180.0, 90.0))[COAST]:
        edge = np.abs(line[:, 0]) == 180.0
        assert not (edge[1:] & edge[:-1]).any() and np.abs(line[:, 0]).max() <= 181.7


def test_lines_of_a_page_are_plain_data():
    lines = plain_lines(np.array([-100.0, -90.0]), np.array([30.0, 40.0]))
    assert json.loads(json.dumps(lines)) == lines and len(lines) > 10


@pytest.mark.parametrize(
    ("agent", "environment", "more"),
    [
        ("d-gpucb", "weather", ""),
        ("gp-ucb", "weather", ', features = "degrees"'),
        ("d-gpucb", "weather-live", ""),
    ],
)
def test_the_field_at_a_station_is_what_the_agent_believes_of_it(tmp_path, agent, environment, more):
    one = studied(tmp_path, agent, environment, more)
    made, asked = replay(one.scenario, 1, agent, one.world(1), one.history(1, agent))
    rows = np.arange(made.policy_space.size)
    time = made.context
    mean, deviation = posterior_at(asked, made, made.policy_space.resolve(rows), time)
    expected = asked.predict(rows) if time is None else asked.predict(rows, context=time)
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(deviation, expected[1], atol=1e-6)


def test_between_nodes_of_a_graph_there_is_no_field(tmp_path):
    one = studied(tmp_path, more=', features = "graph"')
    view = view_of(one)
    assert view.field is None
    assert "posterior mean" in [axes.get_title(loc="left") for axes in draw_view(view).axes]


def texts(figure):
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def test_the_legend_names_the_best_stations_and_the_one_that_is_recommended(study):
    view = view_of(study)
    found = texts(draw_view(view))
    best = study.environment.station(study.optimum(1).policy)
    assert any(best.id in text and f"{study.optimum(1).value:.4g}" in text for text in found)
    advice = next(one for one in study.recommendations() if one.agent == "d-gpucb")
    assert any(
        text.startswith(f"recommended: {study.environment.station(advice.policy).id}") for text in found
    )
    assert np.all(np.diff(view.objective[view.best]) <= 0)
    assert view.objective[view.best[0]] == pytest.approx(study.optimum(1).value)


def test_ties_repeats_and_silent_stations_are_told(study):
    view = view_of(study)
    objective = view.objective.copy()
    objective[:2] = objective.max() + 1
    changed = view._replace(
        objective=objective,
        optima=np.array([0, 1]),
        best=np.array([0, 1, 5]),
        queries=np.array([4, 7, 4, 4, 9]),
        silent=np.array([9]),
        partial=np.array([7]),
        doubted=np.array([3]),
    )
    figure = draw_view(changed)
    found = texts(figure)
    assert "true optimum (2 tie)" in found and "told nothing when last asked" in found
    assert "not all channels told when last asked" in found and "flagged and kept" in found
    assert sum(text.endswith("ties") for text in found) == 2
    panel = figure.axes[1]
    assert panel.get_title(loc="left") == "3 stations asked, in order; 1 repeatedly (how often)"
    assert "3" in [text.get_text() for text in panel.texts]


def test_rounds_that_told_nothing_mark_their_station(tmp_path):
    one = studied(tmp_path, environment="weather-live", more=", sensor_life = 4.0, channel_life = 3.0")
    history = one.history(1, "d-gpucb")
    last = {each.row: each.status for each in history}
    view = view_of(one)
    assert sorted(view.silent) == sorted(row for row, status in last.items() if status == "failed")
    assert sorted(view.partial) == sorted(row for row, status in last.items() if status == "partial")
    assert len(view.silent) + len(view.partial)


def test_stations_are_named_in_every_table(study, policyloop, tmp_path):
    frame = study.to_dataframe()
    said = {(one.trial, one.agent, one.round): one.value["id"] for one in study.details("info")}
    rounds = frame[["trial", "agent", "round"]].itertuples(index=False)
    assert frame["station"].tolist() == [said[tuple(one)] for one in rounds]
    names = dict(zip(default_snapshot().ids, default_snapshot().names, strict=True))
    assert frame["station_name"].tolist() == [names[one] for one in frame["station"]]
    csv = pd.read_csv(study.export(tmp_path / "t.csv"))
    assert csv["station"].tolist() == frame["station"].tolist()
    parquet = pd.read_parquet(study.export(tmp_path / "t.parquet"))
    assert parquet["station_name"].tolist() == frame["station_name"].tolist()

    advice = {one.agent: study.environment.station(one.policy) for one in study.recommendations()}
    code, out, _ = policyloop("compare", study.path, "--format", "json")
    told = json.loads(out)
    assert code == 0
    for agent, station in advice.items():
        assert told[agent]["recommendation"]["station"] == {"id": station.id, "name": station.name}
    for command in (["compare"], ["compare", "--format", "csv"], ["show"]):
        _, out, _ = policyloop(command[0], study.path, *command[1:])
        assert advice["d-gpucb"].id in out, command


def test_stations_at_one_place_are_named_together():
    row = [1.0, 2.0]
    facts = Facts("weather", ["lon", "lat"], ["degrees"] * 2, [], [], "degF", "maximize", True)
    facts = facts._replace(stations=[[*row, "A", "One"], [*row, "B", ""], [3.0, 4.0, "C", "Three"]])
    assert facts.station(row) == ("A/B", "One") and str(facts.station([3.0, 4.0])) == "C Three"
    assert facts.station([0.0, 0.0]) is None
    assert facts.titled([3.0, 4.0]) == {"station": "C Three", "lon": 3.0, "lat": 4.0}


def test_a_report_has_the_map_and_the_best_stations_by_name(study, tmp_path):
    text = report(study, tmp_path / "r.html").read_text()
    best = study.environment.station(study.optimum(1).policy)
    assert "Where it is" in text and best.id in text
    assert 'href="data:image/png;base64,' in text and "#places-data:" not in text


def test_the_map_of_an_import_shows_the_field_and_who_is_wrong(tmp_path):
    stations, found = read_stations(quality={"leave_out": False})
    figure = import_map(stations, found)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert titles == ["temperature", "how uncertain it is between the stations"]
    handles = [text.get_text() for axes in figure.axes[:1] for text in axes.get_legend().get_texts()]
    assert handles == ["flagged and kept"]
    assert any("KRBO" in text for text in texts(figure))  # the warmest
    few, found = read_stations(stations.take([0, 1]), quality="off")
    assert import_map(few, found).axes  # two stations have no field
