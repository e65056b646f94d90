"""An environment with levers of all kinds, whose best policy is known in closed form."""

import numpy as np
from scipy.optimize import LinearConstraint

from simulators import Environment, OneOf, Outcomes, PolicySpace, SimulationError
from simulators.contract.levers import as_lever

POLICY = {
    "share": (0, 1),
    "nurses": {"whole": (1, 20)},
    "beds": {"whole": (10, 30), "step": 5},
    "tariff": {"one_of": ("flat", "peak", "dynamic")},
}
UNITS = {"share": "of patients", "nurses": "persons", "beds": "beds"}


class Clinic(Environment):
    """Group "numbers": the squared distance, relative to its range, of each number from 0.6 of its range.

    Group "choices": 0.2 for each place that a category is away from its second name.
    """

    groups, group_units, objective_unit, sense = (
        ("numbers", "choices"),
        ("hours", "hours"),
        "hours",
        "minimize",
    )

    def __init__(self, policy=None, weights=None, most=np.inf, current=None, fails=False):
        levers = {label: as_lever(label, given) for label, given in (policy or POLICY).items()}
        constraint = None if weights is None else LinearConstraint(weights, -np.inf, most)
        units = [UNITS.get(label, "") for label in levers]
        self.policy_space = PolicySpace(
            list(levers), units, levers=list(levers.values()), constraint=constraint
        )
        self.current_policy, self.fails = current, fails

    def expected(self, policies):
        outcomes = np.zeros((len(policies), 2))
        for lever, x in zip(self.policy_space.levers, np.asarray(policies, dtype=float).T, strict=True):
            if isinstance(lever, OneOf):
                outcomes[:, 1] += 0.2 * abs(x - 1)
            else:
                outcomes[:, 0] += ((x - lever.low) / (lever.high - lever.low) - 0.6) ** 2
        return outcomes

    def step(self, policy):
        x = self.policy_space.check(policy)
        if self.fails:
            raise SimulationError("no beds left")
        return Outcomes(self.expected([x])[0] + self.rng.normal(0, 0.01, 2), np.full(2, 1e-4))
