"""How much one writer takes: many workers that hold a connection each and send rounds as they can.

    python benchmarks/bench_writer.py [CONNECTIONS] [ROUNDS]

A few processes on loopback stand for all workers. Printed: seconds until all are connected and have claimed a
trial, rounds a second, processor time and memory of the writer, bytes of a round on the wire and in the file.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

from scenarios.running.collector import Collector
from scenarios.study.records import StoredRound
from scenarios.study.store import Store
from scenarios.trial.sink import WorkerSink, to_wire

PROCESSES = 2


def record(trial, t):
    """A round of a policy of five entries and five groups."""
    policy, outcomes = [0.1 + 1 / (t + 2)] * 5, [1 / 3 + 1 / (t + 2)] * 5
    return StoredRound(
        trial, "d-gpucb", t, policy, None, outcomes, noise_variance=[1e-5] * 5, objective=sum(outcomes),
        expected=1 / 7, regret=1 / 9, seconds=1 / 11, step_seconds=1 / 13, status="ok", error="",
    )  # fmt: skip


def send(address, key, trials, rounds, connected, go):
    """Hold a connection a trial, and send a round by each in turn."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    sinks = [WorkerSink(address, key) for _ in trials]
    for trial, sink in zip(trials, sinks, strict=True):
        sink.claim(trial, "d-gpucb")
    connected.put(len(sinks))
    go.wait()
    for t in range(1, rounds + 1):
        for trial, sink in zip(trials, sinks, strict=True):
            sink.put(record(trial, t))
    for sink in sinks:
        sink.close()


def main():
    """Measure."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds = max(1, (int(sys.argv[2]) if len(sys.argv) > 2 else 20_000) // count)
    context = multiprocessing.get_context("spawn")
    stored = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "study.sqlite"
        with Store(path) as store:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with Collector(store, stored.append, host="127.0.0.1") as collector:
                connected, go = context.Queue(), context.Event()
                senders = []
                for i in range(PROCESSES):
                    trials = list(range(1, count + 1))[i::PROCESSES]
                    arguments = (collector.address, collector.key, trials, rounds, connected, go)
                    senders.append(context.Process(target=send, args=arguments))
                began = time.perf_counter()
                for sender in senders:
                    sender.start()
                for _ in senders:
                    connected.get()
                print(
                    f"{count} workers connected and claimed in {time.perf_counter() - began:.1f} s",
                    flush=True,
                )
                began, cpu = time.perf_counter(), time.process_time()
                go.set()
                while len(stored) < count * rounds:
                    time.sleep(0.01)
                took, used = time.perf_counter() - began, time.process_time() - cpu
                for sender in senders:
                    sender.join()
        total = count * rounds
        print(f"{total} rounds in {took:.1f} s: {total / took:.0f} a second")
        print(f"processor time of the writer: {1e3 * used / total:.2f} ms a round")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        print(f"memory: {grown / 1024:.0f} MB more, the {total} rounds kept for counting included")
        wire = len(to_wire(record(1000, 100)))
        print(f"a round: {wire} bytes on the wire, {path.stat().st_size / total:.0f} in the file")


if __name__ == "__main__":
    main()
