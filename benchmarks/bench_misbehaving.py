"""Models that misbehave in every way known to us, through every bridge: what each of them costs.

    python benchmarks/bench_misbehaving.py [--quick]

A model of two groups, f_1 = x and f_2 = 1 - x, behaves for x <= 1/2 and misbehaves above. Each must cost its
own rounds only: those below 1/2 give the outcomes, those above fail, or give outcomes where the model does
something beside; rounds can be stored; the process is as it was. Exits with 1 where anything else happens.
"""

import gc
import json
import logging
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import timeit
import warnings
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gymnasium
import mesa
import numpy as np
from misbehaving import BESIDE, COMMAND, KINDS, PROGRAM, UM_BRIDGE, answer_of, kept, truth
from scipy.optimize import Bounds

import simulators
from bridges import (
    CommandEnvironment,
    FunctionEnvironment,
    GymnasiumEnvironment,
    Loop,
    MesaEnvironment,
    UMBridgeEnvironment,
    make_agent,
)
from scenarios.study.records import StoredRound
from simulators.contract.process_state import kept_process_state, seeded_globals

GROUPS, POLICY = ["left", "right"], {"x": (0, 1)}
ROUNDS = 8


class Plugin(simulators.Environment):
    groups, group_units, objective_unit, sense = ("left", "right"), ("", ""), "", "minimize"

    def __init__(self, kind):
        self.policy_space = simulators.PolicySpace(("x",), ("",), bounds=Bounds([0], [1]))
        self.kind = kind

    def step(self, policy):
        x = float(policy[0])
        policy[:] = 7.0  # what it is given is its own
        return simulators.Outcomes(answer_of(self.kind, x))


class Model(mesa.Model):
    def __init__(self, x, kind, seed=None):
        super().__init__(seed=seed)
        self.x, self.kind, self.answer = x, kind, None

    def step(self):
        self.answer = answer_of(self.kind, self.x)


