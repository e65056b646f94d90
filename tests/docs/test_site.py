"""The pages of the site that are written from the code hold all of what they are written from."""

import html
import re
from pathlib import Path

import pytest
import typer

import optimizer
import simulators
from scenarios.cli import app
from scenarios.declaration.schema import AgentSpec, LimitSpec, PriorSpec, Scenario

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages(site_module):
    return site_module("pages")


def section(text, title):
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("package", ["simulators", "optimizer", "bridges", "scenarios"])
def test_every_public_name_has_its_place(pages, package):
    import importlib

    written = "".join(pages.api(*room) for room in pages.rooms() if room[0] == package)
    names = [name for name in importlib.import_module(package).__all__]
    assert names and [name for name in names if f"heading: {package}.{name}\n" not in f"{written}\n"] == []


@pytest.mark.parametrize(
    "table, title",
    [
        (Scenario, "The file itself"),
        (PriorSpec, "[prior]"),
        (AgentSpec, "[[agents]]"),
        (LimitSpec, "[[limits]]"),
    ],
)
def test_every_key_of_a_scenario_is_told_with_a_type(pages, table, title):
    told = section(pages.scenario_keys(), title)
    for key in table.model_fields:
        (line,) = [line for line in told.splitlines() if line.startswith(f"| `{key}` ")]
        assert line.count(" | ") == 3
    assert section(pages.scenario_keys(), "[prior]").count('`"samples"`') == 1  # the default of source


def test_every_command_and_option_is_told(pages):
    text = pages.command_line()
    for name, command in typer.main.get_command(app).commands.items():
        for inner, one in getattr(command, "commands", {"": command}).items():
            told = section(text, f"{name} {inner}".strip())
            options = [flag for param in one.params for flag in param.opts if flag.startswith("--")]
            assert [flag for flag in options if flag not in told and flag != "--help"] == []


def test_every_environment_and_agent_is_told(pages):
    assert all(f"## {name}\n" in pages.environments() for name in simulators.names())
    assert all(f"| `{name}` |" in pages.agents() for name in optimizer.agent_names())
    assert "| `budget` |" in section(pages.environments(), "flu-ode")


def test_the_algorithms_stand_beside_the_code_that_runs_them(pages):
    text = pages.algorithms()
    assert "# Line 5: x_t = argmax" in section(text, "Algorithm 2: D-GPUCB")
    assert "class Bound" in section(text, "Algorithm 3: a general composition")


def test_a_sign_of_markdown_in_a_cell_does_not_end_it(pages):
    markdown = pytest.importorskip("markdown")
    text = "a|b <c> [d]_ *e* <= 2"
    table = pages.rows(("x", "y"), [(pages.plain(text), pages.code("f|g"))])
    cells = re.findall(r"<td>(.*?)</td>", markdown.markdown(table, extensions=["tables"]))
    assert [html.unescape(one) for one in cells] == [text, "<code>f|g</code>"]


def test_the_gallery_has_every_picture_of_a_page_and_leads_to_it(pages):
    text = pages.gallery()
    for page in (ROOT / "docs").rglob("*.md"):
        path = page.relative_to(ROOT / "docs")
        for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            place = (path.parent / image).as_posix()
            assert f"]({place})]({path.as_posix()})" in text and (ROOT / "docs" / place).is_file()
    assert text.count("[![") > 12


def test_the_results_of_the_suite_are_on_their_page(pages):
    for part, problem in (("Choosing problems", "hartmann3"), ("Judging problems", "shekel5")):
        text = section(pages.suite(), part)
        assert re.search(r"\| auto \| \d\d+ \| 1 \| 1 \| 1 \|", text) and f" {problem} |" in text
