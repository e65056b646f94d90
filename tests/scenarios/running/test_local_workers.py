"""Worker processes end when they are stopped, and nothing but our own words is heard of it."""

import os
import subprocess
import sys

import pytest
from studies import ROOT

# On a busy machine, the thread of loky that hands calls to the workers may have to wait just when Ctrl-C
# comes: here it waits for certain, until it is told to kill the workers.
STOPPED = """
import os, signal, threading, time
import psutil
from joblib._parallel_backends import LokyBackend
from joblib.externals.loky.process_executor import _ExecutorManagerThread as Manager
from scenarios.running.local_workers import call, spread

def wait(manager):
    os.kill(os.getpid(), signal.SIGINT)
    while not manager.executor_flags.kill_workers:
        time.sleep(0.01)

WHERE
try:
    for _ in spread([call(time.sleep, seconds) for seconds in SECONDS], 2):
        pass
except KeyboardInterrupt:  # as long as it is handled, it keeps alive what it has come through
    children = psutil.Process().children(recursive=True)
    print("workers are left:", any("popen_loky" in word for child in children for word in child.cmdline()))
"""

BEFORE_CALLS_ARE_HANDED_OUT = """
hand_out = Manager.add_call_item_to_queue

def waiting(manager):
    if manager.executor_flags.kill_workers:
        print("calls are left:", not manager.work_ids_queue.empty())
        return hand_out(manager)
    wait(manager)

Manager.add_call_item_to_queue = waiting
"""

BEFORE_THE_NEXT_CALL = """
submit = LokyBackend.submit

def waiting(backend, *arguments, **options):
    manager = threading.current_thread()
    if isinstance(manager, Manager):  # a call has ended: here is another
        print("calls are left:", True)
        wait(manager)
    return submit(backend, *arguments, **options)

LokyBackend.submit = waiting
"""


def done_by(script):
    # loky's tracker of semaphores may find one that the ending process has unlinked and not told it of.
    quiet = {"PYTHONWARNINGS": "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "where, seconds",
    [(BEFORE_CALLS_ARE_HANDED_OUT, [300.0] * 4), (BEFORE_THE_NEXT_CALL, [0.0] + [300.0] * 9)],
)
def test_a_stop_with_calls_left_ends_the_workers_and_says_nothing(where, seconds):
    script = STOPPED.replace("WHERE", where).replace("SECONDS", str(seconds))
    done = done_by(script)
    assert (done.returncode, done.stderr) == (0, "")
    if "calls are left" not in done.stdout:
        pytest.skip("this joblib hands out its calls by another way")
    assert done.stdout == "calls are left: True\nworkers are left: False\n"


def test_what_breaks_in_another_thread_is_told_as_ever():
    script = """
import threading
from scenarios.running.local_workers import workers

with workers(2):
    thread = threading.Thread(target=lambda: {}["key"])
    thread.start()
    thread.join()
"""
    done = done_by(script)
    assert done.returncode == 0 and "Traceback" in done.stderr and "KeyError: 'key'" in done.stderr
