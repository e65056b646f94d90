"""A user's mistake is one line on standard error and exit code 2; nothing is written or lost."""

import json
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest

FLU = """name = "f"
rounds = 1
trials = 1
agents = ["ei"]
[environment]
name = "flu-ode"
[environment.options]
"""
ONES = "[1, 1, 1, 1, 1]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rounds = 3.5\n", ["rounds = 3.5", "whole number"]),
        ('rounds = "ten"\n', ['rounds = "ten"', "whole number"]),
        ("rounds = 0\n", ["rounds = 0", "1 or more"]),
        ("rounds = true\n", ["rounds = true", "whole number"]),
        ("rouds = 3\n", ["rouds = 3", "unknown key", "'rounds'"]),
        ('rounds = 1\ntrials = 1\nname = "../up"\n', ['name = "../up"', "letters"]),
        ('rounds = 1\ntrials = 1\nname = "grün"\n', ['name = "grün"', "letters (a-z, A-Z)"]),
        ("rounds = \n", ["not valid TOML", "line 1"]),
    ],
)
def test_a_mistake_in_the_file_names_file_key_value_and_what_is_accepted(
    text, words, scenario_file, policyloop, tmp_path
):
    one_line_refusal(
        policyloop("run", scenario_file(text), "--out", tmp_path / "s.sqlite"),
        tmp_path,
        ["small.toml", *words],
    )


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("bugdet = 3", ["bugdet", "'budget'"]),
        ("budget = -1", ["budget", "-1"]),
        ("bounds = [0.6, 0.2]", ["upside down", "0.6"]),
        ("bounds = [0.9, 1.0]", ["budget"]),  # the least coverage needs more doses than there are
        ('r0 = "high"', ["r0", "high"]),
        ("efficacy = [0.5, 0.5]", ["efficacy", "5"]),
        ("population = [1, 2, 3, 4, -5]", ["population", "-5"]),
        (f"contacts = [{ONES}, {ONES}, {ONES}, {ONES}, [1, 1, 1, 1, -2]]", ["contacts", "-2"]),
        (f"contacts = [{ONES}, {ONES}, {ONES}, {ONES}, [1, 1, 1, 1]]", ["contacts", "5 x 5"]),
        (
            f"contacts = [{ONES}, {ONES}, {ONES}, {ONES}, [1, 1, 1, 1, nan]]",
            ["options.contacts[4][4] = nan; accepted", "finite number"],
        ),
        ("budget = 2026-01-01", ["environment.options.budget = 2026-01-01; accepted: text, a finite number"]),
    ],
)
def test_an_impossible_environment_is_refused_before_anything_is_written(
    option, words, scenario_file, policyloop, tmp_path
):
    path = scenario_file(FLU + option)
    one_line_refusal(
        policyloop("run", path, "--out", tmp_path / "s.sqlite"), tmp_path, ["small.toml", *words]
    )


