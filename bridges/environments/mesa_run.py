"""One run of a Mesa model, step by step, and what its reporters say of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import mesa

from simulators.contract.environment import SeedIgnored, SimulationError

Reporter = str | Callable[[Any], Any]


class MesaRun:
    """A model of Mesa that steps until it has made all its steps, or stops itself.

    Parameters
    ----------
    model : mesa.Model
        Newly made.
    seed : int
        That it was made with; it is warned of a model that runs with another.
    steps : int
        The most that it makes.
    reporters : mapping of str to Reporter
        `{group: reporter}`, see `MesaEnvironment`.

    Attributes
    ----------
    model : mesa.Model
    done : int
        Steps made.
    """

    def __init__(self, model: Any, seed: int, steps: int, reporters: Mapping[str, Reporter]) -> None:
        self.steps: int
        self.reporters: Mapping[str, Reporter]
        self.model, self.steps, self.reporters, self.done = model, steps, reporters, 0
        self._before: dict[str, int] | None = None
        _watch_seed(model, seed)

    @property
    def over(self) -> bool:
        """Whether it makes no further step."""
        return self.done >= self.steps or not self.model.running

    def step(self) -> None:
        """One step of the model."""
        self._before = _rows(self.model)
        self.model.step()
        self.done += 1

    def outcomes(self) -> dict[str, Any]:
        """What the reporters say now, by group.

        Raises
        ------
        SimulationError
            One was not collected in the last step, or there is none of its name.
        """
        return {group: read(self.model, one, self._before) for group, one in self.reporters.items()}

    def close(self) -> None:
        """Let the model go: Mesa 3.3 remembers every model by its agents' numbers, for ever."""
        getattr(mesa.Agent, "_ids", {}).pop(self.model, None)


def read(model: Any, reporter: Reporter, before: Mapping[str, int] | None) -> Any:
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
