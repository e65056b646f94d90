"""Samplers of Optuna as agents: told the composed value only, and compared in a scenario like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridges.agents.unit_box import SAME, UnitBox
from bridges.extras import INSTALL, missing
from optimizer.agents.baselines import ObservingAgent
from optimizer.arrays import Array, Policies
from optimizer.composition.linear import BaseComposition
from optimizer.space.search_space import SearchSpace

STATEFUL = ("BaseGASampler", "BruteForceSampler", "GridSampler", "QMCSampler")
"""Samplers that keep their state in the study, which an agent builds anew at every `ask`."""

NOTING = ("CmaEsSampler",)
"""Samplers that keep notes on the trials that they sampled themselves."""

LIBRARIES = {"CmaEsSampler": ("cmaes", INSTALL), "GPSampler": ("torch", "pip install torch")}
"""What a sampler needs beside Optuna."""


class OptunaAgent(ObservingAgent):
    """A sampler of Optuna that is asked for policies.

    For every policy a study in memory is filled with what was told, and the sampler is seeded from the seed
    and the number of trials: like all agents, this one has no state but what it was told. The study's
    parameters are the entries of the unit box over the policies (`UnitBox`): floats, integers for whole
    numbers, and categorical ones for categories. A suggestion that breaks a constraint becomes the nearest
    policy that keeps it. Failed rounds are failed trials.

    CMA-ES keeps notes on its own trials. They are found again by asking what the sampler would have tried in
    that trial's place: where it is what was told, the notes are those of then. A policy that the sampler did
    not propose, such as one of a design, has none, and CMA-ES does not learn from it.

    Parameters
    ----------
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
        state in the study (`STATEFUL`); if a policy has categories, which CMA-ES does not know.
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
        self.box: UnitBox = UnitBox(space)
        self._make = _named(sampler) if isinstance(sampler, str) else sampler
        made = self._make(seed)
        kept = [kind.__name__ for kind in type(made).__mro__ if kind.__name__ in STATEFUL]
        if kept:
            raise ValueError(
                f"sampler {type(made).__name__} keeps its state in the study, which an agent does not have; "
                "accepted: a sampler that learns from trials alone, such as TPESampler or GPSampler"
            )
        self._noting = any(kind.__name__ in NOTING for kind in type(made).__mro__)
        if self._noting:
            self.box.refuse_categories(f"sampler {type(made).__name__}")
        self.projected: list[bool] = []
        self._observations: list[tuple[Array, float]] = []
        self._notes: list[dict[str, Any]] = []  # on the first observations

    def note(self, policies: Policies, values: Array) -> None:
        """Keep the points of the unit box and their values."""
        self._observations += zip(self.box.points(policies), values.tolist(), strict=True)

    def ask(self, n: int = 1, context: Any = None) -> Policies:
        """The sampler's next points; of several, each is sampled while the earlier ones are running."""
        while self._noting and len(self._notes) < len(self._observations):
            point, notes = self._sample(self._observations[: len(self._notes)])
            tried = self._observations[len(self._notes)][0]
            own = np.abs(self.box.points(self.box.policy(point)[0][None])[0] - tried).max(initial=0.0) <= SAME
            self._notes.append(notes if own else {})
        policies: list[Any] = []
        for _ in range(n):
            policy, moved = self.box.policy(self._sample(self._observations, policies)[0])
            policies.append(policy)
            self.projected.append(moved)
        return np.asarray(policies)

    def _sample(
        self, observations: Sequence[tuple[Array, float]], running: Sequence[Any] = ()
    ) -> tuple[Array, dict[str, Any]]:
        """The point that the sampler tries after these, while others run, and its notes on it."""
        import optuna
        from optuna.trial import TrialState, create_trial

        distributions = self._distributions(optuna.distributions)
        pending = self.box.points(np.asarray(running)) if len(running) else ()
        trials = [*observations, *((point, None) for point in pending)]
        seed = int(np.random.SeedSequence(self.seed, spawn_key=(len(trials),)).generate_state(1)[0])
        with _quiet(optuna):
            study = optuna.create_study(
                sampler=self._make(seed), direction="maximize" if self._sign > 0 else "minimize"
            )
            for t, (point, value) in enumerate(trials):
                lost = value is not None and np.isnan(value)
                state = (
                    TrialState.RUNNING if value is None else TrialState.FAIL if lost else TrialState.COMPLETE
                )
                study.add_trial(
                    create_trial(
                        state=state,
                        value=None if lost else value,
                        params=self._parameters(point),
                        distributions=distributions,
                        system_attrs=self._notes[t] if t < len(self._notes) else None,
                    )
                )
            asked = study.ask(distributions)
            notes = study.get_trials(deepcopy=False)[asked.number].system_attrs
        values = np.array([asked.params[name] for name in distributions], dtype=float)
        return values / np.maximum(self.box.counts, 1), dict(notes)

    def _distributions(self, kinds: Any) -> dict[str, Any]:
        """A parameter an entry of the unit box; of one with steps, the number of steps."""
        found: dict[str, Any] = {}
        for i, count in enumerate(self.box.counts.tolist()):
            found[f"x{i}"] = kinds.FloatDistribution(0.0, 1.0)
            if self.box.stepped[i]:
                found[f"x{i}"] = kinds.IntDistribution(0, count)
            if self.box.categories[i]:
                found[f"x{i}"] = kinds.CategoricalDistribution(range(count + 1))
        return found

    def _parameters(self, point: Array) -> dict[str, float | int]:
        """The parameters of a point."""
        entries = zip(point.tolist(), self.box.stepped, self.box.counts.tolist(), strict=True)
        values = [round(u * count) if stepped else u for u, stepped, count in entries]
        return {f"x{i}": value for i, value in enumerate(values)}


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
