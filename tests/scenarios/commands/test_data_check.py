"""`policyloop data check`: what it says, draws and writes of people's tables, and what it refuses."""

import json
import xml.etree.ElementTree

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from scenarios.cli import invoke
from simulators.country import read_country
from simulators.population.survey import AGE_SHARES, AGES, CONTACTS, CONTACTS_BY_SETTING

NAME = "mistry-2021-oregon"
NAMES = list(AGES[5].groups)
PERSONS = np.round(AGE_SHARES[NAME] * 4e6)


def write_country(folder, names=NAMES):
    pd.DataFrame({"name": names, "persons": PERSONS, "death": 0.01}).to_csv(
        folder / "people.csv", index=False
    )
    pd.DataFrame(CONTACTS[NAME][5], names, names).to_csv(folder / "contacts.csv")
    for setting, one in CONTACTS_BY_SETTING[NAME].items():
        pd.DataFrame(one, names, names).to_csv(folder / f"contacts-{setting}.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    write_country(tmp_path)
    return tmp_path


def test_it_says_what_was_read(folder, capsys):
    assert invoke(["data", "check", "people.csv", "contacts.csv"]) == 0
    said = capsys.readouterr().out
    assert "5 groups, 3,996,000 persons" in said
    assert "mean contacts 12.33 a day" in said
    assert "- contacts.csv: a table of contacts (CSV, commas, UTF-8)" in said
    assert "reciprocity mended" in said and "a factor 1.008 apart" in said
    for name in NAMES:
        assert f" {name} " in said


def test_files_are_told_apart_by_their_headers_and_names(folder, capsys):
    files = sorted(str(path) for path in folder.glob("*.csv"))
    assert invoke(["data", "check", *files]) == 0
    # The means by setting are those of the published table.
    assert "(other 2.79, home 3.65, school 2.90, work 2.99)" in capsys.readouterr().out


def test_json_is_for_programs(folder, capsys):
    assert invoke(["data", "check", "people.csv", "contacts.csv", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["groups"] == NAMES
    assert told["persons"] == PERSONS.tolist()
    country = read_country("people.csv", "contacts.csv")
    values = np.linalg.eigvals(country.contacts)
    assert told["largest_eigenvalue"] == pytest.approx(max(abs(values)))
    assert told["mean_contacts_a_day"] == pytest.approx(
        PERSONS @ country.contacts.sum(axis=1) / PERSONS.sum()
    )
    # As it was read, before it was mended.
    total = pd.read_csv("contacts.csv", index_col=0).to_numpy() * PERSONS[:, None]
    apart = np.abs(total - total.T).sum() / (2 * total.sum())
    assert told["share_of_contacts_counted_from_one_side"] == pytest.approx(apart, abs=1e-12)
    assert told["known_of_groups"] == ["death"]
    assert told["findings"] == list(country.findings)


def test_contacts_of_one_side_are_counted_before_they_are_mended(folder, capsys):
    """Of 10 a row, 20 persons meet 40 of the others, who meet 10 of them: 30 of 50 are of one side alone."""
    (folder / "g.csv").write_text("name,persons\na,20\nb,10\n")
    (folder / "c.csv").write_text("0,2\n1,0\n")
    assert invoke(["data", "check", "g.csv", "c.csv", "--orientation", "row"]) == 0
    said = capsys.readouterr().out
    assert "counted from one side alone, as read: 60.00% of the contacts" in said
    assert "reciprocity mended" in said


def test_json_of_contacts_with_none_from_one_side(folder, capsys):
    (folder / "g.csv").write_text("name,persons\na,10\nb,10\n")
    (folder / "c.csv").write_text("1,2\n0,1\n")
    options = ["--reciprocity", "keep", "--format", "json"]
    assert invoke(["data", "check", "g.csv", "c.csv", *options]) == 0
    assert json.loads(capsys.readouterr().out)["largest_factor_between_sides"] is None


def test_it_draws_one_figure_in_the_format_of_its_name(folder):
    assert invoke(["data", "check", "people.csv", "contacts.csv", "--out", "country.png"]) == 0
    assert matplotlib.image.imread(folder / "country.png").shape[2] == 4
    assert invoke(["data", "check", "people.csv", "contacts.csv", "--out", "country.svg"]) == 0
    assert {path.name for path in folder.glob("country.*")} == {"country.png", "country.svg"}


def test_names_of_any_text_are_drawn_and_printed_plain(folder, capsys):
    names = ["<5 years", "nurses & doctors", "$\\frac{$", "\x1b[31mred", "=1+1"]
    write_country(folder, names)
    assert invoke(["data", "check", "people.csv", "contacts.csv", "--out", "c.svg", "--write", "tidy"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said and "<5 years" in said and "\\x1b[31mred" in said
    xml.etree.ElementTree.parse(folder / "c.svg")
    cells = (folder / "tidy" / "groups.csv").read_text().splitlines()
    assert cells[5].startswith("'=1+1,")
    assert read_country("tidy/groups.csv", "tidy/contacts.csv").groups == tuple(names)


def test_what_it_writes_is_read_as_the_same(folder):
    files = sorted(str(path) for path in folder.glob("*.csv"))
    assert invoke(["data", "check", *files, "--write", "tidy"]) == 0
    assert {path.name for path in (folder / "tidy").iterdir()} == {
        "groups.csv", "contacts.csv", "contacts-home.csv", "contacts-school.csv", "contacts-work.csv",
        "contacts-other.csv",
    }  # fmt: skip
    settings = {name: f"contacts-{name}.csv" for name in ("household", "school", "work", "community")}
    first = read_country("people.csv", "contacts.csv", by_setting=settings)
    tidy = {name: f"tidy/contacts-{name}.csv" for name in ("home", "school", "work", "other")}
    again = read_country("tidy/groups.csv", "tidy/contacts.csv", by_setting=tidy)
    np.testing.assert_array_equal(again.persons, first.persons)
    np.testing.assert_allclose(again.contacts, first.contacts, rtol=1e-12)
    np.testing.assert_array_equal(again.death, first.death)
    for name in tidy:
        np.testing.assert_allclose(again.by_setting[name], first.by_setting[name], rtol=1e-12)


def test_a_survey_becomes_tidy_tables_without_python(folder, capsys):
    people = pd.DataFrame({"part_id": range(20), "part_age": range(0, 100, 5)})
    met = pd.DataFrame({"part_id": range(20), "cnt_age_exact": range(0, 100, 5), "cnt_home": [1, 0] * 10})
    people.to_csv("participant_common.csv", index=False)
    met.to_csv("contact_common.csv", index=False)
    files = ["people.csv", "participant_common.csv", "contact_common.csv"]
    assert invoke(["data", "check", *files, "--write", "tidy"]) == 0
    np.testing.assert_allclose(pd.read_csv("tidy/contacts.csv", index_col=0).to_numpy(), np.eye(5))
    assert "20 participants with 20 contacts" in capsys.readouterr().out


def test_options_of_the_command_are_those_of_read_country(folder, capsys):
    pd.DataFrame(CONTACTS[NAME][5].T, NAMES, NAMES).to_csv(folder / "turned.csv")
    assert invoke(["data", "check", "people.csv", "turned.csv"]) == 2
    assert "say orientation" in capsys.readouterr().err
    options = ["--orientation", "column", "--bands", "0-19, 20-64, 65+", "--format", "json"]
    assert invoke(["data", "check", "--groups", "people.csv", "--contacts", "turned.csv", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["groups"] == ["0-19", "20-64", "65+"]
    assert told["mean_contacts_a_day"] == pytest.approx(12.33, abs=0.005)
    options = [f"--setting=home={folder}/contacts-household.csv"]
    assert invoke(["data", "check", "people.csv", *options]) == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "command line: no table of groups (columns name and persons) is given; name it with --groups"),
        (["people.csv"], "people.csv: no contacts are given; name their file, or one a setting"),
        (["contacts.csv"], "command line: no table of groups"),
        (["people.csv", "nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["people.csv", "people.csv", "contacts.csv"], "people.csv: is a table of groups, as people.csv is"),
        (["people.csv", "contacts.csv", "--out", "c.pdf"], "c.pdf: its name must end with .png or .svg"),
        (["people.csv", "contacts.csv", "--out", "people.csv"], "people.csv: its name must end with"),
        (["people.csv", "contacts.csv", "--out", "there.png"], "there.png: exists; give --force"),
        (["people.csv", "contacts.csv", "--write", "."], ".: holds tables; give --force to replace them"),
        (["people.csv", "contacts.csv", "--write", "people.csv"], "people.csv: is a file"),
        (["people.csv", "contacts.csv", "--setting", "home"], "command line: --setting home; accepted: NAME"),
        (["people.csv", "contacts.csv", "--bands", "0-4"], "people.csv: some of group '0-19' is of none"),
        (["people.csv", "contacts.csv", "--bands", "0-4,5+"], "people.csv: group '0-19' would have to be"),
        (["people.csv", "bad.csv"], "bad.csv: row 2, column 1 is 'x'; it must be a finite number >= 0"),
        (["people.csv", "contacts.csv", "--reciprocity", "refuse"], "contacts.csv: is not reciprocal"),
        (["people.csv", "contacts.csv", "--decimal", "x"], "decimal='x' must be one of"),
        (["people.csv", "contacts.csv", "--encoding", "klingon"], "people.csv: unknown encoding 'klingon'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(folder, capsys, words, line):
    (folder / "there.png").write_bytes(b"there")
    (folder / "bad.csv").write_text("1,2,3,4,5\nx,2,3,4,5\n" + "1,2,3,4,5\n" * 3)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with_outputs = [*words]
    if "--out" not in words and "--write" not in words:
        with_outputs += ["--out", "figure.png", "--write", "tidy"]
    assert invoke(["data", "check", *with_outputs]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"policyloop: {line}") and err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_outputs_are_replaced_by_force(folder):
    (folder / "c.png").write_bytes(b"old")
    (folder / "tidy").mkdir()
    (folder / "tidy" / "groups.csv").write_text("old")
    words = ["data", "check", "people.csv", "contacts.csv", "--out", "c.png", "--write", "tidy", "--force"]
    assert invoke(words) == 0
    assert (folder / "c.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / "tidy" / "groups.csv").read_text().startswith("name,persons")


def test_a_long_file_is_said_to_be_read(folder, capsys, monkeypatch):
    monkeypatch.setattr("scenarios.commands.data._LONG", 10)
    assert invoke(["data", "check", "people.csv", "contacts.csv"]) == 0
    assert "policyloop: reading contacts.csv (0 MB)" in capsys.readouterr().err


@pytest.mark.parametrize("J", [1, 11, 85])
def test_any_number_of_groups_is_drawn(folder, J):
    pd.DataFrame({"name": [f"group {j}" for j in range(J)], "persons": 1000}).to_csv("g.csv", index=False)
    np.savetxt("c.csv", np.random.default_rng(0).uniform(0, 1, (J, J)), delimiter=",")
    assert invoke(["data", "check", "g.csv", "c.csv", "--out", "c.svg", "--orientation", "row"]) == 0
    text = (folder / "c.svg").read_text()
    assert text.startswith("<?xml") and len(text) > 10_000
