"""A Gymnasium environment as one of ours: a policy steers an episode, which gives the groups' outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridges.environments.declared import DeclaredEnvironment, Policy, function
from bridges.extras import missing
from policyloop.messages import failure
from simulators.contract.validation import whole


@dataclass
class Episode:
    """What happened, in order.

    Attributes
    ----------
    observations : list
        One more than actions: the first is that of the reset.
    actions, rewards, infos : list
        One a step.
    terminated : bool
        Whether the episode ended by itself, not by its limit.
    """

    observations: list[Any]
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    terminated: bool = False


class GymnasiumEnvironment(DeclaredEnvironment):
    """Steps by running one episode of a `gymnasium.Env`, from the seed of the step.

    Parameters
    ----------
    env : str or callable
        An id that `gymnasium.make` knows, or a function that returns an environment.
    outcomes : callable or target
        From an `Episode` to the outcomes, by group or in order.
    policy, groups, **declared
        See `DeclaredEnvironment`.
    act : callable or target, optional
        From a policy (d,) and an observation to an action: the controller that the policy tunes. Without it,
        the policy itself is the action of every step, an entry for each number of the action; where those
        are whole, the nearest ones.
    steps : int, default=1000
        Length of an episode, at most.
    env_options : mapping, optional
        Passed to `gymnasium.make`, or to the function.

    Raises
    ------
    ValueError
        If the library is not installed, the environment cannot be made, or a declaration is impossible.
    """

    def __init__(
        self,
        env: str | Callable[..., Any],
        outcomes: Callable[[Episode], Any] | str,
        *,
        policy: Policy,
        groups: Sequence[str],
        act: Callable[[Any, Any], Any] | str | None = None,
        steps: int = 1000,
        env_options: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> None:
        super().__init__(policy, groups, **declared)
        self._env, self._env_options = env, dict(env_options or {})
        self._outcomes = function(outcomes, "outcomes")
        self._act = None if act is None else function(act, "act")
        self._steps = whole("steps", steps)
        try:
            made = self._make()
            space = made.action_space
            made.close()
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(f"env={env!r} cannot be made: {failure(error)}") from error
        if act is None:
            _check_constant(space, self.policy_space.d)

    def _make(self) -> Any:
        if callable(self._env):
            return self._env(**self._env_options)
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise missing(error, "a Gymnasium environment") from error
        return gymnasium.make(self._env, **self._env_options)

    def simulate(self, policy: dict[str, float], seed: int) -> Any:
        """Run an episode, and raise where an action is outside the action space: it is never clipped."""
        env, x = self._make(), np.array(list(policy.values()), dtype=float)
        try:
            observation, _ = env.reset(seed=seed)
            episode = Episode([observation])
            for _ in range(self._steps):
                action = (
                    self._act(x, observation) if self._act is not None else _constant(env.action_space, x)
                )
                if not env.action_space.contains(action):
                    raise ValueError(f"action {action!r} is outside {env.action_space}")
                observation, reward, terminated, truncated, info = env.step(action)
                episode.observations.append(observation)
                episode.actions.append(action)
                episode.rewards.append(float(reward))
                episode.infos.append(info)
                episode.terminated = bool(terminated)
                if terminated or truncated:
                    break
        finally:
            env.close()
        return self._outcomes(episode)


def _check_constant(space: Any, d: int) -> None:
    """Refuse what cannot be an action by itself."""
    if space.shape is None:
        raise ValueError(f"act=None: an action of {space} is not a list of numbers; accepted: a function")
    size = int(np.prod(space.shape))
    if size != d:
        raise ValueError(
            f"policy has {d} entries, an action of {space} has {size}; without act the policy is the action"
        )


def _constant(space: Any, policy: Any) -> Any:
    """A policy as an action of the space, in its shape and type."""
    if np.issubdtype(space.dtype, np.integer):
        policy = np.rint(policy)
    action = policy.astype(space.dtype).reshape(space.shape)
    return action if action.ndim else action.item()
