"""Whatever a run has started ends with it, also where the run is killed, and the study is free at once."""

import json
import os
import sys
from contextlib import suppress

import psutil
import pytest
from studies import eventually, start

from scenarios import UserError, load
from scenarios.study.store import WriterLock
from scenarios.study.study import Study
from scenarios.trial.step_process import StepProcesses

WORLD = """
import os, re, subprocess, sys, time
from pathlib import Path

def tell():
    with open(Path(__file__).with_name("pids"), "a") as file:
        print(os.getpid(), file=file)

def left_by_a_step(x):
    tell()
    sleep = "import world, time; world.tell(); time.sleep(600)"
    folder = str(Path(__file__).parent)
    here = dict(os.environ, PYTHONPATH=os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))
    subprocess.Popen([sys.executable, "-c", sleep], env=here, start_new_session=True)
    return [x, 1 - x]

def waits(x):
    left_by_a_step(x)
    while True:
        time.sleep(60)

def keeps_python_to_itself(x):
    tell()
    re.match("(a+)+$", "a" * 60 + "b")  # for years, and no other thread runs meanwhile
"""

SCENARIO = """
name = "s"
rounds = 2
trials = 2
agents = ["random"]
[environment]
name = "{name}"
{limit}
[environment.options]
{options}
groups = ["left", "right"]
policy = {{ x = [0, 1] }}
[prior]
samples = 0
"""

PROGRAM = "import os, sys, time, world; world.tell(); os.fork(); world.tell(); time.sleep(600)"


@pytest.fixture
def scenario(tmp_path):
    def write(step, limit=""):
        (tmp_path / "world.py").write_text(WORLD)
        name, options = "function", f'f = "world.py:{step}"'
        if step == "program":
            name = "command"
            code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {PROGRAM}"
            options = f"command = {json.dumps([sys.executable, '-c', code])}\nseconds = 1000.0"
        path = tmp_path / "s.toml"
        path.write_text(SCENARIO.format(name=name, limit=limit, options=options))
        return path

    return write


def told(folder):
    """The processes that have told of themselves and have not ended."""
    path = folder / "pids"
    pids = [int(word) for word in path.read_text().split()] if path.exists() else []
    return [pid for pid in pids if psutil.pid_exists(pid) and not zombie(pid)]


def zombie(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(
    ("step", "jobs", "limit"),
    [
        pytest.param("program", 1, "", marks=pytest.mark.slow),
        ("program", 2, ""),
        pytest.param("waits", 1, "", marks=pytest.mark.slow),
        pytest.param("waits", 2, "", marks=pytest.mark.slow),
        pytest.param("waits", 1, "step_seconds = 1000.0", marks=pytest.mark.slow),
        pytest.param("keeps_python_to_itself", 2, "", marks=pytest.mark.slow),
        pytest.param("keeps_python_to_itself", 1, "step_seconds = 1000.0", marks=pytest.mark.slow),
    ],
)
def test_a_killed_run_leaves_no_process_and_may_be_resumed_at_once(step, jobs, limit, scenario, tmp_path):
    out = tmp_path / "s.sqlite"
    process = start("run", scenario(step, limit), "--out", out, "--jobs", jobs, "--quiet")
    least = 1 if step == "keeps_python_to_itself" else 2
    eventually(lambda: len(told(tmp_path)) >= least * jobs, process)
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    WriterLock(out).release()  # whatever is still alive, nobody holds it
    process.communicate()
    eventually(lambda: not told(tmp_path) and not any(one.is_running() for one in family))


@pytest.mark.slow
def test_what_steps_have_started_ends_with_a_run_that_is_finished(scenario, tmp_path):
    out = tmp_path / "s.sqlite"
    process = start("run", scenario("left_by_a_step"), "--out", out, "--quiet")
    _, error = process.communicate(timeout=100)
    assert process.returncode == 0, error
    assert len(Study(out).rounds()) == 4
    eventually(lambda: not told(tmp_path))


@pytest.mark.slow
def test_what_a_step_has_started_ends_with_its_time(scenario, tmp_path):
    spec = load(scenario("waits", "step_seconds = 3.0")).environment
    with StepProcesses(spec, spec.options) as steps:
        [lost] = steps.take([(1, [0.5])])
        assert "took longer than 3 s" in str(lost.outcomes) and (tmp_path / "pids").exists()
        eventually(lambda: not told(tmp_path))


def test_a_copy_of_the_writer_does_not_give_its_right_away(tmp_path):
    lock = WriterLock(tmp_path / "s.sqlite")
    child = os.fork()
    if child == 0:  # as a model's fork does that ends by way of what called it
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "s.sqlite.lock").exists()
    lock.release()
    assert not (tmp_path / "s.sqlite.lock").exists()
    with open(tmp_path / "other", "w") as other:
        lock.release()  # a second time it closes nobody else's file
        other.write("x")


def test_to_ask_again_in_the_same_process_does_not_give_the_right_away(tmp_path, monkeypatch):
    monkeypatch.setattr(WriterLock, "PATIENCE", 0.1)
    lock = WriterLock(tmp_path / "s.sqlite")
    with pytest.raises(UserError, match="another policyloop"):
        WriterLock(tmp_path / "s.sqlite")
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(UserError):
            WriterLock(tmp_path / "s.sqlite")
            code = 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    lock.release()
    WriterLock(tmp_path / "s.sqlite").release()


def test_the_right_to_write_goes_to_one_of_many_that_wait_for_it(tmp_path):
    taken = tmp_path / "taken"

    def take():
        for _ in range(20):
            lock = WriterLock(tmp_path / "s.sqlite")
            os.close(os.open(taken, os.O_CREAT | os.O_EXCL))  # fails where another has it as well
            taken.unlink()
            lock.release()

    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                take()
                code = 0
            os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
