"""What models do that misbehave: in this process, as programs, and as UM-Bridge servers.

Each behaves for x <= 1/2, with the outcomes x and 1 - x, and misbehaves above.
"""

import gc
import logging
import os
import random
import signal
import sys
import tempfile
import warnings
from decimal import Decimal

import numpy as np


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
