"""Contacts as they are published, of three kinds, all the way: read, two tables, a run, a report."""

import json

import pytest
from public_forms import MISTRY_WEIGHTS, write_mistry, write_prem, write_survey

from scenarios import Study

SCENARIO = """\
name = "published"
rounds = 4
trials = 1
agents = ["d-gpucb", "uniform"]

[environment]
name = "flu-ode"

[environment.options]
groups = "tables/groups.csv"
contacts = {contacts}
budget = 0.25
r0 = 1.5

[prior]
samples = 0
"""
SETTINGS = ("home", "school", "work", "other")


def of_prem(folder):
    write_prem(folder)
    return ["groups.csv", "synthetic_contacts_2021.csv", "--country", "BBB", "--bands", "0-19, 20-64, 65+"]


def of_mistry(folder):
    write_mistry(folder)
    names = ["age_distribution", "M_overall_contact_matrix", *(f"F_{one}_setting" for one in MISTRY_WEIGHTS)]
    return [*(f"Aland_country_level_{name}_85.csv" for name in names), "--bands", "0-4, 5-17, 18-64, 65+"]


def of_survey(folder):
    write_survey(folder)
    (folder / "persons.csv").write_text("age,persons\n0-17,2e6\n18-64,7e6\n65+,2.1e6\n", encoding="utf-8")
    files = [f"polymod_{one}.csv" for one in ("contact_common", "participant_common", "hh_common", "sday")]
    return ["persons.csv", *files, "--country", "Belgium", "--weigh-days"]


@pytest.mark.parametrize(
    ("download", "groups"),
    [
        pytest.param(of_prem, ["0-19", "20-64", "65+"], marks=pytest.mark.slow),
        pytest.param(of_mistry, ["0-4", "5-17", "18-64", "65+"], marks=pytest.mark.slow),
        (of_survey, ["0-17", "18-64", "65+"]),
    ],
)
def test_from_a_download_to_a_report(tmp_path, monkeypatch, policyloop, download, groups):
    monkeypatch.chdir(tmp_path)
    files = download(tmp_path)
    code, out, err = policyloop("data", "check", *files, "--write", "tables", "--format", "json")
    assert code == 0, err
    told = json.loads(out)
    assert told["groups"] == groups
    assert set(told["mean_contacts_a_day_by_setting"]) == set(SETTINGS)
    assert sum(told["mean_contacts_a_day_by_setting"].values()) == pytest.approx(told["mean_contacts_a_day"])
    assert 0 <= told["share_of_contacts_counted_from_one_side"] < 0.2  # before they are mended
    by_setting = "{ " + ", ".join(f'{one} = "tables/contacts-{one}.csv"' for one in SETTINGS) + " }"
    expected = []
    for contacts in ('"tables/contacts.csv"', by_setting):
        (tmp_path / "s.toml").write_text(SCENARIO.format(contacts=contacts), encoding="utf-8")
        code, _, err = policyloop("run", "s.toml", "--quiet", "--out", "s.sqlite", "--force")
        assert code == 0, err
        study = Study("s.sqlite")
        assert study.environment.groups == groups
        expected.append(study.to_dataframe()["expected"].to_numpy())
    assert expected[0] == pytest.approx(expected[1], rel=1e-6)  # the settings sum to all contacts
    assert policyloop("report", "s.sqlite", "--out", "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    for name in groups:
        assert name in page
