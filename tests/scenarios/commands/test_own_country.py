"""A country of one's own from the command line: the template, paths, what is told of it."""

import shutil

import numpy as np
import pytest

from scenarios import Study, load
from scenarios.declaration.code import data_of

FEW = ["--trials", "1", "--rounds", "12", "--agents", "uniform,current", "--quiet"]


@pytest.fixture
def country(tmp_path, policyloop):
    assert policyloop("new", "own-country", "my-country", "--folder", tmp_path)[0] == 0
    return tmp_path / "my-country"


def edited(country, old, new):
    path = country / "scenario.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_a_new_country_works_at_once_from_anywhere(country, policyloop, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, out, _ = policyloop("check", country / "scenario.toml")
    # The made-up season was drawn with chance that no reproduction number explains: that is told.
    assert code == 0 and out.endswith("it is ready, with 1 caution\n")
    assert "2 of 5 values observed are missed by more than 10%: 65+ 0.108 (fitted 0.0897, -17 %), 0-4" in out
    # The groups' persons, and 0.2 x 1.15 + 0.15 x 2.7 + .. million of them covered today.
    assert "budget: 0.329 doses a person, 5,000,000 for 15,200,000 persons" in out
    assert "today's coverage takes 4,240,000" in out
    assert "calibrate: r0 = " in out and "under [ensemble]: r0 = { lognormal = [" in out
    assert policyloop("run", country / "scenario.toml", *FEW, "--out", "s.sqlite")[0] == 0
    study = Study("s.sqlite")
    assert any("calibrate: r0" in said for said in study.environment.findings)
    assert study.environment.current_policy == [0.2, 0.15, 0.2, 0.35, 0.6]


def test_files_begin_at_the_scenario_and_a_study_knows_their_content(country, policyloop, tmp_path):
    scenario = load(country / "scenario.toml")
    options = scenario.environment.options
    assert options["groups"] == str(country / "groups.csv")
    assert options["calibrate"] == {"attack_rate": str(country / "observed.csv")}
    assert set(data_of(scenario)) == {
        str(country / name) for name in ("groups.csv", "contacts.csv", "observed.csv")
    }
    study = tmp_path / "s.sqlite"
    assert policyloop("run", country / "scenario.toml", *FEW, "--out", study)[0] == 0
    table = country / "groups.csv"
    table.write_text(table.read_text().replace("1150000", "1160000"))
    more = [*FEW[:3], "14", *FEW[4:]]
    code, _, err = policyloop("run", country / "scenario.toml", *more, "--out", study, "--resume")
    assert code == 2 and "groups.csv has changed" in err


def test_contacts_by_setting_and_those_of_members_are_paths_too(country):
    shutil.copy(country / "contacts.csv", country / "home.csv")
    edited(country, '"contacts.csv"', '{ home = "home.csv", work = "contacts.csv" }')
    path = edited(country, "[prior]", '[ensemble]\ncontacts = ["home.csv", "contacts.csv"]\n\n[prior]')
    options = load(path).environment.options
    assert options["options"]["contacts"]["home"] == str(country / "home.csv")
    assert options["vary"]["contacts"] == [str(country / "home.csv"), str(country / "contacts.csv")]


def test_the_fitted_r0_feeds_an_ensemble(country, policyloop):
    drawn = "[ensemble]\nr0 = { lognormal = [0.3636, 0.0125] }\nmembers = 3\n\n[prior]"
    code, out, _ = policyloop("check", edited(country, "[prior]", drawn))
    assert (code, "15 groups" in out) == (0, True)


@pytest.mark.slow
def test_the_commented_levers_and_products_of_the_template_work(country, policyloop, tmp_path):
    path = country / "scenario.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    on = [line.removeprefix("# ") for line in lines]
    path.write_text("\n".join(on).replace('only = ["65+"]', 'only = ["old"]'), encoding="utf-8")
    study = tmp_path / "s.sqlite"
    assert policyloop("run", path, *FEW, "--out", study)[0] == 0
    names = [f"standard: {lever}" for lever in ("children", "adults", "old")]
    assert Study(study).environment.labels == [*names, "high-dose: old"]
    assert np.isfinite(Study(study).to_dataframe()["objective"]).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"groups.csv"', '"group.csv"', "group.csv"),
        ("5_000_000", "50_000_000", "budget_doses=50000000 must be at most the persons, 15200000"),
        ('"hospitalisations"', '"hospital"', "did you mean 'hospitalisations'"),
        ('"observed.csv"', '"contacts.csv"', "column 'group' is missing"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(country, policyloop, old, new, message):
    code, _, err = policyloop("check", edited(country, old, new))
    assert code == 2 and message in err and err.count("\n") == 1


def test_a_folder_is_not_written_over_and_a_name_is_a_name(country, policyloop):
    code, _, err = policyloop("new", "own-country", "my-country", "--folder", country.parent)
    assert code == 2 and "is there already" in err
    code, _, err = policyloop("new", "own-country", "My Country", "--folder", country.parent)
    assert code == 2 and "small letters" in err
