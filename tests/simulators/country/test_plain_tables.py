"""A country from two plain tables: what is read is what was written, whatever program saved it."""

import numpy as np
import pandas as pd
import pytest

import simulators
from simulators.country import read_country
from simulators.country.reciprocity import imbalance, largest_failure, mended
from simulators.population.survey import AGE_SHARES, AGES, CONTACTS, CONTACTS_BY_SETTING

NAME = "mistry-2021-oregon"
NAMES = AGES[5].groups
PERSONS = np.round(AGE_SHARES[NAME] * 4e6)
CONTACTS_5 = mended(CONTACTS[NAME][5], PERSONS)
BY_SETTING = {name: mended(one, PERSONS) for name, one in CONTACTS_BY_SETTING[NAME].items()}


def table(cells, labels=True, names=NAMES, delimiter=",", decimal="."):
    """Contacts as text."""
    rows = [[repr(float(cell)).replace(".", decimal) for cell in row] for row in cells]
    if labels:
        rows = [["", *names], *([name, *row] for name, row in zip(names, rows, strict=True))]
    return "".join(delimiter.join(row) + "\n" for row in rows)


def groups(**columns):
    """A table of groups as text."""
    frame = pd.DataFrame({"name": NAMES, "persons": PERSONS.astype(int)} | columns)
    return frame.to_csv(index=False)


@pytest.fixture
def written(tmp_path):
    """Write a file, and give its path."""

    def write(name, text, encoding="utf-8"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return tmp_path / name

    return write


@pytest.fixture
def said(written):
    """Why two tables are refused."""

    def refuse(group_text, contact_text, **options):
        with pytest.raises(ValueError) as error:
            read_country(written("groups.csv", group_text), written("contacts.csv", contact_text), **options)
        assert "\n" not in str(error.value)
        return str(error.value).replace(str(written("x", "x").parent) + "/", "")

    return refuse


def test_a_country_is_read_as_it_was_written(written):
    columns = {
        "susceptibility": [1, 0.75, 0.3, 0.7, 0.8],
        "infectivity": [1, 1, 1, 1, 0.5],
        "initial_infected": [10, 0, 0, 0, 2],
        "hospitalisation": [0.01, 0.02, 0.03, 0.1, 0.2],
        "death": [0, 0, 0.001, 0.01, 0.05],
        "cost": [10, 20, 30, 40, 50],
        "qaly_loss": [0.01] * 5,
        "current": [0.5, 0.35, 0.45, 0.66, 0.66],
    }
    country = read_country(written("g.csv", groups(**columns)), written("c.csv", table(CONTACTS_5)))
    assert country.groups == NAMES
    np.testing.assert_array_equal(country.persons, PERSONS)
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)
    for name, column in columns.items():
        np.testing.assert_array_equal(getattr(country, name), column)
    assert country.by_setting == {}


def test_what_is_not_given_is_none(written):
    country = read_country(written("g.csv", groups()), written("c.csv", table(CONTACTS_5)))
    assert country.susceptibility is country.death is country.current is None


def test_it_is_a_public_name():
    assert simulators.read_country is read_country


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_encodings_of_spreadsheets_are_read(written, encoding):
    names = ("Kinder über fünf", "Schüler und Lehrlinge", "Ältere Personen")
    contacts = np.ones((3, 3))
    frame = pd.DataFrame({"Name": names, "Population": [1000, 1000, 1000]})
    country = read_country(
        written("g.csv", frame.to_csv(index=False), encoding),
        written("c.csv", table(contacts, names=names), encoding),
    )
    assert country.groups == names


@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ".")]
)
@pytest.mark.parametrize("labels", [True, False])
def test_delimiters_and_decimal_marks_are_told_from_the_file(written, delimiter, decimal, labels):
    contacts = table(CONTACTS_5, labels, delimiter=delimiter, decimal=decimal)
    country = read_country(written("g.csv", groups()), written("c.csv", contacts))
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)


def test_a_workbook_is_read_as_csv_is(tmp_path):
    frame = pd.DataFrame(
        {"Age group": NAMES, "Population": PERSONS, "Coverage": [0.5, 0.35, 0.45, 0.66, 0.66]}
    )
    frame.to_excel(tmp_path / "g.xlsx", index=False)
    pd.DataFrame(CONTACTS_5, index=NAMES, columns=NAMES).to_excel(tmp_path / "c.xlsx")
    country = read_country(tmp_path / "g.xlsx", tmp_path / "c.xlsx")
    assert country.groups == NAMES
    np.testing.assert_array_equal(country.persons, PERSONS)
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)
    np.testing.assert_array_equal(country.current, [0.5, 0.35, 0.45, 0.66, 0.66])


