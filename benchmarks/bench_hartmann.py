"""Regret on Hartmann's function of six variables, split into its four terms, with kernels learned on the way.

python benchmarks/bench_hartmann.py [--agents d-gpucb d-ei] [--scale-down 5 25] [--trials 10] [--rounds 40]

The terms are four groups, whose sum is to be maximised (3.322 at best); every group is observed with noise of
standard deviation 0.02. The first 12 rounds are the agents' design. Printed are the regret of the policy
that is recommended after the last round and that of the best policy tried, both without noise: the mean over
trials, with Student's 95 % interval.
"""

import argparse
from time import process_time

import numpy as np
from scipy.optimize import Bounds
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from optimizer import Composition, SearchSpace, make_agent

ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
BEST = 3.32236801
NOISE = 0.02


def terms(X: np.ndarray) -> np.ndarray:
    """The four terms at policies (n, 6), shape (n, 4)."""
    return ALPHA * np.exp(-(A * (X[:, None, :] - P) ** 2).sum(axis=2))


def trial(name: str, scale_down: float, seed: int, rounds: int) -> tuple[float, float, float]:
    """Regret of the recommendation and of the best policy tried, and processor seconds."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    space = SearchSpace(Bounds(np.zeros(6), np.ones(6)))
    agent = make_agent(name, space, Composition(4), seed=seed, scale_down=scale_down)
    tried, start = [], process_time()
    for _ in range(rounds):
        x = agent.ask()
        Y = terms(x) + NOISE * rng.standard_normal((1, 4))
        agent.tell(x, Y if agent.feedback == "decomposed" else Y.sum(axis=1))
        tried.append(float(terms(x).sum()))
    policy = agent.recommend().policy
    return BEST - float(terms(policy[None]).sum()), BEST - max(tried), process_time() - start


def interval(values: np.ndarray) -> str:
    n = len(values)
    half = student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return f"{values.mean():6.3f} [{values.mean() - half:6.3f}, {values.mean() + half:6.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="+", default=["d-gpucb", "d-ei", "gp-ucb"])
    parser.add_argument("--scale-down", nargs="+", type=float, default=[5.0, 25.0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    options = parser.parse_args()
    print(f"{'agent':9s} {'scale-down':>10s}  {'recommended':24s} {'best tried':24s}  median   s a trial")
    for name in options.agents:
        for scale_down in options.scale_down if name.endswith("ucb") else options.scale_down[:1]:
            with threadpool_limits(1):
                seeds = range(options.seed, options.seed + options.trials)
                found = np.array([trial(name, scale_down, seed, options.rounds) for seed in seeds])
            said, tried, seconds = found.T
            print(
                f"{name:9s} {scale_down:10g}  {interval(said)} {interval(tried)}  {np.median(said):.3f} "
                f"{seconds.mean():9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
