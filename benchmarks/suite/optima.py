"""The best policy of every problem, computed once and stored, beside a scale of regret.

    python -m benchmarks.suite.optima [NAME ..]  # writes benchmarks/suite/optima.json: all, or those named

Where nothing is real: brute force over all policies. Else SciPy's differential evolution with whole numbers
and three seeds, its real entries polished by SLSQP and Nelder-Mead.
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, differential_evolution, minimize

from benchmarks.suite import choosing, judging

FILE = Path(__file__).with_name("optima.json")
CHOOSING, JUDGING = tuple(choosing.PROBLEMS), tuple(judging.PROBLEMS)


def make(name):
    """A problem by its name."""
    return {**choosing.PROBLEMS, **judging.PROBLEMS}[name]()


def stored():
    """By problem: `policy`, its `value`, and `scale`, the median regret of 2,000 random policies."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def best_policy(problem, seeds=(0, 1, 2)):
    """The best policy of a problem, (d,)."""
    space, sign = problem.policy_space, problem.sign
    real = space.steps == 0
    if not real.any():
        axes = [np.arange(lever.low, lever.high + 1, lever.step) for lever in space.levers]
        every = np.array(list(itertools.product(*axes)), dtype=float)
        every = every[space.contains(every)]
        return every[np.argmax(sign * problem.value(every))]

    def loss(x):
        return -sign * float(problem.value(x[None])[0])

    box = Bounds(space.bounds.lb, space.bounds.ub)
    limits = () if space.constraint is None else (space.constraint,)
    found = []
    for seed in seeds:
        one = differential_evolution(
            loss,
            box,
            constraints=limits,
            integrality=~real,
            rng=seed,
            popsize=40,
            tol=1e-12,
            maxiter=600,
            polish=False,
        )
        found.append(improved(problem, one.x))
    return min(found, key=loss)


def improved(problem, x):
    """A policy with its real entries moved to the nearest local optimum, feasible."""
    space, sign = problem.policy_space, problem.sign
    real = space.steps == 0
    x = np.where(real, x, np.rint(x))
    if not real.any():
        return x
    box = Bounds(space.bounds.lb[real], space.bounds.ub[real])

    def spread(y):
        z = x.copy()
        z[real] = np.clip(y, box.lb, box.ub)
        return z

    def loss(y):
        return -sign * float(problem.value(spread(y)[None])[0])

    limits = []
    if space.constraint is not None:
        A = np.atleast_2d(space.constraint.A)
        fixed = A[:, ~real] @ x[~real]
        limits = [LinearConstraint(A[:, real], space.constraint.lb - fixed, space.constraint.ub - fixed)]
    best = x
    for method, options in (
        ("SLSQP", {"ftol": 1e-14, "maxiter": 500}),
        ("Nelder-Mead", {"xatol": 1e-10, "fatol": 1e-14}),
    ):
        if method == "Nelder-Mead" and limits:
            continue
        one = minimize(
            loss,
            best[real],
            method=method,
            bounds=box,
            options=options,
            **({"constraints": limits} if limits else {}),
        )
        z = spread(one.x)
        if space.contains(z[None])[0] and loss(z[real]) < loss(best[real]):
            best = z
    return best


def main():
    names = sys.argv[1:] or [*CHOOSING, *JUDGING]
    found = stored() if sys.argv[1:] else {}
    for name in names:
        problem = make(name)
        policy = best_policy(problem)
        value = float(problem.value(policy[None])[0])
        random = problem.sign * (value - problem.value(problem.random_policies(2000, 1)))
        found[name] = {"policy": policy.tolist(), "value": value, "scale": float(np.median(random))}
        print(
            f"{name:14} {value:12.7g}  scale {found[name]['scale']:.4g}  {np.round(policy, 4).tolist()}",
            flush=True,
        )
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
