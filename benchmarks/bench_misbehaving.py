"""Models that misbehave in every way known to us, through every bridge: what each of them costs.

    python benchmarks/bench_misbehaving.py [--quick]

A model of two groups, f_1 = x and f_2 = 1 - x, behaves for x <= 1/2 and misbehaves above. Each must cost its
own rounds only: those below 1/2 give the outcomes, those above fail, or give the outcomes where the model only
does something beside; rounds can be stored; the process is as it was. Exits with 1 where anything else happens.
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
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gymnasium
import mesa
import numpy as np
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


def truth(x):
    return [x, 1 - x]


class BadText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class NotText(Exception):
    def __str__(self):
        return 3


class Own(BaseException):
    pass


def raising(make):
    def misbehave(values):
        raise make()

    return misbehave


def mutated(values):
    kept.append(values)
    for one in kept[:-1]:
        one[:] = [1e9, 1e9]
    return values


kept = []


def beside(act):
    """Something done beside, and the outcomes after all."""

    def misbehave(values):
        act()
        return values

    return misbehave


def fail_beside(act):
    def misbehave(values):
        act()
        raise ValueError("and then it failed")

    return misbehave


def logs():
    logging.disable(logging.CRITICAL)
    logging.root.handlers[:] = [logging.NullHandler()]
    logging.getLogger("policyloop").disabled = True


def handlers():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def variables():
    os.environ["OMP_NUM_THREADS"] = "many"
    os.environ.pop("PATH", None)


def null_device():
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def gone_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def reseed():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002


FAILS = {
    "raises": raising(lambda: ValueError("no")),
    "raises without a text": raising(ValueError),
    "raises five megabytes": raising(lambda: ValueError("x" * 5_000_000)),
    "raises surrogates": raising(lambda: ValueError("\udcff\udc80")),
    "raises control characters": raising(lambda: ValueError("\x1b]0;title\x07\x00")),
    "raises what has no text": raising(BadText),
    "raises what has a number as text": raising(NotText),
    "asks to exit": raising(lambda: SystemExit(3)),
    "asks to exit, saying anything": raising(lambda: SystemExit(BadText())),
    "raises GeneratorExit": raising(GeneratorExit),
    "raises StopIteration": raising(StopIteration),
    "raises a BaseException of its own": raising(Own),
    "raises an exception group": raising(lambda: BaseExceptionGroup("two", [Own(), Own()])),
    "recurses for ever": lambda values: FAILS["recurses for ever"](values),
    "runs out of memory": raising(MemoryError),
    "answers nan": lambda values: [np.nan, np.nan],
    "answers inf": lambda values: [np.inf, 0.0],
    "answers 1.8e308 as a whole number": lambda values: [18 * 10**307, 0],
    "answers 1e300": lambda values: [1e300, 0.0],
    "answers complex numbers": lambda values: np.array(values) + 0j,
    "answers masked numbers": lambda values: np.ma.array(values, mask=[True, False]),
    "answers text": lambda values: ["0.5", "0.5"],
    "answers truth values": lambda values: [True, False],
    "answers objects": lambda values: [object(), object()],
    "answers decimals": lambda values: [Decimal("0.5"), Decimal("0.5")],
    "answers lists": lambda values: [[0.5, 0.5], [0.5, 0.5]],
    "answers times": lambda values: np.array([1, 2], "timedelta64[s]"),
    "answers too few": lambda values: values[:1],
    "answers nothing": lambda values: None,
    "answers a function": lambda values: truth,
    "replaces streams and fails": fail_beside(lambda: setattr(sys, "stdout", None)),
}

BESIDE = {
    "changes the folder": beside(lambda: os.chdir("/")),
    "removes its folder": beside(gone_folder),
    "closes standard output": beside(lambda: sys.stdout.close()),
    "closes standard error": beside(lambda: sys.stderr.close()),
    "closes file descriptor 1": beside(lambda: os.close(1)),
    "sends output to nowhere": beside(null_device),
    "replaces standard error": beside(lambda: setattr(sys, "stderr", None)),
    "ignores Ctrl-C": beside(handlers),
    "sets an alarm": beside(lambda: signal.alarm(1)),
    "blocks signals": beside(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])),
    "changes variables": beside(variables),
    "makes warnings errors": beside(lambda: warnings.simplefilter("error")),
    "makes NumPy raise": beside(lambda: np.seterr(all="raise")),
    "seeds the global numbers": beside(reseed),
    "replaces NumPy's generator": beside(lambda: np.random.set_bit_generator(np.random.PCG64(1))),
    "stops all logging": beside(logs),
    "stops the collection of garbage": beside(gc.disable),
    "lowers the limit of recursion": beside(lambda: sys.setrecursionlimit(300)),
    "keeps and changes what it answered": mutated,
}

KINDS = FAILS | BESIDE


def answer_of(kind, x):
    values = np.array(truth(x))
    return KINDS[kind](values) if x > 0.5 else values


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

PROGRAM = """
import json, os, sys
x = json.load(sys.stdin)["policy"]["x"]
values = [x, 1 - x]
if x > 0.5:
    {act}
print(json.dumps(values))
"""

COMMAND = {
    "exits with 3": "sys.exit(3)",
    "raises surrogates": "raise ValueError(chr(0xDCFF))",
    "writes bytes": "os.write(1, bytes(range(256))); sys.exit()",
    "writes five megabytes": "print('x' * 5_000_000); sys.exit()",
    "tells five megabytes and fails": "sys.stderr.write('x' * 5_000_000); sys.exit(1)",
    "kills itself": "os.kill(os.getpid(), 11)",
    "says nothing": "sys.exit()",
    "answers NaN": "values = [float('nan')] * 2",
    "answers 1.8e308": "print('[1.8e308, 0]'); sys.exit()",
    "answers text": "values = ['0.5', '0.5']",
    "answers truth values": "values = [True, False]",
    "answers too few": "values = [0.5]",
    "answers a list of lists": "values = [[0.5, 0.5]]",
    "answers a whole number of 400 digits": "values = [10**400, 0]",
}

UM_BRIDGE = {
    "answers no JSON": b"<html>",
    "answers without output": b"{}",
    "answers null": b'{"output": null}',
    "answers a number": b'{"output": 3}',
    "answers text": b'{"output": "0.5"}',
    "answers texts": b'{"output": [["0.5", "0.5"]]}',
    "answers too few": b'{"output": [[0.5]]}',
    "answers NaN": b'{"output": [[NaN, NaN]]}',
    "answers Infinity": b'{"output": [[Infinity, 0]]}',
    "answers truth values": b'{"output": [[true, false]]}',
    "answers an error of surrogates": b'{"error": {"type": "E", "message": "\\udcff"}}',
    "answers an error of megabytes": b'{"error": {"type": "E", "message": "' + b"x" * 3_000_000 + b'"}}',
    "answers bytes": bytes(range(128, 256)),
    "closes the connection": None,
}


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