def test_unknown_names_come_with_the_nearest_valid_one(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    refused = one_line_refusal
    refused(policyloop("run", "flux", "--out", out), tmp_path, ["'flux'", "did you mean 'flu'"])
    refused(policyloop("run", tmp_path / "no.toml", "--out", out), tmp_path, ["no.toml", "no such"])
    refused(
        policyloop("run", tmp_path, "--out", out), tmp_path, [f"{tmp_path}: is a folder; give the name of"]
    )
    path = scenario_file(environment="vally")
    refused(
        policyloop("run", path, "--out", out), tmp_path, ["'vally'", "did you mean 'valley'", "small.toml"]
    )
    path = scenario_file(agents='["d-gpcub"]')
    refused(
        policyloop("run", path, "--out", out), tmp_path, ["'d-gpcub'", "did you mean 'd-gpucb'", "agents[0]"]
    )
    path = scenario_file(agents='["current"]')
    refused(policyloop("run", path, "--out", out), tmp_path, ["current", "today's practice"])
    refused(policyloop("run", path, "--agents", "gpucb", "--out", out), tmp_path, ["did you mean 'gp-ucb'"])
    refused(policyloop("runn", path), tmp_path, ["'runn'"])
    refused(policyloop("run", path, "--tirals", 3), tmp_path, ["--tirals"])


@pytest.mark.parametrize(
    ("option", "value"),
    [("--trials", 0), ("--rounds", -1), ("--seed", -1), ("--jobs", 0), ("--samples", 1), ("--rounds", "ten")],
)
def test_a_bad_value_on_the_command_line_is_named(option, value, scenario_file, policyloop, tmp_path):
    result = policyloop("run", scenario_file(), option, value, "--out", tmp_path / "s.sqlite")
    one_line_refusal(result, tmp_path, [option])


def test_an_output_that_exists_is_refused_and_kept(scenario_file, policyloop, tmp_path):
    path, out = scenario_file(), tmp_path / "s.sqlite"
    assert policyloop("run", path, "--out", out, "--quiet", "--agents", "uniform")[0] == 0
    before = out.read_bytes()
    code, _, error = policyloop("run", path, "--out", out)
    assert code == 2 and "exists" in error and "--resume" in error and "--force" in error
    assert out.read_bytes() == before
    for command in ("export", "plot"):
        target = tmp_path / {"export": "t.csv", "plot": "figures"}[command]
        assert policyloop(command, out, "--out", target)[0] == 0
        code, _, error = policyloop(command, out, "--out", target)
        assert code == 2 and "exists" in error
        assert policyloop(command, out, "--out", target, "--force")[0] == 0


@pytest.mark.parametrize("option", [[], ["--resume"], ["--force"]])
def test_a_foreign_file_is_never_replaced(option, scenario_file, policyloop, tmp_path):
    text, other = tmp_path / "thesis.txt", tmp_path / "other.sqlite"
    text.write_text("ten years of work\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for foreign in (text, other):
        before = foreign.read_bytes()
        code, _, error = policyloop("run", scenario_file(), "--out", foreign, *option)
        assert code == 2 and error.count("\n") == 1 and foreign.name in error
        assert foreign.read_bytes() == before
        assert not list(tmp_path.glob("*.lock"))


def test_a_file_that_is_no_study_cannot_be_read(policyloop, tmp_path):
    (tmp_path / "notes.sqlite").write_text("x" * 5000)
    for command in ("show", "compare", "plot", "export"):
        one_line_refusal(policyloop(command, tmp_path / "notes.sqlite"), tmp_path, ["notes.sqlite"])
        one_line_refusal(policyloop(command, tmp_path / "none.sqlite"), tmp_path, ["no such study"])


def test_a_folder_that_is_missing_is_refused(scenario_file, policyloop, tmp_path):
    result = policyloop("run", scenario_file(), "--out", tmp_path / "none" / "s.sqlite")
    one_line_refusal(result, tmp_path, ["no folder"])


def test_a_folder_without_write_permission_is_refused(policyloop, scenario_file, tmp_path):
    path = scenario_file()
    # Each command once, so that all is imported: who may not write may not read this Python's folder either.
    assert policyloop("run", path, "--out", tmp_path / "s.sqlite", "--quiet")[0] == 0
    assert policyloop("export", tmp_path / "s.sqlite", "--out", tmp_path / "t.csv")[0] == 0
    assert policyloop("plot", tmp_path / "s.sqlite", "--out", tmp_path / "figures")[0] == 0
    with tempfile.TemporaryDirectory() as name:
        home, closed = Path(name), Path(name) / "closed"
        home.chmod(0o755)
        (home / "small.toml").write_text(path.read_text())
        closed.mkdir(mode=0o555)
        study = home / "s.sqlite"
        study.write_bytes((tmp_path / "s.sqlite").read_bytes())
        me = os.geteuid()
        try:
            if me == 0:  # permissions do not bind root
                os.seteuid(65534)
            code, out, error = policyloop("run", home / "small.toml", "--out", closed / "s.sqlite")
            assert (code, out, error.count("\n")) == (2, "", 1) and "cannot be written" in error
            for command, target in (("export", closed / "t.csv"), ("plot", closed), ("plot", closed / "new")):
                code, out, error = policyloop(command, study, "--out", target)
                assert (code, out, error.count("\n")) == (2, "", 1) and "cannot be written" in error
        finally:
            os.seteuid(me)
        assert list(closed.iterdir()) == []


def test_resume_and_force_exclude_each_other(scenario_file, policyloop, tmp_path):
    one_line_refusal(
        policyloop("run", scenario_file(), "--resume", "--force"), tmp_path, ["--resume", "--force"]
    )


def test_debug_shows_the_traceback(scenario_file, policyloop):
    code, _, error = policyloop("run", scenario_file(environment="vally"), "--debug")
    assert code == 2 and "Traceback" in error


def test_a_newer_schema_is_refused(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    assert policyloop("run", scenario_file(), "--out", out, "--agents", "uniform", "--quiet")[0] == 0
    with sqlite3.connect(out) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    code, _, error = policyloop("compare", out)
    assert code == 2 and "schema version 99" in error


def test_a_damaged_study_is_refused_in_words(scenario_file, policyloop, tmp_path):
    out = tmp_path / "s.sqlite"
    assert policyloop("run", scenario_file(), "--out", out, "--agents", "uniform", "--quiet")[0] == 0
    data = bytearray(out.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    out.write_bytes(data)
    for command in ("compare", "export"):
        code, _, error = policyloop(command, out)
        assert code == 2 and "damaged" in error and error.count("\n") == 1


def one_line_refusal(result: tuple[int, str, str], folder: Path, words: list[str]) -> None:
    """Check a refusal: exit code 2, one line that has all the words, no file of a study."""
    code, out, error = result
    assert code == 2
    assert error.count("\n") == 1 and out == ""
    for word in words:
        assert word in error, json.dumps([word, error])
    assert not [path for path in folder.iterdir() if path.name.startswith("s.sqlite")]
