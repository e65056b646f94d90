"""What the variances of both regressions predict of figure 2: by how much errors shrink, no function drawn.

python benchmarks/bench_variance_reduction.py [--draws 25] [--seed 0] [--families rbf matern rq]
    [--length-scale 0.5 2.0] [--nu 1.0 2.0]

Where functions are drawn from the very kernels that regress them, the expected squared error is the posterior
variance. So of each draw of kernels and of T points among 1,000 of [0, 1], the variance of f_1 + .. + f_J,
averaged over the points, is taken for decomposed and for entire regression. Printed for J = 3, 5, 7, 10: the
reduction in percent of its root's mean over draws, averaged over T = 1..50. Draws are those of figure 2's
runs.
"""

import argparse

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
import simulators
from optimizer import Composition, Prior
from optimizer.posterior.candidates import CandidatePosterior
from scenarios.reproduction.regression_run import WORLD, LagKernel

GROUPS, T = (3, 5, 7, 10), 50


def deviations(family: str, draw: int, options: argparse.Namespace) -> np.ndarray:
    """Roots of the average variances, (2, number of J, T): decomposed, entire."""
    world = {**WORLD, "length_scale": tuple(options.length_scale)}
    if family == "matern" and options.nu is not None:
        world["nu"] = tuple(options.nu)
    environment = simulators.make(
        "synthetic",
        family=family,
        groups=max(GROUPS),
        seed=bridges.seed_sequence(options.seed, draw, "world"),
        **world,
    )
    every = np.arange(WORLD["points"])
    points = environment.policy_space.embed(every)
    known = bridges.known_prior(environment)
    kernels = [LagKernel.of(kernel, points) for kernel in known.kernels]
    rows = np.random.default_rng(bridges.seed_sequence(options.seed, draw, "design")).choice(
        every, T, replace=False
    )

    def posterior(prior: Prior, groups: int) -> CandidatePosterior:
        return CandidatePosterior(
            prior.kernels,
            prior.noise_variances,
            Composition(groups),
            prior.means,
            features=every[:, None].astype(float),
        )

    apart = posterior(Prior(kernels, known.noise_variances, known.means), len(kernels))
    entire = [
        posterior(Prior(kernels[:J], known.noise_variances[:J], known.means[:J]).composed(Composition(J)), 1)
        for J in GROUPS
    ]
    found = np.empty((2, len(GROUPS), T))
    for t, row in enumerate(rows):
        apart.observe([row], np.zeros((1, len(kernels))))
        average = apart.predict_groups(every)[1].mean(axis=0).cumsum()
        for i, J in enumerate(GROUPS):
            entire[i].observe([row], np.zeros((1, 1)))
            found[:, i, t] = average[J - 1], entire[i].predict(every)[1].mean()
    return np.sqrt(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=["rbf", "matern", "rq"])
    parser.add_argument("--length-scale", type=float, nargs=2, default=WORLD["length_scale"])
    parser.add_argument("--nu", type=float, nargs=2)
    options = parser.parse_args()
    heads = [f"J = {J}" for J in GROUPS]
    print("family   " + "".join(f"{head:>8s}" for head in heads))
    for family in options.families:
        with threadpool_limits(1):
            ours, theirs = np.mean([deviations(family, i, options) for i in range(options.draws)], axis=0)
        reduction = 100 * (1 - ours / theirs).mean(axis=-1)
        print(f"{family:8s} " + "".join(f"{one:8.1f}" for one in reduction), flush=True)


if __name__ == "__main__":
    main()
