"""What is changed inside is as before outside, whatever it was, and if it ended in an exception."""

import contextlib
import gc
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from simulators.contract.process_state import RandomNumbers, kept_process_state, seeded_globals


def handler(*signalled):
    """Handle nothing."""


LOG = logging.getLogger("policyloop")

CHANGES = {
    "folder": (os.getcwd, lambda: os.chdir("/")),
    "variables": (lambda: dict(os.environ), lambda: os.environ.update(HOME="x", NEW="y")),
    "a variable that goes": (lambda: os.environ.get("PATH"), lambda: os.environ.pop("PATH")),
    "all variables": (lambda: (id(os.environ), len(os.environ)), lambda: setattr(os, "environ", {})),
    "standard output": (lambda: sys.stdout, lambda: setattr(sys, "stdout", None)),
    "standard error": (lambda: sys.stderr, lambda: setattr(sys, "stderr", None)),
    "Ctrl-C": (lambda: signal.getsignal(signal.SIGINT), lambda: signal.signal(signal.SIGINT, handler)),
    "an alarm": (lambda: signal.getitimer(signal.ITIMER_REAL), lambda: signal.alarm(60)),
    "blocked": (
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]),
    ),
    "warnings": (lambda: list(warnings.filters), lambda: warnings.simplefilter("error")),
    "showing": (lambda: warnings.showwarning, lambda: setattr(warnings, "showwarning", handler)),
    "NumPy's errors": (np.geterr, lambda: np.seterr(all="raise")),
    "garbage": (gc.isenabled, gc.disable),
    "recursion": (sys.getrecursionlimit, lambda: sys.setrecursionlimit(5000)),
    "sockets": (socket.getdefaulttimeout, lambda: socket.setdefaulttimeout(0.1)),
    "uncaught": (lambda: sys.excepthook, lambda: setattr(sys, "excepthook", handler)),
    "logging": (lambda: logging.root.manager.disable, lambda: logging.disable(logging.CRITICAL)),
    "our log": (lambda: LOG.disabled, lambda: setattr(LOG, "disabled", True)),
    "handlers": (lambda: list(logging.root.handlers), lambda: logging.root.addHandler(logging.NullHandler())),
    "level": (lambda: logging.root.level, lambda: logging.root.setLevel(7)),
}


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("what", CHANGES)
def test_it_is_put_back(what, raises, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state, change = CHANGES[what]
    before = state()
    with contextlib.suppress(KeyError), kept_process_state():
        change()
        assert state() != before
        if raises:
            raise KeyError
    assert state() == before


def test_threads_of_linear_algebra_are_as_before():
    def threads():
        return [library["num_threads"] for library in threadpool_info()]

    from threadpoolctl import threadpool_limits

    before = threads()
    with kept_process_state():
        threadpool_limits(3)
    assert threads() == before


def test_a_folder_that_is_gone_is_left_and_another_thread_is_no_obstacle(tmp_path):
    folder, seen = os.getcwd(), []

    def inside():
        with kept_process_state():
            os.chdir(tmp_path)
            os.rmdir(tmp_path)
        seen.append(os.getcwd())

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [folder]


def test_where_a_model_is_made_folder_and_variables_stay(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("OF_A_MODEL", "before")
    with kept_process_state(folder=False):
        os.chdir(tmp_path)
        os.environ["OF_A_MODEL"] = "after"
    assert os.getcwd() == str(tmp_path) and os.environ["OF_A_MODEL"] == "after"


def numbers():
    return random.random(), np.random.random()  # noqa: NPY002


def test_global_random_numbers_are_those_of_the_seed_and_the_others_go_on():
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    with seeded_globals(7):
        inside = numbers()
        with seeded_globals(8):
            np.random.set_bit_generator(np.random.PCG64(1))
            random.seed(1)
        inside += numbers()
    outside = numbers()
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    assert inside == numbers() + numbers()
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    assert outside == numbers()


def test_models_in_threads_that_do_not_end_in_turn_leave_the_process_its_own_numbers():
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    expected = numbers()
    for _ in range(2):
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002
        first, second = seeded_globals(7), seeded_globals(8)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
        with seeded_globals(9):
            numbers()
        assert numbers() == expected


def test_a_models_global_numbers_go_on_where_it_left_them():
    own, seen = RandomNumbers(), []
    for seed in (5, None, None):
        with own.used(seed):
            seen.append(numbers())
        numbers()
    with seeded_globals(5):
        assert seen == [numbers() for _ in range(3)]


CLOSES = """
import logging, os, sys
from simulators.contract.process_state import kept_process_state
handler = logging.StreamHandler()
logging.getLogger("other").addHandler(handler)
for act in (
    lambda: sys.stdout.close(), lambda: sys.stderr.close(), lambda: sys.__stdout__.close(),
    lambda: sys.stdout.buffer.close(), lambda: os.close(1), lambda: os.close(2),
    lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 1), lambda: sys.stdin.close(),
):
    with kept_process_state():
        act()
    print("out", flush=True)
    print("err", file=sys.stderr)
    logging.getLogger("other").warning("logged")
print(sys.stdin.read())
"""


def test_closed_streams_are_open_again_for_all_who_hold_them():
    done = subprocess.run([sys.executable, "-c", CLOSES], input="in", capture_output=True, text=True)
    assert done.stdout.split() == ["out"] * 8 + ["in"], done.stderr
    assert done.stderr.split() == ["err", "logged"] * 8
