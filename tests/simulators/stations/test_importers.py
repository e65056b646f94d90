"""Each importer on a hand-made file with a row for every fault, and on files that cannot be imported."""

import datetime
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simulators.stations import from_dataframe, read_csv, read_iem_asos, read_openweathermap

DATA = Path(__file__).parent / "data"
COLUMNS = {
    "id": "station",
    "name": "label",
    "lon": "east",
    "lat": "north",
    "time": "when",
    "temperature": "celsius",
    "humidity": "rh",
    "dew_point": "dew",
    "wind": "kmh",
}
UNITS = {"temperature": "degC", "humidity": "percent", "dew_point": "degC", "wind": "km/h"}
SHORT = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
SHORT_UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}


def findings(report):
    return {(finding.action, finding.reason): finding.rows for finding in report.findings}


def reason(report, text):
    """The one finding whose reason holds a text."""
    (finding,) = (finding for finding in report.findings if text in finding.reason)
    return finding.action, finding.count, finding.rows


def frame(n=6, **columns):
    rows = {"id": [f"s{i}" for i in range(n)], "lon": -100.0 - np.arange(n), "lat": 40.0}
    rows.update({"t": np.linspace(10, 25, n), "h": np.linspace(20, 90, n), "w": np.linspace(0, 9, n)})
    return pd.DataFrame({**rows, **columns})


@pytest.fixture(scope="module")
def faults():
    return read_csv(DATA / "stations_faults.csv", COLUMNS, UNITS, quality="off")


@pytest.mark.parametrize(
    ("text", "action", "rows"),
    [
        ("id is missing", "dropped", (24,)),
        ("row has not the 9 cells of the header", "dropped", (23,)),
        ("longitude counted from 0 to 360", "changed", (25,)),
        ("lon is impossible", "dropped", (21,)),
        ("lat is impossible", "dropped", (20,)),
        ("temperature is missing (an empty cell, '-9999')", "dropped", (4, 6)),
        ("temperature is not a number", "dropped", (22,)),
        ("temperature is impossible", "dropped", (18,)),
        ("wind is missing ('999.9', '/////KT')", "dropped", (5, 8)),
        ("wind is impossible", "dropped", (19,)),
        ("humidity and dew point are missing or not a number", "dropped", (7,)),
        ("dew point above temperature by more than 1 K", "dropped", (11,)),
        ("dew point above temperature by up to 1 K", "clipped", (12,)),
        ("humidity computed from the dew point", "noted", (12, 13)),
        ("humidity is impossible: not within 0..110 percent", "dropped", (10,)),
        ("humidity above 100 % (up to 110): set to 100", "clipped", (9,)),
        ("time cannot be read", "noted", (27,)),
        ("time without an offset", "noted", (26,)),
        ("repeated station: its latest reading is kept", "dropped", (15,)),
        ("same place and readings as an earlier station", "noted", (17,)),
        ("same place as an earlier station, other readings", "noted", (16,)),
    ],
)
def test_the_report_names_every_fault_and_its_row(faults, text, action, rows):
    _, report = faults
    assert reason(report, text) == (action, len(rows), rows)


def test_the_report_has_no_other_finding_and_accounts_for_every_row(faults):
    stations, report = faults
    assert len(report.findings) == 21
    assert (report.rows, report.stations, report.count("dropped")) == (26, 11, 15)
    kept = ["A1", "A7", "B1", "B2", "B3", "B4", "B5", "C3", "C4", "C5", "C6"]
    assert stations.ids.tolist() == kept
    text = str(report)
    assert text.splitlines()[0].endswith("stations_faults.csv: 26 rows read, 11 stations kept")
    assert "dropped 2: wind is missing ('999.9', '/////KT') (row 5, 8)" in text
    assert json.loads(json.dumps(report.to_dict()))["findings"][0]["action"] == "dropped"


