"""Contacts of a survey in the form of socialmixr, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from simulators.country import read_country

GROUPS = "name,persons\n0-14,1000\n15-64,3000\n65+,1000\n"
PARTICIPANTS = pd.DataFrame(
    {
        "part_id": [1, 2, 3, 4, 5],
        "hh_id": ["h1", "h2", "h3", "h4", "h5"],
        "part_age": [5, 10, 30, 40, 70],
        "part_gender": list("FMFMF"),
    }
)
DAYS = pd.DataFrame({"part_id": [1, 2, 3, 4, 5], "dayofweek": [1, 0, 2, 3, 6]})
HOUSEHOLDS = pd.DataFrame({"hh_id": ["h1", "h2", "h3", "h4", "h5"], "country": "Aland"})
CONTACTS = pd.DataFrame(
    [
        # part_id, exact, est_min, est_max, home, work, school, transport
        (1, 7, None, None, 0, 0, 1, 0),
        (1, 35, None, None, 1, 0, 0, 0),
        (2, None, 8, 11, 0, 0, 1, 0),
        (2, 36, None, None, 1, 0, 1, 0),  # home and school: home
        (2, None, 60, 69, 0, 0, 0, 1),  # the middle, 64
        (3, 5, None, None, 1, 0, 0, 0),
        (3, 45, None, None, 0, 1, 0, 0),
        (3, None, None, None, 0, 1, 0, 0),  # no age
        (4, 66, None, None, 0, 0, 0, 0),  # no place: other
        (5, 71, None, None, 1, 0, 0, 0),
        (9, 50, None, None, 1, 0, 0, 0),  # of no participant
    ],
    columns=[
        "part_id", "cnt_age_exact", "cnt_age_est_min", "cnt_age_est_max",
        "cnt_home", "cnt_work", "cnt_school", "cnt_transport",
    ],
)  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def make(participants=PARTICIPANTS, contacts=CONTACTS, others=(), groups=GROUPS, **options):
        (tmp_path / "groups.csv").write_text(groups)
        contacts.to_csv(tmp_path / "contact_common.csv", index=False)
        files = []
        for k, table in enumerate((participants, *others)):
            files.append(tmp_path / f"participants_{k}.csv")
            table.to_csv(files[-1], index=False)
        options = {"participants": files, "reciprocity": "keep"} | options
        return read_country(tmp_path / "groups.csv", tmp_path / "contact_common.csv", **options)

    return make


def test_mean_contacts_of_the_participants_of_a_band_by_setting(read):
    country = read(missing_ages="leave-out")
    np.testing.assert_allclose(country.by_setting["home"], [[0, 1, 0], [0.5, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(country.by_setting["school"], [[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(country.by_setting["work"], [[0, 0, 0], [0, 0.5, 0], [0, 0, 0]])
    np.testing.assert_allclose(country.by_setting["other"], [[0, 0.5, 0], [0, 0, 0.5], [0, 0, 0]])
    np.testing.assert_allclose(country.contacts, [[1, 1.5, 0], [0.5, 0.5, 0.5], [0, 0, 1]])
    assert any("5 participants with 10 contacts" in finding for finding in country.findings)


def test_contacts_without_an_age_are_spread_as_the_others_of_their_setting(read):
    country = read()
    np.testing.assert_allclose(country.by_setting["work"], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    assert any("1 of 10 contacts have no age: spread" in finding for finding in country.findings)


def test_participants_with_contacts_without_an_age_are_left_out_where_asked(read):
    country = read(missing_ages="leave-out-participants")
    np.testing.assert_allclose(country.contacts[1], [0, 0, 1])  # of participant 4 alone


def test_weekdays_count_for_five_sevenths(read):
    country = read(others=[DAYS], weigh_days=True, missing_ages="leave-out")
    # Of the two children one was asked on a Monday (weight 5/3), one on a Sunday (2/2).
    weights = np.array([5 / 3, 1.0])
    assert country.contacts[0, 1] == pytest.approx(np.average([1, 2], weights=weights))
    assert country.contacts[0, 0] == pytest.approx(1.0)


def test_a_country_is_told_by_the_households(read):
    two = HOUSEHOLDS.assign(country=["Aland", "Aland", "Aland", "Bland", "Aland"])
    country = read(others=[two], country="aland", missing_ages="leave-out")
    np.testing.assert_allclose(country.contacts[1], [1, 1, 0])  # of participant 3 alone
    with pytest.raises(ValueError, match="has 2 countries; name one \\(Aland, Bland\\)"):
        read(others=[two])
    with pytest.raises(ValueError, match="unknown country 'Cland'"):
        read(others=[two], country="Cland")


def test_truth_values_are_read_as_places(read):
    words = CONTACTS.copy()
    for name in ("cnt_home", "cnt_work", "cnt_school"):
        words[name] = np.where(words[name] == 1, "TRUE", "FALSE")
    np.testing.assert_allclose(read(contacts=words).by_setting["home"], read().by_setting["home"])


def test_estimated_ages_of_participants(read):
    estimated = PARTICIPANTS.drop(columns="part_age").assign(
        part_age_exact=[5, 10, None, 40, 70], part_age_est_min=[None, None, 25, None, None],
        part_age_est_max=[None, None, 35, None, None],
    )  # fmt: skip
    np.testing.assert_allclose(read(participants=estimated).contacts, read().contacts)


def test_five_years_where_groups_are_a_population_by_age(read):
    people = pd.DataFrame({"part_id": range(15), "part_age": range(2, 77, 5)})
    contacts = pd.DataFrame({"part_id": range(15), "cnt_age_exact": range(2, 77, 5)})
    ages = "age,persons\n" + "".join(f"{age},100\n" for age in range(90))
    country = read(people, contacts, groups=ages)
    assert country.groups[:2] == ("0-4", "5-9") and country.groups[-1] == "70+"
    np.testing.assert_array_equal(country.contacts, np.eye(15))
    np.testing.assert_array_equal(country.persons, [500] * 14 + [2000])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"participants": PARTICIPANTS.iloc[:4]}, "no participant is of group '65\\+'; name coarser bands"),
        ({"participants": PARTICIPANTS.assign(part_id=[1, 1, 2, 3, 4])}, "row 3: participant '1' is there"),
        ({"participants": PARTICIPANTS.drop(columns="part_age")}, "no column 'part_age'"),
        ({"participants": PARTICIPANTS.assign(part_age="x")}, "no age is a number"),
        ({"contacts": CONTACTS.assign(part_id=77)}, "none of its part_id is among the participants"),
        ({"contacts": CONTACTS.assign(cnt_age_exact="", cnt_age_est_min="")}, "no age is a number"),
        ({"weigh_days": True}, "no column 'dayofweek'"),
        ({"others": [DAYS.assign(dayofweek=1)], "weigh_days": True}, "dayofweek has no weekend"),
        ({"others": [DAYS.assign(part_id=1)]}, "part_id '1' is there twice"),
        ({"others": [DAYS.drop(columns="part_id")]}, "neither 'part_id' nor 'hh_id' joins it"),
        ({"groups": "name,persons\nyoung,1\nold,2\n"}, "a survey needs groups of ages"),
        ({"participants": None}, None),
    ],
)  # fmt: skip
def test_what_a_survey_lacks(read, tmp_path, change, line):
    if line is None:
        read()
        with pytest.raises(ValueError, match="contacts of a survey need its participants"):
            read_country(tmp_path / "groups.csv", tmp_path / "contact_common.csv")
        return
    with pytest.raises(ValueError, match=line):
        read(**change)
