"""Whatever moment a run is killed at, no stored round is lost, and the end is the same."""

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from studies import FLU, assert_same

from scenarios import load, run
from scenarios.running.progress import Progress
from scenarios.study.study import Study


class Telling(Progress):
    """Tells of every stored round through a pipe, as soon as the run knows of it."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def seen(self, record):
        os.write(self._pipe, f"{record.trial}/{record.agent}/{record.round} ".encode())


def killed(work: Callable[[int], object], after: float) -> tuple[bool, set[str]]:
    """Do work in a process of its own, kill it after some seconds: whether it lived, and what it told."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(ours)
            work(theirs)
            os._exit(0)
        os._exit(1)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        timer = threading.Timer(after, lambda: os.kill(child, signal.SIGKILL))
        timer.start()
        told = pipe.read().decode().split()
        _, status = os.waitpid(child, 0)
        timer.cancel()
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status), set(told)


def stored(path: Path) -> set[str]:
    return {f"{one.trial}/{one.agent}/{one.round}" for one in Study(path).rounds()}


@pytest.mark.parametrize(("least", "studies"), [(4, 1), pytest.param(50, 2, marks=pytest.mark.slow)])
def test_kills_lose_no_round_and_change_nothing(least, studies, tmp_path):
    """Killed again and again: while it starts or learns, or some moments after it told of a round."""
    (tmp_path / "flu-small.toml").write_text(FLU)
    scenario = load(tmp_path / "flu-small.toml")
    undisturbed = run(scenario, out=tmp_path / "undisturbed.sqlite")
    moments, kills, ended = random.Random(7), 0, 0
    while kills < least or ended < studies:
        out, known, done, patience = tmp_path / f"{ended}.sqlite", set(), False, 1.0
        while not done:

            def work(pipe: int, out: Path = out) -> None:
                run(scenario, out=out, resume=True, progress=Telling(pipe))

            lived, told = killed(work, moments.uniform(0, patience))
            if not told - known:  # a busy machine needs longer to begin
                patience *= 1.5
            done, kills = not lived, kills + lived
            known |= told
            if known:
                assert known <= stored(out)
        assert_same(Study(out), undisturbed)
        ended += 1
    assert not list(tmp_path.glob("*-wal"))
