"""Steps in child processes: side by side, within a time and memory limit, and killed where they pass it.

A step that hangs, crashes or is killed costs its round and its child, which is started again.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import wait
from time import perf_counter
from typing import Any

import numpy as np

import bridges
from bridges import Taken
from policyloop.watcher import marks
from scenarios.declaration.environment_spec import EnvironmentSpec
from scenarios.trial.step_child import FAREWELL
from simulators import Outcomes, SimulationError, StepLost
from simulators.contract.environment import failure_kind

_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
_BOOT = "from scenarios.trial.step_child import main; main()"

LOOK_SECONDS = 0.5
"""How long to wait without a look at signals: one that comes just before a wait begins does not end it."""

_idle: list[StepProcess] = []  # children of earlier trials, ready to be used again


class StepProcess:
    """One child process; started anew whenever it has died."""

    def __init__(self) -> None:
        self._built: str | None = None
        self._start()

    def _start(self) -> None:
        self.connection, theirs = Pipe()
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            # -P: what lies in the working folder is not imported in place of our packages.
            [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **marks(), **_ONE_THREAD, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C in a terminal is not meant for it
        )
        theirs.close()

    def build(self, order: str) -> bool:
        """Begin to make the environment that is ordered; False where it is there already."""
        if self._built == order and self.alive:
            return False
        self._built = None
        self._send(order)
        return True

    def built(self, order: str) -> None:
        """Wait for what `build` began; SimulationError where it failed."""
        outcome = self.receive()
        if isinstance(outcome, Exception):
            raise outcome
        self._built = order

    def begin(self, seed: int | None, policy: Any) -> None:
        """Begin a step, with new noise where a seed is given."""
        groups = policy.groups if isinstance(policy, bridges.Part) else None
        policy = policy.policy if isinstance(policy, bridges.Part) else policy
        plain = int(policy) if np.ndim(policy) == 0 else np.asarray(policy, dtype=float).tolist()
        self._send(json.dumps({"seed": seed, "policy": plain, "groups": groups}))

    def receive(self) -> Outcomes | Exception | None:
        """Wait for what was begun: a step's outcomes, why it failed, or None of a building."""
        try:
            while not self.connection.poll(LOOK_SECONDS):
                pass
            answer = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            ending = self.end(wait=1.0)
            return failure_kind(self._process.returncode)(f"the simulator's process {ending}")
        if "error" in answer:
            name, text = answer["error"]
            # Named as the simulator named it, so that messages do not depend on where a step is taken.
            kind = StepLost if name in ("StepLost", "MemoryError") else SimulationError
            failure: Exception = type(name, (kind,), {})(text)
            return failure
        if "values" not in answer:
            return None
        noise = answer["noise_variance"]
        return Outcomes(
            np.array(answer["values"], float),
            None if noise is None else np.array(noise, float),
            answer["info"],
        )

    def end(self, wait: float = 0.0) -> str:
        """Stop the child if it lives after some seconds, and say how it ended."""
        # First asked, so that it can stop what it has started itself, and then killed.
        for stop in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(wait)
                break
            except subprocess.TimeoutExpired:
                stop()
                wait = FAREWELL
        code = self._process.wait()
        with contextlib.suppress(OSError):  # what its step has started and left
            os.killpg(self._process.pid, signal.SIGKILL)
        self.connection.close()
        self._built = None
        if code >= 0:
            return f"ended with exit code {code}"
        name = signal.Signals(-code).name
        return f"was killed ({name})" + (": out of memory?" if name == "SIGKILL" else "")

    @property
    def alive(self) -> bool:
        """Whether the child has neither been ended nor died while nobody waited for it."""
        return not self.connection.closed and self._process.poll() is None

    def _send(self, message: str) -> None:
        if not self.alive:
            self.connection.close()
            self._start()
        with contextlib.suppress(OSError):  # a dead child is noticed when its answer is awaited
            self.connection.send_bytes(message.encode())


class StepProcesses:
    """Takes the steps of an environment in child processes; a `bridges.Steps`.

    Parameters
    ----------
    spec : EnvironmentSpec
        Names the environment; its `step_seconds` and `step_megabytes` limit every step.
    options : mapping
        With which it is made.
    count : int, default 1
        Children, and so steps at the same time. With more than one, noise cannot go on from step to step.
    """

    def __init__(self, spec: EnvironmentSpec, options: Mapping[str, Any], count: int = 1) -> None:
        self._order = json.dumps(
            {
                "build": spec.name,
                "options": options,
                "seconds": spec.step_seconds,
                "megabytes": spec.step_megabytes,
            }
        )
        self._seconds = spec.step_seconds
        self._children = [_idle.pop() if _idle else StepProcess() for _ in range(count)]

    def __enter__(self) -> StepProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        _idle.extend(self._children)
        self._children = []

    def take(self, asked: Sequence[tuple[int | None, Any]]) -> Iterator[Taken]:
        """Take the steps side by side, and yield them as they end."""
        waiting = list(enumerate(asked))[::-1]
        free = self._children[: len(asked)]
        self._build(free)
        busy: dict[Any, tuple[int, StepProcess, float]] = {}
        try:
            while waiting or busy:
                while waiting and free:
                    child = free.pop()
                    self._build([child])  # if it was killed
                    index, (seed, policy) = waiting.pop()
                    child.begin(seed, policy)
                    busy[child.connection] = index, child, perf_counter()
                for connection, outcome in self._ended(busy):
                    index, child, began = busy.pop(connection)
                    free.append(child)
                    yield Taken(index, outcome, perf_counter() - began)
        finally:
            for _, child, _ in busy.values():
                child.end()

    def _build(self, children: Sequence[StepProcess]) -> None:
        for child in [one for one in children if one.build(self._order)]:
            child.built(self._order)

    def _ended(
        self, busy: dict[Any, tuple[int, StepProcess, float]]
    ) -> Iterator[tuple[Any, Outcomes | Exception]]:
        """Wait a little for steps to end, or for the time of one to be over."""
        limit, left = self._seconds, LOOK_SECONDS
        if limit is not None:
            earliest = min(began for _, _, began in busy.values())
            left = min(left, max(0.0, earliest + limit - perf_counter()))
        ready = set(wait(list(busy), left))
        for connection, (_, child, began) in list(busy.items()):
            if connection in ready:
                outcome = child.receive()
                assert outcome is not None
                yield connection, outcome
            elif limit is not None and perf_counter() - began >= limit:
                child.end()
                yield connection, StepLost(f"the step took longer than {limit:g} s and was stopped")


@atexit.register
def end_idle() -> None:
    """End the children that wait to be used again."""
    while _idle:
        child = _idle.pop()
        if child.alive:
            child.end()
