"""A soak test: kill -9 of runs, resumes, merges, plots and reports at random moments, with programs running.

    python benchmarks/bench_kills.py [KILLS] [SEED] [--of run,resume,merge,plot,report] [--programs 0.5]

Each of the five is killed as often as the others, some moments after it began, by its process id alone, and
begun again at once; in the end every study is gone on with to its end. A program of a step leaves a child in
its group and one in a session of its own. Printed, and all to be 0:

- rounds lost: stored before a kill, and not after it;
- refused: commands that did not go on at once, or failed by themselves;
- orphans: processes of a killed command that live 5 s later, or folders of its steps;
- half files: studies or figures that are there and not whole;
- differ: studies whose end is not an undisturbed one's, bit for bit.
"""

import argparse
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
COMMANDS = ("run", "resume", "merge", "plot", "report")

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

    def __init__(self, folder, seed, programs=0.5):
        self.folder, self.moments, self.programs = folder, random.Random(seed), programs
        self.counts = Counter()
        self.studies = []  # that have not ended
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
        for name, words in (
            ("merge", self._merge("merged-undisturbed")),
            ("plot", self._plot("figures-undisturbed")),
            ("report", self._report("undisturbed.html")),
        ):
            self.seconds[name] = self._undisturbed(*words)
        print(
            "seconds undisturbed:", {name: round(took, 1) for name, took in self.seconds.items()}, flush=True
        )
        self.merged = content(Study(folder / "merged-undisturbed"))

    def _merge(self, out):
        shares = [self.folder / f"share-{k}" for k in (1, 2)]
        return ["merge", *shares, "--out", self.folder / out, "--force"]

    def _plot(self, out):
        return ["plot", self.folder / "flu-undisturbed.sqlite", "--out", self.folder / out, "--force"]

    def _report(self, out):
        return ["report", self.folder / "flu-undisturbed.sqlite", "--out", self.folder / out, "--force"]

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

    def study(self, command):
        """Kill `run` or `resume` of a study: one that has no round yet, or one that has."""
        ready = [one for one in self.studies if bool(rounds(one.path)) == (command == "resume")]
        study = ready[0] if ready else self._new()
        # Most kills come early, while a command begins; some late enough that the study gets on.
        late = self.moments.random() < 0.25 or (command == "resume" and not ready)
        most = 0.7 * self.seconds[study.name] if late else 4.0
        self.kill_study(study, self.moments.uniform(0, most))

    def _new(self):
        # Of all kills, though merges, plots and reports have no programs.
        few = self.counts["kills with programs"] < self.programs * (self.counts["kills"] + 1)
        name = "programs" if few else "flu"
        self.studies.append(Known(self.folder / f"{self._number}.sqlite", name, self.moments.choice([1, 2])))
        return self.studies[-1]

    def kill_study(self, study, after):
        """Begin a study, or go on with it, and kill that some seconds later; compare one that has ended."""
        goes_on = ["--quiet", "--jobs", study.jobs]
        words = ["resume", study.path, *goes_on]
        if not rounds(study.path):
            file = self.folder / f"{study.name}.toml"
            words = ["run", file, "--out", study.path, "--resume", "--trust", *goes_on]
        lived = self.kill(after, *words, known=study)
        self.counts["kills with programs"] += lived and study.name == "programs"
        self.counts["rounds lost"] += len(study - rounds(study.path))
        if not lived:
            self.studies = [one for one in self.studies if one is not study]
            with suppress(UserError):
                self.counts["differ"] += content(Study(study.path)) != self.whole[study.name]
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

    def report(self):
        """Kill a report over one that is there."""
        self.kill(self.moments.uniform(0, self.seconds["report"]), *self._report("report.html"))
        page = self.folder / "report.html"
        if page.exists() and not page.read_bytes().rstrip().endswith(b"</html>"):
            self.counts["half files"] += 1
            print("half a file:", page.name, flush=True)

    def go(self, kills, commands=COMMANDS):
        """Kill the commands in turns until each had its share, and return what was counted."""
        while True:
            command = min(commands, key=lambda name: self.counts[f"kills of {name}"])
            if self.counts[f"kills of {command}"] >= kills / len(commands):
                break
            if command in ("run", "resume"):
                self.study(command)
            else:
                getattr(self, command)()
        for study in [*self.studies]:
            self.kill_study(study, 600)
        self._look(patient=True)
        for left in (self.folder / "temporary").glob("policyloop-*"):
            self.counts["orphans"] += 1
            print("left behind:", left.name, [one.name for one in left.rglob("*")], flush=True)
        return self.counts


class Known(set):
    """Rounds that a study was seen to hold, and whose it is."""

    def __init__(self, path, name, jobs):
        super().__init__()
        self.path, self.name, self.jobs = path, name, jobs


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kills", type=int, nargs="?", default=300)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--of", default=",".join(COMMANDS), help="the commands to kill")
    parser.add_argument(
        "--programs", type=float, default=0.5, help="the share of kills with programs running"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        soak = Soak(Path(name), options.seed, options.programs)
        print(dict(soak.go(options.kills, options.of.split(","))))


if __name__ == "__main__":
    main()
