"""What the pages show is accepted: commands by the command line, files by name, Python and TOML by parsing.

What is short enough is run besides: see `test_pages_run`, `test_guides` and `test_tutorials`.
"""

import ast
import importlib
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from scenarios.cli import app
from scenarios.declaration.parse import parse as scenario_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^    policyloop (.+)$", re.MULTILINE)
COMMAND = re.compile(r"^\s*(?:\$ |# .*: |srun |\.venv/bin/)*policyloop (.+)$", re.MULTILINE)
INLINE = re.compile(r"`policyloop ([a-z][^`|]*)`")
PACKAGES = ("simulators", "optimizer", "bridges", "scenarios")

# Shell words that begin a line, and are neither ours nor looked up.
OTHERS = ("dask", "export", "for", "do", "done", "set", "jq", "tail", "netlogo-headless.sh")


def blocks(page, *languages):
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for language, _, text in found if not languages or language in languages]


def commands(page):
    text = page.read_text(encoding="utf-8")
    shown = [line for block in blocks(page) for line in COMMAND.findall(block)]
    outside = BLOCK.sub("", text)
    shown += [*INDENTED.findall(outside), *INLINE.findall(INDENTED.sub("", outside))]
    return [
        shlex.split(line.replace("\n", " ").rstrip("\\"), comments=True) for line in shown if ".." not in line
    ]


def parse(command, words):
    context = command.make_context("policyloop", list(words), resilient_parsing=False)
    if hasattr(command, "resolve_command") and words:
        _, inner, rest = command.resolve_command(context, list(words))
        parse(inner, rest)


def of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_the_commands_of_a_page_are_accepted(page):
    known = typer.main.get_command(app)
    for words in commands(page):
        if len(words) == 1 and words[0] in known.commands:
            continue  # the command itself is meant, such as `policyloop run`
        try:
            parse(known, words)
        except Exception as error:
            pytest.fail(f"policyloop {' '.join(words)}: {getattr(error, 'message', error)}")


def test_the_readme_shows_commands_and_a_wrong_one_would_be_noticed():
    assert len(commands(ROOT / "README.md")) > 8
    with pytest.raises(Exception, match="unexpected extra argument"):
        parse(typer.main.get_command(app), ["export", "flu.study.sqlite", "rounds.parquet"])


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_other_commands_of_a_page_name_what_there_is(page):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in "".join(blocks(page, "sh")).splitlines():
        words = [] if "'" in line and line.count("'") % 2 else shlex.split(line, comments=True)
        words = words[1:] if words[:1] == ["srun"] else words
        if not words or line.startswith(("policyloop", " ", "<", "</")) or words[0] == "policyloop":
            continue
        if words[0] == "make":
            assert words[1] in targets, line
        elif words[0].startswith("python"):
            assert words[1] == "-m" or (ROOT / words[1]).is_file(), line
            assert words[1] != "-m" or words[2] == "venv" or importlib.util.find_spec(words[2]), line
        elif words[0].endswith("pip"):
            for named in re.findall(r"\[([\w,]+)\]", line):
                assert set(named.split(",")) <= set(extras), line
        else:
            assert words[0] in OTHERS or words[0].startswith(".venv/bin/"), line


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_python_of_a_page_imports_what_there_is(page):
    for text in blocks(page, "python"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                module = importlib.import_module(node.module)
                assert [one.name for one in node.names if not hasattr(module, one.name)] == []


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_toml_of_a_page_is_valid_and_its_scenarios_are(page):
    for text in blocks(page, "toml"):
        data = tomllib.loads(text)
        if {"name", "rounds", "environment"} <= set(data):
            scenario_of(data, "page.toml")


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == ROOT], ids=of)
def test_links_of_a_page_above_docs_lead_somewhere(page):
    """Those of pages in docs/ are checked when the site is built."""
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [one for one in targets if not (ROOT / one).exists()] == []
