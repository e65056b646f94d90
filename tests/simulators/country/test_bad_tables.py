"""What cannot be a country is refused in one line that names the file and the row or label."""

import gzip

import numpy as np
import pytest

from simulators.country import read_country

GROUPS = "name,persons\n0-4,100\n5-64,1000\n65+,200\n"
CONTACTS = ",0-4,5-64,65+\n0-4,1,2,0.4\n5-64,0.2,5,0.4\n65+,0.2,2,1\n"


@pytest.fixture
def refused(tmp_path):
    """Why two files are refused."""

    def refuse(groups=GROUPS, contacts=CONTACTS, **options):
        for name, text in (("groups.csv", groups), ("contacts.csv", contacts)):
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ValueError) as error:
            read_country(tmp_path / "groups.csv", tmp_path / "contacts.csv", **options)
        assert "\n" not in str(error.value)
        return str(error.value).replace(f"{tmp_path}/", "")

    return refuse


def test_the_tables_of_these_tests_are_good(tmp_path):
    (tmp_path / "g.csv").write_text(GROUPS)
    (tmp_path / "c.csv").write_text(CONTACTS)
    assert read_country(tmp_path / "g.csv", tmp_path / "c.csv").groups == ("0-4", "5-64", "65+")


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        (
            GROUPS.replace("5-64,1000", "0-4,1000"),
            "groups.csv: row 3: group '0-4' is there already, in row 2",
        ),
        (GROUPS.replace("5-64,1000", ",1000"), "groups.csv: row 3: the group has no name"),
        (
            GROUPS.replace("1000", "0"),
            "groups.csv: row 3 ('5-64'): persons is '0'; it must be a finite number > 0",
        ),
        (
            GROUPS.replace("1000", "-5"),
            "groups.csv: row 3 ('5-64'): persons is '-5'; it must be a finite number > 0",
        ),
        (GROUPS.replace("1000", "many"), "groups.csv: row 3 ('5-64'): persons is 'many'; it must be"),
        (GROUPS.replace("1000", ""), "groups.csv: row 3 ('5-64'): persons is missing; it must be"),
        (GROUPS.replace("1000", "inf"), "groups.csv: row 3 ('5-64'): persons is 'inf'; it must be"),
        (
            "age,deaths\n0-4,0.1\n5+,0.2\n",
            "groups.csv: row 1: no column 'persons' (accepted: persons, population,",
        ),
        ("kind,persons\n0-4,1\n5+,2\n", "groups.csv: row 1: no column 'name' (accepted: name, group,"),
        ("name,persons,pop\na,1,2\n", "groups.csv: row 1: columns 'persons' and 'pop' are both persons"),
        ("name,persons\n", "groups.csv: row 1: there are no rows below the header"),
        (
            "name,persons,death\na,1,0.5\nb,1,1.5\n",
            "groups.csv: row 3 ('b'): death is '1.5'; it must be a finite number within 0..1",
        ),
        ("name,persons,death\na,1,0.5\nb,1,\n", "groups.csv: row 3 ('b'): death is missing"),
        (
            "name,persons,IHR\na,1,0.5\nb,1,-0.1\n",
            "groups.csv: row 3 ('b'): IHR is '-0.1'; it must be a finite number within 0..1",
        ),
        (
            "name,persons,current\na,1,50\n",
            "groups.csv: row 2 ('a'): current is '50'; it must be a finite number within 0..1",
        ),
        (
            "name,persons,cost\na,1,-1\n",
            "groups.csv: row 2 ('a'): cost is '-1'; it must be a finite number >= 0",
        ),
        ("name,persons,seeds\na,10,11\n", "groups.csv: row 2 ('a'): 11 persons are infected at first, of 10"),
        (GROUPS.replace("5-64", "4-64"), "groups.csv: groups '0-4' and '4-64' overlap (age 4)"),
        (GROUPS.replace("5-64", "6-64"), "groups.csv: no group holds the ages 5, between '0-4' and '6-64'"),
        (
            GROUPS.replace("5-64", "5-60"),
            "groups.csv: no group holds the ages 61-64, between '5-60' and '65+'",
        ),
        (
            GROUPS.replace("5-64", "09-May"),
            "groups.csv: '09-May' is a date, which a spreadsheet has made",
        ),
        ('name;persons\na;"12,345"\n', "groups.csv: '12,345' may be thousands or decimals; say decimal"),
        (
            'name;persons;cost\na;5;"1,5"\nb;5;"1.25"\n',
            "groups.csv: '1.25' has a decimal point and '1,5' a decimal comma",
        ),
    ],
)
def test_bad_groups(refused, groups, line):
    assert refused(groups=groups).startswith(line)


