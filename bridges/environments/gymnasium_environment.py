"""A Gymnasium environment as one of ours: a policy steers an episode, which gives the groups' outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from bridges.environments.declared import DeclaredEnvironment, function
from bridges.environments.levers import Entry, Policy
from bridges.extras import missing
from policyloop.messages import failure
from simulators.contract.process_state import kept_process_state, seeded_globals
from simulators.contract.validation import table, whole


@dataclass
class Episode:
    """What happened, in order; copies, whatever the environment and the controller do with theirs.

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
        See `DeclaredEnvironment`. Without `act` the policy may be left out: it is then what an action may be.
    act : callable or target, optional
        From a policy, as functions get it (see `FunctionEnvironment`), and an observation to an action: the
        controller that the policy tunes. Without it, the policy itself is the action of every step: of Box,
        Discrete, MultiDiscrete and MultiBinary spaces, and Dict and Tuple of them, an entry for each number.
        By the labels where these are the numbers' names: keys and places joined by dots, as in
        "engine.thrust.0", or "action"; else in order. Where actions are whole, levers must be, or be as many
        categories.
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
        policy: Policy | None = None,
        groups: Sequence[str],
        act: Callable[[Any, Any], Any] | str | None = None,
        steps: int = 1000,
        env_options: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> None:
        if not (callable(env) or (isinstance(env, str) and env)):
            raise ValueError(f"env={env!r} must be an id that gymnasium.make knows, or a function")
        self._env, self._env_options = env, table("env_options", env_options, "{option: value}")
        self._outcomes = function(outcomes, "outcomes", "episode")
        self._act = None if act is None else function(act, "act", "policy", "observation")
        self._steps = whole("steps", steps)
        space = self._action_space()
        if policy is None:
            if act is not None:
                raise ValueError("policy=None: beside act there must be a policy for it")
            policy = _actions().levers_of(space)
        super().__init__(policy, groups, **declared)
        self._constant: Any = _actions().ConstantAction(space, self.levers) if act is None else None

    def _action_space(self) -> Any:
        try:
            with kept_process_state(), seeded_globals(0):
                made = self._make()
                space = made.action_space
                made.close()
        except (ValueError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ValueError(f"env={self._env!r} cannot be made: {failure(error)}") from error
        return space

    def _make(self) -> Any:
        if callable(self._env):
            return self._env(**self._env_options)
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise missing(error, "a Gymnasium environment") from error
        return gymnasium.make(self._env, **self._env_options)

    def simulate(self, policy: dict[str, Entry], seed: int) -> Any:
        """Run an episode, and raise where an action is outside the action space: it is never clipped."""
        env = self._make()
        try:
            observation, _ = env.reset(seed=seed)
            episode = Episode([deepcopy(observation)])
            for _ in range(self._steps):
                if self._act is not None:
                    action = self._act(self.levers.in_order(policy), deepcopy(observation))
                else:
                    action = self._constant(env.action_space, policy)
                if not env.action_space.contains(action):
                    raise ValueError(f"action {action!r} is outside {env.action_space}")
                episode.actions.append(deepcopy(action))
                observation, reward, terminated, truncated, info = env.step(action)
                episode.observations.append(deepcopy(observation))
                episode.rewards.append(float(reward))
                episode.infos.append(_copied(info))
                episode.terminated = bool(terminated)
                if terminated or truncated:
                    break
        finally:
            env.close()
        return self._outcomes(episode)


def _copied(info: dict[str, Any]) -> dict[str, Any]:
    """A copy of what an environment tells; of what cannot be copied, such as a renderer, the thing itself."""
    copies = {}
    for key, value in info.items():
        try:
            copies[key] = deepcopy(value)
        except Exception:
            copies[key] = value
    return copies


def _actions() -> Any:
    """What knows Gymnasium's spaces, and needs the library."""
    try:
        from bridges.environments import actions
    except ModuleNotFoundError as error:
        raise missing(error, "a Gymnasium environment") from error
    return actions
