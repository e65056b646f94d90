"""Any Mesa model as an environment, without a change to the model."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import mesa

from bridges.environments.declared import DeclaredEnvironment, function
from bridges.environments.levers import Entry, Policy
from simulators.contract.environment import SeedIgnored, SimulationError
from simulators.contract.validation import table, whole

Reporter = str | Callable[[Any], Any]


class MesaEnvironment(DeclaredEnvironment):
    """An environment whose outcomes a Mesa model reports after some steps; every step is a new model.

    The model's random numbers come from the step's seed. The global random state is seeded as well while the
    model runs, and put back: some models draw from it without knowing, as by `networkx`. A model reporter
    that was not collected in the last step makes the step fail: it tells of another day.

    Parameters
    ----------
    model : callable or target
        A class derived from `mesa.Model`, or a function that makes one. It must take `seed` (or `rng`).
    policy : mapping, or PolicySpace
        `{parameter of the model: lever}`, see `DeclaredEnvironment`. Levers of groups need a model that takes
        `**kwargs`, for `coverage[children]` is no name of a parameter.
    outcomes : mapping
        `{group: reporter}`: the name of a model reporter of the model's data collector, or of an attribute,
        as it is after the last step; or a function of the model.
    steps : int
        Steps of the model, fewer if it stops itself (`model.running`).
    fixed : mapping, optional
        Other parameters of the model.
    **declared
        See `DeclaredEnvironment`.

    Raises
    ------
    ValueError
        If the model cannot be seeded or has no such parameter, or a declaration is impossible.

    Examples
    --------
    >>> from mesa.examples.basic.boltzmann_wealth_model.model import BoltzmannWealth
    >>> wealth = MesaEnvironment(
    ...     BoltzmannWealth,
    ...     policy={"n": {"whole": (10, 200)}},
    ...     outcomes={"inequality": "Gini"},
    ...     steps=20,
    ... )
    >>> wealth.reset(1)
    >>> bool(0 < wealth.step([50]).values[0] < 1)
    True
    """

    def __init__(
        self,
        model: Callable[..., Any] | str,
        policy: Policy,
        outcomes: Mapping[str, Reporter],
        steps: int,
        *,
        fixed: Mapping[str, Any] | None = None,
        **declared: Any,
    ) -> None:
        if not isinstance(outcomes, Mapping) or not outcomes:
            raise ValueError(f"outcomes={outcomes!r} must be a table {{group: reporter}}")
        super().__init__(policy, list(outcomes), **declared)
        self._model = function(model, "model")
        self._reporters = {group: _reporter(group, given) for group, given in outcomes.items()}
        self.steps = whole("steps", steps)
        self.fixed = table("fixed", fixed, "{parameter: value}")
        self._seed = _seed_parameter(self._model, self.levers.labels, self.fixed)

    def simulate(self, policy: dict[str, Entry], seed: int) -> dict[str, Any]:
        """Make a model, run it and read its reporters."""
        model = self._model(**self.fixed, **policy, **{self._seed: seed})
        try:
            _watch_seed(model, seed)
            before: dict[str, int] | None = None
            for _ in range(self.steps):
                if not model.running:
                    break
                before = _rows(model)
                model.step()
            return {group: _read(model, reporter, before) for group, reporter in self._reporters.items()}
        finally:
            # Mesa 3.3 remembers every model by its agents' numbers, for ever: all of them would stay.
            getattr(mesa.Agent, "_ids", {}).pop(model, None)


def _watch_seed(model: Any, seed: int) -> None:
    """Warn of a model that was given a seed and runs with another one."""
    used = getattr(model, "_seed", None)
    if isinstance(used, int) and used != seed:
        warnings.warn(
            f"{type(model).__name__} was given a seed, and runs with {used} in place of it: its __init__ "
            "must call super().__init__(seed=seed)",
            SeedIgnored,
            stacklevel=2,
        )


def _rows(model: Any) -> dict[str, int]:
    """How often each model reporter has been collected."""
    collected = getattr(getattr(model, "datacollector", None), "model_vars", {})
    return {name: len(rows) for name, rows in collected.items()}


def _seed_parameter(model: Callable[..., Any], labels: tuple[str, ...], fixed: Mapping[str, Any]) -> str:
    """By which name the model takes its seed, once all other parameters are known to it."""
    name = getattr(model, "__name__", str(model))
    parameters = inspect.signature(model).parameters
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for label in (*labels, *fixed):
        if label in ("seed", "rng"):
            whose = f"fixed: {label!r} = {fixed[label]!r}" if label in fixed else f"policy: {label!r}"
            raise ValueError(f"{whose}; accepted: other parameters, for every run has a seed of its own")
        if label not in parameters and not anything:
            hint = "" if "[" not in label else "; levers of groups need a model that takes **kwargs"
            raise ValueError(f"{name} has no parameter {label!r}; it has {', '.join(parameters)}{hint}")
        if label in fixed and label in labels:
            raise ValueError(f"fixed: {label!r} is an entry of the policy")
    for label in ("seed", "rng"):
        if label in parameters:
            return label
    if anything:
        return "seed"
    raise ValueError(
        f"{name} cannot be seeded: give its __init__ a parameter seed, and call super().__init__(seed=seed)"
    )


def _reporter(group: str, given: Reporter) -> Reporter:
    """Check a reporter; a text with a colon names a function, as scenario files do."""
    if isinstance(given, str) and ":" not in given:
        return given
    return function(given, f"outcomes[{group!r}]", "model")


def _read(model: Any, reporter: Reporter, before: Mapping[str, int] | None) -> Any:
    """What a reporter says of a model; `before` counts what had been collected before its last step."""
    if not isinstance(reporter, str):
        return reporter(model)
    collector = getattr(model, "datacollector", None)
    rows = getattr(collector, "model_vars", {}).get(reporter)
    if rows:
        if before is not None and before.get(reporter) == len(rows):
            raise SimulationError(
                f"the reporter {reporter!r} was not collected in the last step, {model.steps}, but earlier; "
                "accepted: one that is, or a function of the model"
            )
        return rows[-1]
    if hasattr(model, reporter):
        return getattr(model, reporter)
    known = ", ".join(getattr(collector, "model_vars", {})) or "none"
    raise SimulationError(f"the model has no reporter and no attribute {reporter!r}; its reporters: {known}")
