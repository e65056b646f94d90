"""`policyloop stations` reads as a run does; what an import finds reaches terminal, study and report."""

import json
import tomllib

import numpy as np
import pytest

from scenarios import Study
from simulators import make
from simulators.stations import read_stations

HEADER = "sid,where,land,x,y,when,t,rh,ff\n"
COLUMNS = "id=sid,name=where,country=land,lon=x,lat=y,time=when,temperature=t,humidity=rh,wind=ff"
UNITS = "temperature=degC,humidity=percent,wind=kt"
LEAST = "lon=x,lat=y,temperature=t,humidity=rh,wind=ff"


def table(n=40, humidity=lambda h: h, encoding="utf-8"):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(n):
        lon, lat = 5 + 5 * rng.random(), 45 + 4 * rng.random()
        t, h = 20 - (lat - 47) + rng.normal(0, 0.4), 60 + 2 * (lon - 7) + rng.normal(0, 1)
        land = "FR" if lon < 7 else "DE"
        rows.append(
            f"s{i},Zürich {i},{land},{lon:.3f},{lat:.3f},2026-03-01T{6 + i % 3:02}:00Z,"
            f"{t:.1f},{humidity(h):.2f},{8 + i % 3}\n"
        )
    return (HEADER + "".join(rows)).encode(encoding)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "my.csv").write_bytes(table())
    return tmp_path / "my.csv"


def words(options):
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def test_every_option_reads_what_it_says_and_the_lines_shown_read_the_same(file, policyloop):
    file.write_bytes(table(encoding="latin-1"))
    options = {"columns": COLUMNS, "units": UNITS, "at": "2026-03-01T07:00Z", "window": "0.5"}
    options |= {"box": "6,45,10,49", "country": "DE", "encoding": "latin-1"}
    code, out, error = policyloop("stations", file, *words(options), "--option", "quality=off")
    assert (code, error) == (0, "")
    toml = tomllib.loads(out.split("In a scenario file:\n")[1])
    assert toml["environment"]["name"] == "weather"
    shown, report = read_stations(**toml["environment"]["options"])
    assert {str(name)[:6] for name in shown.names} == {"Zürich"}
    assert (shown.time == np.datetime64("2026-03-01T07:00")).all() and (shown.lon >= 7).all()
    assert out.startswith(f"{file}: 40 rows read, {len(shown)} stations kept\n")
    low, high = shown.wind.min(), shown.wind.max()
    assert f"wind        {low:.2f} .. {high:.2f} m/s" in out and 4 < low < 5  # 8 to 10 kt
    env = make("weather", **toml["environment"]["options"])
    assert env.stations.ids.tolist() == shown.ids.tolist() and str(env.report) == str(report)


@pytest.mark.parametrize(
    ("options", "words_of_it"),
    [
        ({"units": UNITS}, "row 1: unknown header"),
        ({"columns": LEAST, "units": UNITS, "country": "DE"}, "country='DE' has no effect: no column"),
        ({"columns": LEAST, "units": UNITS, "at": "2026-03-01"}, "at='2026-03-01' has no effect: no column"),
        ({"columns": LEAST, "units": UNITS, "window": "3"}, "window=3.0 has no effect: no column"),
        (
            {"columns": LEAST, "units": "temperature=degC,humidity=percent"},
            "column 'ff' for wind has no unit",
        ),
        ({"columns": LEAST, "units": UNITS + ",dew_point=degC"}, "a unit is given for 'dew_point'"),
        ({"columns": COLUMNS, "units": UNITS, "at": "soon"}, "at='soon' must be a date and time"),
        ({"columns": "lon", "units": UNITS}, "--columns = lon; accepted: QUANTITY=NAME"),
        ({"columns": COLUMNS, "units": UNITS, "box": "a,b"}, "--box = a,b; accepted: west,south,east,north"),
        ({"columns": COLUMNS, "units": UNITS, "country": "CH"}, "country is not 'CH'"),
        ({"columns": COLUMNS, "units": UNITS, "encoding": "utf-99"}, "utf-99"),
        ({"columns": COLUMNS, "units": UNITS, "option": "budy=3"}, "'budy'"),
        ({"columns": COLUMNS, "units": UNITS, "option": "delimiter=;"}, "'delimiter'"),
    ],
)
def test_an_option_that_is_wrong_or_without_effect_is_one_line(file, policyloop, options, words_of_it):
    code, out, error = policyloop("stations", file, *words(options))
    assert (code, out) == (2, "") and error.count("\n") == 1
    assert words_of_it in error
    assert [one.name for one in file.parent.iterdir() if one.is_file()] == ["my.csv"]


def test_what_is_found_is_told_by_the_run_and_kept_by_the_study(file, policyloop, tmp_path):
    """A fraction declared as percent, a row without wind, a humidity above 100, a station gone wrong."""
    lines = table(humidity=lambda h: h / 100).decode().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ","
    cells = lines[7].split(",")
    lines[7] = ",".join([*cells[:6], "-20", *cells[7:]])
    file.write_text("\n".join(lines) + "\n")
    (tmp_path / "own.toml").write_text(
        f"""
name = "own"
rounds = 3
trials = 1
agents = ["random"]
[environment]
name = "weather"
[environment.options]
data = "{file}"
columns = {{ {", ".join(f'{k} = "{v}"' for k, v in (one.split("=") for one in COLUMNS.split(",")))} }}
units = {{ temperature = "degC", humidity = "percent", wind = "kt" }}
"""
    )
    study = tmp_path / "own.sqlite"
    code, _, error = policyloop("run", tmp_path / "own.toml", "--out", study)
    assert code == 0
    fraction, missing = "it looks like a fraction", "wind is missing (an empty cell)"
    found = f"{file}: 40 rows read, 38 stations kept, 1 left out by the quality control"
    assert found in error and missing in error and fraction in error and "(s6)" in error
    stored = Study(study).environment.data_report
    assert (stored["rows"], stored["stations"], stored["flagged"]) == (40, 38, 1)
    assert stored["flags"][0]["station"] == "s6" and stored["flags"][0]["done"] == "left out"
    code, out, _ = policyloop("show", study)
    assert code == 0 and found in out and missing in out and fraction in out and "s6" in out
    code, _, _ = policyloop("report", study, "--out", tmp_path / "own.html")
    page = (tmp_path / "own.html").read_text()
    assert code == 0 and "s6" in page and "looks like a fraction" in page and "wind is missing" in page
    code, _, error = policyloop("run", tmp_path / "own.toml", "--out", tmp_path / "q.sqlite", "--quiet")
    assert (code, error) == (0, "")


def test_the_whole_report_is_there_for_a_program(file, policyloop):
    code, out, _ = policyloop("stations", file, "--columns", COLUMNS, "--units", UNITS, "--format", "json")
    told = json.loads(out)
    assert code == 0 and (told["rows"], told["stations"], told["quality"]) == (40, 40, "on")
    assert told["ranges"]["wind"] == pytest.approx([8 * 1852 / 3600, 10 * 1852 / 3600])


def test_a_map_is_drawn_once_and_replaced_only_by_force(file, policyloop, tmp_path):
    given = ("stations", file, "--columns", COLUMNS, "--units", UNITS, "--out", tmp_path / "map")
    code, out, _ = policyloop(*given)
    assert code == 0 and (tmp_path / "map.png").is_file() and f"{tmp_path / 'map.svg'}" in out
    code, _, error = policyloop(*given)
    assert code == 2 and "exists; --force replaces it" in error and error.count("\n") == 1
    assert policyloop(*given, "--force")[0] == 0
