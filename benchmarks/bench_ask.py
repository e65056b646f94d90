"""One ask of an agent after many observations, its prior given.

python benchmarks/bench_ask.py [--observations 100 300 1000 3000] [--repeats 7] [--agents d-gpucb]

Five groups over the unit box of five entries. Half of the policies told are random, the others lie close to
the best of them, as in a trial that has gone on for a while. Processor seconds of one thread, median.
"""

import argparse
from time import process_time

import numpy as np
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from optimizer import Composition, Prior, SearchSpace, make_agent

D, J, NOISE = 5, 5, 1e-3


def measure(name: str, T: int, repeats: int) -> tuple[float, float]:
    """Median processor seconds of an ask and of a tell after T observations."""
    rng = np.random.default_rng(0)
    centres, widths = rng.random((J, D)), rng.uniform(0.5, 2, (J, D))

    def outcomes(X: np.ndarray) -> np.ndarray:
        bowls = [
            -((X - c) ** 2 * w).sum(1) + 0.3 * np.sin(3 * X @ w) for c, w in zip(centres, widths, strict=True)
        ]
        return np.stack(bowls, axis=1)

    space = SearchSpace(Bounds(np.zeros(D), np.ones(D)))
    kernels = [ConstantKernel(1.0) * RBF(rng.uniform(0.3, 1.0, D)) for _ in range(J)]
    prior = Prior(kernels, np.full(J, NOISE), [0.0] * J)
    agent = make_agent(name, space, Composition(J), prior=prior, seed=1)
    X = space.sample(T + repeats, rng)
    best = X[np.argmax(outcomes(X).sum(axis=1))]
    X[T // 2 :] = np.clip(best + 0.1 * rng.standard_normal((len(X) - T // 2, D)), 0, 1)
    Y = outcomes(X) + np.sqrt(NOISE) * rng.standard_normal((len(X), J))
    told = Y if agent.feedback == "decomposed" else Y.sum(axis=1)
    agent.tell(X[:T], told[:T])
    asks, tells = [], []
    for t in range(T, T + repeats):
        start = process_time()
        agent.tell(X[[t]], told[[t]])
        tells.append(process_time() - start)
        start = process_time()
        agent.ask()
        asks.append(process_time() - start)
    return float(np.median(asks)), float(np.median(tells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observations", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--agents", nargs="+", default=["d-gpucb"])
    options = parser.parse_args()
    print("agent        T   ask, s   tell, s")
    with threadpool_limits(1):
        for name in options.agents:
            for T in options.observations:
                ask, tell = measure(name, T, options.repeats)
                print(f"{name:9s} {T:5d} {ask:8.3f} {tell:9.3f}", flush=True)


if __name__ == "__main__":
    main()
