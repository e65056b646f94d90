"""Rounds reach the store once, in JSON, from the worker that owns the trial and from nobody else."""

import ast
import os
import subprocess
import sys
import time
from multiprocessing.connection import Client
from pathlib import Path

import pytest
from studies import a_round

from scenarios.running.collector import Collector
from scenarios.study.store import Store
from scenarios.study.study import Study
from scenarios.trial.sink import DriverGone, WorkerSink

ROOT = Path(__file__).parents[3]


@pytest.fixture
def collector(tmp_path):
    with Store(tmp_path / "s") as store, Collector(store, lambda record: None, host="127.0.0.1") as opened:
        yield opened


def rounds(collector, trial=1, agent="a"):
    return [one.round for one in collector._store.history(trial, agent)]


def wait_until(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_who_claims_a_trial_takes_it_from_the_worker_before(collector):
    lost, heir = (WorkerSink(collector.address, collector.key) for _ in range(2))
    assert lost.claim(1, "a").rounds == []
    lost.put(a_round(round=1))
    wait_until(lambda: rounds(collector) == [1])
    assert [one.round for one in heir.claim(1, "a").rounds] == [1]
    with pytest.raises(DriverGone):
        for _ in range(1000):  # it notices by its next rounds, none of which is stored
            lost.put(a_round(round=2, objective=-1.0))
            time.sleep(0.01)
    heir.put(a_round(round=2, objective=1.0))
    wait_until(lambda: rounds(collector) == [1, 2])
    assert collector._store.history(1, "a")[1].objective == 1.0 and collector.error is None


def test_workers_are_told_to_stop(collector):
    working = WorkerSink(collector.address, collector.key)
    assert working.claim(1, "a").rounds == [] and not working.stopping
    collector.stop()
    wait_until(lambda: working.stopping)
    assert WorkerSink(collector.address, collector.key).claim(2, "a") is None
    assert collector.claim(3, "a") is None


@pytest.mark.parametrize("greeting", [b"", b"hello", b'{"round": {}}'])
def test_a_stranger_is_not_let_in_and_keeps_nobody_waiting(collector, greeting):
    silent = Client(collector.address)
    stranger = Client(collector.address)
    stranger.send_bytes(greeting)
    with pytest.raises(DriverGone):
        WorkerSink(collector.address, b"another key").claim(1, "a")
    worker = WorkerSink(collector.address, collector.key)
    assert worker.claim(1, "a").rounds == []
    worker.put(a_round())
    wait_until(lambda: rounds(collector) == [1])
    silent.close()
    stranger.close()


def test_nothing_that_arrives_or_is_read_can_be_executed():
    found = []
    packages = ("simulators", "optimizer", "bridges", "scenarios")
    # `check_environment` pickles what its caller made, to see whether it can be.
    files = {path for package in packages for path in (ROOT / package).rglob("*.py")}
    for path in sorted(files - {ROOT / "simulators" / "contract" / "checker.py"}):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found += [(path.name, name.name) for name in node.names if name.name in FORBIDDEN]
            elif isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN:
                # Checksums are made of the bytes that marshal writes; reading is what can do harm.
                if (node.module, [one.name for one in node.names]) != ("marshal", ["dumps"]):
                    found.append((path.name, node.module))
            elif isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                shell = any(one.arg == "shell" for one in node.keywords)
                if name in ("eval", "exec", "os.system", "os.popen", "yaml.load") or shell:
                    found.append((path.name, name))
                if name.endswith(".load") and any(one.arg == "allow_pickle" for one in node.keywords):
                    found.append((path.name, name))
    assert found == []


FORBIDDEN = {"pickle", "cloudpickle", "dill", "shelve", "marshal", "joblib.numpy_pickle"}


FEW_FILES = """
import os, resource, sys, time
from pathlib import Path
from scenarios.running.collector import Collector
from scenarios.study.store import Store
from scenarios.study.study import Study
from scenarios.trial.sink import WorkerSink

resource.setrlimit(resource.RLIMIT_NOFILE, (48, int(sys.argv[2])))
with Store(Path(sys.argv[1])) as store, Collector(store, print, host="") as collector:
    for _ in range(3):
        if os.fork() == 0:
            sinks = [WorkerSink(collector.address, collector.key) for _ in range(20)]
            time.sleep(60)
            os._exit(0)
    try:
        while len(collector._readers) < 60:
            time.sleep(0.01)
    except KeyboardInterrupt:
        print(collector.error)
    print(len(collector._readers), flush=True)
    os.killpg(0, 9)
"""


@pytest.mark.parametrize(
    ("most", "words"), [(400, "60\n"), (48, "more workers than this process may have open files, 48")]
)
def test_as_many_workers_as_the_system_permits_are_let_in_and_no_more(most, words, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FEW_FILES, tmp_path / "s.sqlite", str(most)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    assert done.stdout.startswith(words), done.stderr


@pytest.mark.slow
def test_a_temporary_folder_with_a_long_name_leaves_workers_a_way(flu_file, tmp_path):
    """A socket's name has room for some hundred characters."""
    temporary = tmp_path / ("long" * 30)
    temporary.mkdir()
    words = ["run", flu_file, "--out", tmp_path / "s.sqlite", "--jobs", "2", "--trust", "--quiet"]
    ended = subprocess.run(
        [sys.executable, "-c", "from scenarios.cli import main; main()", *map(str, words)],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert len(Study(tmp_path / "s.sqlite").rounds()) == 4


@pytest.fixture
def flu_file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        'name = "small"\nrounds = 2\ntrials = 2\nagents = ["random"]\n[environment]\nname = "flu-ode"\n'
        "options = { days = 40 }\n[prior]\nsamples = 0\n"
    )
    return path
