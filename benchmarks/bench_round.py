"""One D-GPUCB round on a candidate set against refitting scikit-learn's regressors, in the same run.

python benchmarks/bench_round.py [--candidates 1000] [--groups 10] [--rounds 100]
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from optimizer import Composition, FiniteBeta, Prior, SearchSpace, make_agent

NOISE = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    n, J, T = options.candidates, options.groups, options.rounds
    rng = np.random.default_rng(0)
    C = np.linspace(0, 1, n)[:, None]
    kernels = [RBF(scale) for scale in rng.uniform(0.05, 0.2, J)]
    F = np.stack(
        [rng.standard_normal(8) @ np.cos(np.outer(np.arange(8), 7 * C[:, 0] + j)) for j in range(J)], 1
    )
    exploration = FiniteBeta(n, 0.05, 5.0)
    agent = make_agent(
        "d-gpucb",
        SearchSpace(candidates=C),
        Composition(J),
        prior=Prior(kernels, np.full(J, NOISE), [0.0] * J),
        exploration=exploration,
    )
    rows, Y = [], []

    def observe(row: int) -> np.ndarray:
        rows.append(row)
        Y.append(F[row] + np.sqrt(NOISE) * rng.standard_normal(J))
        return Y[-1]

    with threadpool_limits(1):
        for _ in range(T):
            row = int(agent.ask()[0])
            agent.tell([row], observe(row)[None])
        ours, asked = [], []
        for _ in range(options.repeats):
            start = perf_counter()
            row = int(agent.ask()[0])
            ask_seconds = perf_counter() - start
            y = observe(row)
            start = perf_counter()
            agent.tell([row], y[None])
            ours.append(ask_seconds + perf_counter() - start)
            asked.append(row)
        theirs, observed = [], np.array(Y)
        for repeat, row in enumerate(asked):
            t = T + repeat
            start = perf_counter()
            mean, variance = np.zeros(n), np.zeros(n)
            for j, kernel in enumerate(kernels):
                peer = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None)
                m, s = peer.fit(C[rows[:t]], observed[:t, j]).predict(C, return_std=True)
                mean += m
                variance += s**2
            peer_row = int(np.argmax(mean + np.sqrt(exploration.beta(t + 1) * variance)))
            theirs.append(perf_counter() - start)
            assert row == peer_row, (row, peer_row)
    ours_ms, theirs_ms = 1e3 * np.median(ours), 1e3 * np.median(theirs)
    print(f"candidates {n}, J {J}, T {T}..{len(rows)}: the same argmax in {options.repeats} rounds")
    print(f"policyloop ask + tell   {ours_ms:8.2f} ms")
    print(f"scikit-learn refit      {theirs_ms:8.2f} ms")
    print(f"ratio                   {theirs_ms / ours_ms:8.1f} times faster")


if __name__ == "__main__":
    main()
