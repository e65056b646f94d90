"""Mean regret of what D-GPUCB recommends, by how its best prediction is checked against what was tried.

Three kinds of problem: 400 candidates in the unit square, three groups drawn from Gaussian processes (length
scales 0.15 to 0.5, noise 0.1), 15 rounds, with kernels known or learned from the rounds; and Hartmann's
function of six entries by its four terms, 40 rounds, kernels learned.

    python benchmarks/bench_recommendations.py --seeds 30
"""

import argparse

import numpy as np
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.agents import recommending

CHECKS = ("best mean", "checked by data", "checked by both", "best tried")
SIDE = np.linspace(0, 1, 20)
GRID = np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)

A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
ALPHA = np.array([1, 1.2, 3, 3.2])
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HARTMANN_BEST = 3.32237


def regrets(agent, value, best):
    """The regret of the recommendation under each check."""
    better, contradicted = recommending.probably_better, recommending.contradicted
    rules = {
        "best mean": (lambda *_: 1.0, lambda _: False),
        "checked by data": (lambda *_: 1.0, contradicted),
        "checked by both": (better, contradicted),
        "best tried": (better, lambda _: True),
    }
    found = []
    for check in CHECKS:
        recommending.probably_better, recommending.contradicted = rules[check]
        found.append(best - value(agent.recommend().policy))
    recommending.probably_better, recommending.contradicted = better, contradicted
    return found


def drawn(seed, known):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.15, 0.5, 3)
    factors = [np.linalg.cholesky(RBF(scale)(GRID) + 1e-8 * np.eye(len(GRID))) for scale in scales]
    F = np.stack([factor @ rng.standard_normal(len(GRID)) for factor in factors], axis=1)
    prior = Prior([RBF(scale) for scale in scales], np.full(3, 0.01), [0.0] * 3) if known else None
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(3), prior=prior, seed=seed)
    for _ in range(15):
        row = agent.ask()
        agent.tell(row, F[row] + 0.1 * rng.standard_normal((1, 3)))
    return regrets(agent, lambda row: F[row].sum(), F.sum(axis=1).max())


def hartmann(seed):
    def terms(X):
        return -ALPHA * np.exp(-(A * (X[:, None, :] - P) ** 2).sum(axis=-1))

    space = SearchSpace(Bounds(np.zeros(6), np.ones(6)))
    agent = make_agent("d-gpucb", space, Composition(4, sense="minimize"), seed=seed)
    for _ in range(40):
        x = agent.ask()
        agent.tell(x, terms(x))
    return regrets(agent, lambda x: -terms(x[None]).sum(), HARTMANN_BEST)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30, help="of Hartmann's function a fifth")
    asked = parser.parse_args()
    threadpool_limits(1)
    print(f"{'':<18}" + "".join(f"{check:>18}" for check in CHECKS))
    for name, trial, seeds in (
        ("kernels known", lambda seed: drawn(seed, True), asked.seeds),
        ("kernels learned", lambda seed: drawn(seed, False), asked.seeds),
        ("Hartmann", hartmann, max(asked.seeds // 5, 1)),
    ):
        mean = np.mean([trial(seed) for seed in range(seeds)], axis=0)
        print(f"{name:<18}" + "".join(f"{one:>18.3f}" for one in mean), flush=True)


if __name__ == "__main__":
    main()
