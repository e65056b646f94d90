"""How tests compare studies, start the command line, and watch it."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psutil

from scenarios import load, run
from scenarios.study.records import StoredRound
from scenarios.study.study import Study

ROOT = Path(__file__).parents[3]


def study_of(folder: Path, text: str) -> Study:
    """The finished study of a scenario's text, in a folder."""
    (folder / "s.toml").write_text(text)
    return run(load(folder / "s.toml"), out=folder / "s.sqlite")


def valley_study(folder, rounds, options="{}"):
    """The finished study of two agents without a model on two trials of the environment `valley`."""
    return study_of(
        folder,
        f'name = "s"\nrounds = {rounds}\ntrials = 2\nagents = ["random", "uniform"]\n[environment]\n'
        f'name = "valley"\noptions = {options}\n[prior]\nsamples = 0\n',
    )


# Rounds of a flu model, with the agents that learn: what a real study is made of, but small.
FLU = """
name = "flu-small"
rounds = 10
trials = 2
seed = 5
agents = ["d-gpucb", "gp-ucb", "random"]
[environment]
name = "flu-ode"
options = { days = 100 }
[prior]
samples = 12
restarts = 0
"""


def results(study: Study) -> tuple[pd.DataFrame, list, list]:
    """Return all that a study holds, without the wall times."""
    rows = [one._replace(seconds=0.0, step_seconds=0.0) for one in study.rounds()]
    return study.to_dataframe().drop(columns="seconds"), rows, study.recommendations()


def assert_same(one: Study, other: Study) -> None:
    """Check that two studies are equal, bit for bit."""
    first, second = results(one), results(other)
    pd.testing.assert_frame_equal(first[0], second[0], check_exact=True)
    assert first[1] == second[1] and first[2] == second[2]
    assert one.worlds == other.worlds


def start(*arguments: object, background: bool = False) -> subprocess.Popen[str]:
    """Run the command line in a process group of its own; in the background a shell ignores SIGINT."""
    path = os.environ.get("PYTHONPATH", "")
    words = [str(argument) for argument in arguments]
    words += ["--trust"] if words[0] in ("run", "resume") else []
    return subprocess.Popen(
        [sys.executable, "-c", "from scenarios.cli import main; main()", *words],
        env={**os.environ, "PYTHONPATH": path if str(ROOT) in path else str(ROOT)},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if background else None,
    )


def eventually(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait for a condition; a minute is far longer than even a busy machine takes."""
    until = time.monotonic() + 60
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    """Read what a process writes to standard error until a line holds some words."""
    assert process.stderr is not None
    read = []
    while not read or words not in read[-1]:
        read.append(process.stderr.readline())
        assert read[-1], read


def lines(path: Path) -> int:
    """How many lines a file has; none where there is no file."""
    return len(path.read_text().splitlines()) if path.exists() else 0


def wait_for_rounds(process: subprocess.Popen[str], out: Path, least: int) -> int:
    """Wait until a study holds some rounds, and return how many."""
    count = 0
    while count < least:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
        try:
            connection = sqlite3.connect(f"{out.resolve().as_uri()}?mode=rw", uri=True)
            count = connection.execute("SELECT count(*) FROM rounds").fetchone()[0]
            connection.close()
        except sqlite3.Error:
            continue
    return count


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the loky workers of a run."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if any("popen_loky" in word for word in child.cmdline())]


def a_round(**changes: object) -> StoredRound:
    """Return a round as the store takes it, with what is awkward to store in it."""
    record = StoredRound(
        trial=1, agent="a", round=1, policy=[0.1, 1 / 3], row=None, outcomes=[math.pi, math.nan],
        noise_variance=None, objective=math.nan, expected=5e-324,
        expected_outcomes=[1 / 7, math.nan], regret=0.1 + 0.2, seconds=1e-3,
        step_seconds=1e300, status="partial", error="",
    )  # fmt: skip
    return record._replace(**changes)
