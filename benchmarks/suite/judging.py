"""The problems that judge a default which was chosen on the others: no agent but `random` before that."""

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.stats import poisson

from benchmarks.suite.problem import Problem, reals
from simulators import OneOf, Real, Whole


def branins():
    """Two Branins (Branin 1972; Dixon and Szego 1978), each of two entries; twice 0.397887 at best."""

    def one(x, y):
        b, c, t = 5.1 / (4 * np.pi**2), 5 / np.pi, 1 / (8 * np.pi)
        return (y - b * x**2 + c * x - 6) ** 2 + 10 * (1 - t) * np.cos(x) + 10

    def f(X):
        return np.stack([one(X[:, 0], X[:, 1]), one(X[:, 2], X[:, 3])], axis=1)

    levers = {"a": Real(-5, 10), "b": Real(0, 15), "c": Real(-5, 10), "d": Real(0, 15)}
    return Problem("branins", levers, f)


SHEKEL_A = np.array([[4.0, 4, 4, 4], [1, 1, 1, 1], [8, 8, 8, 8], [6, 6, 6, 6], [3, 7, 3, 7]])
SHEKEL_C = np.array([0.1, 0.2, 0.2, 0.4, 0.4])


def shekel5():
    """Shekel's foxholes with 5 terms (Shekel 1971; Dixon and Szego 1978); 10.1532 at best."""

    def f(X):
        return 1 / (((X[:, None, :] - SHEKEL_A) ** 2).sum(axis=2) + SHEKEL_C)

    return Problem("shekel5", reals("abcd", 0, 10), f, sense="maximize")


def styblinski4():
    """Styblinski and Tang's function (1990) by its 4 coordinates; -39.16617 for each at best."""

    def f(X):
        return (X**4 - 16 * X**2 + 5 * X) / 2

    return Problem("styblinski4", reals("abcd", -5, 5), f)


SITES, TIMES = np.array([0.0, 1.0, 2.5]), np.array([15.0, 30.0, 45.0, 60.0])
SPILL = np.array([10.0, 0.07, 1.505, 30.1525])  # mass, diffusion, place and time of the second spill


def concentrations(X):
    """Of a pollutant at 3 places and 4 times after two spills, (n, 12) (Bliznyuk et al. 2008)."""
    M, D, L, tau = (column[:, None, None] for column in X.T)
    s, t = SITES[None, :, None], TIMES[None, None, :]
    first = M / np.sqrt(4 * np.pi * D * t) * np.exp(-(s**2) / (4 * D * t))
    late = np.maximum(t - tau, 1e-9)
    second = M / np.sqrt(4 * np.pi * D * late) * np.exp(-((s - L) ** 2) / (4 * D * late))
    return (first + np.where(t > tau, second, 0.0)).reshape(len(X), -1)


def spill():
    """Which spills explain 12 concentrations: a composite sum of squares; 0 at the true ones.

    Bliznyuk et al. 2008, as a composite function in Astudillo and Frazier 2019.
    """
    truth = concentrations(SPILL[None])[0]

    def g(Y, xp):
        return ((Y - xp.asarray(truth)) ** 2).sum(-1)

    levers = {
        "mass": Real(7, 13),
        "diffusion": Real(0.02, 0.12),
        "place": Real(0.01, 3),
        "time": Real(30.01, 30.295),
    }
    return Problem("spill", levers, concentrations, g)


LANGERMANN_A = np.array([[3.0, 5], [5, 2], [2, 1], [1, 4], [7, 9]])
LANGERMANN_C = np.array([1.0, 2, 5, 2, 3])


def langermann():
    """Langermann's function by its 5 squared distances (Astudillo and Frazier 2019); 5.162126 at best."""

    def f(X):
        return ((X[:, None, :] - LANGERMANN_A) ** 2).sum(axis=2)

    def g(Y, xp):
        return (xp.asarray(LANGERMANN_C) * xp.exp(-Y / np.pi) * xp.cos(np.pi * Y)).sum(-1)

    return Problem("langermann", reals("ab", 0, 10), f, g, sense="maximize")


def cb2():
    """The largest of three groups, CB2 of Charalambous and Conn (1978); 1.9522245 at best."""

    def f(X):
        x, y = X.T
        return np.stack([x**2 + y**4, (2 - x) ** 2 + (2 - y) ** 2, 2 * np.exp(y - x)], axis=1)

    return Problem("cb2", reals("ab", -1, 3), f, lambda Y, xp: xp.amax(Y, -1))


REACH = np.array([4.0, 6.0, 3.0])  # what a well can give
EASE = np.array([0.9, 0.5, 1.6])
LIFT = np.array([0.30, 0.18, 0.42])


def wells():
    """A ratio: water of three wells, each lowering its neighbours, by the energy that lifts it."""

    def f(X):
        nearby = X @ np.array([[0.0, 0.15, 0.05], [0.15, 0.0, 0.10], [0.05, 0.10, 0.0]])
        water = REACH * (1 - np.exp(-EASE * X)) * np.exp(-nearby)
        return np.column_stack([water, 1.5 + (LIFT * X**1.5).sum(axis=1)])

    def g(Y, xp):
        return Y[..., :3].sum(-1) / xp.clip(Y[..., 3], 0.5, None)

    return Problem("wells", reals(("north", "east", "south"), 0, 4), f, g, sense="maximize")


