"""A soak test: kill -9 of runs, resumes, merges and plots at random moments, many with programs running.

    python benchmarks/bench_kills.py [KILLS] [SEED]

Every command is killed some moments after it began, by its process id alone, and begun again at once. A
program of a step leaves a child in its group and one in a session of its own. Printed, and all to be 0:

- rounds lost: stored before a kill, and not after it;
- refused: commands that did not go on at once, or failed by themselves;
- orphans: processes of a killed command that live 5 s later, or folders of its steps;
- half files: studies or figures that are there and not whole;
- differ: studies whose end is not an undisturbed one's, bit for bit.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from scenarios.errors import UserError
from scenarios.study.study import Study

ROOT = Path(__file__).parents[1]
TOKEN = "POLICYLOOP_SOAK"
SECONDS = 5.0

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

PROGRAMS = """
name = "programs"
rounds = 12
trials = 1
seed = 5
agents = ["uniform", "random"]
[environment]
name = "command"
[environment.options]
command = ["PYTHON", "-S", "model.py"]
folder = "."
groups = ["left", "right"]
policy = { x = [0, 1] }
answer = "result.json"
[prior]
samples = 0
"""

MODEL = """
import json, subprocess, sys, time
x = json.load(sys.stdin)["policy"]["x"]
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["sleep", "600"], start_new_session=True)
with open("state.json", "w") as file:
    json.dump([x, 1 - x], file)
time.sleep(0.03)
with open("result.json", "w") as file:
    json.dump(json.load(open("state.json")), file)