@pytest.mark.parametrize("J", [1, 2, 17, 100])
@pytest.mark.parametrize("form", ["both", "rows", "columns", "none", "R"])
def test_any_number_of_groups_with_labels_or_without(written, J, form):
    names = [f"group {j}" for j in range(J)]
    contacts = np.random.default_rng(J).uniform(0.1, 3, (J, J))
    frame = pd.DataFrame(contacts, index=names, columns=names)
    text = frame.to_csv(index=form in ("both", "rows", "R"), header=form in ("both", "columns", "R"))
    if form == "R":
        text = text.removeprefix(",")  # write.table leaves the corner out
    persons = pd.DataFrame({"name": names, "persons": 1000}).to_csv(index=False)
    country = read_country(
        written("g.csv", persons), written("c.csv", text), reciprocity="keep", orientation="row"
    )
    np.testing.assert_allclose(country.contacts, contacts, rtol=1e-12)


def test_labels_in_another_order_are_put_in_that_of_the_groups(written):
    order = [3, 0, 4, 1, 2]
    shuffled = table(CONTACTS_5[np.ix_(order, order)], names=[NAMES[i] for i in order])
    country = read_country(written("g.csv", groups()), written("c.csv", shuffled))
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)
    assert any("another order" in finding for finding in country.findings)


def test_columns_in_another_order_than_the_rows_are_put_in_theirs(written):
    order = [3, 0, 4, 1, 2]
    frame = pd.DataFrame(CONTACTS_5[:, order], index=NAMES, columns=[NAMES[i] for i in order])
    country = read_country(written("g.csv", groups()), written("c.csv", frame.to_csv()))
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)


def test_labels_that_say_the_same_ages_are_the_same(written):
    names = ("0 to 19", "20–49 years", "50 - 64", '"[65,70)"', "70 and over")
    country = read_country(written("g.csv", groups()), written("c.csv", table(CONTACTS_5, names=names)))
    assert country.groups == NAMES


def test_names_with_signs_of_html_and_controls_are_names(written):
    names = ("<5 years", "nurses & doctors", 'the "others"\x1b[31m')
    persons = pd.DataFrame({"name": names, "persons": 1000}).to_csv(index=False)
    contacts = pd.DataFrame(np.ones((3, 3)), index=names, columns=names).to_csv()
    assert read_country(written("g.csv", persons), written("c.csv", contacts)).groups == names


def test_columns_that_are_not_understood_are_named(written):
    country = read_country(written("g.csv", groups(region="north")), written("c.csv", table(CONTACTS_5)))
    assert any("'region'" in finding for finding in country.findings)


@pytest.mark.parametrize(
    ("text", "persons"),
    [("1,234,567", 1234567), ("1.234.567", 1234567), ("1 234 567", 1234567), ("1234567", 1234567)],
)
def test_thousands_are_read_where_they_can_be_nothing_else(written, text, persons):
    groups = f'name;persons\n"a";"{text}"\n'
    country = read_country(written("g.csv", groups), written("c.csv", "2\n"))
    assert country.persons == [persons]


def test_a_sum_of_all_groups_is_left_out(written):
    text = groups() + f"Total,{int(PERSONS.sum())}\n"
    country = read_country(written("g.csv", text), written("c.csv", table(CONTACTS_5)))
    assert country.groups == NAMES
    assert any("sum of the others" in finding for finding in country.findings)


def test_the_wrong_orientation_is_refused_and_a_named_one_obeyed(written, said):
    turned = table(CONTACTS_5.T)
    assert "34.7%" in said(groups(), turned)
    country = read_country(written("g.csv", groups()), written("c.csv", turned), orientation="column")
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)
    as_it_is = read_country(
        written("g.csv", groups()), written("c.csv", turned), orientation="row", reciprocity="keep"
    )
    np.testing.assert_allclose(as_it_is.contacts, CONTACTS_5.T, rtol=1e-12)


