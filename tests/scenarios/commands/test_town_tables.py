"""A town of one's own country from the command line: its tables, checked, drawn, and in a scenario."""

import json
import shutil
import xml.etree.ElementTree

import pytest

from scenarios import Study, load
from scenarios.declaration.code import data_of

TOWN = ("households.csv", "schools.csv", "workplaces.csv", "employment.csv")
FEW = ["--trials", "1", "--rounds", "6", "--agents", "uniform,current", "--quiet"]


@pytest.fixture
def country(tmp_path, policyloop, monkeypatch):
    assert policyloop("new", "own-country", "mine", "--folder", tmp_path)[0] == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def edited(country, old, new):
    path = country / "town.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_new_town_works_at_once_and_says_what_it_was_built_of(country, policyloop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = policyloop("check", country / "town.toml")
    assert code == 0 and "nothing found" in out
    for name, what in zip(
        TOWN, ("households by size", "schools by level", "workplaces by size", "work by age"), strict=True
    ):
        assert f"{name}: {what} (CSV, commas, UTF-8)" in out
    assert "50 of the town's 5,000 persons on day 0" in out
    assert "ages within a group: as in the US of 2012, by default" in out
    scenario = load(country / "town.toml")
    assert {str(country / name) for name in (*TOWN, "groups.csv", "contacts.csv")} == set(data_of(scenario))
    assert policyloop("run", country / "town.toml", *FEW, "--out", "s.sqlite")[0] == 0
    assert any("schools.csv: schools by level" in said for said in Study("s.sqlite").environment.findings)


def test_data_check_says_what_each_table_has(country, policyloop):
    code, out, _ = policyloop("data", "check", *TOWN, "--persons", "groups.csv")
    assert code == 0
    assert "households: 2.18 persons on average" in out
    assert "primary" not in out and "6-10 (22 in a class, 220 in a school, 100% of these ages)" in out
    assert "2-9 0.42" in out and "25-54 84%, 86% of them at a workplace" in out
    assert "persons by age" in out


def test_data_check_reads_the_country_and_its_towns_together(country, policyloop):
    code, out, _ = policyloop("data", "check", "groups.csv", "contacts.csv", *TOWN, "--format", "json")
    told = json.loads(out)
    assert code == 0 and told["groups"][0] == "0-4"
    assert sum(told["town"]["household_size_shares"]) == pytest.approx(1)
    assert told["town"]["schools"][1] == {
        "ages": "6-10", "class_size": 22, "school_size": 220, "enrolled": 1.0
    }  # fmt: skip
    assert told["town"]["workplaces"][4] == {"size": "250+", "workplaces": 1900.0, "employees": None}


def test_tables_are_drawn_alone_or_beside_the_country(country, policyloop):
    assert policyloop("data", "check", *TOWN, "--out", "town.svg")[0] == 0
    text = (country / "town.svg").read_text(encoding="utf-8")
    xml.etree.ElementTree.fromstring(text)
    for word in ("households", "pupils in a class", "workplaces", "at a workplace", "250+"):
        assert word in text
    code, out, _ = policyloop("data", "check", "groups.csv", "contacts.csv", *TOWN, "--out", "all.svg")
    assert code == 0 and "all.svg is written" in out and "all-town.svg is written" in out
    code, _, err = policyloop("data", "check", "groups.csv", "contacts.csv", TOWN[0], "--out", "all.svg")
    assert code == 2 and err.count("\n") == 1


def test_a_table_whose_header_does_not_tell_is_named(country, policyloop):
    (country / "sizes.csv").write_text("size,share\n1,0.4\n2+,0.6\n", encoding="utf-8")
    code, out, _ = policyloop("data", "check", "--households", "sizes.csv")
    assert code == 0 and "households: 1.6 persons" in out


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("households.csv", "1,2340000", "0-1,-5", "households.csv: row 2"),
        ("schools.csv", "11-17", "9-17", "schools.csv: row 4: ages '9-17' and '6-10' overlap"),
        ("workplaces.csv", "2-9", "02-Sep", "a spreadsheet has made of sizes"),
        ("employment.csv", "0.84", "84", "employment.csv: row 4: employed is '84'; it must be"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(country, policyloop, file, old, new, message):
    path = country / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    for command in (
        ("check", "town.toml"),
        ("run", "town.toml", *FEW, "--out", "new.sqlite"),
        ("data", "check", file, "--out", "new.svg"),
    ):
        code, _, err = policyloop(*command)
        assert (code, err.count("\n")) == (2, 1) and message in err
    assert not list(country.glob("new*"))


def test_a_table_given_twice_and_one_alone_with_contacts_are_refused(country, policyloop):
    shutil.copy("households.csv", "again.csv")
    code, _, err = policyloop("data", "check", "households.csv", "again.csv")
    assert code == 2 and "is a table of households, as households.csv is" in err
    code, _, err = policyloop("data", "check", "households.csv", "contacts.csv")
    assert code == 2 and "no table of groups" in err


def test_a_missed_setting_is_told(country, policyloop):
    path = edited(country, "persons = 5_000 ", "persons = 300 ")
    code, out, err = policyloop("check", path)
    assert "of those asked are too many or too few in the town" in out + err
