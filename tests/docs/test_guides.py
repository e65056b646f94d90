"""The code of the guides runs: in an empty folder, from the page's top to its end."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bridges import CommandEnvironment
from scenarios.cli import invoke

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "bridges"
GUIDES = [
    pytest.param("your-simulator", marks=pytest.mark.slow),
    "function",
    pytest.param("command", marks=pytest.mark.slow),
    pytest.param("mesa", marks=pytest.mark.slow),
    pytest.param("plugins", marks=pytest.mark.slow),
    "umbridge",
    "gymnasium",
    "optuna",
    "scipy",
]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")


def has_r():
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", GUIDES)
def test_the_code_of_a_guide_runs(name, tmp_path, monkeypatch):
    """A block that begins with a file's name is saved; other Python and `policyloop` lines are run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # As on a terminal, where whoever follows a guide says that its code may be run.
    monkeypatch.setattr("scenarios.commands.trust._agreed", lambda *asked: True)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # its own `python3`
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


@pytest.mark.skipif(not has_r(), reason="R with jsonlite is not installed")
def test_the_program_in_r_is_an_environment(tmp_path):
    page = (FOLDER / "command.md").read_text(encoding="utf-8")
    (listing,) = [text for language, text in BLOCK.findall(page) if language == "r"]
    (tmp_path / "model.R").write_text(listing)
    policy = {"nurses north": (1, 20), "nurses south": (1, 20)}
    clinics = CommandEnvironment(
        ["Rscript", "model.R"], policy, ["north", "south"], budget=25, folder=tmp_path
    )
    clinics.reset(3)
    first = clinics.step([10, 15]).values
    assert first[0] == 4.0 and first[1] == pytest.approx(6.0, abs=0.6) and first[1] != 6.0
    second = clinics.step([10, 15]).values
    clinics.reset(3)
    assert np.array_equal(clinics.step([10, 15]).values, first) and not np.array_equal(first, second)