def test_mended_contacts_are_the_mean_of_both_sides_and_as_many(written):
    contacts = CONTACTS["del-valle-2013"][5]
    persons = AGES[5].population
    group_file = written("g.csv", pd.DataFrame({"name": NAMES, "persons": persons}).to_csv(index=False))
    country = read_country(group_file, written("c.csv", table(contacts)))
    assert imbalance(country.contacts, persons) < 1e-12
    for i in range(5):
        for j in range(5):
            both = contacts[i, j] * persons[i] + contacts[j, i] * persons[j]
            assert country.contacts[i, j] == pytest.approx(both / (2 * persons[i]))
    assert persons @ country.contacts.sum(axis=1) == pytest.approx(persons @ contacts.sum(axis=1))
    (finding,) = (one for one in country.findings if " reciprocity mended" in one)
    # Contacts of 50-64 with 65-69: 0.98 x 60,343,000 from the one side, 0.42 x 13,599,000 from the other.
    assert "'50-64' and '65-69'" in finding
    assert f"factor {0.98 * 60_343 / (0.42 * 13_599):.4g}" in finding


def test_contacts_that_are_not_reciprocal_are_kept_or_refused_where_asked(written, said):
    text = table(CONTACTS["del-valle-2013"][5])
    kept = read_country(written("g.csv", groups()), written("c.csv", text), reciprocity="keep")
    np.testing.assert_allclose(kept.contacts, CONTACTS["del-valle-2013"][5])
    assert any("kept so" in finding and "factor" in finding for finding in kept.findings)
    assert "is not reciprocal" in said(groups(), text, reciprocity="refuse")


def test_one_sided_contacts_fail_by_no_factor():
    failure = largest_failure(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([10.0, 10.0]))
    assert failure == (np.inf, 0, 1)


def test_settings_sum_to_the_contacts(written):
    files = {name: written(f"{name}.csv", table(one)) for name, one in BY_SETTING.items()}
    country = read_country(written("g.csv", groups()), written("c.csv", table(CONTACTS_5)), by_setting=files)
    assert set(country.by_setting) == {"home", "school", "work", "other"}
    np.testing.assert_allclose(sum(country.by_setting.values()), country.contacts, rtol=1e-12)
    np.testing.assert_allclose(country.by_setting["home"], BY_SETTING["household"], rtol=1e-12)
    alone = read_country(written("g.csv", groups()), by_setting=files)
    np.testing.assert_allclose(alone.contacts, country.contacts)


def test_settings_that_miss_the_contacts_are_refused(written, said):
    files = {name: written(f"{name}.csv", table(one)) for name, one in BY_SETTING.items() if name != "school"}
    assert "row '0-19', column '0-19' is 9.44" in said(groups(), table(CONTACTS_5), by_setting=files)


def test_a_line_that_tells_excel_the_delimiter_is_no_row(written):
    text = "sep=;\r\n" + table(CONTACTS_5, delimiter=";", decimal=",")
    country = read_country(written("g.csv", groups()), written("c.csv", text))
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=1e-12)


def test_notes_above_a_table_are_left_out(written):
    country = read_country(
        written("g.csv", "# persons of 2020\n\n" + groups()),
        written("c.csv", "#source, us\n" + table(CONTACTS_5)),
    )
    assert country.groups == NAMES


def test_a_workbook_whose_ages_have_become_dates_is_refused(tmp_path):
    dates = [pd.Timestamp("2026-09-05"), "10-14", "15+"]
    pd.DataFrame({"age": dates, "persons": [1, 2, 3]}).to_excel(tmp_path / "g.xlsx", index=False)
    with pytest.raises(
        ValueError, match="'2026-09-05T00:00:00' is a date, which a spreadsheet has made of ages"
    ):
        read_country(tmp_path / "g.xlsx", tmp_path / "g.xlsx")


def test_contacts_at_one_setting_are_turned_as_all_contacts_are(written):
    """At school teachers meet pupils: one setting by itself may look turned, and does not decide."""
    files = {name: written(f"{name}.csv", table(one.T)) for name, one in BY_SETTING.items()}
    group_file = written("g.csv", groups())
    with pytest.raises(ValueError, match="the settings: rows seem not to be those who report"):
        read_country(group_file, by_setting=files)
    country = read_country(group_file, by_setting=files, orientation="column")
    np.testing.assert_allclose(country.contacts, CONTACTS_5, rtol=0.01, atol=0.001)
    lopsided = np.array([[1.0, 5.0], [0.1, 1.0]])  # of 100 and 1000 persons: reciprocal only if turned
    two = written("two.csv", "name,persons\na,100\nb,1000\n")
    turned = written("t.csv", "a,b\n1,0.1\n5,1\n")
    rest = written("r.csv", "a,b\n9,90\n9,90\n")
    kept = read_country(two, by_setting={"school": turned, "other": rest}, reciprocity="keep")
    np.testing.assert_allclose(kept.by_setting["school"], lopsided.T)
