"""Bad tables of one's own country, among groups and among persons: one line, and nothing is written."""

import html.parser

import pandas as pd
import pytest

from policyloop.plain_text import for_terminal

BOTH = ("scenario.toml", "town.toml")
FINER = ",0-9,10-19,20+\n0-9,4,2,5\n10-19,2,6,5\n20+,1,1,8\n"
RUN = ("--rounds", "3", "--trials", "1", "--agents", "uniform,current", "--quiet")


def rates(value):
    return "group,attack_rate,persons\n" + "".join(
        f"{name},{value},1000\n" for name in ("0-4", "5-17", "18-49", "50-64", "65+")
    )


def last_row_left_out(text):
    return "\n".join(text.splitlines()[:-1]) + "\n"


def replaced(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)

    return change


UNKNOWN = replaced("budget_doses =", "reciprocity = 'mended'\nbudget_doses =")
B, G, P = BOTH, BOTH[:1], BOTH[1:]
BAD = [
    (B, "contacts.csv", last_row_left_out, "contacts.csv: is not square: 4 rows and 5 columns"),
    (B, "contacts.csv", replaced("65+", "66+"), "contacts.csv: no group holds the ages 65"),
    (B, "contacts.csv", replaced("65+", "elder"), "contacts.csv: labels: 'elder' is none of the groups"),
    (B, "contacts.csv", replaced("0-4,2.400", "0-5,2.400"), "'0-4' is none of the rows"),
    (B, "contacts.csv", replaced("2.400", "-2.4"), "contacts.csv: row 2 ('0-4'), column '0-4' is '-2.4'"),
    (B, "contacts.csv", replaced("2.400", ""), "contacts.csv: row 2 ('0-4'), column '0-4' is missing"),
    (B, "contacts.csv", replaced("2.400", "nan"), "contacts.csv: row 2 ('0-4'), column '0-4' is 'nan'"),
    (B, "contacts.csv", lambda text: FINER, "contacts.csv: its band 0-9 would have to be split"),
    (B, "*", replaced("5_000_000", "15_200_001"), "must be at most the persons, 15200000"),
    (B, "*", replaced("budget_doses = 5_000_000", "budget = 1.01"), "budget=1.01 must be at most 1"),
    (B, "*", replaced("5_000_000", "-1"), "budget_doses=-1 must be a finite number >= 0"),
    (B, "*", replaced('"contacts.csv"', '"none.csv"'), "none.csv: No such file"),
    (B, "*", UNKNOWN, "reciprocity='mended' must be one"),
    (G, "observed.csv", lambda text: rates(0.99), "0.99 of the persons fell ill, which no r0 gives"),
    (G, "observed.csv", lambda text: rates(0.0001), "which no r0 gives"),
    (G, "observed.csv", lambda text: rates(27.3), "group '0-4' is 27.3; accepted: a share"),
    (G, "observed.csv", lambda text: rates(0), "group '0-4' is 0; accepted: a share"),
    (P, "groups.csv", replaced("65+", "65-80"), "'65-80' is the last and must have no end"),
    (P, "*", replaced("persons = 5_000 ", "persons = 3 "), "persons=3 leaves nobody in the group"),
    (P, "*", replaced("persons = 5_000 ", "persons = 1e12 "), "must be at most 100,000,000"),
    (P, "*", replaced("r0 = 1.438", 'r0 = 1.438\noutcome = "deaths"'), "has no option 'outcome'"),
]  # fmt: skip


@pytest.fixture
def country(tmp_path, policyloop):
    assert policyloop("new", "own-country", "mine", "--folder", tmp_path)[0] == 0
    return tmp_path / "mine"


@pytest.mark.parametrize(("scenarios", "file", "change", "message"), BAD)
def test_a_bad_table_is_one_line_with_exit_code_2_and_nothing_is_written(
    country, policyloop, scenarios, file, change, message
):
    texts = {name: (country / name).read_text(encoding="utf-8") for name in (*scenarios, "groups.csv")}
    for scenario in scenarios:
        for name, text in texts.items():
            (country / name).write_text(text, encoding="utf-8")
        path = country / (scenario if file == "*" else file)
        kept = path.read_text(encoding="utf-8")
        path.write_text(change(kept), encoding="utf-8")
        before = sorted(one.name for one in country.iterdir())
        code, out, err = policyloop("run", country / scenario, *RUN, "--out", country / "X.sqlite")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err and scenario in err
        assert sorted(one.name for one in country.iterdir()) == before
        path.write_text(kept, encoding="utf-8")


def test_tables_in_another_order_than_the_groups_are_put_in_theirs_and_so_said(country, policyloop):
    path = country / "contacts.csv"
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, *rest[::-1]]) + "\n", encoding="utf-8")
    for scenario in BOTH:
        code, out, _ = policyloop("check", country / scenario)
        assert code == 0 and "another order" in out


NAMES = (
    "<5 years",
    "</script><script>alert(1)</script>",
    'Tom & Jerry\'s "kids"',
    "bell\x07 \x1b[31mred",
    "=1+1",
)


class Elements(html.parser.HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)

    def handle_data(self, data):
        self.words.append(data)


def test_any_name_is_accepted_and_escaped_in_table_csv_and_report(country, policyloop, tmp_path):
    old = ("0-4", "5-17", "18-49", "50-64", "65+")
    for file in ("groups.csv", "contacts.csv", "observed.csv"):
        frame = pd.read_csv(country / file, dtype=str, keep_default_na=False)
        frame = frame.replace(dict(zip(old, NAMES, strict=True))).rename(
            columns=dict(zip(old, NAMES, strict=True))
        )
        frame.to_csv(country / file, index=False)
    study = tmp_path / "s.sqlite"
    code, out, err = policyloop(
        "run", country / "scenario.toml", *RUN[:4], "--agents", "d-gpucb,current", "--quiet", "--out", study
    )
    assert code == 0, err
    code, shown, _ = policyloop("show", study)
    for text in (out, shown):
        assert "\x07" not in text and "\x1b[31m" not in text
        assert "<5 years" in text
    assert policyloop("export", study, "--out", tmp_path / "s.csv")[0] == 0
    columns = pd.read_csv(tmp_path / "s.csv").columns  # a CSV has what it was given, whatever its quotes
    assert {f"y_{name}" for name in NAMES} <= set(columns)
    assert policyloop("report", study, "--out", tmp_path / "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    read = Elements(page)
    assert "script" not in read.elements and "alert(1)</script>" not in page
    assert "\x07" not in page and "\x1b" not in page
    words = "".join(read.words)
    assert "<5 years" in words and "Tom & Jerry" in words and "</script><script>" in words
    assert for_terminal(NAMES[3]) != NAMES[3]


def test_names_of_ages_with_signs_are_bands_of_a_town(country, policyloop):
    for file in ("groups.csv", "contacts.csv"):
        text = (country / file).read_text(encoding="utf-8")
        (country / file).write_text(text.replace("0-4", "<5 years").replace("65+", ">= 65"), encoding="utf-8")
    code, out, err = policyloop("check", country / "town.toml")
    assert code == 0, err
