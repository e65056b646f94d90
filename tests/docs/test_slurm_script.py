"""The tutorial's job script keeps the study where a requeued job finds it, on any machine."""

import os
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "cluster.md"
POLICYLOOP = """#!/usr/bin/env python3
# In policyloop's place: stores one more round, and ends as a run does that SLURM stops before its fourth.
import os, sqlite3, sys, time

out = sys.argv[sys.argv.index("--out") + 1]
connection = sqlite3.connect(out)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("CREATE TABLE IF NOT EXISTS rounds (share TEXT)")
with connection:
    connection.execute("INSERT INTO rounds VALUES (?)", (sys.argv[sys.argv.index("--share") + 1],))
done = connection.execute("SELECT count(*) FROM rounds").fetchone()[0]
if "FAILS" in os.environ:  # the machine fails after the next copy was kept
    while not os.path.exists(os.environ["SHARED"]):
        time.sleep(0.02)
    os.killpg(os.getpgrp(), 9)
connection.close()
sys.exit(0 if done == 4 else 143)
"""
COMMANDS = {
    "policyloop": POLICYLOOP,
    "srun": '#!/bin/sh\nexec "$@"\n',
    "scontrol": '#!/bin/sh\necho "$@" >> scontrol\n',
    "sleep": "#!/bin/sh\nexec /bin/sleep 0.1\n",
}


@pytest.fixture
def script(tmp_path):
    (text,) = re.findall(
        r'^```bash title="wards.slurm"\n(.*?)^```$', PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "shared").mkdir()
    for name, content in COMMANDS.items():
        (tmp_path / "bin" / name).write_text(content)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "shared" / "wards.slurm").write_text(text)
    return tmp_path / "shared" / "wards.slurm"


def begin(script, machine, **variables):
    """Run the script as SLURM would, on a machine with a local disk of its own."""
    disk = script.parents[1] / machine
    disk.mkdir()
    found = {
        **os.environ,
        "PATH": os.pathsep.join([str(script.parents[1] / "bin"), os.environ["PATH"]]),
        "TMPDIR": str(disk),
        "SLURM_JOB_ID": "77",
        "SLURM_SUBMIT_DIR": str(script.parent),
        **variables,
    }
    command = ["bash", str(script)]
    return subprocess.run(command, cwd=script.parent, env=found, capture_output=True, start_new_session=True)


def rounds(path):
    return [share for (share,) in sqlite3.connect(path).execute("SELECT share FROM rounds")]


def test_a_requeued_job_goes_on_on_another_machine(script):
    shared = script.parent / "wards-1.sqlite"
    for turn in (1, 2, 3):
        assert begin(script, f"machine-{turn}").returncode == 143
        assert rounds(shared) == ["1/1"] * turn
    assert begin(script, "machine-4").returncode == 0
    assert rounds(shared) == ["1/1"] * 4
    # Asked for again as often as time was up, and not after the end.
    assert (script.parent / "scontrol").read_text() == "requeue 77\n" * 3


def test_a_machine_that_fails_costs_what_came_after_the_last_copy(script):
    shared = script.parent / "wards-1.sqlite"
    assert begin(script, "machine-1", FAILS="", SHARED=str(shared)).returncode == -9
    assert rounds(shared) == ["1/1"]
    assert begin(script, "machine-2").returncode == 143
    assert rounds(shared) == ["1/1"] * 2


def test_each_task_of_an_array_does_its_share_into_a_file_of_its_own(script):
    for task in ("2", "3"):
        begin(script, f"machine-{task}", SLURM_ARRAY_TASK_ID=task, SLURM_ARRAY_TASK_MAX="20")
    assert rounds(script.parent / "wards-2.sqlite") == ["2/20"]
    assert rounds(script.parent / "wards-3.sqlite") == ["3/20"]


def test_its_directives_are_slurm_s_and_stand_before_the_first_command(script):
    lines = script.read_text().splitlines()
    directives = [line for line in lines if line.startswith("#SBATCH")]
    assert lines[0] == "#!/bin/bash" and lines[1 : 1 + len(directives)] == directives
    known = r"--(job-name|cpus-per-task|time|requeue|signal)(=\S+)?"
    assert all(re.fullmatch(rf"#SBATCH {known}", line) for line in directives)
    assert "#SBATCH --requeue" in directives and "#SBATCH --signal=TERM@120" in directives