def test_the_kept_stations_are_in_canonical_units(faults):
    stations, _ = faults
    row = {name: i for i, name in enumerate(stations.ids)}
    assert stations.temperature[row["A1"]] == pytest.approx(293.15)
    assert stations.wind.tolist() == pytest.approx([5.0] * 11)
    assert stations.humidity[[row["A7"], row["B1"], row["A1"]]].tolist() == [100.0, 100.0, 50.0]
    assert stations.humidity[row["B2"]] == pytest.approx(53.8, abs=0.1)  # psychrometric tables: 54 %
    assert stations.lon[row["C3"]] == -117.0
    assert stations.names[row["C6"]] == "a comma, in quotes"
    assert stations.time[row["B3"]] == np.datetime64("2020-06-01T13:00")
    assert stations.time[row["C4"]] == np.datetime64("2020-06-01T12:00")
    assert np.isnat(stations.time[row["C5"]])


def test_repeated_places_are_dropped_on_request(faults):
    stations, report = read_csv(
        DATA / "stations_faults.csv", COLUMNS, UNITS, repeated_places="drop", quality="off"
    )
    assert reason(report, "repeated place: the first station there is kept") == ("dropped", 2, (16, 17))
    assert set(faults[0].ids) - set(stations.ids) == {"B4", "B5"}


def test_the_reading_nearest_to_a_moment_is_kept_on_request():
    for at in ("2020-06-01T12:20Z", datetime.datetime(2020, 6, 1, 12, 20), np.datetime64("2020-06-01T12:20")):
        stations, _ = read_csv(DATA / "stations_faults.csv", COLUMNS, UNITS, at=at, quality="off")
        assert stations.names[stations.ids == "B3"].tolist() == ["earlier"]


def test_times_without_an_offset_are_of_the_declared_zone():
    when = [
        "2020-01-01T12:00",
        "2020-07-01T12:00",
        "2020-11-01T01:30",
        "2020-03-08T02:30",
        "2020-07-01T12:00Z",
        "",
    ]
    stations, report = from_dataframe(
        frame(when=when), {**SHORT, "time": "when"}, SHORT_UNITS, time_zone="America/Chicago", window=9000
    )
    expected = ["2020-01-01T18:00", "2020-07-01T17:00", "NaT", "NaT", "2020-07-01T12:00", "NaT"]
    assert np.array_equal(stations.time, np.array(expected, dtype="datetime64[s]"), equal_nan=True)
    assert reason(report, "the clock was changed then") == ("noted", 2, (3, 4))
    assert reason(report, "time of America/Chicago turned into UTC") == ("changed", 2, (1, 2))


def test_times_are_read_by_a_format_from_unix_seconds_and_from_datetimes():
    moment = np.datetime64("2020-06-01T12:00")
    zoned = pd.to_datetime(["2020-06-01T07:00-05:00"] * 6)
    for cells, unit in (("06/01/2020 12:00", "%m/%d/%Y %H:%M"), (1591012800, "unix"), (zoned, None)):
        units = {**SHORT_UNITS, "time": unit} if unit else SHORT_UNITS
        stations, _ = from_dataframe(frame(when=cells), {**SHORT, "time": "when"}, units)
        assert (stations.time == moment).all()


def test_tab_and_semicolon_and_gzip_are_told_from_the_file(tmp_path):
    expected, _ = from_dataframe(frame(), SHORT, SHORT_UNITS)
    for name, separator in (("a.tsv", "\t"), ("b.csv", ";"), ("c.csv.gz", ","), ("d.txt", "|")):
        frame().to_csv(tmp_path / name, sep=separator, index=False)
        delimiter = "|" if separator == "|" else None
        stations, report = read_csv(tmp_path / name, SHORT, SHORT_UNITS, delimiter=delimiter)
        assert report.findings == ()
        assert stations.readings.tolist() == expected.readings.tolist()
        assert stations.ids.tolist() == expected.ids.tolist()