def erlang_b(servers, load):
    """The share of customers who find all servers busy, by servers 0, 1, .. (Erlang 1917), (servers + 1,)."""
    found = [1.0]
    for c in range(1, servers + 1):
        found.append(load * found[-1] / (c + load * found[-1]))
    return np.array(found)


LOADS, WORTH = np.array([2.0, 5.0, 3.0, 7.0]), np.array([9.0, 4.0, 7.0, 3.0])


def queue():
    """A queue with four classes, 0 to 12 servers each, 18 in all: what is lost with those turned away."""
    table = LOADS[:, None] * WORTH[:, None] * np.array([erlang_b(12, load) for load in LOADS])

    def f(X):
        return table[np.arange(4), np.rint(X).astype(int)]

    levers = {f"class {j + 1}": Whole(0, 12) for j in range(4)}
    return Problem("queue", levers, f, constraint=LinearConstraint(np.ones(4), -np.inf, 18))


DEMAND, TRANSIT = np.array([1.5, 0.8, 2.2]), np.array([1.0, 2.0, 0.5])
HOLD, SHORT = np.array([0.3, 1.0, 1.0, 1.0]), np.array([12.0, 20.0, 8.0])


def backorders(stock, mean):
    """E max(N - stock, 0) of a Poisson number N."""
    return mean * poisson.sf(stock - 2, mean) - stock * poisson.sf(stock - 1, mean)


def supply_chain():
    """A depot and three stores, base stocks 0 to 12: holding and backorders by METRIC (Sherbrooke 1968)."""

    def f(X):
        stock = np.rint(X)
        total, lead = DEMAND.sum(), 1.5
        waiting = backorders(stock[:, 0], total * lead)
        delay = (waiting / total)[:, None]  # Little
        mean = DEMAND * (TRANSIT + delay)
        short = backorders(stock[:, 1:], mean)
        depot = HOLD[0] * (stock[:, 0] - total * lead + waiting)
        stores = HOLD[1:] * (stock[:, 1:] - mean + short) + SHORT * short
        return np.column_stack([depot, stores])

    levers = {name: Whole(0, 12) for name in ("depot", "store 1", "store 2", "store 3")}
    return Problem("supply chain", levers, f)


SPEED = np.array(
    [[0.9, 0.25], [1.6, 0.7], [0.5, 0.06], [1.2, 0.35]]
)  # at 350 K, by catalyst: wanted, spoiling
HEAT = np.array([[7000.0, 9500], [6000, 8000], [8500, 11000], [7500, 9000]])  # E / R in K
SOLVENT = np.array([[1.0, 1.0], [1.3, 1.6], [0.7, 0.45]])


def reactor():
    """A catalyst of four, a solvent of three, temperature, time: A to B, then C (Arrhenius 1889)."""

    def f(X):
        catalyst, solvent = np.rint(X[:, 0]).astype(int), np.rint(X[:, 1]).astype(int)
        T, t = X[:, 2], X[:, 3]
        warmer = np.exp(-HEAT[catalyst] * (1 / T - 1 / 350)[:, None])
        k1, k2 = (SPEED[catalyst] * SOLVENT[solvent] * warmer).T
        B = k1 * np.exp(-k1 * t) * -np.expm1(-(k2 - k1) * t) / (k2 - k1)
        C = 1 - np.exp(-k1 * t) - B
        return np.stack([10 * B, -4 * C, -0.02 * (T - 300) - 0.15 * t], axis=1)

    levers = {
        "catalyst": OneOf(("A", "B", "C", "D")),
        "solvent": OneOf(("water", "ethanol", "toluene")),
        "temperature": Real(310, 390),
        "time": Real(0.2, 8),
    }
    return Problem("reactor", levers, f, sense="maximize")


CROP_YIELD = np.array([8.0, 6.0, 9.5, 5.0])
CROP_THIRST = np.array([0.6, 1.1, 0.35, 1.8])
CROP_COST = np.array([1.2, 0.5, 2.0, 0.2])
SOIL = np.array([[1.0, 0.8, 1.1, 0.9], [0.7, 1.2, 0.6, 1.15], [0.9, 1.0, 0.8, 1.3]])


def fields():
    """A crop of four in each of three fields, and their water, 6 in all: yields after Mitscherlich (1909)."""

    def f(X):
        crop, water = np.rint(X[:, :3]).astype(int), X[:, 3:]
        each = CROP_YIELD[crop] * SOIL[np.arange(3), crop] * -np.expm1(-CROP_THIRST[crop] * water)
        return each - CROP_COST[crop]

    names = ("north", "east", "south")
    crops = {f"crop {name}": OneOf(("maize", "beans", "rice", "millet")) for name in names}
    limit = LinearConstraint([0.0, 0, 0, 1, 1, 1], -np.inf, 6)
    return Problem("fields", crops | reals([f"water {n}" for n in names], 0, 4), f, None, "maximize", limit)


PROBLEMS = {
    "branins": branins,
    "shekel5": shekel5,
    "styblinski4": styblinski4,
    "spill": spill,
    "langermann": langermann,
    "cb2": cb2,
    "wells": wells,
    "queue": queue,
    "supply chain": supply_chain,
    "reactor": reactor,
    "fields": fields,
}
