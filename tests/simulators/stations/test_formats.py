"""Files that people have, packed, in any encoding, workbooks, JSON; and what is broken is one line."""

import bz2
import io
import json
import random
import zipfile

import pandas as pd
import pytest

from scenarios.cli import invoke
from simulators.stations import read_stations

HEADER = "id,lon,lat,t,h,w\n"
COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}
ROWS = [("a", -100.5, 40.25, 20.5, 50, 3), ("b", -101.5, 40.0, 21.5, 55, 4), ("é", -102.5, 41.0, 22.5, 60, 5)]
TEXT = HEADER + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
GIVEN = {"columns": COLUMNS, "units": UNITS}


def zipped(data):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr("stations.csv", data)
    return held.getvalue()


FILES = {
    "latin-1": TEXT.encode("latin-1"),
    "utf-16": TEXT.encode("utf-16"),
    "carriage returns": TEXT.replace("\n", "\r").encode(),
    "semicolons and decimal commas": TEXT.replace(",", ";").replace(".", ",").encode(),
    "spaces": TEXT.replace(",", "   ").encode(),
    "bzip2": bz2.compress(TEXT.encode()),
    "zip": zipped(TEXT.encode()),
    "JSON lines": "\n".join(
        json.dumps(dict(zip(COLUMNS.values(), row, strict=True))) for row in ROWS
    ).encode(),
    "a JSON list": json.dumps([dict(zip(COLUMNS.values(), row, strict=True)) for row in ROWS]).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_stations_are_read_of_every_format(tmp_path, name):
    (tmp_path / "file").write_bytes(FILES[name])
    stations, report = read_stations(tmp_path / "file", **GIVEN)
    assert stations.ids.tolist() == ["a", "b", "é"]
    assert stations.readings[0].tolist() == pytest.approx([293.65, 50.0, 3.0])
    assert stations.lon.tolist() == [-100.5, -101.5, -102.5]
    assert report.rows == 3


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_workbooks_and_parquet_are_read_as_the_table_they_hold(tmp_path, kind):
    table = pd.DataFrame(ROWS, columns=list(COLUMNS.values()))
    path = tmp_path / f"a.{kind}"
    table.to_excel(path, index=False) if kind == "xlsx" else table.to_parquet(path)
    stations, _ = read_stations(path, **GIVEN)
    assert stations.ids.tolist() == ["a", "b", "é"]
    assert stations.readings[2].tolist() == pytest.approx([295.65, 60.0, 5.0])


def test_the_buoys_of_ndbc_are_read(tmp_path):
    (tmp_path / "latest_obs.txt").write_text(
        "#STN LAT LON YYYY MM DD hh mm WSPD ATMP DEWP\n#text deg deg yr mo day hr mn m/s degC degC\n"
        "41001 34.7 -72.7 2024 01 02 12 50 8.0 15.0 10.0\n41002 31.9 -74.9 2024 01 02 12 50 7.0 MM 11.0\n"
        "41004 32.5 -79.1 2024 01 02 12 50 6.0 14.0 9.0\n"
    )
    stations, report = read_stations(tmp_path / "latest_obs.txt")
    assert stations.ids.tolist() == ["41001", "41004"]
    assert stations.temperature.tolist() == pytest.approx([288.15, 287.15])
    assert report.findings[0].rows == (4,)


def test_openweathermap_in_metric_units_is_told_and_said(tmp_path):
    record = {
        "id": 1,
        "coord": {"lon": 1, "lat": 2},
        "main": {"temp": 20, "humidity": 50},
        "wind": {"speed": 3},
    }
    (tmp_path / "a.json").write_text(json.dumps(record))
    stations, report = read_stations(tmp_path / "a.json")
    assert stations.temperature.tolist() == [293.15]
    assert "are not K: read as degC and m/s" in report.findings[0].reason


def test_units_alone_change_those_of_a_known_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "id,name,lon,lat,time_unix,temp_k,humidity_percent,wind_speed_ms\n1,A,1,2,1489487394,290,50,36\n"
    )
    assert read_stations(path, units={"wind": "km/h"})[0].wind.tolist() == [10.0]


def test_a_stray_quote_names_the_row_where_it_opens(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "a,1,2,20,50,3\n" + '"b,1,3,20,50,3\n' + "c,1,2,20,50,3\n" * 38)
    with pytest.raises(ValueError, match="row 3: a quote that opens there takes in the next 39 lines"):
        read_stations(path, **GIVEN)


@pytest.mark.slow
def test_a_hundred_damaged_files_are_read_or_are_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draws = random.Random(0)
    (tmp_path / "held").mkdir()
    for i in range(100):
        data = bytearray(FILES[draws.choice(list(FILES))])
        for _ in range(draws.randint(1, 6)):
            data[draws.randrange(len(data))] = draws.randrange(256)
        path = tmp_path / "held" / f"{i}.csv"
        path.write_bytes(bytes(data[: draws.randint(1, len(data))]))
        columns, units = (",".join(f"{k}={v}" for k, v in m.items()) for m in (COLUMNS, UNITS))
        code = invoke(["stations", str(path), "--columns", columns, "--units", units])
        error = capsys.readouterr().err
        assert code in (0, 2)
        assert (code == 2) == bool(error)
        assert error.count("\n") <= 1
    assert [one.name for one in tmp_path.iterdir()] == ["held"]


def test_titles_and_notes_above_the_table_of_a_workbook_are_left_out(tmp_path):
    table = pd.DataFrame([*ROWS, ("d", -103.5, 41.5, "M", 60, 5)], columns=list(COLUMNS.values()))
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        table.to_excel(book, index=False, startrow=3)
        book.sheets["Sheet1"]["A1"] = "Stations of the network"
        book.sheets["Sheet1"]["A2"] = "made in July"
    stations, report = read_stations(tmp_path / "a.xlsx", **GIVEN)
    assert stations.ids.tolist() == ["a", "b", "é"]
    assert report.station_rows == (5, 6, 7) and report.findings[0].rows == (8,)


def test_a_zip_of_several_tables_names_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("north.csv", TEXT)
        packed.writestr("south.csv", TEXT)
    with pytest.raises(ValueError, match=r"a\.zip: holds 2 files \(north\.csv, south\.csv\); unpack it"):
        read_stations(tmp_path / "a.zip", **GIVEN)


def test_readings_that_are_impossible_in_their_unit_and_usual_in_another_are_said(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT + "d,-100,41,87.4,50,3\nf,-100,42,80.6,50,3\n")
    _, report = read_stations(tmp_path / "a.csv", **GIVEN)
    assert report.findings[0].reason == (
        "temperature is impossible: not within 180..335 K ('87.4', '80.6'); they may be degF"
    )
    (tmp_path / "b.csv").write_text(TEXT + "d,-100,41,870,50,3\n")
    assert "may be" not in str(read_stations(tmp_path / "b.csv", **GIVEN)[1])
