"""Small tables of towns: households, schools, workplaces, who works at which age."""

import numpy as np
import pandas as pd
import pytest

from simulators.country.bands import Band
from simulators.country.sizes import Sizes, sizes
from simulators.country.town_tables import kind_of, read_town

TABLES = {
    "households": "size,households\n1,40\n2,30\n3,20\n4+,10\n",
    "schools": "level,ages,class_size,school_size,enrolled\nfirst,6-10,24,250,1\nsecond,11-17,28,800,0.9\n",
    "workplaces": "size;workplaces\n1;800 000\n2-9;150 000\n10 to 249;45 000\n250+;5 000\n",
    "employment": "age,employed,commuting\n15-24,0.4,0.9\n25-64,0.8,0.7\n65+,0.05,\n",
    "persons": "age,persons\n0-4,500\n5-64,8000\n65+,1500\n",
}


@pytest.fixture
def write(tmp_path):
    def write_(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        return {name: tmp_path / f"{name}.csv" for name in texts}

    return write_


def test_what_each_table_says(write):
    town = read_town(**write(**TABLES))
    assert town.households == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert town.household_size == pytest.approx(2.0)
    assert [one.ages for one in town.schools] == [Band(6, 10), Band(11, 17)]
    assert (town.schools[1].class_size, town.schools[1].school_size, town.schools[1].enrolled) == (
        28,
        800,
        0.9,
    )
    assert [(str(one.sizes), one.number) for one in town.workplaces] == [
        ("1", 8e5), ("2-9", 1.5e5), ("10-249", 4.5e4), ("250+", 5e3)
    ]  # fmt: skip
    assert [(one.employed, one.commuting) for one in town.employment] == [(0.4, 0.9), (0.8, 0.7), (0.05, 1.0)]
    assert town.persons.persons.tolist() == [500, 8000, 1500]
    assert any("households of 4+ are taken as of 4" in said for said in town.findings)
    assert any("semicolons" in said for said in town.findings)


def test_a_table_is_told_by_its_header():
    for kind, text in TABLES.items():
        header = text.splitlines()[0].replace(";", ",").split(",")
        assert kind_of(header) == (None if kind == "persons" else kind)
    assert kind_of(["size class", "employees"]) == "workplaces"
    assert kind_of(["age", "persons", "current"]) is None
    assert kind_of(["hh_id", "country", "hh_size"]) is None


def test_a_workbook_and_rows_in_any_order(tmp_path):
    frame = pd.DataFrame({"Household size": ["3", "1", "2"], "number": [25, 50, 25]})
    frame.to_excel(tmp_path / "h.xlsx", index=False)
    assert read_town(households=tmp_path / "h.xlsx").households == pytest.approx([0.5, 0.25, 0.25])


def test_workplaces_may_be_told_by_who_works_there(write):
    town = read_town(**write(workplaces="size,employees\n1-9,300\n10+,700\n"))
    assert [(one.number, one.persons) for one in town.workplaces] == [(None, 300), (None, 700)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", Sizes(1, 1)),
        ("0-9", Sizes(1, 9)),
        ("1,000 - 4,999", Sizes(1000, 4999)),
        ("250 and more", Sizes(250, None)),
        ("5 persons or more", Sizes(5, None)),
        (">=500", Sizes(500, None)),
        ("<10 employees", Sizes(1, 9)),
        ("7+", Sizes(7, None)),
    ],
)
def test_sizes_as_people_write_them(text, found):
    assert sizes(text, "here") == found


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("households", "size,households\n1,0\n", "all households are 0"),
        ("households", "size,households\n1,5\n1,6\n", "row 3: size '1' is there already, in row 2"),
        ("households", "size,households\n1-2,5\n", "row 2: size is '1-2'; accepted: one size"),
        ("households", "size,households\nmany,5\n", "row 2: size is 'many'; accepted: sizes in persons"),
        ("households", "size,households\n2,-5\n", "row 2: households is '-5'; it must be"),
        ("households", "size,households\n2,\n", "row 2: households is missing"),
        ("households", "size,households\n30,5\n", "row 2: size is '30'; accepted: at most 20"),
        ("households", "size,households\n5+,5\n6,5\n", "is larger"),
        ("households", "size,households\n", "there are no rows below the header"),
        ("households", "size,rooms\n1,2\n", "no column 'households'"),
        ("schools", "ages,class_size\n6-10,0\n", "row 2: class_size is '0'; it must be a finite number >= 1"),
        (
            "schools",
            "ages,enrolled\n6-10,95\n",
            "row 2: enrolled is '95'; it must be a finite number >= 0 and <= 1",
        ),
        ("schools", "ages,class_size\n6-10,20\n10-14,20\n", "row 3: ages '10-14' and '6-10' overlap"),
        ("schools", "ages,class_size\nchildren,20\n", "row 2: ages 'children' says no ages"),
        ("schools", "ages,class_size\n10-Jun,20\n", "'10-Jun' is a date"),
        (
            "schools",
            "ages,class_size,school_size\n6-10,30,20\n",
            "row 2: school_size is 20, and a class has 30",
        ),
        ("workplaces", "size,workplaces\n1-9,4\n5+,2\n", "row 3: size '5+' and '1-9' overlap"),
        ("workplaces", "size,workplaces\n1-9,0\n", "all workplaces are 0"),
        ("workplaces", "size,workplaces\n09-Feb,4\n", "is the date '09-Feb'"),
        ("workplaces", "size,turnover\n1-9,4\n", "no column 'workplaces' or 'employees'"),
        ("employment", "age,employed\n15+,1.2\n", "row 2: employed is '1.2'; it must be"),
        ("employment", "age,employed\n15+,\n", "row 2: employed is missing"),
        ("persons", "age,persons\nyoung,5\nold,6\n", "its names are no ages"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line_that_names_the_row(write, kind, text, line):
    with pytest.raises(ValueError) as refusal:
        read_town(**write(**{kind: text}))
    assert line in str(refusal.value) and f"{kind}.csv" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_shares_add_up_to_one_whatever_unit_households_are_counted_in(write):
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e6):
        counts = scale * rng.uniform(0.1, 1, 6)
        text = "size,households\n" + "".join(f"{k},{value:.12g}\n" for k, value in enumerate(counts, 1))
        assert read_town(**write(households=text)).households == pytest.approx(counts / counts.sum())
