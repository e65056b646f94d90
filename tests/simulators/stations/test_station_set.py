"""Stations: the set itself, the default snapshot, the paper's file, and laws that hold for every import."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simulators.stations import Stations, default_snapshot, from_dataframe, read_csv
from simulators.stations.cells import CODES, SENTINELS
from simulators.stations.units import convert, relative_humidity
from simulators.weather.perceived_temperature import perceived_temperature

SHARED = Path(os.environ.get("POLICYLOOP_DATA", Path(__file__).parents[4] / "shared" / "data"))
PAPER_FILE = SHARED / "owm_us2906_20170314.csv"
COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}


def stations(**changes):
    given = {
        "ids": ["a", "b", "c"],
        "names": ["A", "B", ""],
        "lon": [170.0, -175.0, -170.0],
        "lat": [10.0, 20.0, -30.0],
        "time": np.array(["2020-01-01T00:00", "2020-01-01T01:00", "NaT"], dtype="datetime64[s]"),
        "temperature": [280.0, 290.0, 300.0],
        "humidity": [0.0, 50.0, 100.0],
        "wind": [0.0, 3.0, 20.0],
    }
    return Stations(**{**given, **changes})


def perceived(found, rule):
    return perceived_temperature(*found.readings.T, rule=rule, temperature_unit="K", wind_unit="m/s")


def test_the_default_snapshot_is_the_1439_stations_of_2007_to_the_last_count():
    snapshot = default_snapshot()
    T = convert(snapshot.temperature, "temperature", "K", "degF")
    assert len(snapshot) == 1439
    assert (T.min(), T.max()) == (27.0, 89.0)
    assert [(T <= 50).sum(), ((T > 50) & (T < 70)).sum(), ((T >= 70) & (T < 80)).sum(), (T >= 80).sum()] == [
        423,
        682,
        275,
        59,
    ]
    assert (snapshot.wind == 0).sum() == 262
    assert snapshot.time.min() >= np.datetime64("2007-10-14T14:50")
    assert snapshot.time.max() <= np.datetime64("2007-10-14T15:50")
    assert -125 < snapshot.lon.min() < snapshot.lon.max() < -66
    assert 24 < snapshot.lat.min() < snapshot.lat.max() < 50


def test_the_one_maximiser_of_the_default_snapshot_is_robstown_in_texas():
    snapshot = default_snapshot()
    g = perceived(snapshot, "nws")
    best, second = np.argsort(-g)[:2]
    assert (snapshot.ids[best], snapshot.ids[second]) == ("KRBO", "KBKS")
    assert g[[best, second]] == pytest.approx([98.40, 93.61], abs=0.005)
    assert "Robstown" in snapshot.names[best]
    assert snapshot.humidity[best] == 62.0


def test_the_default_snapshot_is_read_once_and_cannot_be_written_to():
    assert default_snapshot() is default_snapshot()
    with pytest.raises(ValueError, match="read-only"):
        default_snapshot().temperature[0] = 0.0


def test_the_snapshots_dew_points_give_its_humidity_to_their_rounding():
    snapshot = default_snapshot()
    path = Path(__file__).parents[3] / "simulators" / "data" / "noaa_metar_conus_20071014T1450Z.csv"
    columns = {"id": "station_id", "lon": "lon", "lat": "lat", "temperature": "temp_f"}
    from_dew_point, report = read_csv(
        path,
        {**columns, "dew_point": "dewpoint_f", "wind": "wind_mph"},
        {"temperature": "degF", "dew_point": "degF", "wind": "mph"},
        quality="off",
    )
    difference = np.abs(from_dew_point.humidity - snapshot.humidity)
    assert difference.max() < 4.0
    assert np.median(difference) < 1.0
    assert [(finding.action, finding.count) for finding in report.findings] == [("noted", 1439)]


@pytest.mark.skipif(not PAPER_FILE.exists(), reason="the OpenWeatherMap file of 2017 is not at hand")
def test_the_papers_file_has_its_2906_sensors_and_another_maximiser_under_each_rule():
    columns = {**COLUMNS, "name": "name", "time": "time_unix"}
    columns.update({"temperature": "temp_k", "humidity": "humidity_percent", "wind": "wind_speed_ms"})
    units = {"temperature": "K", "humidity": "percent", "wind": "m/s", "time": "unix"}
    found, report = read_csv(PAPER_FILE, columns, units, quality="off")
    assert (report.rows, report.stations, report.findings) == (2906, 2906, ())
    T = convert(found.temperature, "temperature", "K", "degF")
    assert [(T <= 50).sum(), ((T > 50) & (T < 70)).sum(), (T >= 70).sum(), (T >= 80).sum()] == [
        2236,
        589,
        81,
        0,
    ]
    assert found.time.min() == np.datetime64("2017-03-14T10:29:54")
    for rule, name, value in (("nws", "Key West", 73.38), ("paper", "Immokalee", 72.69)):
        g = perceived(found, rule)
        assert found.names[g.argmax()] == name
        assert g.max() == pytest.approx(value, abs=0.005)


def test_relative_humidity_agrees_with_the_saturation_pressures_of_the_smithsonian_tables():
    # hPa over water at 0, 10, 20, 30, 40 degC (Goff-Gratch, Smithsonian Meteorological Tables).
    pressure = {0: 6.1078, 10: 12.272, 20: 23.373, 30: 42.430, 40: 73.777}
    for t in pressure:
        for d in (x for x in pressure if x <= t):
            expected = 100 * pressure[d] / pressure[t]
            assert relative_humidity(t + 273.15, d + 273.15) == pytest.approx(expected, rel=3e-3)


def test_a_map_of_stations_around_the_antimeridian_is_centred_there():
    pacific = stations()
    assert pacific.crosses_antimeridian
    assert pacific.central_longitude == pytest.approx(-180.0)
    assert not default_snapshot().crosses_antimeridian
    assert default_snapshot().central_longitude == pytest.approx((-124.29 - 67.79194) / 2)
    assert stations(lon=[10.0, 10.0, 10.0]).central_longitude == pytest.approx(10.0)


def test_a_box_may_cross_the_antimeridian():
    assert stations().within(165, -90, -172, 90).ids.tolist() == ["a", "b"]
    assert stations().within(-180, -90, 180, 15).ids.tolist() == ["a", "c"]
    with pytest.raises(ValueError, match=r"no station lies within 0\.\.10 degrees east"):
        stations().within(0, -90, 10, 90)


def test_rows_are_taken_by_number_or_by_mask_and_tabulated():
    assert stations().take([2, 0]).ids.tolist() == ["c", "a"]
    assert stations().take(np.array([False, True, False])).names.tolist() == ["B"]
    assert stations().readings.tolist() == [[280.0, 0.0, 0.0], [290.0, 50.0, 3.0], [300.0, 100.0, 20.0]]
    frame = stations().to_dataframe()
    assert frame.shape == (3, 9)
    assert frame["wind"].tolist() == [0.0, 3.0, 20.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lat": [0.0, 91.0, 0.0]}, r"station 'b': lat 91 must be within -90\.\.90"),
        ({"humidity": [0.0, 1.0, np.nan]}, "station 'c': humidity nan"),
        ({"temperature": [20.0, 290.0, 290.0]}, "station 'a': temperature 20"),
        ({"ids": ["a", "b", "a"]}, "the id 'a' is there more than once"),
        ({"wind": [1.0, 2.0]}, r"wind has shape \(2,\)"),
    ],
)
def test_impossible_stations_are_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        stations(**changes)


def test_no_stations_are_no_stations():
    with pytest.raises(ValueError, match="there is none"):
        stations().take([])


cells = st.one_of(st.floats(-400, 400), st.sampled_from([np.nan, -9999.0, 999.9, np.inf, 0.0, 100.5]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), cells, cells, cells, cells, cells), min_size=1, max_size=12)
)
def test_every_row_is_either_kept_or_dropped_for_one_reason(rows):
    good = ("good", -100.0, 40.0, 20.0, 50.0, 5.0)
    frame = pd.DataFrame([*rows, good], columns=["id", "lon", "lat", "t", "h", "w"])
    found, report = from_dataframe(frame, COLUMNS, UNITS)
    left_out = 0 if report.left_out is None else len(report.left_out)
    assert report.rows == len(frame) == report.stations + report.count("dropped") + left_out
    assert report.stations == len(found)
    assert "good" in found.ids
    for finding in report.findings:
        assert 1 <= len(finding.rows) <= finding.count
        assert all(1 <= row <= len(frame) for row in finding.rows)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-70, 50), st.floats(0, 100), st.floats(0, 100)), min_size=1, max_size=8),
    st.sampled_from(["K", "degC", "degF"]),
    st.sampled_from(["percent", "fraction"]),
    st.sampled_from(["m/s", "km/h", "mph", "kt"]),
)
def test_the_same_stations_in_any_units_are_the_same_stations(readings, t, h, w):
    celsius, percent, speed = np.array(readings).T
    to = {"degC": celsius, "K": celsius + 273.15, "degF": 1.8 * celsius + 32}
    share = {"percent": percent, "fraction": percent / 100}
    metres = {"m/s": 1.0, "km/h": 3.6, "mph": 1 / 0.44704, "kt": 3600 / 1852}
    n = len(readings)
    frame = pd.DataFrame({"id": np.arange(n), "lon": -100.0 - np.arange(n), "lat": 40.0})
    frame = frame.assign(t=to[t], h=share[h], w=speed * metres[w])
    assume(not np.isin(frame[["t", "h", "w"]], [*SENTINELS, *CODES]).any())  # numbers that stand for missing
    found, _ = from_dataframe(frame, COLUMNS, {"temperature": t, "humidity": h, "wind": w}, quality="off")
    assert np.abs(found.temperature - celsius - 273.15).max() < 1e-9
    assert np.abs(found.humidity - percent).max() < 1e-9
    assert np.abs(found.wind - speed).max() < 1e-9
