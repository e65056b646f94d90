"""Six problems with limits on outcomes: four by formulas, whose noise is 1 % of a spread of each group."""

import numpy as np
from scipy.special import ndtr

import simulators
from benchmarks.formulas import Formula
from bridges.reframed import ReframedEnvironment, Reweighing
from simulators.contract.outcome_limit import Limit

PROBLEMS = ("flu", "flu-abm", "gramacy", "townsend", "beam", "inventory")


def weighed(name, formula, low, high, costs, limits):
    """The first `costs` groups of a formula make up the objective, others are limited."""
    inner = Formula(name, formula, low, high)
    weights = (np.arange(len(inner.groups)) < costs).astype(float)
    return ReframedEnvironment(
        inner, objective=Reweighing(weights, np.full(len(weights), np.nan)),
        limits=[Limit({inner.groups[j]: 1.0}, **ends) for j, ends in limits.items()],
    )  # fmt: skip


def gramacy(X):
    """Terms of the objective, then the two limited values (Gramacy et al. 2016, section 4.1)."""
    x, y = X.T
    c1 = 1.5 - x - 2 * y - 0.5 * np.sin(2 * np.pi * (x**2 - 2 * y))
    c2 = x**2 + y**2 - 1.5
    return np.stack([x, y, c1, c2], axis=1)


def townsend(X):
    """Two terms, and how far outside the curve a point is."""
    x, y = X.T
    t = np.arctan2(x, y)
    radius = 2 * np.cos(t) - 0.5 * np.cos(2 * t) - 0.25 * np.cos(3 * t) - 0.125 * np.cos(4 * t)
    outside = x**2 + y**2 - radius**2 - (2 * np.sin(t)) ** 2
    return np.stack([-(np.cos((x - 0.1) * y) ** 2), -x * np.sin(3 * x + y), outside], axis=1)


def beam(X):
    """Cost of weld and of bar; shear, bending, deflection, size and buckling (Coello 2000)."""
    h, length, t, b = X.T
    P, L, E, G = 6000.0, 14.0, 30e6, 12e6
    torque = P * (L + length / 2)
    arm = np.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * np.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2)
    direct, twist = P / (np.sqrt(2) * h * length), torque * arm / polar
    shear = np.sqrt(direct**2 + direct * twist * length / arm + twist**2)
    bending, deflection = 6 * P * L / (b * t**2), 4 * P * L**3 / (E * t**3 * b)
    buckling = 4.013 * E * t * b**3 / (6 * L**2) * (1 - t / (2 * L) * np.sqrt(E / (4 * G)))
    return np.stack(
        [1.10471 * h**2 * length, 0.04811 * t * b * (14 + length), np.log(shear / 13600),
         np.log(bending / 30000), np.log(deflection / 0.25), h - b, np.log(6000 / np.maximum(buckling, 1.0))],
        axis=1,
    )  # fmt: skip


def inventory(X):
    """Costs of stock of three goods of normal demand, then their service levels."""
    mean, deviation = np.array([20.0, 50.0, 35.0]), np.array([8.0, 10.0, 15.0])
    z = (X - mean) / deviation
    left = deviation * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))  # stock that is left over
    return np.concatenate([np.array([3.0, 1.0, 2.0]) * left, ndtr(z)], axis=1)


def problem(name):
    """An environment with its limits, by name."""
    if name == "flu":
        inner = simulators.make("flu-ode", intervention="vaccination")
        return ReframedEnvironment(
            inner, limits=[Limit({"70+": 1.0}, at_most=0.022), Limit({"20-49": 1.0}, at_most=0.28)]
        )
    if name == "flu-abm":
        inner = simulators.make("flu-abm", persons=500, days=120)
        return ReframedEnvironment(inner, limits=[Limit({"70+": 1.0}, at_most=0.157)])
    at_most = {"at_most": 0.0}
    if name == "gramacy":
        return weighed(name, gramacy, [0, 0], [1, 1], 2, {2: at_most, 3: at_most})
    if name == "townsend":
        return weighed(name, townsend, [-2.25, -2.5], [2.5, 1.75], 2, {2: at_most})
    if name == "beam":
        limited = dict.fromkeys(range(2, 7), at_most)
        return weighed(name, beam, [0.125, 0.1, 0.1, 0.1], [5, 10, 10, 5], 2, limited)
    return weighed(
        name, inventory, [0, 20, 0], [60, 100, 100], 3, dict.fromkeys((3, 4, 5), {"at_least": 0.9})
    )
