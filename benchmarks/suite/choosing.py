"""The problems on which defaults may be chosen: all that was measured before, and their likes."""

import numpy as np
from scipy.special import expit

from benchmarks import bench_levers
from benchmarks.bench_hartmann import ALPHA, terms
from benchmarks.suite.problem import Problem, reals
from simulators import OneOf, Real

HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
HARTMANN3_P = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])


def hartmann3():
    """Hartmann's function of 3 entries by its 4 terms (Dixon and Szego 1978); 3.86278 at best."""

    def f(X):
        return ALPHA * np.exp(-(HARTMANN3_A * (X[:, None, :] - HARTMANN3_P) ** 2).sum(axis=2))

    return Problem("hartmann3", reals("abc", 0, 1), f, sense="maximize")


def hartmann6():
    """Hartmann's function of 6 entries by its 4 terms (Dixon and Szego 1978); 3.32237 at best."""
    return Problem("hartmann6", reals("abcdef", 0, 1), terms, sense="maximize")


def rosenbrock4():
    """Rosenbrock's valley in 4 entries by its 3 terms (Rosenbrock 1960); 0 at (1, 1, 1, 1)."""

    def f(X):
        return 100 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1 - X[:, :-1]) ** 2

    return Problem("rosenbrock4", reals("abcd", -2, 2), f)


def ackley3():
    """Ackley's function of 3 entries by coordinates (Ackley 1987): squares and cosines; 0 at the middle."""

    def f(X):
        x = X - 0.5  # the middle of the range is what a design tries first
        return np.concatenate([x**2, np.cos(2 * np.pi * x)], axis=1)

    def g(Y, xp):
        mean = xp.clip(Y[..., :3].sum(-1) / 3, 1e-18, None)
        return 20 + np.e - 20 * xp.exp(-0.2 * xp.sqrt(mean)) - xp.exp(Y[..., 3:].sum(-1) / 3)

    return Problem("ackley3", reals("abc", -2, 2), f, g)


def as_in_levers(name):
    """A problem of `bench_levers`, with its noise stated."""

    def make():
        old = bench_levers.PROBLEMS[name]()
        space = old.policy_space
        g = (lambda Y, xp: xp.amax(Y, -1)) if isinstance(old, bench_levers.WorstProblem) else None
        levers = dict(zip(space.labels, space.levers, strict=True))
        return Problem(name, levers, old.f, g, old.sense, space.constraint)

    return make


EMAX = np.array([[1.0, 0.8], [1.4, 0.9], [0.7, 1.2], [1.1, 1.1]])  # by drug: effect on young, on old
ED50 = np.array([[20.0, 35], [45, 60], [15, 25], [30, 30]])  # mg
TOXIC = np.array([90.0, 75, 60, 70])  # mg, where half have side effects
SPREAD = np.array([1.0, 0.85, 0.6])  # by schedule (daily, twice, weekly): share of the dose that acts


def doses():
    """One of four drugs, one of three schedules, a dose: Emax effects (Hill 1910) on two ages, less harm."""

    def f(X):
        drug, plan = np.rint(X[:, 0]).astype(int), np.rint(X[:, 1]).astype(int)
        dose = (SPREAD[plan] * X[:, 2])[:, None]
        effect = EMAX[drug] * dose**2 / (ED50[drug] ** 2 + dose**2)
        peak = X[:, 2] * np.array([1.0, 0.7, 0.75])[plan]
        harm = 2.5 * expit((peak - TOXIC[drug]) / 10)
        return np.concatenate([effect, -harm[:, None]], axis=1)

    levers = {
        "drug": OneOf(("A", "B", "C", "D")),
        "schedule": OneOf(("daily", "twice a day", "weekly")),
        "dose": Real(0, 120),
    }
    return Problem("doses", levers, f, sense="maximize")


PROBLEMS = {
    "hartmann3": hartmann3,
    "hartmann6": hartmann6,
    "rosenbrock4": rosenbrock4,
    "ackley3": ackley3,
    "staff": as_in_levers("staff"),
    "inventory": as_in_levers("inventory"),
    "worst": as_in_levers("worst"),
    "vessel": as_in_levers("vessel"),
    "tariffs": as_in_levers("tariffs"),
    "doses": doses,
}
