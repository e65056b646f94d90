"""An environment as a `gymnasium.Env`: actions are policies, observations outcomes, rewards objectives."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridges.extras import missing
from bridges.steps import observe
from optimizer.arrays import Array
from simulators.contract.environment import Environment, SimulationError

try:
    import gymnasium
    from gymnasium import spaces

    from bridges.exports.gymnasium_actions import Actions
except ModuleNotFoundError as error:
    raise missing(error, "the Gymnasium bridge") from error


class PolicyEnv(gymnasium.Env[Array, Any]):
    """One step an episode, or `steps` of them for an environment with memory.

    The action space is the policies' as `Actions` describes it: the box of real numbers, whole numbers and
    categories as discrete ones, or the candidates' rows. Actions that break a constraint, such as a budget,
    become the nearest policy that meets it; `info["policy"]` is what was tried, and `info["projected"]`
    whether it had to be changed. The observation is the outcome of every group, zeros before the first step.
    The reward is the composed value, negative where it is to be minimised.

    Parameters
    ----------
    environment : Environment
        Takes the steps.
    steps : int, default=1
        Length of an episode.

    Attributes
    ----------
    actions : Actions
        Its `policy(action)` is the policy of an action, its `action(policy)` the other way round.

    Raises
    ------
    ValueError
        If the length is below 1, or above it though the environment has no memory.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, environment: Environment, steps: int = 1) -> None:
        if steps < 1 or (steps > 1 and not environment.has_memory):
            accepted = "1 or more" if environment.has_memory else "1: its steps do not depend on each other"
            raise ValueError(f"steps={steps} of {environment.name}; accepted: {accepted}")
        self.environment: Environment
        self.steps: int
        self.environment, self.steps = environment, steps
        self.actions: Actions = Actions(environment.policy_space)
        self.action_space = self.actions.space
        J = len(environment.groups)
        self.observation_space = spaces.Box(-np.inf, np.inf, (J,), dtype=np.float64)
        self._taken = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode, with noise from the seed, or from the seed before."""
        super().reset(seed=seed)
        self._taken = 0
        self.environment.reset(int(self.np_random.integers(2**31)))
        return np.zeros(len(self.environment.groups)), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Try a policy.

        Raises
        ------
        SimulationError
            If the step fails, or a group is missing: there is no reward then.
        """
        space = self.environment.policy_space
        given = self.actions.policy(action)
        feasible = bool(space.contains(np.asarray([given]))[0])
        policy = given if feasible else space.project(given)
        values = observe(self.environment, policy).values
        lost = [g for g, value in zip(self.environment.groups, values, strict=True) if not np.isfinite(value)]
        if lost:
            raise SimulationError(f"the outcome of {', '.join(lost)} is missing: no reward", policy)
        self._taken += 1
        objective = float(self.environment.compose(values[None], np.asarray([policy]))[0])
        reward = self.environment.sign * objective
        return values, reward, self._taken >= self.steps, False, {"policy": policy, "projected": not feasible}