class Game(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Box(0, 1, (1,), dtype=np.float64)

    def __init__(self, kind):
        self.kind = kind

    def reset(self, *, seed=None, options=None):
        return np.zeros(1), {}

    def step(self, action):
        return np.zeros(1), 0.0, True, False, {"answer": answer_of(self.kind, float(action[0]))}


IN_PROCESS = {
    "function": lambda kind: FunctionEnvironment(lambda x: answer_of(kind, float(x[0])), POLICY, GROUPS),
    "plug-in": Plugin,
    "mesa": lambda kind: MesaEnvironment(
        Model,
        POLICY,
        {group: lambda model, j=j: model.answer[j] for j, group in enumerate(GROUPS)},
        1,
        fixed={"kind": kind},
    ),
    "gymnasium": lambda kind: GymnasiumEnvironment(
        lambda: Game(kind), lambda episode: episode.infos[-1]["answer"], groups=GROUPS
    ),
}

NEVER = {("mesa", "answers lists"), ("mesa", "answers too few")}


class Server(BaseHTTPRequestHandler):
    """Speaks UM-Bridge, until x is above 1/2."""

    kind = ""

    def do_GET(self):
        self._send(json.dumps({"protocolVersion": 1.0, "models": ["m"]}).encode())

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/Evaluate":
            x = asked["input"][0][0]
            said = UM_BRIDGE[self.kind] if x > 0.5 else json.dumps({"output": [truth(x)]}).encode()
            if said is not None:
                self._send(said)
        elif self.path == "/ModelInfo":
            self._send(json.dumps({"support": {"Evaluate": True}}).encode())
        else:
            size = 1 if self.path == "/InputSizes" else 2
            self._send(json.dumps({"inputSizes": [size], "outputSizes": [size]}).encode())

    def _send(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def process_state():
    """What the process is like, as a user sees it."""
    return {
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "streams": [(id(one), one.closed) for one in (sys.stdin, sys.stdout, sys.stderr)],
        "files": [os.fstat(number).st_ino for number in range(3)],
        "handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "alarm": signal.getitimer(signal.ITIMER_REAL),
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "warnings": list(warnings.filters),
        "numpy": np.geterr(),
        "random": random.getstate(),
        "numpy's random": repr(np.random.get_state()),  # noqa: NPY002
        "logging": (
            logging.root.handlers[:],
            logging.root.manager.disable,
            logging.getLogger("policyloop").disabled,
        ),
        "interpreter": (gc.isenabled(), sys.getrecursionlimit()),
    }


def faults_of(environment, kind, rounds):
    """What is not as it has to be, in words, and the number of rounds by status."""
    before, faults, counts = process_state(), [], Counter()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rounds (policy, outcomes, error)")
    seen = []
    for one in Loop(environment, make_agent("random", environment, seed=3), seed=5).run(rounds):
        stored = StoredRound.of(1, "random", one)
        columns = dict(zip(StoredRound._fields, stored.columns(), strict=True))
        database.execute(
            "INSERT INTO rounds VALUES (?, ?, ?)", [columns[name] for name in ("policy", "outcomes", "error")]
        )
        seen.append(one)
    for one in seen:  # only now: what was kept of a round would be changed by a later one
        x, good = float(one.policy[0]), one.policy[0] <= 0.5 or kind in BESIDE
        counts[one.status] += 1
        if not 0 <= x <= 1:
            faults.append(f"the policy of round {one.round} was changed")
        elif good and (one.status != "ok" or not np.allclose(one.outcomes, truth(x), atol=1e-12)):
            faults.append(f"round {one.round} is {one.status}: {one.outcomes} {one.error[:200]}")
        elif not good and one.status not in ("failed", "lost"):
            faults.append(f"round {one.round} is {one.status}: {one.outcomes}")
        if len(one.error) > 5000 or not one.error.isprintable():
            faults.append(f"the error of round {one.round} is not one short line")
    if len(seen) != rounds:
        faults.append(f"{len(seen)} of {rounds} rounds")
    after = process_state()
    faults += [f"{name} changed" for name in before if before[name] != after[name]]
    return faults, counts


def microseconds(code):
    return min(timeit.repeat(code, number=2000, repeat=5)) / 2000 * 1e6


def guard():
    with kept_process_state():
        pass


def seeding():
    with seeded_globals(5):
        pass


def main():
    quick = "--quick" in sys.argv
    rounds = 4 if quick else ROUNDS
    wrong, table = [], {}

    def tried(bridge, kind, environment):
        faults, counts = faults_of(environment, kind, rounds)
        table.setdefault(bridge, Counter()).update(counts, kinds=1, wrong=bool(faults))
        wrong.extend(f"{bridge}, {kind}: {fault}" for fault in faults)

    began = time.perf_counter()
    for bridge, make in IN_PROCESS.items():
        for kind in KINDS:
            if (bridge, kind) not in NEVER:
                kept.clear()
                tried(bridge, kind, make(kind))
    with tempfile.TemporaryDirectory() as folder:
        for kind in list(COMMAND)[: 3 if quick else None]:
            path = os.path.join(folder, "model.py")
            with open(path, "w") as file:
                file.write(PROGRAM.format(act=COMMAND[kind]))
            tried("command", kind, CommandEnvironment([sys.executable, "-S", path], POLICY, GROUPS))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for kind in UM_BRIDGE:
        Server.kind = kind
        url = f"http://127.0.0.1:{server.server_port}"
        tried("um-bridge", kind, UMBridgeEnvironment(url, policy=POLICY, groups=GROUPS, time_limit=20))
    server.shutdown()
    print(f"{'bridge':10} {'models':>7} {'ok':>6} {'failed':>7} {'lost':>5} {'wrong':>6}")
    for bridge, counts in table.items():
        print(
            f"{bridge:10} {counts['kinds']:7} {counts['ok']:6} {counts['failed']:7} {counts['lost']:5} "
            f"{counts['wrong']:6}"
        )
    print(f"{time.perf_counter() - began:.1f} s")
    if not quick:
        print(
            f"a step: {microseconds(guard):.0f} us to keep the state, {microseconds(seeding):.0f} us to seed"
        )
    for fault in wrong:
        print(fault)
    return 1 if wrong else 0


if __name__ == "__main__":
    logging.disable(logging.NOTSET)
    sys.exit(main())
