"""Drawing a synthetic world, running agents in it, and the regression study, on one thread.

    python benchmarks/bench_synthetic.py [--groups 10] [--repeats 5] [--rounds 100] [--runs 5]

Times the draw of a world against numpy.random.Generator.multivariate_normal (its faster method, "eigh", on
the same kernel matrices) and scikit-learn's GaussianProcessRegressor.sample_y, and says how far each draw's
covariance is from the kernel. Then one trial of six agents, and one run of the regression study against
refitting scikit-learn's regressors. Times are processor times of this one thread, which other work on the
machine disturbs less.
"""

import argparse
import time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from threadpoolctl import threadpool_limits

import bridges
import simulators
from scenarios.reproduction.regression_run import RegressionSetting, regression_run
from simulators.synthetic.gaussian_field import factor, kernel_table

AGENTS = ("d-gpucb", "gp-ucb", "d-ei", "ei", "d-mpi", "mpi")


def best_of(repeats, function):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def draws(J, repeats):
    for family, scale in (("rbf", (0.02, 0.2)), ("rbf", (0.5, 2)), ("matern", (0.5, 2)), ("rq", (0.5, 2))):
        options = {"groups": J, "family": family, "length_scale": scale}
        world = simulators.make("synthetic", **options)
        X, kernels, rng = world.policy_space.candidates, world.kernels, np.random.default_rng(0)

        def ours(options=options):
            return simulators.make("synthetic", **options).functions

        def numpys(kernels=kernels, X=X, rng=rng):
            return [rng.multivariate_normal(np.zeros(len(X)), k(X), method="eigh") for k in kernels]

        def sklearns(kernels=kernels, X=X):
            peers = [GaussianProcessRegressor(k, optimizer=None) for k in kernels]
            return [peer.sample_y(X, random_state=0) for peer in peers]

        mine, theirs, other = best_of(repeats, ours), best_of(1, numpys), best_of(1, sklearns)
        error, rank = 0.0, 0
        for kernel in kernels:
            L, pivots = factor(kernel_table(kernel, world.shape))
            error, rank = max(error, np.abs(L @ L.T - kernel(X)).max()), max(rank, len(pivots))
        print(
            f"{family:6s} length scales {scale[0]:g}..{scale[1]:g}: a world of {J} in {1e3 * mine:6.1f} ms; "
            f"numpy {theirs / mine:5.0f} times, sample_y {other / mine:5.0f} times as long; "
            f"|K - L L^T| <= {error:.0e}, up to {rank} columns"
        )


def trial(J, rounds):
    start = time.process_time()
    for name in AGENTS:
        world = simulators.make("synthetic", groups=J, seed=1)
        agent = bridges.make_agent(name, world, prior=bridges.known_prior(world), delta=0.05)
        design, optimum = bridges.initial_design(world, 1, 0), bridges.find_optimum(world)
        for _ in bridges.Loop(world, agent, 0, design=design, optimum=optimum).run(rounds):
            pass
    seconds = time.process_time() - start
    print(
        f"one trial of {len(AGENTS)} agents, {rounds} rounds, J {J}, worlds drawn for each: {seconds:.2f} s; "
        f"30 trials on 2 cores {15 * seconds:.0f} s"
    )


def regression(J, runs):
    for family in ("rbf", "matern", "rq"):
        setting = RegressionSetting(family, groups=(J,))
        start = time.process_time()
        for run in range(runs):
            regression_run(setting, run, {})
        ours = (time.process_time() - start) / runs

        world = simulators.make("synthetic", groups=J, family=family, length_scale=(0.5, 2))
        X, F = world.policy_space.candidates, world.functions
        rows = np.random.default_rng(0).choice(1000, setting.observations, replace=False)
        total = sum(world.kernels[1:], world.kernels[0])
        start = time.process_time()
        for T in (10, 25, 40):  # three of the fifty
            for kernel, noise, y in [(total, 1e-4 * J, F.sum(axis=1))] + [
                (kernel, 1e-4, F[:, j]) for j, kernel in enumerate(world.kernels)
            ]:
                peer = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
                peer.fit(X[rows[:T]], y[rows[:T]]).predict(X)
        theirs = (time.process_time() - start) / 3 * setting.observations
        print(
            f"{family:6s} regression, T 1..{setting.observations}, J {J} {1e3 * ours:6.1f} ms a run, world "
            f"included; scikit-learn's refits {theirs / ours:4.0f} times as long; 100 runs {100 * ours:.0f} s"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    draws(arguments.groups, arguments.repeats)
    trial(arguments.groups, arguments.rounds)
    regression(arguments.groups, arguments.runs)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
