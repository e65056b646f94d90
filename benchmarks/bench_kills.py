"""A soak test: kill -9 of whole runs at random moments, each of which is resumed, and compared in the end.

    python benchmarks/bench_kills.py [KILLS] [SEED]

A quarter of the runs has two worker processes, which are killed with it. Printed: kills, rounds that a run
had told of and that the study lost, and studies whose end differs from an undisturbed one's. Both must be 0.
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from scenarios import load, run
from scenarios.errors import UserError
from scenarios.running.progress import Progress
from scenarios.study.study import Study

FLU = """
name = "flu-small"
rounds = 15
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


class Telling(Progress):
    """Writes every stored round to a pipe, as soon as the run knows of it."""

    def __init__(self, pipe):
        self._pipe = pipe

    def seen(self, record):
        os.write(self._pipe, f"{record.trial}/{record.agent}/{record.round} ".encode())


def killed(scenario, out, jobs, after):
    """Run in a process group of its own, kill it after some seconds: whether it lived, and what it told."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.setsid()
            os.close(ours)
            run(scenario, out=out, resume=True, jobs=jobs, progress=Telling(theirs))
            os._exit(0)
        os._exit(1)
    os.close(theirs)

    def kill():
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)

    timer = threading.Timer(after, kill)
    timer.start()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    kill()  # workers that are left
    with os.fdopen(ours, "rb") as pipe:
        told = set(pipe.read().decode().split())
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a run failed by itself")
    return os.WIFSIGNALED(status), told


def content(study):
    """All that a study holds, without the wall times."""
    rows = [one._replace(seconds=0.0, step_seconds=0.0) for one in study.rounds()]
    return rows, study.recommendations(), study.worlds


def main():
    """Kill, resume, compare."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    moments = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    kills = lost = differ = studies = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "flu-small.toml").write_text(FLU)
        scenario = load(folder / "flu-small.toml")
        whole = {}
        for jobs in (1, 2):
            began = time.monotonic()
            killed(scenario, folder / f"undisturbed-{jobs}.sqlite", jobs, 600)
            whole[jobs] = time.monotonic() - began
        undisturbed = content(Study(folder / "undisturbed-1.sqlite"))
        assert content(Study(folder / "undisturbed-2.sqlite")) == undisturbed
        while kills < wanted:
            out, known, lived = folder / f"{studies}.sqlite", set(), True
            while lived:
                jobs = 2 if moments.random() < 0.25 else 1
                lived, told = killed(scenario, out, jobs, moments.uniform(0, 0.6 * whole[jobs]))
                kills += lived
                known |= told
                with suppress(UserError):  # killed before anything was stored
                    rows = Study(out).rounds()
                    lost += len(known - {f"{one.trial}/{one.agent}/{one.round}" for one in rows})
            differ += content(Study(out)) != undisturbed
            studies += 1
            print(
                f"{kills} kills, {studies} studies, {lost} rounds lost, {differ} ends that differ", flush=True
            )


if __name__ == "__main__":
    main()