"""


class Soak:
    """Kills commands in a folder, and counts what that does."""

    def __init__(self, folder, seed):
        self.folder, self.moments = folder, random.Random(seed)
        self.counts = Counter()
        self._due = []  # (when, token) of orphans to look for
        self._number = 0
        (folder / "model.py").write_text(MODEL)
        (folder / "temporary").mkdir()
        (folder / "flu.toml").write_text(FLU)
        (folder / "programs.toml").write_text(PROGRAMS.replace("PYTHON", sys.executable))
        self.whole, self.seconds = {}, {}
        for name in ("flu", "programs"):
            out = folder / f"{name}-undisturbed.sqlite"
            self.seconds[name] = self._undisturbed("run", folder / f"{name}.toml", "--trust", "--out", out)
            self.whole[name] = content(Study(out))
        for k in (1, 2):
            self._undisturbed("run", folder / "flu.toml", "--out", folder / f"share-{k}", "--share", f"{k}/2")
        merge, plot = self._merge("merged-undisturbed"), self._plot("figures-undisturbed")
        self.seconds |= {"merge": self._undisturbed(*merge), "plot": self._undisturbed(*plot)}
        print(
            "seconds undisturbed:", {name: round(took, 1) for name, took in self.seconds.items()}, flush=True
        )
        self.merged = content(Study(folder / "merged-undisturbed"))

    def _merge(self, out):
        shares = [self.folder / f"share-{k}" for k in (1, 2)]
        return ["merge", *shares, "--out", self.folder / out, "--force"]

    def _plot(self, out):
        return ["plot", self.folder / "flu-undisturbed.sqlite", "--out", self.folder / out, "--force"]

    def _begin(self, *words):
        self._number += 1
        token = f"{os.getpid()}-{self._number}-"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            TOKEN: token,
            "TMPDIR": str(self.folder / "temporary"),
        }
        code = "from scenarios.cli import main; main()"
        words = [sys.executable, "-c", code, *map(str, words)]
        with (self.folder / "errors").open("wb") as errors:
            process = subprocess.Popen(
                words, env=environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=errors
            )
        return process, token

    def _undisturbed(self, *words):
        began = time.monotonic()
        process, token = self._begin(*words)
        assert process.wait() == 0, (self.folder / "errors").read_text()
        self._due.append((time.monotonic() + SECONDS, token))
        return time.monotonic() - began

    def kill(self, after, *words, known=None):
        """Begin a command and kill it after some seconds: whether it lived until then."""
        process, token = self._begin(*words)
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        if known is not None:
            known |= rounds(known.path)
        process.kill()
        code = process.wait()
        self._due.append((time.monotonic() + SECONDS, token))
        self._look()
        lived = code == -9
        self.counts["kills"] += lived
        self.counts[f"kills of {words[0]}"] += lived
        if lived and self.counts["kills"] % 10 == 0:
            print(dict(self.counts), flush=True)
        if not lived and code != 0:
            self.counts["refused"] += 1
            print(words[0], "failed by itself:", (self.folder / "errors").read_text(), flush=True)
        return lived

    def _look(self, patient=False):
        """Look for orphans of commands that ended long enough ago."""
        while self._due and (patient or self._due[0][0] <= time.monotonic()):
            when, token = self._due.pop(0)
            time.sleep(max(0.0, when - time.monotonic()))
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    if process.environ().get(TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE:
                        self.counts["orphans"] += 1
                        print("orphan:", process.pid, " ".join(process.cmdline())[:150], flush=True)
                        process.kill()

    def study(self, name, jobs, each):
        """Kill runs of a scenario until one ends, `each` times at most; compare it with one not disturbed."""
        out = self.folder / f"{self._number}.sqlite"
        known, lived = Known(out), True
        words = [
            "run",
            self.folder / f"{name}.toml",
            "--out",
            out,
            "--resume",
            "--quiet",
            "--trust",
            "--jobs",
            jobs,
        ]
        while lived:
            each -= 1
            # Most kills come early, while a command begins; some late enough that the study gets on.
            most = 0.7 * self.seconds[name] if self.moments.random() < 0.25 else 4.0
            after = self.moments.uniform(0, most) if each >= 0 else 600
            lived = self.kill(after, *words, known=known)
            self.counts["kills with programs"] += lived and name == "programs"
            self.counts["rounds lost"] += len(known - rounds(out))
            words = ["resume", out, "--quiet", "--jobs", jobs] if rounds(out) else words
        with suppress(UserError):
            self.counts["differ"] += content(Study(out)) != self.whole[name]
            self.counts["studies"] += 1

    def merge(self):
        """Kill a merge over a study that is there."""
        self.kill(self.moments.uniform(0, self.seconds["merge"]), *self._merge("merged"))
        if (self.folder / "merged").exists():
            try:
                self.counts["half files"] += content(Study(self.folder / "merged")) != self.merged
            except UserError:
                self.counts["half files"] += 1

    def plot(self):
        """Kill a plot over figures that are there."""
        self.kill(self.moments.uniform(0, self.seconds["plot"]), *self._plot("figures"))
        ends = {".svg": b"</svg>", ".png": b"IEND\xaeB`\x82", ".pdf": b"%%EOF"}
        for path in (self.folder / "figures").glob("*"):
            if path.suffix in ends and not path.read_bytes().rstrip(b"\n").endswith(ends[path.suffix]):
                self.counts["half files"] += 1
                print("half a file:", path.name, flush=True)

    def go(self, kills, each=1000):
        """Kill until there were so many, and return what was counted."""
        while self.counts["kills"] < kills:
            self.study("programs", self.moments.choice([1, 2]), each)
            self.study("flu", self.moments.choice([1, 2]), each)
            for _ in range(2):
                self.merge()
                self.plot()
        self._look(patient=True)
        self.counts["orphans"] += len(list((self.folder / "temporary").glob("policyloop-*")))
        return self.counts


class Known(set):
    """Rounds that a study was seen to hold."""

    def __init__(self, path):
        super().__init__()
        self.path = path


def rounds(path):
    """The rounds that a study holds."""
    try:
        return {(one.trial, one.agent, one.round) for one in Study(path).rounds()}
    except UserError:
        return set()


def content(study):
    """All that a study holds, without the wall times."""
    rows = [one._replace(seconds=0.0, step_seconds=0.0) for one in study.rounds()]
    return rows, study.recommendations(), study.worlds


def main():
    """Kill, resume, compare."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as name:
        print(dict(Soak(Path(name), int(sys.argv[2]) if len(sys.argv) > 2 else 0).go(kills)))


if __name__ == "__main__":
    main()
