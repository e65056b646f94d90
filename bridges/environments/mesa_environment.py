"""Any Mesa model as an environment, without a change to the model."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from bridges.environments.declared import DeclaredEnvironment, function
from bridges.environments.levers import Entry, Policy
from bridges.environments.mesa_run import MesaRun, Reporter
from simulators.contract.validation import table, whole


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
        self.reporters: dict[str, Reporter] = {
            group: _reporter(group, given) for group, given in outcomes.items()
        }
        self.steps: int = whole("steps", steps)
        self.fixed: dict[str, Any] = table("fixed", fixed, "{parameter: value}")
        self._seed = _seed_parameter(self._model, self.levers.labels, self.fixed)

    def simulate(self, policy: dict[str, Entry], seed: int) -> dict[str, Any]:
        """Make a model, run it and read its reporters."""
        run = self.run(policy, seed)
        try:
            while not run.over:
                run.step()
            return run.outcomes()
        finally:
            run.close()

    def run(self, policy: Mapping[str, Entry], seed: int) -> MesaRun:
        """A model at its beginning; `policy` are its entries by label, as `simulate` gets them."""
        model = self._model(**self.fixed, **policy, **{self._seed: seed})
        return MesaRun(model, seed, self.steps, self.reporters)


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
