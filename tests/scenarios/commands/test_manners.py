"""Small things that users of the command line meet in their first hour."""

import subprocess
import sys

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


def test_a_finished_study_says_that_nothing_is_left_and_how_it_grows(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    assert policyloop("run", scenario_file(agents='["random"]'), "--out", out, "--quiet")[0] == 0
    code, _, error = policyloop("resume", out)
    assert code == 0
    assert error == (
        f"{out}: nothing is left to run, all 8 rounds are stored; "
        "more --trials, --rounds or --agents make it grow\n"
    )
    assert policyloop("resume", out, "--quiet")[2] == ""


def test_a_study_that_is_not_there_is_to_be_started(policyloop, tmp_path):
    code, _, error = policyloop("resume", tmp_path / "s.sqlite")
    assert code == 2
    assert error.endswith(f"start it with policyloop run SCENARIO --out {tmp_path / 's.sqlite'}\n")


@pytest.mark.parametrize("arguments", [["list"], ["list", "flu"], ["--help"]])
def test_who_reads_only_the_beginning_is_told_of_no_fault(arguments):
    writer = subprocess.Popen(
        [sys.executable, "-m", "policyloop", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    writer.stdout.close()  # as `| head` does when it has seen enough
    assert writer.stderr is not None
    assert (writer.stderr.read(), writer.wait()) == ("", 0)


def test_a_budget_that_is_no_number_is_told_with_what_is_accepted(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    assert policyloop("run", scenario_file(agents='["random"]', samples=0), "--out", out, "--quiet")[0] == 0
    code, _, error = policyloop("what-if", out, "--budget", "inf")
    assert (code, error) == (
        2,
        "policyloop: budget inf; accepted: a number, in the unit of the study's own budget\n",
    )
