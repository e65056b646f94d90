"""How often the 95 % credible interval of the objective contains it, where kernels are learned on the way.

python benchmarks/bench_calibration.py [--problems 200] [--jobs 1] [--seed 0] [--groups 1 3 10]
    [--noise known stated unknown] [--noise-deviation 0.1] [--composition sum worst squares ratio]
    [--agent d-gpucb] [--quick]

A problem has a grid of 400 candidates in the unit square and J functions on it, drawn from Gaussian processes
of variance 1 whose RBF kernels have length scales between 0.15 and 0.5. An agent is told all of them, with
noise of standard deviation 0.1, and maximises their sum, or a general composition of them (`COMPOSITIONS`).
"known": it is given the kernels and the noise; "stated": every observation comes with its noise variance;
"unknown": it learns that as well. `--noise-deviation` is another standard deviation, or "drawn": one a
problem, from 0.02 to 0.5 with equal probability on a logarithmic scale.

After T rounds: the share of problems whose recommended policy has its noise-free objective inside the
interval, with Wilson's 95 % interval of that share; the root mean square of z, the error in standard
deviations (1 where both fit); the same over all candidates, by mean and standard deviation; and the mean
regret of the recommended policy.
"""

import argparse
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binomtest
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent

SIDE = np.linspace(0, 1, 20)
GRID = np.array(list(product(SIDE, SIDE)))
DRAWN = (0.02, 0.5)
ROUNDS = (10, 20, 40)
HALF_WIDTH = 1.959964
COMPOSITIONS = {
    "sum": lambda F, policies: F.sum(axis=-1),
    "worst": lambda F, policies: F.min(axis=-1),
    "squares": lambda F, policies: -((F - 1) ** 2).sum(axis=-1),
    "ratio": lambda F, policies: F[..., :-1].sum(axis=-1) / (1 + np.exp(F[..., -1])),
}
"""g: the sum, which is linear; the group that is worst off; the distance to a target of 1 in every group,
squared; all groups but the last over what that one costs. All are maximised, and ratio needs two groups."""


def noise_variance(seed: int, said: str) -> float:
    """Of a problem: what was said, or its draw."""
    if said != "drawn":
        return float(said) ** 2
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    return float(np.exp(2 * rng.uniform(*np.log(DRAWN))))


def problem(
    seed: int, J: int, noise: str, agent_name: str, composition: str = "sum", deviation: str = "0.1"
) -> np.ndarray:
    """z^2 of the recommended policy, whether it is covered, both over all candidates, and regret: (T, 5)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(J,)))
    kernels = [RBF(scale) for scale in rng.uniform(0.15, 0.5, J)]
    drawn = noise_variance(seed, deviation)
    F = np.empty((len(GRID), J))
    with threadpool_limits(1):
        for j, kernel in enumerate(kernels):
            factor = np.linalg.cholesky(kernel(GRID) + 1e-8 * np.eye(len(GRID)))
            F[:, j] = factor @ rng.standard_normal(len(GRID))
        prior = Prior(kernels, np.full(J, drawn), [0.0] * J) if noise == "known" else None
        g = COMPOSITIONS[composition]
        composed = Composition(J) if composition == "sum" else GeneralComposition(J, g)
        agent = make_agent(agent_name, SearchSpace(candidates=GRID), composed, prior=prior, seed=seed)
        f, found = g(F, GRID), []
        for t in range(1, ROUNDS[-1] + 1):
            row = agent.ask()
            y = F[row] + np.sqrt(drawn) * rng.standard_normal((1, J))
            variance = np.full((1, J), drawn)
            if agent.feedback == "aggregate":
                y, variance = y.sum(axis=1), variance.sum(axis=1)
            agent.tell(row, y, variance if noise == "stated" else None)
            if t in ROUNDS:
                mean, deviation = agent.predict(np.arange(len(GRID)))
                z = (f - mean) / deviation
                said = agent.recommend()
                inside = np.abs(z) <= HALF_WIDTH
                found.append(
                    [
                        z[said.policy] ** 2,
                        said.low <= f[said.policy] <= said.high,
                        np.mean(z**2),
                        inside.mean(),
                        f.max() - f[said.policy],
                    ]
                )
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--noise", nargs="+", default=["known", "stated", "unknown"])
    parser.add_argument("--noise-deviation", default="0.1", help='of all, or "drawn": one a problem')
    parser.add_argument("--composition", nargs="+", default=["sum"], choices=COMPOSITIONS)
    parser.add_argument("--agent", default="d-gpucb")
    parser.add_argument("--quick", action="store_true", help="20 problems")
    options = parser.parse_args()
    n = 20 if options.quick else options.problems
    print(
        f"{options.agent}, problems {options.seed}..{options.seed + n - 1}, noise {options.noise_deviation}"
    )
    print(" J  noise    g         T   recommended: inside, %  rms z   all: inside, %  rms z  regret")
    for J, noise, g in product(options.groups, options.noise, options.composition):
        tasks = (
            delayed(problem)(options.seed + i, J, noise, options.agent, g, options.noise_deviation)
            for i in range(n)
        )
        found = np.array(Parallel(n_jobs=options.jobs)(tasks))
        for i, T in enumerate(ROUNDS):
            z2, inside, all_z2, all_inside, regret = found[:, i].T
            low, high = binomtest(int(inside.sum()), n).proportion_ci(method="wilson")
            share = f"{100 * inside.mean():5.1f} [{100 * low:4.1f}, {100 * high:5.1f}]"
            print(
                f"{J:2d}  {noise:8s} {g:8s} {T:2d}   {share:>22s}  {np.sqrt(z2.mean()):5.2f}   "
                f"{100 * all_inside.mean():14.1f}  {np.sqrt(all_z2.mean()):5.2f}  {regret.mean():6.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
