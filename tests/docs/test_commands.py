"""Every `policyloop` command that the README or a guide shows is one that the command line accepts."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from scenarios.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = re.compile(r"^```\w*(?: title=\"[^\"]+\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\s*(?:\$ |srun |\.venv/bin/)*policyloop (.+)$", re.MULTILINE)
INLINE = re.compile(r"`policyloop ([a-z][^`|]*)`")


def commands(page):
    text = page.read_text(encoding="utf-8")
    shown = [line for block in BLOCKS.findall(text) for line in COMMAND.findall(block)]
    shown += INLINE.findall(BLOCKS.sub("", text))
    return [shlex.split(line.replace("\n", " "), comments=True) for line in shown if ".." not in line]


def parse(command, words):
    context = command.make_context("policyloop", list(words), resilient_parsing=False)
    if hasattr(command, "resolve_command") and words:
        _, inner, rest = command.resolve_command(context, list(words))
        parse(inner, rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
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
