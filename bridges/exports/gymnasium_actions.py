"""Policies as actions of Gymnasium, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from simulators.contract.levers import Lever, Real
from simulators.contract.policy_space import PolicySpace


class Actions:
    """The action space of a policy space.

    Candidates are `Discrete`, their rows. Real numbers are one `Box`, whole numbers and categories one
    `MultiDiscrete` (`Discrete`, where there is one entry), and where there are real numbers and others, an
    action is a `Dict` by label, of a `Box` of shape (1,) or a `Discrete` each. A whole number is its own
    action; one in steps other than 1 is the number of steps above its lower limit, and a category its place
    among the names, both counted from 0.

    Attributes
    ----------
    space : gymnasium.Space
    """

    space: spaces.Space[Any]

    def __init__(self, policy_space: PolicySpace) -> None:
        self._policies = policy_space
        levers = policy_space.levers
        self._real = np.array([isinstance(lever, Real) for lever in levers])
        if policy_space.size is not None:
            self.space = spaces.Discrete(policy_space.size)
            return
        assert policy_space.bounds is not None
        self._step = np.where(self._real, 1.0, policy_space.steps)
        self._start = np.where(self._step == 1, 0.0, policy_space.bounds.lb)  # the policy of action 0
        if self._real.all():
            self.space = spaces.Box(policy_space.bounds.lb, policy_space.bounds.ub, dtype=np.float64)
        elif self._real.any():
            named = zip(policy_space.labels, levers, strict=True)
            self.space = spaces.Dict({label: _single(lever) for label, lever in named})
        elif len(levers) == 1:
            self.space = _single(levers[0])
        else:
            counts, starts = np.array([_numbers(lever) for lever in levers], dtype=np.int64).T
            self.space = spaces.MultiDiscrete(counts, start=starts)

    def policy(self, action: Any) -> Any:
        """The policy (d,) of an action, or the row: not checked to be feasible."""
        if self._policies.finite:
            return int(action)
        if isinstance(action, dict):
            action = [np.asarray(action[label], dtype=float).item() for label in self._policies.labels]
        return self._start + self._step * np.atleast_1d(np.asarray(action, dtype=float))

    def action(self, policy: Any) -> Any:
        """The action of a policy."""
        if self._policies.finite:
            return int(policy)
        numbers = (self._policies.check(policy) - self._start) / self._step
        if self._real.all():
            return numbers
        if self._real.any():
            named = zip(self._policies.labels, numbers, self._real, strict=True)
            return {label: np.array([x]) if real else np.int64(round(x)) for label, x, real in named}
        whole = np.rint(numbers).astype(np.int64)
        return whole[0] if len(whole) == 1 else whole


def _numbers(lever: Any) -> tuple[int, int]:
    """How many values a lever has that is not real, and the first one's action."""
    return (lever.high - lever.low) // lever.step + 1, lever.low if lever.step == 1 else 0


def _single(lever: Lever) -> spaces.Space[Any]:
    if isinstance(lever, Real):
        return spaces.Box(lever.low, lever.high, (1,), dtype=np.float64)
    count, start = _numbers(lever)
    return spaces.Discrete(count, start=start)
