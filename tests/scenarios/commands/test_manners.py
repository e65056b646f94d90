"""Small things that users of the command line meet in their first hour."""

import pytest

from scenarios import load, run
from scenarios.cli import invoke
from scenarios.errors import UserError
from scenarios.study.study import Study


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
    assert study.worlds["all"].priors == {}


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


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["export", "study.sqlite", "table.csv"], "policyloop export"),
        (["run"], "policyloop run"),
        (["new", "simulator", "--folder"], "policyloop new simulator"),
        (["exprot"], "policyloop"),
    ],
)
def test_a_wrong_command_line_names_the_help_of_its_command(arguments, command, capsys):
    assert invoke(arguments) == 2
    assert capsys.readouterr().err.endswith(f"(try: {command} --help)\n")


def test_a_run_that_fails_before_its_first_round_is_not_to_go_on(
    scenario_file, policyloop, monkeypatch, tmp_path
):
    def fail(*arguments):
        raise RuntimeError("no such column")

    monkeypatch.setattr("scenarios.running.dispatch.run_trial", fail)
    code, _, error = policyloop("run", scenario_file(), "--out", tmp_path / "s.sqlite", "--quiet")
    assert code == 1 and "no such column" in error and error.count("\n") == 1
    assert Study(tmp_path / "s.sqlite").worlds  # its kernels are kept
