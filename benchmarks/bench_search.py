"""One search of the flu spaces: its time, its gap to 200 starts, and its ratio to the authors' way.

Run: python benchmarks/bench_search.py [problems, default 20]
Times are processor time of one thread: elapsed time on an idle machine, and less disturbed on a busy one.
"""

import sys
import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from optimizer import UCB, Composition, DecomposedGP, SearchSpace

J, T, D, ROOT_BETA, NOISE = 5, 100, 5, 2.0, 1e-4
SPACES = {
    "treatment, budget met exactly": (
        Bounds(np.full(D, 0.12), np.full(D, 0.3)),
        LinearConstraint(np.array([[24.0, 33.0, 15.0, 4.0, 6.0]]), 14.4, 14.4),
    ),
    "vaccination, budget not exceeded": (
        Bounds(np.zeros(D), np.ones(D)),
        LinearConstraint(np.array([[0.262, 0.406, 0.197, 0.044, 0.091]]), -np.inf, 0.47),
    ),
}


def problem(space, seed):
    """Draw J groups on T policies: the model, its UCB, the prior deviation, the same groups in scikit-learn.

    Half of the problems have seen uniform policies only; in the others half of the policies lie close
    together, as in a trial that has gone on for a while.
    """
    rng = np.random.default_rng(seed)
    width = space.upper - space.lower
    kernels = [
        ConstantKernel(rng.uniform(0.2, 2.0)) * RBF(width * rng.uniform(0.3, 1.2, D)) for _ in range(J)
    ]
    X = space.sample(T, rng)
    if seed % 2:
        X[T // 2 :] = X[:1] + 0.1 * (space.sample(T // 2, rng) - X[:1])
    Y = np.column_stack(
        [rng.multivariate_normal(np.zeros(T), k(X) + NOISE * np.eye(T), method="cholesky") for k in kernels]
    )
    model = DecomposedGP(kernels, [NOISE] * J, Composition(J)).observe(X, Y)
    ucb = UCB(ROOT_BETA**2)

    def value(x):
        return ucb.score(model.posterior(x))

    def value_and_gradient(x):
        posterior, pullback = model.posterior_and_pullback(x)
        return ucb.score(posterior), pullback(ucb.slopes(posterior))

    regressors = [
        GaussianProcessRegressor(k, alpha=NOISE, optimizer=None).fit(X, y)
        for k, y in zip(kernels, Y.T, strict=True)
    ]
    return value, value_and_gradient, np.sqrt(sum(k.k1.constant_value for k in kernels)), regressors


def authors_way(space, regressors, rng):
    """Search as the authors' published code does: three SLSQP starts on predict, without gradients."""

    def negative(x):
        parts = [r.predict(x[None], return_std=True) for r in regressors]
        return -(sum(m[0] for m, _ in parts) + ROOT_BETA * np.sqrt(sum(s[0] ** 2 for _, s in parts)))

    runs = [
        minimize(negative, x, method="SLSQP", bounds=space.bounds, constraints=space.constraints)
        for x in space.sample(3, rng)
    ]
    return max(-run.fun for run in runs if space.contains(run.x[None]).all())


def best_of_200(space, value, value_and_gradient, rng):
    """Search by 200 separate SLSQP runs, half from random policies, half from the best of 4,096."""
    policies = space.sample(4096, rng)
    starts = np.concatenate((policies[np.argsort(-value(policies))[:100]], policies[:100]))
    best = -np.inf
    for start in starts:
        run = minimize(
            lambda x: tuple(-part[0] for part in value_and_gradient(x[None])),
            start,
            jac=True,
            method="SLSQP",
            bounds=space.bounds,
            constraints=space.constraints,
        )
        if space.contains(run.x[None]).all():
            best = max(best, -run.fun)
    return best


def milliseconds(function, repeats):
    """Return the result of a function and the median time of some calls."""
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        result = function()
        times.append(time.thread_time() - start)
    return result, 1e3 * float(np.median(times))


def measure(space, seed):
    """Return ms a search, ms of its screening, ms the authors' way, and both gaps in prior deviations."""
    value, value_and_gradient, deviation, regressors = problem(space, seed)
    (x, found), ours = milliseconds(
        lambda: space.maximise(value, value_and_gradient, np.random.default_rng(seed)), 5
    )
    assert space.contains(x[None]).all()
    policies = space.sample(512, np.random.default_rng(seed))
    _, screening = milliseconds(lambda: value(policies), 5)
    theirs_found, theirs = milliseconds(
        lambda: authors_way(space, regressors, np.random.default_rng(seed)), 1
    )
    best = max(found, best_of_200(space, value, value_and_gradient, np.random.default_rng(seed + 1000)))
    return ours, screening, theirs, (best - found) / deviation, (best - theirs_found) / deviation


def main(problems=20):
    for name, (bounds, constraint) in SPACES.items():
        space = SearchSpace(bounds, constraint)
        ours, screening, theirs, gaps, their_gaps = np.array([measure(space, s) for s in range(problems)]).T
        print(f"{name}, {problems} problems")
        print(
            f"  ms a search: median {np.median(ours):.1f}, worst {ours.max():.1f};"
            f" of it screening 512 policies: {np.median(screening):.1f}"
        )
        print(f"  gap to 200 starts in prior deviations: mean {gaps.mean():.5f}, worst {gaps.max():.5f}")
        print(
            f"  the authors' way: median {np.median(theirs):.0f} ms, {np.median(theirs / ours):.1f} times;"
            f" gap mean {their_gaps.mean():.3f}, worst {their_gaps.max():.3f}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
