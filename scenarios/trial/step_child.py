"""A child process that takes the steps of one environment at a time, and may be killed at any moment.

It speaks JSON over the pipe that it is given, and ends when the pipe does. Exercised by
`scenarios.trial.step_process`, its parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import simulators
from policyloop.messages import class_name, on_one_line
from policyloop.watcher import watch_always
from scenarios.study.info import plain_info
from simulators.contract.observed import checked
from simulators.contract.process_state import RandomNumbers, kept_process_state

FAREWELL = 0.5
"""Seconds for an orderly end, once the parent asks for it or is gone."""

GRACE = 5.0
"""Seconds beyond its time limit after which a step ends itself, should the parent be gone."""

_numbers = RandomNumbers()  # of whatever model this process steps


def main() -> None:
    """Take steps until the parent closes the pipe, whose descriptor is the first argument."""
    connection = Connection(int(sys.argv[1]))
    os.dup2(2, 1)  # what a simulator prints is no result
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where memory runs out, this process is the one to go
    signal.signal(signal.SIGTERM, _leave)
    watch_always()
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, messages), daemon=True).start()
    environment: simulators.Environment | None = None
    seconds: float | None = None
    while True:
        message = messages.get()
        try:
            if "build" in message:
                environment, seconds = None, message["seconds"]
                _limit_memory(message["megabytes"])
                environment = simulators.make(message["build"], **message["options"])
                threadpool_limits(1)  # for good: several threads change the last bits
                with contextlib.suppress(Exception), kept_process_state():  # then steps fail by themselves
                    environment.prepare()
                answer: dict[str, Any] = {}
            else:
                assert environment is not None
                answer = _step(environment, message, seconds)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            answer = {"error": [class_name(error), on_one_line(error)]}
        connection.send_bytes(json.dumps(answer).encode())


def _listen(connection: Connection, messages: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            messages.put(json.loads(connection.recv_bytes()))
        except (EOFError, OSError):  # the parent is done, or dead
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            time.sleep(FAREWELL)
            os._exit(0)


def _leave(*signalled: object) -> None:
    """End as Python ends, so that a simulator can stop the programs that it has started."""
    sys.exit(0)


def _limit_memory(megabytes: int | None) -> None:
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = hard if megabytes is None else megabytes << 20
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _step(
    environment: simulators.Environment, asked: dict[str, Any], seconds: float | None
) -> dict[str, Any]:
    seed, policy, groups = asked["seed"], asked["policy"], asked["groups"]
    if seconds is not None:
        # The system's own alarm ends the process even where the simulator never comes back to Python.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)
    try:
        with kept_process_state(), _numbers.used(None if seed is None else seed % 2**32):
            if seed is not None:
                environment.reset(seed)
            given = policy if isinstance(policy, int) else np.array(policy)
            returned = environment.step(given) if groups is None else environment.step_groups(given, groups)
            outcomes = checked(returned, environment.groups, environment.outcome_range)
    finally:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
    noise = outcomes.noise_variance
    return {
        "values": outcomes.values.tolist(),
        "noise_variance": None if noise is None else noise.tolist(),
        "info": plain_info(outcomes.info),
    }


if __name__ == "__main__":
    main()
