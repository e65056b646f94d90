"""A problem of the suite: a formula with one outcome a group, a known composition, and small stated noise."""

import numpy as np

from bridges.feedback import search_space
from simulators import Environment, Outcomes, PolicySpace, Real

NOISE = 0.01
"""Standard deviation of a group's noise, as a share of its own over 500 random policies."""


class Problem(Environment):
    """Groups' outcomes by formula, observed with normal noise whose variance is stated.

    Parameters
    ----------
    name : str
    levers : mapping
        Label to `Real`, `Whole` or `OneOf`.
    f : callable
        Policies (n, d) to the groups' outcomes (n, J), without noise.
    g : callable, optional
        (outcomes (..., J), xp) to the objective (...,), with xp numpy or torch; the sum without one.
    sense : {"minimize", "maximize"}
    constraint : scipy.optimize.LinearConstraint, optional
    """

    objective_unit = ""

    def __init__(self, name, levers, f, g=None, sense="minimize", constraint=None):
        self.name, self.f, self.g, self.sense = name, f, g, sense
        labels = tuple(levers)
        self.policy_space = PolicySpace(
            labels, ("",) * len(labels), levers=list(levers.values()), constraint=constraint
        )
        J = f(self.policy_space.bounds.lb[None]).shape[1]
        self.groups = tuple(f"group {j + 1}" for j in range(J))
        self.group_units = ("",) * J
        self.noise_variance = (NOISE * f(self.random_policies(500, 0)).std(axis=0)) ** 2

    def __reduce__(self):
        """Made anew by its name where it is pickled: formulas are not."""
        from benchmarks.suite.optima import make

        return make, (self.name,)

    def random_policies(self, n, seed):
        return search_space(self).sample(n, np.random.default_rng(seed))

    def expected(self, policies):
        return self.f(self.policy_space.resolve(policies))

    def step(self, policy):
        x = self.policy_space.check(policy)
        noise = self.rng.normal(0.0, np.sqrt(self.noise_variance))
        return Outcomes(self.f(x[None])[0] + noise, noise_variance=self.noise_variance)

    def compose(self, outcomes, policies):
        outcomes = np.asarray(outcomes)
        return outcomes.sum(axis=-1) if self.g is None else self.g(outcomes, np)

    def weights(self, policies):
        return np.ones((len(policies), len(self.groups))) if self.g is None else None

    def value(self, policies):
        """The noise-free objective of policies (n, d)."""
        return self.compose(self.expected(policies), policies)


def reals(names, low, high):
    """Real levers of one range."""
    return {name: Real(low, high) for name in names}
