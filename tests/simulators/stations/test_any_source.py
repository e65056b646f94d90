"""Any source: formats are told from the file, files are read once, and what cannot be used is one line."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simulators import make
from simulators.stations import default_snapshot, read_csv, read_iem_asos, read_openweathermap, read_stations

DATA = Path(__file__).parent / "data"
COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}
ROWS = "id,lon,lat,t,h,w\na,-100,40,20,50,3\nb,-101,40,21,50,3\nc,-102,40,22,50,3\n"


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same(found, expected):
    assert found[0].ids.tolist() == expected[0].ids.tolist()
    assert found[0].readings.tolist() == expected[0].readings.tolist()
    assert found[1].findings == expected[1].findings


def test_the_format_is_told_from_the_file_and_can_be_named(tmp_path):
    iem, bulk = DATA / "iem_asos.csv", DATA / "openweathermap.json"
    same(read_stations(iem), read_iem_asos(iem))
    same(read_stations(bulk, country="US"), read_openweathermap(bulk, country="US"))
    packed = written(tmp_path / "bulk.gz", gzip.compress(bulk.read_bytes()))
    same(read_stations(packed), read_openweathermap(bulk))
    path = written(tmp_path / "a.csv", ROWS)
    same(read_stations(path, columns=COLUMNS, units=UNITS), read_csv(path, COLUMNS, UNITS))
    same(read_stations(iem, format="iem", at="2020-06-01T12:00Z"), read_iem_asos(iem, at="2020-06-01T12:00Z"))


def test_tables_with_a_known_header_need_no_map(tmp_path):
    stations = default_snapshot()
    found, _ = read_stations(stations.to_dataframe(), quality="off")
    assert np.array_equal(found.readings, stations.readings)
    assert np.array_equal(found.time, stations.time)
    bulk = pd.DataFrame(
        {
            "id": [1, 2],
            "name": ["A", "B"],
            "lon": [-100.0, -101.0],
            "lat": 40.0,
            "time_unix": 1489487394,
            "temp_k": [280.0, 290.0],
            "humidity_percent": [50, 60],
            "wind_speed_ms": [1.5, 2.5],
        }
    )
    bulk.to_csv(tmp_path / "bulk.csv", index=False)
    found, _ = read_stations(tmp_path / "bulk.csv")
    assert found.readings.tolist() == [[280.0, 50.0, 1.5], [290.0, 60.0, 2.5]]


def test_stations_of_a_program_are_taken_as_they_are():
    found, report = read_stations(default_snapshot(), quality="off")
    assert found is default_snapshot()
    assert (report.source, report.stations) == ("stations", 1439)


def test_a_file_is_read_once_until_it_changes(tmp_path):
    path = written(tmp_path / "a.csv", ROWS)
    first = read_stations(path, columns=COLUMNS, units=UNITS)
    assert read_stations(path, columns=COLUMNS, units=UNITS)[0] is first[0]
    written(path, ROWS.replace("22,50", "25.5,50"))
    assert read_stations(path, columns=COLUMNS, units=UNITS)[0].temperature[2] == pytest.approx(298.65)


def test_a_box_drops_the_stations_outside_and_the_report_says_so(tmp_path):
    path = written(tmp_path / "a.csv", ROWS)
    found, report = read_stations(path, columns=COLUMNS, units=UNITS, box=(-101.5, 0, 0, 90))
    assert found.ids.tolist() == ["a", "b"]
    assert (report.stations, report.station_rows) == (2, (2, 3))
    assert str(report.findings[-1]) == ("dropped 1: outside -101.5..0 degrees east, 0..90 north (row 4)")


def test_every_kept_station_has_its_row_in_the_report():
    path = DATA / "iem_asos.csv"
    found, report = read_iem_asos(path)
    lines = path.read_text().splitlines()
    assert [lines[row - 1].split(",")[0] for row in report.station_rows] == found.ids.tolist()
    assert "station_rows" not in report.to_dict()


HEADER = "id,lon,lat,t,h,w\n"
LONELY = HEADER + "a,-100,40,20,50,3\n"
MISSING = HEADER + "a,-100,40,M,50,3\nb,-101,40,M,50,3\n"
FAR = HEADER + "".join(f"s{i},{lon + i / 10},40,20,50,3\n" for lon in (0, 90) for i in range(3)).replace(
    "s0,90", "t0,90"
).replace("s1,90", "t1,90").replace("s2,90", "t2,90")
PLACES = HEADER + "a,-100,40,20,50,3\nb,-100,40,25,50,3\nc,-101,40,25,50,3\n"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "row 1: the file is empty"),
        (
            gzip.compress(ROWS.encode() * 50, mtime=0)[:-20],
            {},
            "row .*: the packed file is cut off or damaged",
        ),
        (HEADER, {}, "row 1: there are no rows below the header"),
        (ROWS, {"columns": {**COLUMNS, "wind": "v"}}, "row 1: no column 'v' for wind"),
        (ROWS, {"units": {"temperature": "degC", "humidity": "percent"}}, "column 'w' for wind has no unit"),
        (ROWS, {"columns": None, "units": None}, r"row 1: unknown header \('id', .*name its columns"),
        (MISSING, {}, "row 2: all 2 rows are dropped: 2 temperature is missing"),
        (LONELY, {}, "row 2: only one station; a network needs two or more"),
        (PLACES, {"noise_variance": 0}, "row 3: station 'b' has the place of 'a' in row 2 but another temp"),
        (
            FAR,
            {"neighbours": 2},
            r"neighbours=2 leaves the sensors in 2 parts .* \(s0, s1, s2\); choose .* >= 3",
        ),
        (ROWS, {"box": [0, 0, 10, 10]}, r"row 2: no station lies within 0\.\.10 degrees east"),
        (ROWS, {"box": [0, 0, 10]}, "box=.* must be four numbers"),
        (ROWS, {"format": "xml"}, "format='xml' must be one of"),
        (ROWS, {"columns": "t"}, "columns='t' must map quantities"),
        (ROWS, {"time_zone": "Mars", "columns": {**COLUMNS, "time": "id"}}, "unknown time zone 'Mars'"),
    ],
)
def test_what_cannot_be_used_is_one_line_that_names_the_file(tmp_path, content, options, message):
    path = written(tmp_path / "a.csv", content)
    given = {"data": path, "columns": COLUMNS, "units": UNITS, "set_aside_share": 0, **options}
    with pytest.raises(ValueError, match=message) as error:
        make("weather", **given)
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text or "=" in text.split()[0]


def test_a_file_that_is_not_there_and_what_is_no_source_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.csv: No such file"):
        make("weather", data=tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match="data must be a path, Stations, a DataFrame or None, not list"):
        make("weather", data=[1, 2])
    frame = pd.DataFrame({"x": np.arange(3)})
    with pytest.raises(ValueError, match=r"DataFrame: unknown header \('x'\)"):
        make("weather", data=frame)
