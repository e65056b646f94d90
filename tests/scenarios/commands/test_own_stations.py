"""A network of one's own from the command line: the template works at once, and says what is wrong in it."""

import pytest

from scenarios import Study, load
from simulators.stations import read_stations


@pytest.fixture
def network(tmp_path, policyloop):
    assert policyloop("new", "own-stations", "my-network", "--folder", tmp_path)[0] == 0
    return tmp_path / "my-network"


def test_a_new_network_runs_from_anywhere_and_says_what_is_left_out(network, policyloop, tmp_path):
    code, out, _ = policyloop("check", network / "scenario.toml")
    assert code == 0 and "nothing found" in out
    assert f"{network / 'stations.csv'}: 121 rows read, 109 stations kept, 7 left out" in out
    few = ["--trials", "1", "--rounds", "4", "--agents", "random", "--out", tmp_path / "s.sqlite"]
    code, _, error = policyloop("run", network / "scenario.toml", *few)
    assert code == 0 and "7 left out by the quality control" in error
    assert Study(tmp_path / "s.sqlite").environment.data_report["flagged"] == 7


def test_every_fault_put_into_its_table_is_found(network):
    options = dict(load(network / "scenario.toml").environment.options)
    given = {name: options[name] for name in ("columns", "units", "quality")}
    stations, report = read_stations(options["data"], **given)
    found = {flag.station: flag.rule for flag in report.flags}
    wrong = {"N005": "contradiction", "N031": "place", "N047": "place"}
    wrong |= dict.fromkeys(("N058", "N088", "N097"), "buddy")
    assert wrong.items() <= found.items() and len(found) == 7
    assert not {"N014", "N023", "N066", "N075", *wrong} & set(stations.ids)


def test_the_stations_of_a_scenario_are_told_without_a_run(network, policyloop):
    code, out, error = policyloop("stations", network / "live.toml")
    assert (code, error) == (0, "") and "121 rows read, 109 stations kept, 7 left out" in out
    assert out.endswith(f"Next: policyloop run {network / 'live.toml'}\n")
    code, out, _ = policyloop("stations", network / "live.toml", "--option", "quality=off")
    assert code == 0 and "116 stations kept" in out and 'quality = "off"' in out
    (network / "flu.toml").write_text(
        'name = "f"\nrounds = 3\ntrials = 1\nagents = ["random"]\n[environment]\nname = "flu-ode"\n'
    )
    code, _, error = policyloop("stations", network / "flu.toml")
    assert code == 2 and error.count("\n") == 1
    assert "flu.toml: environment = 'flu-ode' reads no stations; accepted: weather, weather-live" in error
