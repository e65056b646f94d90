"""A simulator that fails in every way that simulators do."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds

import simulators


class Faulty(simulators.Environment):
    """Two groups, f_j(x) = (x - c_j)^2; in a third of the steps, by their noise, something goes wrong.

    With a `gate`, all steps but the first few that the `log` holds wait until a file of that name exists.
    """

    groups, group_units = ("left", "right"), ("points", "points")
    objective_unit, sense = "points", "minimize"
    centres = np.array([0.2, 0.8])

    def __init__(
        self, fault: str = "none", pause: float = 0.0, log: str = "", gate: str = "", free: int = 0
    ) -> None:
        self.policy_space = simulators.PolicySpace(("x",), ("share",), bounds=Bounds([0.0], [1.0]))
        self.fault, self.pause, self.log, self.gate, self.free = fault, pause, log, gate, free

    def expected(self, policies):
        return (self.policy_space.resolve(policies) - self.centres) ** 2

    def step(self, policy):
        if self.log:
            with open(self.log, "ab", buffering=0) as file:
                file.write(f"{policy[0]}\n".encode())
                end = file.tell()  # of this line, whoever else writes
            if self.gate and Path(self.log).read_bytes()[:end].count(b"\n") > self.free:
                while not os.path.exists(self.gate):
                    time.sleep(0.01)
        time.sleep(self.pause)
        print("a simulator's chatter")
        wrong, noise = self.rng.random() < 1 / 3, self.rng.normal(0, 0.01, 2)
        values = self.expected(np.asarray(policy)[None])[0] + noise
        if wrong and self.fault == "raise":
            raise ZeroDivisionError("two lines\nof trouble")
        if wrong and self.fault == "exit":
            sys.exit(3)
        if wrong and self.fault == "nan":
            values[:] = np.nan
        if wrong and self.fault == "hang":
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            while True:
                with contextlib.suppress(BaseException):
                    time.sleep(60)
        if wrong and self.fault == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if wrong and self.fault == "eat":  # until its limit
            np.ones((1 << 30) // 8).sum()
        if wrong and self.fault == "eaten":  # what the system does where there is no limit
            os.kill(os.getpid(), signal.SIGKILL)
        return simulators.Outcomes(values, np.full(2, 1e-4))
