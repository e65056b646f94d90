"""The tutorials run: each in an empty folder, its files written, Python and commands from top to end."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "tutorials"
RUN = ROOT / "docs" / "_site" / "run_page.py"
SAID = {  # what the last lines of each have to say
    "vaccinate": r"recommended [01]\.\d+, the same share for all 1\.4",
    "country": r"today \d+\.\d, recommended \d+\.\d hospitalisations per 100,000 persons",
    "levers": r"nurses.*\broster",
    "program": r"shade 0\.[45]\d, trees [4-8]\n",
    "limits": r"limit kept: (True|False)\n\{'total': \d",
    "five-questions": r"the worst group gains \d\.\d+",
    "sensors": r"station \d+ ",
    "comparing": r"mean +-?\d",
    "extending": r"learned fastest here: \S+",
    "cluster": r"the same study by processes, by Dask and in shares: True",
}
PROGRAM = (FOLDER / "program.md").read_text(encoding="utf-8")
ASKED = {"policy": {"shade": 0.25, "trees": 6}, "seed": 1234}
NETLOGO = """#!/bin/sh
# In NetLogo's place: answers with the experiment that it was given.
test "$*" = "--model here/street.nlogo --setup-file step.xml --experiment step --table table.csv"
value() { sed -n "s/.*variable=.$1.><value value=.\\([0-9.]*\\).*/\\1/p" step.xml; }
shade=$(value shade) trees=$(value trees)
printf '"[run number]","shade","trees","[step]","heat-north","heat-south","price"\\n' > table.csv
printf '"1","%s","%s","365","%s","%s","7"\\n' $shade $trees $shade $trees >> table.csv
"""
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")


def test_every_tutorial_is_run():
    assert sorted(SAID) == sorted(page.stem for page in FOLDER.glob("*.md"))


@pytest.mark.parametrize(
    "name", [name if name == "levers" else pytest.param(name, marks=pytest.mark.slow) for name in SAID]
)
def test_a_tutorial_runs_says_what_it_promises_and_makes_the_figures_that_it_shows(name, tmp_path):
    page = FOLDER / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert text.count("\n") < 120
    done = subprocess.run(
        [sys.executable, str(RUN), str(page), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160", "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAID[name], done.stdout), done.stdout
    shown = IMAGE.findall(text)
    assert shown and [one for one in shown if not (tmp_path / one).is_file()] == []
    assert [one for one in shown if not (FOLDER / one).is_file()] == []


def listing(name):
    (text,) = re.findall(rf'^```\w+ title="{re.escape(name)}"\n(.*?)^```$', PROGRAM, re.DOTALL | re.MULTILINE)
    return text


def answer(command, folder, **variables):
    done = subprocess.run(
        command,
        cwd=folder,
        input=json.dumps(ASKED),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_program_in_r_is_the_one_in_python(tmp_path):
    (tmp_path / "street.R").write_text(listing("street.R"))
    found = answer(["Rscript", "street.R"], tmp_path)
    assert found == {  # by hand: 30 - 4/2 - 2.4, 34 - 9/4 - 1.2, 12/16 + 1.8
        "north": pytest.approx(25.6, abs=0.5),
        "south": pytest.approx(30.55, abs=0.5),
        "price": pytest.approx(2.55),
    }
    assert found == answer(["Rscript", "street.R"], tmp_path)


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_script_for_netlogo_hands_over_the_policy_and_reads_the_last_line(tmp_path):
    for name, text in (("street.sh", listing("street.sh")), ("netlogo-headless.sh", NETLOGO)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    found = answer(["./street.sh"], tmp_path, PATH=path, POLICYLOOP_FOLDER="here")
    assert found == {"north": 0.25, "south": 6, "price": 7}
    assert "random-seed 1234 setup" in (tmp_path / "step.xml").read_text()
