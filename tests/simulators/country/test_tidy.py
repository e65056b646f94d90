"""A country that is written is read as the same, whatever its names."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyloop.plain_text import for_spreadsheet, from_spreadsheet
from simulators.country import Country, read_country
from simulators.country.bands import DATE, band
from simulators.country.roles import told_apart
from simulators.country.tidy import tidy

NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=12)


def is_plain(name):
    """A name that is taken as it stands: no ages, no date, no sum, no counted label, no note."""
    return (
        name == name.strip()
        and band(name) is None
        and DATE.fullmatch(name) is None
        and name.casefold() not in ("total", "all", "sum", "totals", "all ages")
        and not name.startswith(("#", "'"))
        and "\r" not in name
        and name[:1] not in "XV"
        and not name.startswith("Unnamed")
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(NAMES.filter(is_plain), min_size=2, max_size=6, unique=True), st.integers(0, 1000))
def test_any_names_are_read_as_they_were_written(names, seed):
    rng = np.random.default_rng(seed)
    J = len(names)
    contacts = rng.uniform(0, 5, (J, J))
    country = Country(tuple(names), rng.uniform(1, 1e7, J), contacts, current=rng.uniform(0, 1, J))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in tidy(country).items():
            (Path(folder) / name).write_text(text, encoding="utf-8", newline="")
        again = read_country(
            Path(folder) / "groups.csv", Path(folder) / "contacts.csv", orientation="row", reciprocity="keep"
        )
    assert again.groups == country.groups
    # pandas before 3 may miss the last bits of a number that it reads.
    np.testing.assert_allclose(again.persons, country.persons, rtol=1e-13)
    np.testing.assert_allclose(again.contacts, country.contacts, rtol=1e-13)
    np.testing.assert_allclose(again.current, country.current, rtol=1e-13)


@given(st.text(max_size=10).filter(lambda text: not text.startswith("'")))
def test_what_is_written_for_a_spreadsheet_is_read_back(text):
    assert from_spreadsheet(str(for_spreadsheet(text))) == text


@pytest.mark.parametrize(
    ("name", "header", "role"),
    [
        ("a.csv", "Age,Population", "groups"),
        ("Oregon_age_distribution_85.csv", "0.0,5942.0", "groups"),
        ("b.csv", "0-4,5-9", "contacts"),
        ("Oregon_M_overall_contact_matrix_85.csv", "0.2,0.1,0.3", "contacts"),
        ("Oregon_F_household_setting_85.csv", "0.2,0.1,0.3", "home"),
        ("contacts-other_locations.csv", "0.2,0.1,0.3", "other"),
        ("MUestimates_work_1.csv", "X1,X2,X3", "work"),
        (
            "c.csv",
            "iso3c,setting,location_contact,age_contactor,age_cotactee,mean_number_of_contacts",
            "contacts",
        ),
        ("d.csv", "part_id,cont_id,cnt_age_exact,cnt_home", "contacts"),
        ("e.csv", "part_id,hh_id,part_age", "participants"),
        ("f.csv", "hh_id,country,hh_size", "participants"),
        ("g.csv", "part_id,sday_id,dayofweek", "participants"),
    ],
)
def test_files_are_told_apart(tmp_path, name, header, role):
    (tmp_path / name).write_text(header + "\n")
    path = str(tmp_path / name)
    roles = told_apart([path])
    found = {"groups": roles.groups, "contacts": roles.contacts, **roles.by_setting}
    found |= {"participants": roles.participants[0]} if roles.participants else {}
    assert {what for what, file in found.items() if file == path} == {role}
