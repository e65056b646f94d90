"""An environment whose groups have awkward names, and a scenario on it, of which questions are asked."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

import simulators

NAMES = ("70+", "a*b", "x,y", "<5 years")


class Shares(simulators.Environment):
    """Four groups of awkward names: f_j = (x - c_j)^2 + j (y - 0.5)^2 / 4, under the budget x + y <= 1.2."""

    groups, group_units, objective_unit, sense = NAMES, ("days",) * 4, "days", "minimize"
    centres = np.array([0.2, 0.4, 0.6, 0.8])
    finite = False

    def __init__(self, seed=0, missing=False, noise=0.01):
        self.shift = 0.0 if seed == 0 else np.random.default_rng(seed).uniform(-0.1, 0.1)
        self.missing, self.noise = missing, noise
        budget = LinearConstraint([[1.0, 1.0]], -np.inf, 1.2)
        if self.finite:
            grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2), axis=-1).reshape(-1, 2)
            grid = grid[grid.sum(axis=1) <= 1.2]
            self.policy_space = simulators.PolicySpace(
                ("x", "y"), ("", ""), candidates=grid, constraint=budget
            )
        else:
            box = Bounds([0.0, 0.0], [1.0, 1.0])
            self.policy_space = simulators.PolicySpace(("x", "y"), ("", ""), bounds=box, constraint=budget)

    def expected(self, policies):
        x, y = self.policy_space.resolve(policies).T
        sizes = np.arange(4) / 4
        return (x[:, None] - self.centres - self.shift) ** 2 + sizes * (y[:, None] - 0.5) ** 2

    def step(self, policy):
        values = self.expected(np.asarray([policy]))[0] + self.rng.normal(0, self.noise, 4)
        if self.missing and self.rng.random() < 0.4:
            values[1] = np.nan
        return simulators.Outcomes(values, np.full(4, max(self.noise, 1e-6) ** 2))


class Few(Shares):
    """The same of 81 candidates, those within the budget."""

    finite = True


TEXT = """
name = "shares"
rounds = {rounds}
trials = {trials}
seed = 4
agents = {agents}
{head}
[environment]
name = "{environment}"
options = {{ {options} }}
new_world_each_trial = {apart}
[prior]
samples = {samples}
restarts = 0
{tail}
"""
