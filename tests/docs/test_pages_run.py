"""Pages that are no guide and no tutorial run as well, at a reduced size: commands and Python in order."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.cli import invoke

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")
COMMAND = re.compile(r"^policyloop ", re.MULTILINE)

RUN = [
    "README",
    "docs/index",
    "docs/report",
    "docs/own-country",
    "docs/questions",
    "docs/population",
    "docs/researchers",
    "docs/stations",
    "docs/weather",
]
"""Pages whose blocks are run here."""

ELSEWHERE = ["tutorials", "bridges"]
"""Folders whose pages have tests of their own, and `questions` from "On any simulator" on."""

PARSED = {
    "docs/cluster": "its machines are not there; what one machine can do of it runs in the tutorial",
    "docs/watch": "a page that waits for a reader, see tests/scenarios/watching",
}
"""Pages with commands that are only parsed, and why."""

STARTS = ("watch", "serve", "reproduce")
"""Commands that go on until they are stopped, or for an hour."""

SIZE = {"--trials": "1", "--rounds": "11", "--samples": "20", "--jobs": "1"}


def reduced(words):
    """A command at a size that takes seconds."""
    found = list(words)
    if found[0] == "run":
        for option, value in SIZE.items():
            if option not in found and option in ("--trials", "--rounds"):
                found += [option, value]
            elif option in found and found[found.index(option) + 1] != "0":  # no samples: no fewer
                found[found.index(option) + 1] = value
    if found[0] == "evaluate" and "--seeds" not in found:
        found += ["--seeds", "2"]
    return found


def test_every_page_with_commands_is_run_or_says_why_not():
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    shown = {
        str(page.relative_to(ROOT).with_suffix(""))
        for page in pages
        if page.parent.name not in ELSEWHERE
        and any(
            COMMAND.search(text) for language, _, text in BLOCK.findall(page.read_text()) if language == "sh"
        )
    }
    assert shown <= {*RUN, *PARSED}


@pytest.mark.parametrize(
    "name", [name if name == "docs/index" else pytest.param(name, marks=pytest.mark.slow) for name in RUN]
)
def test_a_page_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: True)
    text = (ROOT / f"{name}.md").read_text(encoding="utf-8").partition("## On any simulator\n")[0]
    done, python = 0, []
    for language, _, block in BLOCK.findall(text):
        if saved := NAMED.match(block):
            (tmp_path / saved[1]).write_text(block)
        elif language == "python":
            python.append(block)
        elif language == "sh":
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] != ["policyloop"] or words[1] in STARTS:
                    continue
                code = invoke(reduced(words[1:]))
                said = capsys.readouterr().err
                # So few rounds know of no policy that keeps the limits that the whole study does.
                assert code == 0 or "No policy is known to keep the limits" in said, (line, said)
                done += 1
    if python:
        (tmp_path / "page.py").write_text("\n".join(python))
        ran = subprocess.run(
            [sys.executable, "page.py"],
            env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
    assert done or python
