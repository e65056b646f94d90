"""Contacts as they are published: made-up files of the same form, for three countries."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from public_forms import (
    COUNTRIES,
    ages_of,
    matrix,
    mistry_settings,
    prem_matrices,
    write_mistry,
    write_prem,
)

from simulators.country import read_country
from simulators.country.aggregation import aggregated
from simulators.country.known_bands import MISTRY, MISTRY_WEIGHTS
from simulators.country.reciprocity import imbalance, mended

# Prem et al. 2021 ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prem")
    write_prem(folder)
    return folder


@pytest.mark.parametrize("iso3c", COUNTRIES)
def test_a_country_of_the_long_table_with_its_settings(prem, iso3c):
    country = read_country(
        prem / "groups.csv", prem / "synthetic_contacts_2021.csv", country=iso3c.lower(), reciprocity="keep"
    )
    true = prem_matrices(iso3c)
    np.testing.assert_allclose(country.by_setting["home"], true["home"])
    np.testing.assert_allclose(country.by_setting["other"], true["others"])
    np.testing.assert_allclose(country.contacts, sum(true.values()))


def test_an_area_of_the_long_table(prem):
    options = {"country": "AAA", "reciprocity": "keep"}
    file = prem / "synthetic_contacts_2021.csv"
    rural = read_country(prem / "groups.csv", file, area="rural", **options)
    overall = read_country(prem / "groups.csv", file, **options)
    np.testing.assert_allclose(rural.contacts, overall.contacts / 2)


def test_the_long_table_is_put_together_to_coarser_groups(prem):
    persons = ages_of(0, 16)
    country = read_country(
        prem / "groups.csv",
        prem / "synthetic_contacts_2021.csv",
        country="BBB",
        bands=["0-19", "20-49", "50-64", "65-69", "70+"],
    )
    place = np.array([0] * 4 + [1] * 6 + [2] * 3 + [3] + [4] * 2)
    whole = aggregated(sum(prem_matrices("BBB").values()), persons, place)
    np.testing.assert_allclose(country.contacts, mended(whole, np.bincount(place, persons)))
    assert imbalance(country.contacts, country.persons) < 1e-12


def test_a_sheet_of_a_country_has_no_labels_and_five_years(prem):
    home = prem / "MUestimates_home_1.xlsx"
    country = read_country(
        prem / "groups.csv", by_setting={"home": home}, country="BBB", reciprocity="keep", orientation="row"
    )
    np.testing.assert_allclose(country.contacts, prem_matrices("BBB")["home"])
    coarse = read_country(
        prem / "groups.csv", home, country="BBB", bands=["0-19", "20+"], orientation="row", reciprocity="keep"
    )
    place = np.array([0] * 4 + [1] * 12)
    np.testing.assert_allclose(
        coarse.contacts, aggregated(prem_matrices("BBB")["home"], ages_of(0, 16), place)
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "has 3 countries; name one \\(AAA, BBB, CCC"),
        ({"country": "AAB"}, "unknown country 'AAB'"),
        ({"country": "AAA", "area": "urban"}, "unknown area 'urban'"),
        ({"country": "AAA", "orientation": "column"}, "the rows report in files of this form"),
    ],
)
def test_what_the_long_table_has_not(prem, options, line):
    with pytest.raises(ValueError, match=line):
        read_country(prem / "groups.csv", prem / "synthetic_contacts_2021.csv", **options)


def test_the_sheet_has_to_be_named(prem):
    with pytest.raises(ValueError, match="has 3 sheets; name the country of one \\(AAA, BBB, CCC\\)"):
        read_country(prem / "groups.csv", prem / "MUestimates_home_1.xlsx")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda t: t.iloc[:-1], "'75\\+' with '75\\+' is not there"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "'0 to 4' with '0 to 4' is there twice"),
        (lambda t: t.assign(mean_number_of_contacts="x"), "row 2: mean_number_of_contacts is 'x'"),
        (lambda t: t.drop(columns="iso3c"), "no column 'iso3c'"),
    ],
)
def test_a_damaged_long_table(prem, tmp_path, change, line):
    table = pd.read_csv(prem / "synthetic_contacts_2021.csv")
    table = table[(table.iso3c == "AAA") & (table.location_contact == "home") & (table.setting == "overall")]
    change(table).to_csv(tmp_path / "long.csv", index=False)
    with pytest.raises(ValueError, match=line):
        read_country(prem / "groups.csv", tmp_path / "long.csv")


# Mistry et al. 2021 --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mistry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistry")
    write_mistry(folder)
    return folder


def mistry_files(folder, place):
    return (
        folder / f"{place}_age_distribution_85.csv",
        folder / f"{place}_M_overall_contact_matrix_85.csv",
        [folder / f"{place}_F_{name}_setting_85.csv" for name in MISTRY_WEIGHTS],
    )


def test_single_years_with_settings_that_sum_to_the_whole(mistry):
    ages, whole, settings = mistry_files(mistry, "Aland_country_level")
    country = read_country(ages, whole, by_setting=settings)
    assert country.groups == MISTRY
    np.testing.assert_allclose(country.persons, ages_of(0, 85))
    true = mistry_settings(0)
    np.testing.assert_allclose(country.by_setting["home"], 4.11 * true["household"], atol=1e-12)
    np.testing.assert_allclose(country.by_setting["other"], 2.79 * true["community"], atol=1e-12)
    np.testing.assert_allclose(country.contacts, sum(country.by_setting.values()))
    alone = read_country(ages, by_setting=settings)
    np.testing.assert_allclose(alone.contacts, country.contacts)


def test_single_years_put_together_to_the_groups_of_the_paper(mistry):
    ages, whole, settings = mistry_files(mistry, "Aland_subnational_North")
    bands = ["0-19", "20-49", "50-64", "65-69", "70+"]
    country = read_country(ages, whole, by_setting=settings, bands=bands)
    place = np.repeat(np.arange(5), [20, 30, 15, 5, 15])
    true = sum(MISTRY_WEIGHTS[name] * one for name, one in mistry_settings(30).items())
    np.testing.assert_allclose(country.contacts, aggregated(true, ages_of(30, 85), place), rtol=1e-9)
    assert any("are reciprocal" in finding for finding in country.findings)


def test_groups_of_ones_own_with_the_persons_of_the_file(mistry, tmp_path):
    ages, whole, _ = mistry_files(mistry, "Aland_country_level")
    own = pd.DataFrame({"name": ["under 18", "18-64", "65+"], "persons": [1e6, 3e6, 1e6]})
    own.to_csv(tmp_path / "own.csv", index=False)
    country = read_country(tmp_path / "own.csv", whole, persons=ages)
    place = np.repeat(np.arange(3), [18, 47, 20])
    scaled = ages_of(0, 85) * (np.array([1e6, 3e6, 1e6]) / np.bincount(place, ages_of(0, 85)))[place]
    true = sum(MISTRY_WEIGHTS[name] * one for name, one in mistry_settings(0).items())
    np.testing.assert_allclose(country.contacts, mended(aggregated(true, scaled, place), country.persons))


def test_the_18_brackets_are_of_five_years(tmp_path):
    pd.DataFrame({"age": np.arange(18.0), "persons": ages_of(3, 18)}).to_csv(
        tmp_path / "Aland_country_level_age_distribution_18.csv", header=False, index=False
    )
    pd.DataFrame(mended(matrix(3, 18), ages_of(3, 18))).to_csv(
        tmp_path / "Aland_country_level_M_overall_contact_matrix_18.csv", header=False, index=False
    )
    country = read_country(
        tmp_path / "Aland_country_level_age_distribution_18.csv",
        tmp_path / "Aland_country_level_M_overall_contact_matrix_18.csv",
        bands=["0-19", "20+"],
    )
    np.testing.assert_allclose(country.persons, [ages_of(3, 18)[:4].sum(), ages_of(3, 18)[4:].sum()])


def test_a_table_by_spaces_as_one_once_was(tmp_path):
    contacts = mended(matrix(0, 85), ages_of(0, 85))
    np.savetxt(tmp_path / "c.csv", contacts)
    pd.DataFrame({"age": np.arange(85), "persons": ages_of(0, 85)}).to_csv(tmp_path / "g.csv", index=False)
    country = read_country(tmp_path / "g.csv", tmp_path / "c.csv")
    np.testing.assert_allclose(country.contacts, contacts)


def test_files_of_settings_without_their_names_are_refused(mistry):
    ages, whole, _ = mistry_files(mistry, "Aland_country_level")
    with pytest.raises(ValueError, match="its name does not tell the setting; name it, as in home=FILE"):
        read_country(ages, by_setting=[Path(whole)])