@pytest.mark.parametrize(
    ("contacts", "line"),
    [
        ("1,2,3\n4,5,6\n", "contacts.csv: is not square: 2 rows and 3 columns of contacts"),
        (
            ",0-4,5-64,65+\n0-4,1,2,0.4\n5-64,0.2,5,0.4\n",
            "contacts.csv: is not square: 2 rows and 3 columns of contacts",
        ),
        ("1,2\n3,4\n", "contacts.csv: has 2 rows and columns of contacts without labels, and groups.csv 3"),
        (
            CONTACTS.replace("0-4,1,", "0-4,-1,"),
            "contacts.csv: row 2 ('0-4'), column '0-4' is '-1'; it must be a finite number >= 0",
        ),
        (
            CONTACTS.replace("0.2,5,", "0.2,1e9,"),
            "contacts.csv: row 3 ('5-64'), column '5-64' is '1e9'",
        ),
        (CONTACTS.replace("0.2,5,", "0.2,,"), "contacts.csv: row 3 ('5-64'), column '5-64' is missing"),
        (CONTACTS.replace("0.2,5,", "0.2,x,"), "contacts.csv: row 3 ('5-64'), column '5-64' is 'x'"),
        (CONTACTS.replace("0.2,5,", "0.2,inf,"), "contacts.csv: row 3 ('5-64'), column '5-64' is 'inf'"),
        ("1,2,3\n4,nan,6\n7,8,9\n", "contacts.csv: row 2, column 2 is 'nan'"),
        (CONTACTS.replace("65+,0.2", "66+,0.2"), "contacts.csv: columns: '65+' is none of the rows"),
        (
            CONTACTS.replace("65+", "elder"),
            "contacts.csv: labels: 'elder' is none of the groups of groups.csv (there are: '0-4',",
        ),
        (
            CONTACTS.replace("65+", "66+"),
            "contacts.csv: no group holds the ages 65, between '5-64' and '66+'",
        ),
        (CONTACTS.replace("65+,0.2", "0-4,0.2"), "contacts.csv: columns: "),
        ("0-4,5-64,65+\n1,2,0.4\n\n0.2,5,0.4\n0.2,2,1\n", "contacts.csv: row 3: is empty"),
        ("", "contacts.csv: the file is empty"),
        ("\n\n  \n", "contacts.csv: the file is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "contacts.csv: is no text (a binary file)"),
        (b"PK\x03\x04" + bytes(200), "contacts.csv: cannot be read as a workbook"),
        (b"\xd0\xcf\x11\xe0" + bytes(200), "contacts.csv: is a workbook of old Excel (.xls)"),
        (gzip.compress(CONTACTS.encode(), mtime=0)[:30], "contacts.csv: the gzip file is cut off or damaged"),
        (
            "\n".join(",".join("1" * 101) for _ in range(101)),
            "contacts.csv: has 101 rows and columns; accepted: 1 to 100",
        ),
    ],
)
def test_bad_contacts(refused, contacts, line):
    assert refused(contacts=contacts).startswith(line)


def test_more_groups_than_a_country_has(refused):
    groups = "name,persons\n" + "".join(f"group {k},1\n" for k in range(101))
    line = "groups.csv: has 101 groups; accepted: 1 to 100; name bands, or 'contacts'"
    assert refused(groups=groups).startswith(line)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="nowhere.csv: No such file or directory$"):
        read_country(tmp_path / "nowhere.csv", tmp_path / "nowhere.csv")


@pytest.mark.parametrize("name", ["group.csv", "Groups.CSV", "grupos.csv"])
def test_a_misspelt_file_is_told_the_one_that_is_there(tmp_path, name):
    (tmp_path / "groups.csv").write_text(GROUPS)
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(ValueError, match=r"No such file or directory; did you mean 'groups\.csv'\?$"):
        read_country(tmp_path / name, tmp_path / "groups.csv")


TOTALS = CONTACTS.replace("\n", ",3.4\n").replace("65+,3.4", "65+,Total", 1)
SEMICOLON = "where the decimal mark is a comma, part cells by semicolons, or write numbers with a point"


@pytest.mark.parametrize(
    ("contacts", "line"),
    [
        (TOTALS, "its column 'Total' is the sum of the groups, and none itself; leave it out"),
        (
            CONTACTS + "Summe,1,2,3\n",
            "its row 'Summe' is the sum of the groups, and none itself; leave it out",
        ),
        (
            CONTACTS.replace("5-64,0.2,5,0.4\n", ""),
            "is not square: 2 rows and 3 columns of contacts; there is no row of '5-64'",
        ),
        (
            ",0-4,5-64,65+\n0-4,1,0,2,0,0,4\n5-64,0,2,5,0,0,4\n65+,0,2,2,0,1,0\n",
            "is not square: 4 rows and 6 columns of contacts; rows have more cells than the header: "
            f"{SEMICOLON}",
        ),
    ],
)
def test_sums_gaps_and_decimal_commas_among_contacts_are_told(refused, contacts, line):
    assert refused(contacts=contacts) == f"contacts.csv: {line}"


def test_decimal_commas_between_commas_are_no_numbers(refused):
    groups = "name,persons,death\n0-4,100,0,5\n5-64,1000,0,1\n65+,200,0,1\n"
    assert refused(groups) == f"groups.csv: row 2 has 4 cells, and the header 3: {SEMICOLON}"


def test_a_total_that_is_none_is_refused_and_one_that_is_one_left_out(refused, tmp_path):
    line = (
        "groups.csv: row 5 ('Insgesamt'): 2,300 persons, where the other rows have 1,300; leave out a total"
    )
    assert refused(f"{GROUPS}Insgesamt,2300\n").startswith(line)
    (tmp_path / "g.csv").write_text(f"{GROUPS}Overall,1300\n")
    country = read_country(tmp_path / "g.csv", tmp_path / "contacts.csv")
    assert country.groups == ("0-4", "5-64", "65+")
    assert any("'Overall') is the sum of the others, and left out" in said for said in country.findings)


@pytest.mark.parametrize("option", ["orientation", "reciprocity", "decimal"])
def test_an_option_that_is_none(refused, option):
    assert refused(**{option: "sideways"}).startswith(f"{option}='sideways' must be one of")


def test_no_contacts(tmp_path):
    with pytest.raises(ValueError, match="no contacts are given"):
        read_country(tmp_path / "groups.csv")


def test_random_bytes_are_refused_in_one_line_or_read(refused, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "g.csv").write_text(GROUPS)
    for size in (1, 10, 100, 1000):
        for _ in range(20):
            (tmp_path / "c.csv").write_bytes(rng.bytes(size))
            with pytest.raises(ValueError) as error:
                read_country(tmp_path / "g.csv", tmp_path / "c.csv")
            assert "\n" not in str(error.value)
