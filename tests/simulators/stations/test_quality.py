"""The quality control finds what is wrong, says it, leaves it out, and lets the rest be."""

import numpy as np
import pandas as pd
import pytest

from simulators import make
from simulators.stations import default_snapshot, from_dataframe, read_stations

COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}


def smooth(n=120, seed=0, **changes):
    """Stations of a smooth weather with a little scatter."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-105, -95, n), rng.uniform(35, 43, n)
    table = pd.DataFrame({"id": [f"s{i}" for i in range(n)], "lon": lon, "lat": lat})
    table["t"] = 20 - (lat - 39) + rng.normal(0, 0.5, n)
    table["h"] = 50 + 2 * (lon + 100) + rng.normal(0, 2, n)
    table["w"] = np.maximum(4 + rng.normal(0, 0.5, n), 0)
    return table.assign(**changes)


def read(table, columns=COLUMNS, units=UNITS, **options):
    return from_dataframe(table, columns, units, **options)


def rules(report):
    return {flag.station: flag.rule for flag in report.flags}


def test_nothing_is_found_among_good_stations():
    stations, report = read(smooth())
    assert (len(stations), report.flags, report.left_out) == (120, (), None)


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("t", 68.0, None),  # degF among degC, beyond what any place has been
        ("h", 0.55, "unit"),  # a fraction among percents
        ("t", -20.0, "buddy"),
        ("h", 3.0, "buddy"),
        ("w", 30.0, "buddy"),
        ("lon", 100.0, "place"),
    ],
)
def test_one_wrong_station_is_left_out_and_stays_in_the_report(column, value, rule):
    table = smooth()
    table.loc[7, ["lon", "h"]] = -100.0, 50.0
    table.loc[7, column] = value
    stations, report = read(table)
    assert "s7" not in stations.ids
    if rule is not None:
        assert rules(report) == {"s7": rule}
        assert report.left_out.ids.tolist() == ["s7"]
        assert (report.flags[0].row, report.flags[0].done) == (8, "left out")
    assert len(stations) == 119


def test_a_column_of_two_units_loses_those_that_are_not_in_the_declared_one():
    table = smooth()
    fahrenheit = np.random.default_rng(1).random(120) < 0.35
    table["t"] = np.where(fahrenheit, 1.8 * table["t"] + 32, table["t"])
    _, report = read(table)
    found = {flag.station for flag in report.flags if flag.rule == "unit"}
    assert found >= {f"s{i}" for i in np.flatnonzero(fahrenheit & (table["t"] < 56))}
    assert not found & {f"s{i}" for i in np.flatnonzero(~fahrenheit)}


@pytest.mark.parametrize(("column", "value"), [("w", 99.0), ("w", 99.9), ("t", -99.0)])
def test_a_code_for_missing_that_is_far_from_all_others_is_missing(column, value):
    table = smooth()
    table.loc[[3, 9], column] = value
    units = {**UNITS, "temperature": "degF"}
    stations, report = read(table, units=units, quality="off")
    assert not {"s3", "s9"} & set(stations.ids)
    assert "is a code for missing" in report.findings[0].reason


def test_readings_that_cannot_be_together_are_named():
    table = smooth()
    table.loc[5, ["t", "h"]] = 55.0, 44.0  # a dew point of 39 degC
    assert rules(read(table)[1]) == {"s5": "joint"}


def test_a_humidity_that_contradicts_the_dew_point_is_named():
    table = smooth(d=5.0)
    t, d = table["t"], table["d"]
    table["h"] = 100 * np.exp(17.62 * d / (243.12 + d) - 17.62 * t / (243.12 + t))
    table.loc[4, "h"] += 20
    _, report = read(table, {**COLUMNS, "dew_point": "d"}, {**UNITS, "dew_point": "degC"})
    assert rules(report) == {"s4": "contradiction"}


def test_two_readings_of_one_station_and_time_that_differ_are_a_contradiction():
    table = smooth(time="2020-06-01T12:00Z")
    table = pd.concat([table, table.iloc[[2]].assign(t=table["t"][2] + 7)])
    assert rules(read(table, {**COLUMNS, "time": "time"})[1]) == {"s2": "contradiction"}


def test_a_station_read_only_in_1999_is_stale():
    table = smooth(time="2020-06-01T12:00Z")
    table.loc[0, "time"] = "1999-06-01T12:00Z"
    stations, report = read(table, {**COLUMNS, "time": "time"})
    assert "s0" not in stations.ids
    assert str(report.findings[0]).startswith("dropped 1: stale: more than 24 hours from 2020-06-01T12:00:00")


def test_a_clock_that_is_ahead_makes_no_other_reading_stale():
    table = smooth(time="2020-06-01T12:00Z")
    table.loc[0, "time"] = "2035-06-01T12:00Z"
    assert len(read(table, {**COLUMNS, "time": "time"})[0]) == 119


def series(hours=10):
    base = smooth(30)
    day = [base.assign(t=base["t"] + 2 * k, time=f"2020-06-01T{k + 6:02}:00Z") for k in range(hours)]
    return pd.concat(day, ignore_index=True)


def test_a_sensor_that_stopped_changing_is_stuck():
    table = series()
    table.loc[table["id"] == "s3", "t"] = 30.0
    assert rules(read(table, {**COLUMNS, "time": "time"})[1])["s3"] == "stuck"


def test_a_spike_is_dropped_and_the_reading_before_it_is_taken():
    table = series()
    last = table.index[(table["id"] == "s3") & (table["time"] == "2020-06-01T15:00Z")]
    table.loc[last, "t"] -= 40
    stations, report = read(table, {**COLUMNS, "time": "time"}, quality={"buddy": 0})
    assert stations.time[stations.ids == "s3"] == np.datetime64("2020-06-01T14:00")
    assert any("spike" in finding.reason for finding in report.findings)


def test_ids_that_differ_in_case_at_one_place_are_one_station():
    table = smooth()
    table = pd.concat([table, table.iloc[[2]].assign(id="S2")])
    assert len(read(table)[0]) == 120


def test_fort_huachuca_lies_in_montana_in_the_snapshot_and_is_left_out():
    # The airfield is at 31.59 N; the snapshot has 47.63 N.
    stations, report = read_stations()
    assert rules(report)["KFHU"] == "buddy"
    assert len(stations) == 1426
    assert "KRBO" in stations.ids
    assert len(read_stations(quality="off")[0]) == len(default_snapshot()) == 1439


def test_what_is_only_flagged_stays():
    stations, report = read_stations(quality={"leave_out": False})
    assert (len(stations), len(report.flags), report.left_out) == (1439, 13, None)
    assert report.flags[0].done == "kept"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": "maybe"}, 'quality=\'maybe\' must be "on", "off" or settings'),
        ({"quality": {"budy": 3}}, "unknown setting of quality 'budy'; did you mean 'buddy'"),
        ({"quality": {"buddy": -1}}, "quality.buddy=-1 must be a finite number >= 0"),
        ({"country": "US"}, "country='US' has no effect"),
        ({"encoding": "utf-8"}, "encoding='utf-8' has no effect on the default snapshot"),
        ({"window": 0}, "window=0"),
    ],
)
def test_an_option_that_is_wrong_or_has_no_effect_is_one_line(options, message):
    with pytest.raises(ValueError, match=message) as error:
        make("weather", **options)
    assert "\n" not in str(error.value)