def test_rows_are_counted_as_lines_of_the_file_past_comments_blanks_and_quoted_line_ends(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(
        '\ufeff# one\n\nid,name,lon,lat,t,h,w\na,"two\nlines",1,2,20,50,3\n# two\nb,x,2,2,M,50,3\n'
    )
    stations, report = read_csv(path, {**SHORT, "name": "name"}, SHORT_UNITS)
    assert stations.names.tolist() == ["two\nlines"]
    assert findings(report) == {("dropped", "temperature is missing ('M')"): (7,)}


def test_without_a_column_of_ids_the_row_stands_for_it(tmp_path):
    frame(3).to_csv(tmp_path / "a.csv", index=False)
    columns = {quantity: name for quantity, name in SHORT.items() if quantity != "id"}
    assert read_csv(tmp_path / "a.csv", columns, SHORT_UNITS)[0].ids.tolist() == ["2", "3", "4"]


def test_a_data_frame_is_read_whatever_its_index_types_and_missing_values():
    rows = frame(5).set_index(pd.Index([7] * 5))
    rows["id"] = [1.0, 2.0, 3.0, np.nan, 5.0]
    rows["w"] = pd.array([1, 2, None, 4, 5], dtype="Int64")
    stations, report = from_dataframe(rows, SHORT, SHORT_UNITS, source="my table")
    assert stations.ids.tolist() == ["1", "2", "5"]
    assert findings(report) == {
        ("dropped", "id is missing"): (4,),
        ("dropped", "wind is missing (an empty cell)"): (3,),
    }


def test_stations_on_both_sides_of_the_antimeridian_are_noted():
    lon = [170.0, 175.0, 179.0, -179.0, 185.0, -170.0]
    stations, report = from_dataframe(frame(lon=lon), SHORT, SHORT_UNITS)
    assert stations.lon.tolist() == [170.0, 175.0, 179.0, -179.0, -175.0, -170.0]
    assert reason(report, "both sides of the antimeridian; centre maps at -180 degrees")[:2] == ("noted", 6)


@pytest.mark.parametrize(
    ("columns", "units", "text"),
    [
        (
            {"h": np.linspace(0.2, 1.0, 6)},
            {},
            "humidity in percent never exceeds 1: it looks like a fraction",
        ),
        ({"t": [27.0, 30, 40, 60, 60, 61]}, {}, "temperature in degC has the median 50: it looks like degF"),
        ({"w": np.full(6, 40.0)}, {}, "wind in m/s has the median 40: it looks like km/h or mph or kt"),
    ],
)
def test_a_column_that_looks_like_another_unit_is_noted_and_kept(columns, units, text):
    stations, report = from_dataframe(frame(**columns), SHORT, {**SHORT_UNITS, **units}, quality="off")
    assert len(stations) == 6
    assert reason(report, text)[:2] == ("noted", 6)


@pytest.mark.parametrize(
    ("columns", "units", "text"),
    [
        ({"t": np.linspace(280, 300, 6)}, {}, "temperature in degC has the median 290: it looks like K"),
        ({}, {"temperature": "K"}, "temperature in K has the median 17.5: it looks like degC or degF"),
        ({}, {"humidity": "fraction"}, "humidity as a fraction has the median 55: it looks like percent"),
    ],
)
def test_a_wrong_unit_that_makes_every_row_impossible_is_said_in_the_error(columns, units, text):
    with pytest.raises(
        ValueError, match="DataFrame: row 1: all 6 rows are dropped: 6 .* impossible"
    ) as error:
        from_dataframe(frame(**columns), SHORT, {**SHORT_UNITS, **units})
    assert text in str(error.value)


def test_the_iem_export_is_read_with_its_time_zone_and_its_faults():
    stations, report = read_iem_asos(DATA / "iem_asos.csv")
    assert stations.ids.tolist() == ["AAA", "CCC", "FFF", "HHH"]
    assert findings(report) == {
        ("dropped", "temperature is missing ('M', '999.9')"): (9, 16),
        ("dropped", "temperature is impossible: not within 180..335 K ('160.00')"): (17,),
        ("dropped", "wind is missing ('-9999', '/////KT')"): (14, 18),
        ("dropped", "humidity and dew point are missing or not a number ('M')"): (11,),
        ("dropped", "dew point above temperature by more than 1 K"): (12,),
        ("noted", "humidity computed from the dew point"): (10,),
        ("clipped", "humidity above 100 % (up to 110): set to 100"): (13,),
        ("changed", "time of America/Chicago turned into UTC"): (7, 8, 10, 13, 15),
        ("dropped", "repeated station: its latest reading is kept"): (7,),
        ("noted", "same place as an earlier station, other readings"): (15,),
    }
    assert stations.time[0] == np.datetime64("2020-06-01T12:53")
    assert stations.temperature == pytest.approx([294.2611, 293.15, 293.15, 288.7056], abs=1e-4)
    assert stations.humidity == pytest.approx([48.98, 52.5, 100.0, 69.5], abs=0.1)
    assert stations.wind == pytest.approx([4.1156, 0.0, 5.1444, 2.5722], abs=1e-4)


def test_the_iem_export_at_a_moment_and_in_another_zone():
    stations, _ = read_iem_asos(DATA / "iem_asos.csv", at="2020-06-01T12:00Z", time_zone="UTC")
    assert stations.time[0] == np.datetime64("2020-06-01T07:53")
    stations, _ = read_iem_asos(DATA / "iem_asos.csv", at="2020-06-01T12:00Z")
    assert stations.time[0] == np.datetime64("2020-06-01T11:53")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_bulk_file_of_openweathermap_is_read_plain_or_packed(tmp_path, packed):
    path = DATA / "openweathermap.json"
    if packed:
        (tmp_path / "bulk.json.gz").write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / "bulk.json.gz"
    stations, report = read_openweathermap(path, country="US")
    assert stations.ids.tolist() == ["4", "1", "7", "9"]
    assert findings(report) == {
        ("dropped", "line is not a JSON object"): (11,),
        ("dropped", "country is not 'US'"): (2,),
        ("dropped", "temperature is missing ('999.9')"): (5,),
        ("dropped", "temperature is impossible: not within 180..335 K ('27.0'); they may be degC or degF"): (
            6,
        ),
        ("dropped", "wind is missing ('-9999')"): (9,),
        ("dropped", "humidity is missing (an empty cell)"): (3,),
        ("clipped", "humidity above 100 % (up to 110): set to 100"): (4,),
        ("dropped", "repeated station: its latest reading is kept"): (1,),
        ("noted", "same place as an earlier station, other readings"): (8,),
    }
    alpha = stations.take(stations.ids == "1")
    assert (alpha.names[0], alpha.time[0]) == ("Alpha again", np.datetime64("2017-03-14T11:13:20"))
    assert alpha.readings.tolist() == [[278.4, 80.0, 2.0]]
    assert stations.names[3] == "Eta"


def test_the_bulk_file_in_metric_units_is_in_degc(tmp_path):
    line = (
        '{"city":{"id":1,"coord":{"lon":1,"lat":2}},"main":{"temp":20,"humidity":50},"wind":{"speed":10}}\n'
    )
    (tmp_path / "a.json").write_text(line)
    metric, _ = read_openweathermap(tmp_path / "a.json", units="metric")
    imperial, _ = read_openweathermap(tmp_path / "a.json", units="imperial")
    assert metric.readings[0] == pytest.approx([293.15, 50.0, 10.0])
    assert imperial.readings[0] == pytest.approx([266.4833, 50.0, 4.4704], abs=1e-4)


def written(tmp_path, content, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


HEADER = "id,lon,lat,t,h,w\n"
GZIP = gzip.compress((HEADER + "a,1,2,20,50,3\n" * 5000).encode(), mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "row 1: the file is empty"),
        ("# nothing\n\n", "row 2: there is no header"),
        (HEADER, "row 1: there are no rows below the header"),
        (GZIP[: len(GZIP) // 2], r"row \d+: the packed file is cut off or damaged"),
        (GZIP[:30], "row 1: the packed file is cut off or damaged"),
        (GZIP[:60] + b"!!!!" + GZIP[64:], r"row \d+: the packed file is cut off or damaged"),
        ((HEADER + "a,1,2,20,50,3\n").encode() + b"b\0,1,2,20,50,3\n", "row 3: not text .a zero byte"),
        (
            "id,lon,lat,tt,h,w\na,1,2,20,50,3\n",
            r"row 1: no column 't' for temperature; did you mean 'tt'. .there",
        ),
        (
            "id,lon,lat,t,t,h,w\na,1,2,20,20,50,3\n",
            "row 1: column 't' for temperature is there more than once",
        ),
        (
            HEADER + "a,1,2,M,50,3\nb,1,2,20,,3\n",
            r"row 2: all 2 rows are dropped: 1 temperature is missing \('M'\); 1 hum",
        ),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_line_that_names_it_and_the_row(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=message) as error:
        read_csv(path, SHORT, SHORT_UNITS)
    assert str(error.value).startswith(f"{path}: row ")
    assert "\n" not in str(error.value)


def test_a_bulk_file_cut_off_names_the_row(tmp_path):
    packed = gzip.compress((DATA / "openweathermap.json").read_bytes() * 200)
    path = written(tmp_path, packed[:-9], "bulk.json.gz")
    with pytest.raises(ValueError, match=r"bulk\.json\.gz: row \d+: the packed file is cut off"):
        read_openweathermap(path)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda path: read_csv(path / "no.csv", SHORT, SHORT_UNITS), r"no\.csv: No such file or directory"),
        (lambda path: read_csv(path, SHORT, SHORT_UNITS), "Is a directory"),
        (lambda path: read_openweathermap(written(path, "")), "row 1: the file is empty"),
        (lambda path: read_openweathermap(written(path, "\n")), "row 1: there are no rows"),
        (
            lambda path: read_openweathermap(written(path, "[1]\n{}\n")),
            "row 1: all 2 rows are dropped: 1 line is",
        ),
        (lambda path: read_openweathermap(written(path, "{}"), units="si"), "units='si' must be one of"),
        (
            lambda path: read_iem_asos(written(path, "station,valid,tmpf,relh,sknt\nA,,60,50,3\n")),
            "latlon=yes",
        ),
        (
            lambda path: read_iem_asos(written(path, HEADER + "a,1,2,20,50,3\n")),
            "no column tmpf or tmpc for temp",
        ),
        (
            lambda path: read_iem_asos(written(path, "station,lon,lat,tmpf,sknt\nA,1,2,60,3\n")),
            "row 1: no column relh or dwpf",
        ),
    ],
)
def test_other_files_that_cannot_be_imported(tmp_path, read, message):
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "units", "options", "message"),
    [
        ({}, {"temperature": None}, {}, "column 't' for temperature has no unit; accepted: K, degC, degF"),
        ({}, {"wind": "knots"}, {}, "column 'w' for wind has unit 'knots'; accepted: m/s, km/h, mph, kt"),
        ({"wnd": "w"}, {}, {}, r"unknown quantity 'wnd'; did you mean 'wind'."),
        ({"wind": None}, {}, {}, "no column is named for wind"),
        ({"humidity": None}, {}, {}, "no column is named for humidity or dew_point"),
        ({}, {"dew_point": "K"}, {}, "a unit is given for 'dew_point', but no column"),
        ({"time": "id"}, {}, {"time_zone": "Mars"}, "unknown time zone 'Mars'"),
        ({}, {}, {"at": "noon-ish"}, "at='noon-ish' must be a date and time"),
        ({}, {}, {"repeated_places": "merge"}, "repeated_places='merge' must be one of"),
    ],
)
def test_a_wrong_map_unit_or_option_is_named(columns, units, options, message):
    mapped = {key: value for key, value in {**SHORT, **columns}.items() if value}
    declared = {key: value for key, value in {**SHORT_UNITS, **units}.items() if value}
    with pytest.raises(ValueError, match=message) as error:
        from_dataframe(frame(id="2020-01-01T00:00"), mapped, declared, **options)
    assert "\n" not in str(error.value)


def test_an_empty_data_frame_is_an_error():
    with pytest.raises(ValueError, match="DataFrame: row 1: there are no rows of data"):
        from_dataframe(frame(0), SHORT, SHORT_UNITS)
