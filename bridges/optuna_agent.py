"""Samplers of Optuna as agents: told the composed value only, and compared in a scenario like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridges.extras import INSTALL, missing
from bridges.unit_box import UnitBox
from optimizer.baselines import ObservingAgent
from optimizer.composition import BaseComposition, Policies
from optimizer.search_space import SearchSpace

Array = NDArray[np.float64]

STATEFUL = ("BaseGASampler", "BruteForceSampler", "CmaEsSampler", "GridSampler", "QMCSampler")
"""Samplers that keep their state in the study, which an agent builds anew at every `ask`."""

LIBRARIES = {"GPSampler": ("torch", "pip install torch")}
"""What a sampler needs beside Optuna."""


class OptunaAgent(ObservingAgent):
    """A sampler of Optuna that is asked for policies.

    At every `ask` a study in memory is filled with what was told, and the sampler is seeded from the seed and
    the number of rounds: like all agents, this one has no state but what it was told. The study's parameters
    are the entries of the unit box over the policies (`UnitBox`). Failed rounds are failed trials.

    Parameters
    ----------
    space : SearchSpace
        Where policies come from.
    composition : BaseComposition
        Gives the sense of the objective.
    sampler : str or callable, default="TPESampler"
        Name of a class of `optuna.samplers`, or a function from a seed to a sampler.
    name : str, default="optuna"
        Name in tables and figures.
    seed : int, default=0
        Of the sampler.

    Attributes
    ----------
    projected : list of bool
        For each policy asked for, whether the sampler's own point was not feasible and had to be moved.

    Raises
    ------
    ValueError
        If Optuna, or what the sampler needs, is not installed; if there is no such sampler, or it keeps its
        state in the study (`STATEFUL`).
    """

    def __init__(
        self,
        space: SearchSpace,
        composition: BaseComposition,
        *,
        sampler: str | Callable[[int], Any] = "TPESampler",
        name: str = "optuna",
        seed: int = 0,
    ) -> None:
        super().__init__(name, space, composition.sign, seed)
        self.box = UnitBox(space)
        self._make = _named(sampler) if isinstance(sampler, str) else sampler
        made = self._make(seed)
        kept = [kind.__name__ for kind in type(made).__mro__ if kind.__name__ in STATEFUL]
        if kept:
            raise ValueError(
                f"sampler {type(made).__name__} keeps its state in the study, which an agent does not have; "
                "accepted: a sampler that learns from trials alone, such as TPESampler or GPSampler"
            )
        self.projected: list[bool] = []
        self._told: list[tuple[Any, float]] = []

    def note(self, policies: Policies, values: Array) -> None:
        """Keep the points of the unit box and their values."""
        self._told += zip(self.box.points(policies), values.tolist(), strict=True)

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """The sampler's next points; of several, each is sampled while the earlier ones are running."""
        import optuna

        unit = optuna.distributions.FloatDistribution(0.0, 1.0)
        distributions: dict[str, optuna.distributions.BaseDistribution] = {
            f"x{i}": unit for i in range(self.box.d)
        }
        seed = int(np.random.SeedSequence(self.seed, spawn_key=(self.rounds,)).generate_state(1)[0])
        with _quiet(optuna):
            study = optuna.create_study(
                sampler=self._make(seed), direction="maximize" if self._sign > 0 else "minimize"
            )
            for point, value in self._told:
                lost = bool(np.isnan(value))
                study.add_trial(
                    optuna.trial.create_trial(
                        state=optuna.trial.TrialState.FAIL if lost else optuna.trial.TrialState.COMPLETE,
                        value=None if lost else value,
                        params=dict(zip(distributions, point.tolist(), strict=True)),
                        distributions=distributions,
                    )
                )
            trials = [study.ask(distributions) for _ in range(n)]
        points = [[trial.params[x] for x in distributions] for trial in trials]
        policies, moved = zip(*(self.box.policy(point) for point in points), strict=True)
        self.projected += moved
        return np.asarray(policies)


def _named(sampler: str) -> Callable[[int], Any]:
    """A function from a seed to the sampler of that name."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise missing(error, f"sampler {sampler}") from error
    library, install = LIBRARIES.get(sampler, ("optuna", INSTALL))
    try:
        __import__(library)
    except ModuleNotFoundError as error:
        raise missing(error, f"sampler {sampler}", install) from error
    kind = getattr(optuna.samplers, sampler, None)
    if not (isinstance(kind, type) and issubclass(kind, optuna.samplers.BaseSampler)):
        known = ", ".join(one for one in dir(optuna.samplers) if one.endswith("Sampler"))
        raise ValueError(f"sampler={sampler!r}; accepted: {known}, or a function from a seed to a sampler")
    made: Any = kind

    def of_seed(seed: int) -> Any:
        try:
            return made(seed=seed)
        except TypeError:
            raise ValueError(f"sampler {sampler} cannot be made from a seed alone: give a function") from None

    return of_seed


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without a line about every study in memory."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
