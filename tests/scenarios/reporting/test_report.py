"""The report of a study: what it says of studies of all kinds; strangers' text does nothing in it."""

import html.parser
import json

import pytest

import scenarios
from scenarios.study.study import Study

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """A page read as a browser does: its elements, the text of each, and whether they nest."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.tables, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def page_of(study, tmp_path, **options):
    return Page(scenarios.report(study, tmp_path / "report.html", **options).read_text(encoding="utf-8"))


def check_sound(page):
    """What holds of every report: nothing runs, ids differ, figures and tables are named, headings nest."""
    assert {tag for tag, _ in page.elements} & {
        "script",
        "img",
        "iframe",
        "object",
        "link",
        "base",
        "form",
    } == set()
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.named("svg"):
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    for attributes in page.named("a"):
        assert attributes["href"].removeprefix("#") in ids
    assert len(page.named("table")) == len(page.named("caption"))
    assert all("scope" in attributes for attributes in page.named("th"))
    assert [len(page.named(tag)) for tag in ("main", "nav", "header", "footer", "h1")] == [1] * 5
    policy = next(one["content"] for one in page.named("meta") if "Content-Security-Policy" in one.values())
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    for table in page.tables:
        assert len({len(row) for row in table}) == 1


@pytest.fixture(scope="module")
def flu(tmp_path_factory):
    """A small study of the flu with today's practice among its agents."""
    folder = tmp_path_factory.mktemp("flu")
    (folder / "s.toml").write_text(
        'name = "s"\ntitle = "A flu season"\nrounds = 14\ntrials = 2\nseed = 5\n'
        'agents = ["gp-ucb", "d-gpucb", "current"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 200 }\n[prior]\nsamples = 0\n"
    )
    return scenarios.run(scenarios.load(folder / "s.toml"), out=folder / "s.sqlite")


def test_a_report_is_a_sound_page_with_its_figures(flu, tmp_path):
    page = page_of(flu, tmp_path)
    check_sound(page)
    assert len(page.named("svg")) >= 3
    assert "A flu season" in page.text


def test_the_table_of_agents_has_the_numbers_of_compare(flu, tmp_path, policyloop):
    code, shown, _ = policyloop("compare", flu.path, "--format", "json")
    assert code == 0
    table = next(one for one in page_of(flu, tmp_path).tables if one[0][0] == "Agent" and "Policy" in one[0])
    for label, row in json.loads(shown).items():
        cells = next(cells for cells in table if cells[0] == label)
        said = row["recommendation"]
        assert cells[1].startswith(f"{said['trial']} /")
        assert cells[4].startswith(f"{said['objective']['mean']:.3g}"[:5])
        assert cells[5].startswith(f"{said['objective']['noise_free']:.3g}"[:4])


def test_today_and_the_recommendation_are_predicted_as_what_if_does(flu, tmp_path):
    (answer,) = scenarios.what_if(flu)
    table = next(
        one for one in page_of(flu, tmp_path).tables if one[0][0] == "Group" and "Difference" in one[0]
    )
    for group, estimate in answer.current.groups.items():
        cells = next(cells for cells in table if cells[0] == group)
        assert cells[1].startswith(f"{estimate.mean:.3g}"[:6])
    assert table[-1][1].startswith(f"{answer.current.objective.mean:.2f}")


def test_the_decomposed_agent_leads_wherever_it_stands(flu, tmp_path):
    assert "recommendation of d-gpucb" in page_of(flu, tmp_path).text


def test_a_report_is_never_written_over_another_unless_told(flu, tmp_path, policyloop):
    out = tmp_path / "report.html"
    assert policyloop("report", flu.path, "--out", out)[:2] == (0, f"{out}\n")
    before = out.read_bytes()
    code, _, said = policyloop("report", flu.path, "--out", out)
    assert (code, said.count("\n")) == (2, 1)
    assert "--force" in said
    assert out.read_bytes() == before
    assert policyloop("report", flu.path, "--out", out, "--force")[0] == 0
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("out", ["no/such/report.html", "report.html"])
def test_bad_input_is_one_line_and_nothing_is_written(out, tmp_path, policyloop, flu):
    study = flu.path if "/" in out else tmp_path / "none.sqlite"
    code, shown, said = policyloop("report", study, "--out", tmp_path / out)
    assert (code, shown, said.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_the_default_is_beside_the_study(flu):
    made = scenarios.report(Study(flu.path))
    assert made == flu.path.with_name("s.html")
    made.unlink()
