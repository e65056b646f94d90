"""How fast the what-if panel follows its sliders, and what following a study costs.

    python -m benchmarks.bench_watch [STUDY] [MOVES]

Without a STUDY, 10 trials of 100 rounds of the flu are run first (J = 5, 1,000 rounds; about a minute).
Moves are random, seed 0: of weights, of weights and the budget, of both and a limit on one group. An answer
is timed from the call to its plain data, in one thread; and its processor time, since machines may be busy.
"""

import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits

import scenarios
from scenarios.study.study import Study
from scenarios.watching import following
from scenarios.watching.following import Follower
from scenarios.watching.panel import Panel
from scenarios.watching.story import Story

WAITED_FOR = threading.Event()
FACTORS = [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]


def main() -> None:
    moves = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    with TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            path = Path(sys.argv[1])
        else:
            flu = scenarios.load("flu", {"trials": 10, "rounds": 100, "samples": 0, "agents": ["d-gpucb"]})
            path = scenarios.run(flu, out=Path(folder) / "flu.sqlite").path
        measure(path, moves)


def measure(path: Path, moves: int) -> None:
    panel = Panel(path)
    began = time.perf_counter()
    told = panel.begin({}, WAITED_FOR)
    groups = told["weights"]
    print(f"{told['rounds']} rounds, J = {len(groups)}: posteriors rebuilt in {since(began):.2f} s")
    rng = np.random.default_rng(0)

    def weights():
        return {"weights": {group: float(rng.choice(FACTORS)) for group in groups}}

    def with_budget():
        budget = told["budget"]
        return weights() | {"budget": float(rng.uniform(0.5, 1.1) * budget["value"])}

    def with_limit():
        limit = told["limits"][int(rng.integers(len(groups)))]
        share = rng.uniform(0.2, 0.9)
        return with_budget() | {
            "limits": {limit["group"]: limit["low"] + share * (limit["high"] - limit["low"])}
        }

    panel.answer({"question": {}}, WAITED_FOR)  # what is prepared at first use
    everything, frontiers = [], []
    for name, move in {"weights": weights, "and the budget": with_budget, "and a limit": with_limit}.items():
        seconds, processor = [], []
        for i in range(moves):
            question = {"question": move()}
            began, own = time.perf_counter(), time.process_time()
            panel.answer(question, WAITED_FOR)
            seconds.append(since(began))
            processor.append(time.process_time() - own)
            if i % 10 == 0:
                began = time.perf_counter()
                panel.trade_offs(question, WAITED_FOR)
                frontiers.append(since(began))
        everything += seconds
        print(
            f"  {name}: median {np.median(seconds):.3f} s, 95 % within {np.quantile(seconds, 0.95):.3f} s; "
            f"processor time {np.median(processor):.3f} s, 95 % within {np.quantile(processor, 0.95):.3f} s"
        )
    print(f"  all {len(everything)} moves: median {np.median(everything):.3f} s")
    print(f"  frontier and next simulation: median {np.median(frontiers):.2f} s")
    look(path)


def look(path: Path) -> None:
    following.LEAST_SECONDS = 0.0
    began = time.perf_counter()
    story = Story(Follower(path))
    print(f"study read whole in {since(began):.2f} s", end="; ")
    known = len(Study(path).rounds())
    seconds = []
    for _ in range(100):
        began = time.perf_counter()
        story.new_rounds({"generation": 0, "known": known}, WAITED_FOR)
        seconds.append(since(began))
    print(f"a look at an unchanged file {1e3 * np.median(seconds):.2f} ms")


def since(began: float) -> float:
    return time.perf_counter() - began


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
