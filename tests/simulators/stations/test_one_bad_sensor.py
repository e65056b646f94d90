"""One bad sensor, a mixed column or a wrong clock does not become the answer of a network of sensors."""

import numpy as np
import pandas as pd
import pytest

from simulators import make
from simulators.stations import from_dataframe

COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degF", "humidity": "percent", "wind": "m/s"}


def summer(n=150, seed=3):
    """Stations of a warm day between the mountains and the sea, degF; the hottest feels like some 100."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-105, -95, n), rng.uniform(30, 40, n)
    table = pd.DataFrame({"id": [f"s{i}" for i in range(n)], "lon": lon, "lat": lat})
    table["t"] = 84 - 1.2 * (lat - 35) + rng.normal(0, 1, n)
    table["h"] = 55 + 1.5 * (lon + 100) + rng.normal(0, 2, n)
    table["w"] = np.maximum(4 + rng.normal(0, 0.5, n), 0)
    return table


def network(table, columns=COLUMNS, **options):
    return make("weather", data=table, columns=columns, units=UNITS, set_aside_share=0, **options)


def warmest(env):
    """The station that feels warmest, and as what."""
    rows = np.arange(env.policy_space.size)
    felt = env.compose(env.expected(rows), rows)
    best = int(np.argmax(felt))
    return env.stations.ids[env.nodes[best]], float(felt[best])


GOOD = warmest(network(summer()))


@pytest.mark.parametrize(
    ("changes", "without"),
    [
        ({"w": 99.0}, "dropped"),  # codes for missing
        ({"w": 99.9}, "dropped"),
        ({"t": -99.0}, "dropped"),
        ({"t": 140.0, "h": 44.0}, "left out"),  # 60 degC at 44 %
        ({"t": 129.0, "h": 40.0}, "left out"),
        ({"h": 100.0}, "left out"),  # damp among the dry: what feels warmest of all, were it so
        ({"t": 104.0}, "left out"),
        ({"lon": 0.0, "lat": 0.0, "t": 99.0}, "left out"),
        ({"lon": 35.0, "lat": -100.0, "t": 99.0}, "dropped"),  # no such latitude
        ({"lon": 100.0, "t": 99.0}, "left out"),  # east in place of west
    ],
)
def test_what_one_sensor_gets_wrong_is_not_the_answer(changes, without):
    table = summer()
    table.loc[11, list(changes)] = list(changes.values())
    plain = network(table, quality="off")
    env = network(table)
    assert warmest(env) == GOOD != "s11"
    assert "s11" not in env.stations.ids
    if without == "left out":
        assert [(flag.station, flag.done) for flag in env.report.flags] == [("s11", "left out")]
        assert env.left_out.ids.tolist() == ["s11"]
        assert warmest(plain)[0] == "s11" or warmest(plain) == GOOD
    else:
        assert env.left_out is None and env.report.count("dropped") == 1


def test_a_reading_that_would_win_does_win_without_the_quality_control():
    """So that the test above can fail."""
    table = summer()
    table.loc[75, "h"] = 100.0  # dry and warm
    name, felt = warmest(network(table, quality="off"))
    assert name == "s75" and felt > 110 > GOOD[1]
    assert warmest(network(table)) == GOOD


@pytest.mark.parametrize("share", [0.02, 0.1, 0.35])
def test_a_column_of_degrees_celsius_and_fahrenheit_has_the_answer_of_its_own_unit(share):
    table = summer()
    other = np.random.default_rng(5).random(len(table)) < share
    table.loc[other, "t"] = (table["t"][other] - 32) / 1.8
    assert 2 < other.sum() < 70
    env = network(table)
    wrong = set(table["id"][other])
    assert not wrong & set(env.stations.ids)
    kept = warmest(network(table[~other]))
    assert warmest(env) == kept
    assert {flag.rule for flag in env.report.flags} <= {"unit", "buddy"}


def test_declared_as_celsius_the_fahrenheit_readings_of_a_mixed_column_do_not_feel_like_153():
    """degC with some degF among them: 68 degF taken for 68 degC."""
    table = summer()
    table["t"] = (table["t"] - 32) / 1.8 - 12  # a cool day, so that both units are possible temperatures
    other = np.random.default_rng(6).random(len(table)) < 0.3
    mixed = table.assign(t=np.where(other, 1.8 * table["t"] + 32, table["t"]))
    units = {**UNITS, "temperature": "degC"}
    given = {"columns": COLUMNS, "units": units, "set_aside_share": 0}
    assert warmest(make("weather", data=mixed, quality="off", **given))[1] > 150
    assert warmest(make("weather", data=mixed, **given)) == warmest(
        make("weather", data=table[~other], **given)
    )


def test_a_reading_of_1999_does_not_compete_with_those_of_2020():
    table = summer().assign(time="2020-06-01T12:00Z")
    table.loc[11, ["t", "time"]] = 101.0, "1999-06-01T12:00Z"
    env = network(table, {**COLUMNS, "time": "time"})
    assert warmest(env) == GOOD and "s11" not in env.stations.ids


def test_two_readings_of_one_time_that_differ_by_7_degrees_are_both_left_out():
    table = summer().assign(time="2020-06-01T12:00Z")
    table = pd.concat([table, table.iloc[[11]].assign(t=table["t"][11] + 1.8 * 7)])
    env = network(table, {**COLUMNS, "time": "time"})
    assert warmest(env) == GOOD
    assert [(flag.station, flag.rule) for flag in env.report.flags] == [("s11", "contradiction")]


def test_a_humidity_that_contradicts_its_dew_point_is_not_the_answer():
    from simulators.stations.units import convert, dew_point_of

    table = summer()
    dew_point = dew_point_of(np.asarray(convert(table["t"].to_numpy(), "temperature", "degF")), table["h"])
    table["d"] = 1.8 * (dew_point - 273.15) + 32
    table.loc[11, "h"] = 100.0
    env = make(
        "weather",
        data=table,
        columns={**COLUMNS, "dew_point": "d"},
        units={**UNITS, "dew_point": "degF"},
        set_aside_share=0,
    )
    assert warmest(env) == GOOD
    assert [(flag.station, flag.rule) for flag in env.report.flags] == [("s11", "contradiction")]


def test_ids_that_differ_in_case_far_apart_are_said_and_kept():
    table = summer()
    table.loc[12, "id"] = "S11"
    stations, report = from_dataframe(table, COLUMNS, UNITS)
    assert len(stations) == 150
    (said,) = [one for one in report.findings if "in case alone" in one.reason]
    assert (said.action, said.rows) == ("noted", (12, 13))


def test_longitudes_positive_to_the_west_are_said():
    table = summer()
    table["id"] = [f"K{i:03}" for i in range(150)]
    table["lon"] *= -1
    _, report = from_dataframe(table, COLUMNS, UNITS)
    assert any("positive to the west" in one.reason for one in report.findings)
    _, report = from_dataframe(table.assign(lon=-table["lon"]), COLUMNS, UNITS)
    assert report.findings == ()


def test_longitude_and_latitude_that_change_places_are_said_where_that_can_be_seen():
    table = summer().rename(columns={"lon": "lat", "lat": "lon"})
    table.loc[table["lat"] > -90, "lat"] = -91
    with pytest.raises(ValueError, match="latitude and longitude seem to change places"):
        from_dataframe(table, COLUMNS, UNITS)
    some = summer()
    some.loc[:3, ["lon", "lat"]] = summer().loc[:3, ["lat", "lon"]].to_numpy()
    stations, report = from_dataframe(some, COLUMNS, UNITS)
    assert not {"s0", "s1", "s2", "s3"} & set(stations.ids)
    assert len(stations) == 146 and "change places" in str(report)


def test_degrees_and_minutes_are_said():
    table = summer()
    for name in ("lon", "lat"):
        whole = np.trunc(table[name])
        table[name] = whole + np.trunc(60 * (table[name] - whole)) / 100
    _, report = from_dataframe(table, COLUMNS, UNITS, quality="off")
    assert any("degrees and minutes" in one.reason for one in report.findings)


def test_a_place_far_from_all_others_is_said_and_kept():
    table = summer()
    table.loc[11, "lon"] = -10.0  # -100 without a digit
    stations, report = from_dataframe(table, COLUMNS, UNITS)
    assert "s11" in stations.ids
    (said,) = report.findings
    assert (said.action, said.rows) == ("noted", (12,)) and "is its place right?" in said.reason
    assert from_dataframe(summer(), COLUMNS, UNITS)[1].findings == ()
