"""A soak test of a Dask cluster: kill -9 of driver, scheduler and workers at random moments, over TLS.

    python benchmarks/bench_dask_kills.py [KILLS] [SEED]

Scheduler and two workers are processes of their own on loopback, with certificates made by openssl; whichever
was killed, or ends because of that, is begun again, and the driver resumes. Steps are programs. Printed, and
to be 0 but for the kills: rounds lost, orphans (processes of a killed one that live 5 s later), and studies
whose end differs from that of one process.
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
from bench_kills import MODEL, PROGRAMS, ROOT, SECONDS, TOKEN, content, rounds

from scenarios import load, run
from scenarios.study.study import Study


def certificate(folder):
    """Make a certificate that signs itself, and the settings by which Dask uses it for all."""
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=soak -keyout key.pem -out cert.pem"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
    tls = {"CA_FILE": folder / "cert.pem"}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        tls |= {f"{who}__CERT": folder / "cert.pem", f"{who}__KEY": folder / "key.pem"}
    settings = {f"DASK_DISTRIBUTED__COMM__TLS__{key}": str(value) for key, value in tls.items()}
    return {**settings, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}


class Cluster:
    """A scheduler, two workers and a driver, each begun again when it has ended."""

    def __init__(self, folder, seed):
        self.folder, self.moments, self.counts = folder, random.Random(seed), Counter()
        self.tls = certificate(folder)
        (folder / "model.py").write_text(MODEL)
        (folder / "programs.toml").write_text(PROGRAMS.replace("PYTHON", sys.executable))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tls://127.0.0.1:{free.getsockname()[1]}"
        self.processes, self.tokens, self._number, self._due = {}, {}, 0, []
        self.out = folder / "0.sqlite"

    def words(self, who):
        """The command of one of them."""
        if who == "driver":
            code = [
                "-c",
                "from scenarios.cli import main; main()",
                "run",
                self.folder / "programs.toml",
                "--trust",
            ]
            more = [
                "--out",
                self.out,
                "--resume",
                "--backend",
                "dask",
                "--scheduler",
                self.address,
                "--quiet",
            ]
            return [*code, *more]
        here = ["--host", "tls://127.0.0.1", "--no-dashboard"]
        if who == "scheduler":
            port = self.address.rpartition(":")[2]
            return ["-m", "distributed.cli.dask_scheduler", *here, "--port", port]
        more = ["--nthreads", "1", "--no-nanny", "--local-directory", self.folder, "--death-timeout", "60"]
        return ["-m", "distributed.cli.dask_worker", self.address, *here, *more]

    def begin(self, who):
        """Begin one that is not there."""
        process = self.processes.get(who)
        if process is not None and process.poll() is None:
            return
        self._number += 1
        self.tokens[who] = f"{os.getpid()}-{self._number}-"
        environment = {**os.environ, **self.tls, "PYTHONPATH": str(ROOT), TOKEN: self.tokens[who]}
        with (self.folder / f"{who}.log").open("ab") as log:
            self.processes[who] = subprocess.Popen(
                [sys.executable, *map(str, self.words(who))],
                env=environment, cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self, who):
        """Kill one, and look later for what it has left."""
        self.processes[who].kill()
        self.processes[who].wait()
        self._due.append((time.monotonic() + SECONDS, self.tokens[who], who))
        self.counts[f"kills of {who.split()[0]}"] += 1
        self.counts["kills"] += 1
        if self.counts["kills"] % 10 == 0:
            print(dict(self.counts), flush=True)

    def look(self, patient=False):
        """Look for orphans of those that were killed long enough ago."""
        while self._due and (patient or self._due[0][0] <= time.monotonic()):
            when, token, who = self._due.pop(0)
            time.sleep(max(0.0, when - time.monotonic()))
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    if process.environ().get(TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE:
                        self.counts["orphans"] += 1
                        print("orphan of", who, process.cmdline(), flush=True)
                        process.kill()

    def go(self, kills):
        """Kill until there were so many, and each study has ended."""
        everybody = ("scheduler", "worker 1", "worker 2", "driver")
        whole = content(run(load(self.folder / "programs.toml"), out=self.folder / "whole.sqlite"))
        studies = 0
        try:
            while self.counts["kills"] < kills:
                for who in everybody:
                    self.begin(who)
                before, until = rounds(self.out), time.monotonic() + self.moments.uniform(0.5, 15)
                while time.monotonic() < until and self.processes["driver"].poll() is None:
                    time.sleep(0.05)
                before |= rounds(self.out)
                if self.processes["driver"].poll() == 0:
                    self.counts["differ"] += content(Study(self.out)) != whole
                    studies += 1
                    self.out = self.folder / f"{studies}.sqlite"
                    print(studies, "studies", dict(self.counts), flush=True)
                    continue
                self.kill(self.moments.choice(everybody))
                self.counts["rounds lost"] += len(before - rounds(self.out))
                self.look()
            self.look(patient=True)
        finally:
            for process in self.processes.values():
                process.kill()
                process.wait()
        return studies


def main():
    """Kill, resume, compare."""
    with tempfile.TemporaryDirectory() as name:
        cluster = Cluster(Path(name), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
        try:
            studies = cluster.go(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
        except BaseException:
            print((Path(name) / "driver.log").read_text()[-2000:])
            raise
        print(studies, "studies", dict(cluster.counts))


if __name__ == "__main__":
    main()
