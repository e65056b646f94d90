"""The code of the guides runs: in an empty folder, from the page's top to its end."""

import re
import shlex
from pathlib import Path

import pytest

from scenarios.cli import invoke

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "bridges"
GUIDES = [
    "your-simulator",
    "function",
    "command",
    "mesa",
    "plugins",
    "umbridge",
    "gymnasium",
    "optuna",
    "scipy",
]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")


@pytest.mark.parametrize("name", GUIDES)
def test_the_code_of_a_guide_runs(name, tmp_path, monkeypatch):
    """A block that begins with a file's name is saved; other Python and `policyloop` lines are run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    namespace = {"__name__": "guide"}
    done = 0
    for language, text in BLOCK.findall(page):
        if saved := NAMED.match(text):
            (tmp_path / saved[1]).write_text(text)
        elif language == "python":
            exec(compile(text, f"{name}.md", "exec"), namespace)
            done += 1
        elif language == "sh":
            for line in text.splitlines():
                if line.startswith("policyloop ") and not line.startswith("policyloop serve"):
                    assert invoke(shlex.split(line)[1:]) == 0, line
                    done += 1
    assert done


def test_links_between_guides_lead_somewhere():
    for page in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
