"""The tutorials run: each in an empty folder, its files written and its Python executed from top to end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SAID = {  # what the last lines of each have to say
    "vaccinate": r"recommended [01]\.\d+, the same share for all 1\.4",
    "levers": r"nurses.*\broster",
    "limits": r"limit kept: (True|False)\n\{'total': \d",
    "sensors": r"station \d+ ",
    "comparing": r"mean +-?\d",
}


def test_every_tutorial_is_run():
    assert sorted(SAID) == sorted(page.stem for page in FOLDER.glob("*.md"))


@pytest.mark.parametrize("name", SAID)
def test_a_tutorial_runs_and_says_what_it_promises(name, tmp_path):
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert text.count("\n") < 70
    blocks = BLOCK.findall(text)
    for kind, block in blocks:
        if kind == "toml":
            (tmp_path / block.split("\n")[0].removeprefix("# ")).write_text(block, encoding="utf-8")
    (tmp_path / "tutorial.py").write_text("\n".join(block for kind, block in blocks if kind == "python"))
    done = subprocess.run(
        [sys.executable, "tutorial.py"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAID[name], done.stdout), done.stdout
