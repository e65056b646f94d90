"""Environments whose groups are formulas of the policy, observed with noise."""

import numpy as np
from scipy.optimize import Bounds

import simulators


class Formula(simulators.Environment):
    """Groups by a formula in a box, whose sum is to be minimised; noise of a share of each group's spread.

    The spread is of 2,000 random policies.
    """

    sense, objective_unit = "minimize", ""

    def __init__(self, name, formula, low, high, groups=None, *, noise=0.01, spread=np.std):
        self.name, self.formula = name, formula
        low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        labels = tuple(f"x{i + 1}" for i in range(len(low)))
        self.policy_space = simulators.PolicySpace(labels, ("",) * len(low), bounds=Bounds(low, high))
        sampled = formula(low + (high - low) * np.random.default_rng(0).random((2000, len(low))))
        self.groups = tuple(groups or (f"g{j + 1}" for j in range(sampled.shape[1])))
        self.group_units = ("",) * len(self.groups)
        self.noise = noise * spread(sampled, axis=0)

    def expected(self, policies):
        return self.formula(np.asarray(policies, dtype=float))

    def step(self, policy):
        x = self.policy_space.check(policy)
        values = self.expected(x[None])[0] + self.rng.normal(0, 1, len(self.groups)) * self.noise
        return simulators.Outcomes(values, self.noise**2)
