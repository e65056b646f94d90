"""The store under load: 100,000 rounds streamed by four workers, then compared and plotted.

    python benchmarks/bench_store.py [ROUNDS] [WORKERS]

Workers send rounds as `policyloop run` does, at once and without computing anything. Printed: rounds a
second, the processor time of a round in the worker and in the process that writes, how long a worker waits to
hand one over, the rounds that are missing, the time of `Study`, `compare` and `plot`, and what checksums and
checks cost of `show` and of a round that is written (the least of seven runs, with and without in turns).
"""

import contextlib
import io
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from scenarios.cli import invoke
from scenarios.declaration.catalogue import load
from scenarios.running.collector import Collector
from scenarios.study import checksums, soundness
from scenarios.study.checksums import COLUMNS, sealed
from scenarios.study.facts import Facts
from scenarios.study.records import ALL_TRIALS, Advice, StoredRound, WorldRecord
from scenarios.study.store import Store
from scenarios.study.study import Study
from scenarios.trial.building import build_environment
from scenarios.trial.sink import WorkerSink


def send(address, key, todo, rounds, queue):
    """Stream the rounds of some trials."""
    waits, began = [], time.process_time()
    rng = np.random.default_rng(len(todo))
    for trial, agent in todo:
        sink = WorkerSink(address, key)
        sink.claim(trial, agent)
        for t in range(1, rounds + 1):
            policy, outcomes = rng.random(5).tolist(), rng.random(5).tolist()
            total = sum(outcomes)
            record = StoredRound(
                trial, agent, t, policy, None, outcomes, noise_variance=[1e-5] * 5, objective=total,
                expected=total, expected_outcomes=outcomes, regret=total, seconds=1e-3, step_seconds=1e-2,
                status="ok", error="",
            )  # fmt: skip
            start = time.perf_counter()
            sink.put(record)
            assert not sink.stopping
            waits.append(time.perf_counter() - start)
        sink.put(
            Advice(
                trial,
                agent,
                rounds,
                policy,
                1.0,
                0.5,
                1.5,
                outcomes,
                outcomes,
                outcomes,
                policy,
                1.0,
                row=None,
                expected_outcomes=outcomes,
                held_out=None,
                tried=0,
                expected=1.0,
                simple_regret=0.5,
            )  # fmt: skip
        )
        sink.close()
    queue.put((time.process_time() - began, waits))


@contextlib.contextmanager
def unchecked():
    """Read without checksums, invariants and SQLite's own check of all pages."""
    names = [(checksums, "_sealed_rows"), (soundness.Rules, "fault"), (soundness, "damage")]
    saved = [getattr(place, name) for place, name in names]

    def rows(connection, table, tail, values):
        # With a column in place of the checksum, which `rows` drops.
        found = connection.execute(f"SELECT {', '.join(COLUMNS[table])}, 0 FROM {table}{tail}", values)
        while some := found.fetchmany(200):
            yield some

    for (place, name), other in zip(names, (rows, lambda *_: "", lambda _: ""), strict=True):
        setattr(place, name, other)
    yield
    for (place, name), other in zip(names, saved, strict=True):
        setattr(place, name, other)


def whole_command(path: Path, name: str) -> float:
    """The processor time of `policyloop show` in a process of its own, with all that it imports."""
    began = os.times()
    subprocess.run([sys.executable, __file__, "show", path, name], check=True, stdout=subprocess.DEVNULL)
    ended = os.times()
    return ended.children_user + ended.children_system - began.children_user - began.children_system


def show(path: str, name: str) -> None:
    """What such a process does."""
    with unchecked() if name == "without" else contextlib.nullcontext():
        assert invoke(["show", path]) == 0


def checks(path: Path) -> None:
    """What the checks cost: of `show`, and of the writing of a round."""
    took = {"with": [], "without": []}
    for _ in range(7):
        for name in took:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.ExitStack() as stack:
                if name == "without":
                    stack.enter_context(unchecked())
                began = time.process_time()
                assert invoke(["show", str(path)]) == 0
                took[name].append(time.process_time() - began)
    with_, without = min(took["with"]), min(took["without"])
    print(f"reading: processor {with_:.2f} s, without checks {without:.2f} s: {with_ / without - 1:+.0%}")
    whole = {name: min(whole_command(path, name) for _ in range(7)) for name in took}
    more = whole["with"] / whole["without"] - 1
    print(f"show: processor {whole['with']:.2f} s, without checks {whole['without']:.2f} s: {more:+.0%}")
    rounds = [one.columns() for one in Study(path).rounds()]
    began = time.process_time()
    for row in rounds:
        sealed("rows", row)
    print(f"checksum of a round that is written: {1e3 * (time.process_time() - began) / len(rounds):.4f} ms")


def main() -> None:
    """Measure."""
    if sys.argv[1:2] == ["show"]:
        show(*sys.argv[2:])
        return
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    agents = ["d-gpucb", "gp-ucb", "ei", "mpi"]
    trials = 10 * workers // 4
    rounds = total // (trials * len(agents))
    scenario = load("flu", {"trials": trials, "rounds": rounds, "agents": agents})
    environment = build_environment(scenario, 1)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "store.sqlite"
        todo = [(trial, agent) for trial in range(1, trials + 1) for agent in agents]
        with Store(path) as store:
            meta = {
                "created": "2020-01-01T00:00:00+00:00",
                "versions": {},
                "environment": Facts.of(environment)._asdict(),
            }
            store.set_meta({**meta, "scenario": scenario.model_dump(mode="json")})
            store.log_run({"began": meta["created"], "versions": {}, "inputs": {}, "accepted": []})
            store.set_world(ALL_TRIALS, WorldRecord(None, {}, None))
            queue = context.Queue()
            with Collector(store, lambda record: None, host="") as collector:
                senders = [
                    context.Process(
                        target=send, args=(collector.address, collector.key, todo[i::workers], rounds, queue)
                    )
                    for i in range(workers)
                ]
                for sender in senders:
                    sender.start()
                while not store.history(1, agents[0]):
                    time.sleep(0.01)
                began, cpu = time.perf_counter(), time.process_time()
                done = [queue.get() for _ in senders]
                for sender in senders:
                    sender.join()
            took, used = time.perf_counter() - began, time.process_time() - cpu
        count = rounds * len(todo)
        waits = np.concatenate([part for _, part in done])
        print(f"{count:,} rounds by {workers} workers in {took:.1f} s: {count / took:,.0f} a second")
        print(f"wall time a round    {1e3 * took / count:.3f} ms")
        print(f"processor time a round: worker {1e3 * sum(c for c, _ in done) / count:.3f} ms,", end=" ")
        print(f"writer {1e3 * used / count:.3f} ms")
        late = 1e3 * np.quantile(waits, 0.99)
        print(f"handing over: mean {1e3 * waits.mean():.3f} ms, 99 % below {late:.3f} ms")
        began = time.perf_counter()
        study = Study(path)
        print(f"missing: {count - len(study.rounds())}; file {path.stat().st_size / 1e6:.1f} MB")
        print(f"opening: {time.perf_counter() - began:.2f} s")
        checks(path)
        for command in (["compare", str(path)], ["plot", str(path), "--out", f"{folder}/figures"]):
            began, cpu = time.perf_counter(), time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                assert invoke(command) == 0
            used = time.process_time() - cpu
            print(f"{command[0]}: {time.perf_counter() - began:.2f} s, processor {used:.2f} s")
        print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
