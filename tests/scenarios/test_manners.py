"""Small things that users of the command line meet in their first hour."""

import pytest

from scenarios import load, run
from scenarios.cli import invoke
from scenarios.errors import UserError


def test_bare_command_prints_its_help_in_lines(capsys):
    assert invoke([]) == 2
    help_text = capsys.readouterr().err
    assert help_text.startswith("Usage: policyloop") and help_text.count("\n") > 15


def test_list_names_scenarios_environments_and_agents(capsys):
    assert invoke(["list"]) == 0
    printed = capsys.readouterr().out
    assert "flu-treatment" in printed and "flu-ode" in printed and "d-gpucb" in printed


def test_kernels_are_not_learned_where_no_agent_learns(scenario_file, tmp_path):
    study = run(load(scenario_file(agents='["random", "uniform"]', samples=50)), out=tmp_path / "s.sqlite")
    assert study.worlds["all"]["priors"] == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 10**20}, "rounds = .* at most 1,000,000"),
        ({"trials": 10**9}, "trials = .* at most 100,000"),
        ({"agents": '[{ name = "random", label = "" }]'}, "label"),
        ({"agents": '[{ name = "random", label = "a\\nb" }]'}, "label"),
    ],
)
def test_absurd_values_are_refused_in_words(scenario_file, changes, message):
    with pytest.raises(UserError, match=message):
        load(scenario_file(**changes))


def test_file_with_a_byte_order_mark_is_read(scenario_file):
    path = scenario_file()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path).name == "small"


def test_binary_file_is_no_scenario(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(UserError, match="not a text file in UTF-8"):
        load(path)
