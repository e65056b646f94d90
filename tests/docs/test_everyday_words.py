"""What users look for in their own words is found by the site's search, and leads to the right answer."""

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-do-i.md"
WORDS = {  # what somebody types, and the question that has to be found
    "pandas": "How do I use a pandas DataFrame?",
    "CSV": "How do I use my data from Excel or a CSV file?",
    "Excel": "How do I get the results into Excel, R or pandas?",
    "deaths": "How do I use the ages, contacts and deaths of my own country?",
    "cap": "How do I cap an outcome, such as beds or deaths?",
    "timeout": "How do I cap the time or memory of a simulation?",
    "not below zero": "How do I say that an outcome is not below zero?",
    "negative": "How do I say that an outcome is not below zero?",
    "weights": "How do I give one group more weight?",
    "trials": "How do I choose how many rounds and trials?",
    "GPU": "How do I use a GPU?",
    "cancel": "How do I stop or cancel a run?",
    "stop": "How do I stop or cancel a run?",
    "resume": "How do I resume a run that was stopped, or a computer that crashed?",
    "SLURM": "How do I run on SLURM or a cluster?",
    "p-value": "How do I tell whether one agent is better, with a p-value?",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The search index that MkDocs builds of the page: a text by its heading."""
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "mkdocs.yml").write_text(
        "site_name: words\ntheme: {name: mkdocs}\nplugins: [search]\n"
        "validation: {links: {not_found: ignore, unrecognized_links: ignore}}\n"
    )
    build(load_config(str(folder / "mkdocs.yml")))
    found = json.loads((folder / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    return {one["title"]: one["text"] for one in found["docs"]}


def finds(index, typed):
    """The headings of the entries that hold every word that is typed, as whole words."""
    words = re.split(r"[\s\-]+", typed.lower())
    tokens = {title: set(re.findall(r"[\w']+", f"{title} {text}".lower())) for title, text in index.items()}
    return [title for title in index if set(words) <= tokens[title]]


@pytest.mark.parametrize("typed", WORDS)
def test_an_everyday_word_finds_its_answer(index, typed):
    assert WORDS[typed] in finds(index, typed)


def test_a_word_that_nobody_uses_finds_nothing(index):
    assert finds(index, "frobnicate") == []


def test_every_question_has_one_or_two_lines_with_a_command_or_a_link():
    questions = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(questions) >= 40
    for question in questions:
        title, answer = question.split("\n", 1)
        lines = answer.split("\n## ")[0].strip().splitlines()
        assert title.startswith("How do I ") and title.endswith("?")
        assert 1 <= len(lines) <= 2 and re.search(r"`[^`]+`|\]\(", answer), title
