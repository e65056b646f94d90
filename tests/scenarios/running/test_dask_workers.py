"""A Dask cluster, with its scheduler and workers in processes of their own, gives the same study."""

import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest
from studies import assert_same, eventually, start, wait_for_rounds

from scenarios import UserError, load, run
from scenarios.running.dispatch import workforce
from scenarios.study.study import Study

distributed = pytest.importorskip("distributed")

QUIET = {"DASK_LOGGING__DISTRIBUTED": "error"}


def dask(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
        env={**os.environ, **QUIET},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def cluster(flu):
    """A scheduler and two workers on loopback: the address, and the workers' processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    options = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny")
    options += ("--local-directory", str(flu.parent))
    workers = [dask("worker", address, *options) for _ in range(2)]
    processes = [scheduler, *workers]
    try:
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, workers
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_ends_as_one_process_does(cluster, flu, undisturbed, tmp_path):
    address, workers = cluster
    out = tmp_path / "s.sqlite"
    process = start("run", flu, "--out", out, "--backend", "dask", "--scheduler", address)
    wait_for_rounds(process, out, 12)
    workers[0].send_signal(signal.SIGKILL)
    kept = Study(out).to_dataframe()
    _, error = process.communicate(timeout=100)
    assert process.returncode == 0 and "Traceback" not in error, error
    ended = Study(out)
    assert_same(ended, undisturbed)
    # The kept rounds were not run again: their times are those of the lost worker.
    assert len(kept) < 60 and kept["seconds"].isin(ended.to_dataframe()["seconds"]).all()
    again = run(load(flu), out=tmp_path / "t.sqlite", backend="dask", scheduler=address)
    assert_same(again, undisturbed)


SLEEPS = """
name = "sleeps"
rounds = 2
trials = 1
agents = ["random"]
[environment]
name = "command"
[environment.options]
command = ["sh", "-c", "echo $$ > $POLICYLOOP_FOLDER/pid; exec sleep 600"]
folder = "."
groups = ["left", "right"]
policy = { x = [0, 1] }
seconds = 1000.0
[prior]
samples = 0
"""


@pytest.mark.slow
def test_a_cluster_stops_after_the_rounds_in_flight(cluster, flu, undisturbed, tmp_path):
    out = tmp_path / "s.sqlite"
    process = start("run", flu, "--out", out, "--backend", "dask", "--scheduler", cluster[0])
    wait_for_rounds(process, out, 5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert f"--backend dask --scheduler {cluster[0]} --resume" in error
    assert 5 <= len(Study(out).rounds()) < 60
    assert_same(run(load(flu), out=out, resume=True), undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["driver", "worker"])
def test_programs_on_a_cluster_end_when_their_driver_or_their_worker_is_killed(killed, cluster, tmp_path):
    address, workers = cluster
    (tmp_path / "s.toml").write_text(SLEEPS)
    where = ("--backend", "dask", "--scheduler", address)
    process = start("run", tmp_path / "s.toml", "--out", tmp_path / "s.sqlite", *where)
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), process)
    program = psutil.Process(int((tmp_path / "pid").read_text()))
    worker = next(one for one in program.parents() if one.pid in [each.pid for each in workers])
    (process if killed == "driver" else worker).kill()
    eventually(lambda: not program.is_running())
    process.kill()
    process.communicate()
    assert worker.is_running() == (killed == "driver") or worker.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_a_local_cluster_starts_by_itself_on_loopback_alone(flu, tmp_path):
    out, few = tmp_path / "s.sqlite", ("--agents", "random", "--rounds", 4)
    process = start("run", flu, "--out", out, *few, "--backend", "dask", "--jobs", 2)
    wait_for_rounds(process, out, 1)
    family = psutil.Process(process.pid)
    listening = [
        socket.laddr.ip
        for member in (family, *family.children(recursive=True))
        for socket in member.net_connections()
        if socket.status == psutil.CONN_LISTEN
    ]
    _, error = process.communicate(timeout=100)
    assert process.returncode == 0 and "8 of 8 rounds stored" in error and "distributed" not in error
    assert set(listening) == {"127.0.0.1"}
    plan = load(flu, {"agents": ["random"], "rounds": 4})
    assert_same(Study(out), run(plan, out=tmp_path / "t.sqlite"))


def test_a_scheduler_that_does_not_answer_is_named(flu, policyloop, tmp_path, monkeypatch):
    monkeypatch.setattr("scenarios.running.dask_workers.CONNECT_SECONDS", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        code, _, error = policyloop(
            "run", flu, "--out", tmp_path / "s", "--backend", "dask", "--scheduler", address
        )
    assert code == 2 and f"--scheduler = {address}: no Dask scheduler answers" in error
    assert error.count("\n") == 1 and not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--backend", "dusk"), "--backend = dusk; accepted: loky, dask"),
        (("--scheduler", "tcp://127.0.0.1:1"), "accepted: only with --backend dask"),
        (("--backend", "dask", "--jobs", 0), "--jobs = 0"),
        (("--backend", "dask", "--scheduler", "nowhere"), "--scheduler = nowhere: no Dask scheduler"),
    ],
)
def test_impossible_workforces_are_refused_in_one_line(options, words, flu, policyloop, tmp_path):
    code, _, error = policyloop("run", flu, "--out", tmp_path / "s", *options)
    assert code == 2 and words in error and error.count("\n") == 1 and not (tmp_path / "s").exists()


def test_without_dask_the_way_to_install_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UserError, match=r'backend "dask" needs Dask: pip install .policyloop\[dask\]'),
        workforce("dask", None, 2),
    ):
        pass
