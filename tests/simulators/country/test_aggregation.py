"""Bands of ages, and contacts of finer bands put together to coarser ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.country import read_country
from simulators.country.aggregation import Ages, aggregated, split
from simulators.country.bands import OPEN, Band, band, bands_of, check_bands
from simulators.country.reciprocity import imbalance, mended
from simulators.population.survey import AGE_SHARES, CONTACTS, CONTACTS_BY_SETTING

SHARES = AGE_SHARES["mistry-2021-oregon"]
OREGON = CONTACTS["mistry-2021-oregon"][5]


@pytest.mark.parametrize(
    ("name", "ages"),
    [
        ("0-4", (0, 4)),
        ("5 to 9", (5, 9)),
        ("5–9 years", (5, 9)),
        ("aged 10 - 14", (10, 14)),
        ("65+", (65, OPEN)),
        ("65 years and over", (65, OPEN)),
        ("65 and older", (65, OPEN)),
        (">= 65", (65, OPEN)),
        (">64", (65, OPEN)),
        ("over 64", (65, OPEN)),
        ("<5 years", (0, 4)),
        ("under 5", (0, 4)),
        ("<=4", (0, 4)),
        ("[0,5)", (0, 4)),
        ("[75,120)", (75, OPEN)),
        ("80-100", (80, OPEN)),
        ("7", (7, 7)),
        ("X0.4", (0, 4)),
        ("X75.", (75, OPEN)),
    ],
)
def test_a_name_says_its_ages(name, ages):
    assert band(name) == ages


@pytest.mark.parametrize("name", ["nurses", "9-5", "<0", "", "5-9-14", "group 5", "0.5-4"])
def test_other_names_say_no_ages(name):
    assert band(name) is None


@given(st.integers(0, 99), st.integers(0, 20))
def test_a_band_is_read_as_it_is_written(low, width):
    written = Band(low, min(low + width, 99))
    assert band(str(written)) == written
    assert band(str(Band(low, OPEN))) == Band(low, OPEN)


def test_names_that_are_no_ages_are_not_checked_as_ages():
    check_bands(["0-4", "4-9", "nurses"], "file")
    with pytest.raises(ValueError, match=r"^file: groups '0-4' and '4-9' overlap \(age 4\)$"):
        check_bands(["0-4", "4-9"], "file")


@st.composite
def nested(draw):
    """A finer table of contacts, its persons, and two coarsenings one after the other."""
    J = draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    K = draw(st.integers(1, J))
    place = np.sort(np.r_[np.arange(K), rng.integers(0, K, J - K)])
    L = draw(st.integers(1, K))
    again = np.sort(np.r_[np.arange(L), rng.integers(0, L, K - L)])
    return rng.uniform(0, 5, (J, J)), rng.uniform(1, 1e6, J), place, again


@given(nested())
def test_putting_together_keeps_the_number_of_contacts(case):
    contacts, persons, place, _ = case
    coarse = np.bincount(place, persons)
    assert coarse @ aggregated(contacts, persons, place).sum(axis=1) == pytest.approx(
        persons @ contacts.sum(axis=1)
    )


@given(nested())
def test_putting_together_keeps_reciprocity(case):
    contacts, persons, place, _ = case
    coarse = aggregated(mended(contacts, persons), persons, place)
    assert imbalance(coarse, np.bincount(place, persons)) < 1e-12


@given(nested())
def test_putting_together_twice_equals_once(case):
    contacts, persons, place, again = case
    once = aggregated(contacts, persons, again[place])
    twice = aggregated(aggregated(contacts, persons, place), np.bincount(place, persons), again)
    np.testing.assert_allclose(twice, once)


@given(nested())
def test_splitting_is_undone_by_putting_together(case):
    _, persons, place, _ = case
    contacts = np.random.default_rng(0).uniform(0, 5, (place.max() + 1,) * 2)
    np.testing.assert_allclose(aggregated(split(contacts, persons, place), persons, place), contacts)


def test_putting_together_is_the_mean_over_rows_and_the_sum_over_columns():
    contacts = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    coarse = aggregated(contacts, np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1]))
    np.testing.assert_allclose(coarse, [[(3 + 3 * 9) / 4, (3 + 3 * 6) / 4], [15.0, 9.0]])


def test_the_oregon_table_is_one_of_consistent_rows():
    """An independent table: its settings sum to it, and each is reciprocal with its shares to its digits."""
    settings = CONTACTS_BY_SETTING["mistry-2021-oregon"]
    np.testing.assert_allclose(sum(settings.values()), OREGON, atol=0.0025)
    assert imbalance(OREGON, SHARES) < 0.001
    assert SHARES @ OREGON.sum(axis=1) / SHARES.sum() == pytest.approx(12.3, abs=0.05)
    coarse = aggregated(OREGON, SHARES, np.array([0, 1, 1, 2, 2]))
    assert imbalance(coarse, np.bincount([0, 1, 1, 2, 2], SHARES)) < 0.001


def test_persons_between_the_bands_of_a_table_are_even_by_year():
    ages = Ages((Band(0, 9), Band(10, 64), Band(65, OPEN)), np.array([1000.0, 5500.0, 2000.0]))
    assert ages.within(Band(0, 4)) == 500
    assert ages.within(Band(5, 19)) == 500 + 1000
    assert ages.within(Band(65, 74)) == 1000  # an open band ends at 84
    assert ages.within(Band(75, OPEN)) == 1000
    assert ages.knows(Band(0, 64)) and not ages.knows(Band(5, 64))


# Through files -------------------------------------------------------------------------------------------


FINE = ["0-4", "5-9", "10-14", "15-19", "20-64", "65-74", "75+"]
FINE_PERSONS = np.array([500.0, 600, 700, 800, 9000, 1500, 900])
FINE_CONTACTS = mended(np.random.default_rng(1).uniform(0.1, 4, (7, 7)), FINE_PERSONS)


@pytest.fixture
def files(tmp_path):
    pd.DataFrame({"name": FINE, "persons": FINE_PERSONS}).to_csv(tmp_path / "fine.csv", index=False)
    pd.DataFrame(FINE_CONTACTS, index=FINE, columns=FINE).to_csv(tmp_path / "contacts.csv")
    coarse = pd.DataFrame({"age": ["<5", "5-19", "20-64", "65+"], "persons": [500, 2100, 9000, 2400]})
    coarse.to_csv(tmp_path / "coarse.csv", index=False)
    return tmp_path


def test_finer_contacts_are_weighted_by_the_persons_of_a_file(files):
    country = read_country(files / "coarse.csv", files / "contacts.csv", persons=files / "fine.csv")
    place = np.array([0, 1, 1, 1, 2, 3, 3])
    np.testing.assert_allclose(country.contacts, aggregated(FINE_CONTACTS, FINE_PERSONS, place))
    assert country.groups == ("<5", "5-19", "20-64", "65+")
    assert not any("even by year" in finding for finding in country.findings)
    assert any("are reciprocal" in finding for finding in country.findings)


def test_finer_contacts_without_persons_are_weighted_evenly_and_that_is_said(files):
    country = read_country(files / "coarse.csv", files / "contacts.csv", reciprocity="keep")
    years = np.array([500, 700, 700, 700, 9000, 1200, 1200])
    np.testing.assert_allclose(
        country.contacts, aggregated(FINE_CONTACTS, years, np.array([0, 1, 1, 1, 2, 3, 3]))
    )
    assert any("even by year" in finding for finding in country.findings)


def test_bands_put_groups_and_contacts_together(files):
    frame = pd.read_csv(files / "fine.csv")
    frame["initial_infected"] = [1, 2, 3, 4, 5, 6, 7]
    frame["death"] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    frame.to_csv(files / "fine.csv", index=False)
    country = read_country(files / "fine.csv", files / "contacts.csv", bands=["0-19", "20-64", "65+"])
    place = np.array([0, 0, 0, 0, 1, 2, 2])
    np.testing.assert_array_equal(country.persons, [2600, 9000, 2400])
    np.testing.assert_array_equal(country.initial_infected, [10, 5, 13])
    np.testing.assert_allclose(
        country.death, np.bincount(place, frame["death"] * FINE_PERSONS) / country.persons
    )
    np.testing.assert_allclose(country.contacts, aggregated(FINE_CONTACTS, FINE_PERSONS, place))


def test_the_bands_of_the_contacts_are_taken_where_asked(files):
    ages = pd.DataFrame({"age": range(101), "population": 100})  # more rows than groups may be
    ages.to_csv(files / "ages.csv", index=False)
    country = read_country(files / "ages.csv", files / "contacts.csv", bands="contacts", reciprocity="keep")
    assert country.groups == tuple(FINE)
    np.testing.assert_array_equal(country.persons, [500, 500, 500, 500, 4500, 1000, 2600])
    np.testing.assert_allclose(country.contacts, FINE_CONTACTS)


def test_the_lowest_ages_of_groups_make_their_bands(files):
    limits = pd.DataFrame({"lower.age.limit": [0, 5, 20, 65], "population": [500, 2100, 9000, 2400]})
    limits.to_csv(files / "limits.csv", index=False)
    country = read_country(files / "limits.csv", files / "contacts.csv", persons=files / "fine.csv")
    assert country.groups == ("0-4", "5-19", "20-64", "65+")


def test_a_band_is_split_only_where_asked(files):
    halves = pd.DataFrame({"age": ["0-2", "3-64", "65+"], "persons": [300, 11300, 2400]})
    halves.to_csv(files / "halves.csv", index=False)
    with pytest.raises(
        ValueError, match="its band 0-4 would have to be split between the groups 0-2 and 3-64"
    ):
        read_country(files / "halves.csv", files / "contacts.csv")
    country = read_country(files / "halves.csv", files / "contacts.csv", split=True)
    assert any("split by persons" in finding for finding in country.findings)
    assert country.persons @ country.contacts.sum(axis=1) > 0


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["0-4", "5-19", "20-64"], "its band 65-74 is of none of the groups"),
        (["0-4", "5-19", "20-64", "65-89"], None),
        (["20-64", "65+"], "its band 0-4 is of none of the groups"),
        (["children", "adults", "elders"], "contacts.csv: has 7 rows and columns of contacts"),
    ],
)
def test_bands_that_do_not_fit_are_refused(files, names, line):
    pd.DataFrame({"name": names, "persons": 100}).to_csv(files / "odd.csv", index=False)
    if line is None:  # an oldest band that ends beyond the beginning of an open one means the same
        country = read_country(files / "odd.csv", files / "contacts.csv", orientation="row")
        assert any("is taken as open" in finding for finding in country.findings)
        return
    with pytest.raises(ValueError, match=line):
        read_country(files / "odd.csv", files / "contacts.csv")


@pytest.mark.parametrize(
    ("bands", "line"),
    [
        (["0-4", "5+"], None),
        (["0-2", "3+"], "group '0-4' would have to be split between the bands '0-2' and '3\\+'"),
        (["0-4", "young"], "bands: 'young' says no ages"),
        (["0-4", "10+"], "bands: no group holds the ages 5-9, between '0-4' and '10\\+'"),
        (["10+"], "all of group '0-4' is of none of the bands"),
        (["2+"], "some of group '0-4' is of none of the bands"),
    ],
)
def test_bands_that_the_groups_cannot_make(files, bands, line):
    if line is None:
        assert read_country(files / "fine.csv", files / "contacts.csv", bands=bands).groups == ("0-4", "5+")
        return
    with pytest.raises(ValueError, match=line):
        read_country(files / "fine.csv", files / "contacts.csv", bands=bands)


def test_bands_of_names():
    assert bands_of(["0-4", "5+"]) == (Band(0, 4), Band(5, OPEN))
    assert bands_of(["0-4", "nurses"]) is None


def test_persons_by_age_that_lack_a_group_are_refused(files):
    young = pd.DataFrame({"age": ["0-4", "5-19", "20-64"], "persons": 100})
    young.to_csv(files / "young.csv", index=False)
    with pytest.raises(ValueError, match="no persons by age are given of group '65\\+'"):
        read_country(files / "coarse.csv", files / "contacts.csv", persons=files / "young.csv")


def test_persons_by_age_that_are_no_ages_are_refused(files):
    pd.DataFrame({"name": ["nurses"], "persons": 100}).to_csv(files / "nurses.csv", index=False)
    with pytest.raises(ValueError, match="nurses.csv: its names are no ages"):
        read_country(files / "coarse.csv", files / "contacts.csv", persons=files / "nurses.csv")


def test_a_split_band_is_met_as_the_persons_of_the_groups_are(files):
    """The groups' own persons count, and the file of ages only within a group."""
    pd.DataFrame({"age": ["0-4", "5-9"], "persons": [100, 300]}).to_csv(files / "two.csv", index=False)
    pd.DataFrame({"age": range(10), "persons": 7}).to_csv(files / "ages.csv", index=False)
    (files / "one.csv").write_text(",0-9\n0-9,8\n")
    country = read_country(files / "two.csv", files / "one.csv", persons=files / "ages.csv", split=True)
    np.testing.assert_allclose(country.contacts, [[2, 6], [2, 6]])
