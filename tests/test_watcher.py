"""Nothing that a process has started outlives it, however it was started and however the process ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from policyloop import watcher, watcher_process

ROOT = Path(__file__).parents[1]

STARTS = {
    "a program": "subprocess.Popen(sleep)",
    "a program in a session of its own": "subprocess.Popen(sleep, start_new_session=True)",
    "a child's child": "subprocess.Popen(['sh', '-c', 'sleep 600 & sleep 600'])",
    "a fork": "os.fork() or time.sleep(600)",
    "a fork in a session of its own": "os.fork() or (os.setsid(), time.sleep(600))",
}

DRIVER = """
import os, subprocess, sys, time
from policyloop.watcher import watched
sleep = ["sleep", "600"]
with watched():
    {start}
print("begun", flush=True)
{end}
"""


def gone(process):
    """Whether a process has ended; a zombie has, though nobody in this sandbox may have taken note."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def eventually(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def begin(start, end="time.sleep(600)", **options):
    code = DRIVER.format(start=start, end=end)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, **options
    )
    assert driver.stdout.readline() == "begun\n"
    family = psutil.Process(driver.pid).children(recursive=True)
    assert any("watcher_process" in " ".join(one.cmdline()) for one in family)
    return driver, family


@pytest.mark.parametrize("how", STARTS)
def test_what_a_killed_process_has_started_ends_with_it(how):
    driver, family = begin(STARTS[how])
    driver.kill()
    driver.wait()
    eventually(lambda: all(map(gone, family)))
    driver.stdout.close()


def test_a_watcher_lets_all_be_while_its_process_lives():
    driver, family = begin(STARTS["a program"], "os.closerange(3, 64); time.sleep(600)")
    time.sleep(3 * watcher_process.LOOK_SECONDS)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for child in family:
            if "watcher_process" in " ".join(child.cmdline()):
                child.send_signal(number)
    time.sleep(watcher_process.LOOK_SECONDS)
    assert not any(map(gone, family))
    driver.kill()
    driver.communicate()
    eventually(lambda: all(map(gone, family)))


def test_a_process_that_ends_by_itself_leaves_nothing_either():
    driver, family = begin(STARTS["a program in a session of its own"], "time.sleep(0.5)")
    assert driver.wait() == 0
    eventually(lambda: all(map(gone, family)))
    driver.stdout.close()


def test_what_is_started_after_the_block_is_let_be():
    driver, _ = begin("pass", "subprocess.Popen(sleep); time.sleep(600)")
    eventually(lambda: len(psutil.Process(driver.pid).children()) == 2)
    its_watcher, free = psutil.Process(driver.pid).children()
    driver.kill()
    driver.wait()
    eventually(lambda: gone(its_watcher))
    assert not gone(free)
    free.kill()
    driver.stdout.close()


def test_without_proc_the_groups_that_were_told_are_killed(tmp_path):
    # The same, with the mark of somebody else: what a system without /proc can know.
    code = (
        "import os, subprocess, sys, time\n"
        "sleeps = [subprocess.Popen(['sleep', '600'], start_new_session=True) for _ in range(2)]\n"
        f"words = [sys.executable, '-I', '-S', {watcher_process.__file__!r}, str(os.getpid())]\n"
        "watcher = subprocess.Popen([*words, 'nobody-at-all-79f3', '-'], stdin=subprocess.PIPE, text=True)\n"
        "print(f'+{sleeps[0].pid}\\n+{sleeps[1].pid}\\n-{sleeps[1].pid}', file=watcher.stdin, flush=True)\n"
        "print(sleeps[0].pid, sleeps[1].pid, watcher.pid, flush=True)\n"
        "time.sleep(600)"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    told, let_be, its_watcher = (psutil.Process(int(word)) for word in driver.stdout.readline().split())
    driver.kill()
    driver.wait()
    eventually(lambda: gone(told) and gone(its_watcher))
    assert not gone(let_be)
    let_be.kill()
    driver.stdout.close()


def test_the_mark_is_in_the_environment_inside_alone(monkeypatch):
    monkeypatch.setenv(watcher.VARIABLE, "of-our-parent")
    mark = watcher.watcher().mark
    with watcher.watched():
        with watcher.watched():
            assert os.environ[watcher.VARIABLE] == f"of-our-parent {mark}"
        assert os.environ[watcher.VARIABLE] == f"of-our-parent {mark}" == watcher.marks()[watcher.VARIABLE]
    assert os.environ[watcher.VARIABLE] == "of-our-parent"


def test_a_folder_of_a_process_below_goes_too_however_little_time_its_watcher_has(tmp_path):
    """The watcher of the process above kills all that bears its mark: not the watcher below, at work yet."""
    below = (
        "import sys, time\nfrom policyloop.watcher import watched, watcher\n"
        "with watched():\n    (watcher().scratch).mkdir()\n    print(watcher().scratch, flush=True)\n"
        "    time.sleep(600)\n"
    )
    start = f"below = subprocess.Popen([sys.executable, '-c', {below!r}], stdout=subprocess.PIPE, text=True)"
    code = DRIVER.format(start=start, end="print(below.stdout.readline(), flush=True)\ntime.sleep(600)")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout.readline() == "begun\n"
        scratch = Path(driver.stdout.readline().strip())
        assert scratch.is_dir()
        (watching,) = [
            one
            for one in psutil.Process(driver.pid).children(recursive=True)
            if str(scratch) in " ".join(one.cmdline())
        ]
        assert watcher.VARIABLE not in watching.environ()
        driver.kill()
    eventually(lambda: not scratch.exists())
    eventually(lambda: gone(watching))
