"""Odd files of strangers are read, or refused in one line that names the file; never a traceback."""

import gzip
import importlib.util
import tracemalloc
from pathlib import Path

import pytest

from scenarios import load
from scenarios.cli import invoke
from scenarios.errors import UserError
from simulators.stations import read_openweathermap, read_stations

ROOT = Path(__file__).parents[2]
DEEP = "[" * 5000 + "]" * 5000


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "benchmarks" / "bench_parsing_fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("kind", "count"),
    [("scenarios", 1000), ("stations", 100), pytest.param("stations", 300, marks=pytest.mark.slow)],
)
def test_odd_files_are_read_or_refused_in_one_line(bench, tmp_path, kind, count):
    found, first = bench.fuzz(kind, count, 10**6, tmp_path)
    assert set(found) == {"read", "refused"} and min(found.values()) > count / 20, first


def test_the_fuzz_sees_what_is_no_refusal(bench, tmp_path):
    def read(path):
        raise KeyError("x")

    def long(path):
        raise ValueError(f"{path}: {'x' * 3000}")

    def unnamed(path):
        raise ValueError("wrong")

    for one in (read, long, unnamed):
        assert bench.outcome(one, tmp_path, ValueError) not in ("read", "refused")


@pytest.mark.parametrize(
    ("value", "words"),
    [(DEEP, "too deep to read"), ("9" * 5000, "4300 digits")],
)
def test_a_scenario_that_no_parser_holds_is_refused_in_one_line(tmp_path, capsys, value, words):
    (tmp_path / "s.toml").write_text(f"rounds = {value}\n")
    with pytest.raises(UserError, match=rf"s\.toml: not valid TOML: .*{words}"):
        load(tmp_path / "s.toml")
    assert invoke(["run", str(tmp_path / "s.toml")]) == 2
    assert invoke(["check", "flu-ode", "--option", f"groups={value}"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and all(line.startswith("policyloop: ") for line in told)


def test_lines_of_json_that_are_too_deep_are_dropped(tmp_path):
    place, main = '"coord": {"lon": 1, "lat": 2}', '"main": {"temp": 280, "humidity": 50}'
    good = f'{{"id": 1, {place}, {main}, "wind": {{"speed": 1}}}}'
    (tmp_path / "a.json").write_text(f'{good}\n{{"id": {DEEP}}}\n')
    stations, report = read_openweathermap(tmp_path / "a.json")
    assert len(stations) == 1 and report.count("dropped") == 1


def test_lines_that_end_with_carriage_returns_alone_are_lines(tmp_path):
    (tmp_path / "mac.csv").write_bytes(b"lon,lat,temperature,humidity,wind\r1,2,20,50,3\r1,3,x,50,3\r")
    stations, report = read_stations(
        tmp_path / "mac.csv",
        columns={name: name for name in ("lon", "lat", "temperature", "humidity", "wind")},
        units={"temperature": "degC", "humidity": "percent", "wind": "m/s"},
    )
    assert len(stations) == 1 and report.count("dropped") == 1


def test_a_header_without_end_is_quoted_in_part(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"column{i}{'x' * 100}" for i in range(1000)) + "\n1\n")
    with pytest.raises(ValueError, match="unknown header .* and 970 more") as told:
        read_stations(tmp_path / "wide.csv")
    assert len(str(told.value)) < 2000


@pytest.mark.parametrize("sign", ["\\n", "\\u2028", "\\u0085", "\\u001b[31m", "\\u009b31m"])
@pytest.mark.parametrize("line", ['"a{}b" = 1', 'name = "a{}b"', 'agents = [{{ "x{}" = 1 }}]'])
def test_keys_and_values_are_told_on_one_line(tmp_path, sign, line):
    (tmp_path / "s.toml").write_text(line.format(sign) + "\n")
    with pytest.raises(UserError) as told:
        load(tmp_path / "s.toml")
    assert len(str(told.value).splitlines()) == 1 and str(told.value).isprintable()


def test_a_small_packed_file_with_an_endless_line_is_refused_before_it_fills_the_memory(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id," + b"x" * 10**8))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"a\.csv\.gz: row 1: longer than 1048576 characters"):
        read_stations(tmp_path / "a.csv.gz")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.filterwarnings("error")
def test_cells_near_the_largest_float_are_dropped_without_a_warning(tmp_path):
    row = "{0},{0},{0},{0},{0}\n"
    (tmp_path / "a.csv").write_text("lon,lat,t,h,w\n" + row.format("1e308") * 2 + "1,2,20,0.5,3\n")
    stations, report = read_stations(
        tmp_path / "a.csv",
        columns={"lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"},
        units={"temperature": "degF", "humidity": "fraction", "wind": "mph"},
    )
    assert len(stations) == 1 and report.count("dropped") == 2
    with pytest.raises(ValueError, match="all 2 rows are dropped"):
        (tmp_path / "b.csv").write_text(
            "ids,names,lon,lat,time,temperature,humidity,wind\n" + "a,b,1,2,,280,50,1e308\n" * 2
        )
        read_stations(tmp_path / "b.csv")
