"""What a study stores, as plain data (JSON): rounds, recommendations, worlds, and the environment's facts.

On the way from a worker to the study and back no bit is lost; nan is None once it is stored.
"""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

import bridges

if TYPE_CHECKING:
    from optimizer.agents.agent import Recommendation


ALL_TRIALS = "all"  # the key of the world that all trials share

Numbers = list[float | None]


NOTHING = ("failed", "lost")
"""The status of rounds in which nothing was observed."""


class StoredRound(NamedTuple):
    """A round of an agent's trial: `bridges.Round` as it is stored, a field a column."""

    trial: int
    agent: str
    round: int
    policy: list[float]
    row: int | None
    outcomes: Numbers
    noise_variance: Numbers | list[Numbers] | None
    objective: float | None
    expected: float | None
    expected_outcomes: Numbers | None
    regret: float | None
    seconds: float
    step_seconds: float
    status: Literal["ok", "partial", "failed", "lost"]
    error: str

    @classmethod
    def of(cls, trial: int, agent: str, one: bridges.Round) -> StoredRound:
        """A round of the loop; what its step says besides (`Detail`) is stored apart."""
        values = {name: plain(getattr(one, name)) for name in cls._fields[2:]}
        return cls(trial, agent, **values)

    def columns(self) -> tuple[Any, ...]:
        """As stored, by `ROUND_COLUMNS`: lists are texts, nan is None."""
        return tuple(
            as_real(value) if name in _FLOATS else to_json(value) if isinstance(value, list) else value
            for name, value in self._asdict().items()
        )

    @classmethod
    def stored(cls, columns: Sequence[Any]) -> StoredRound:
        """The round whose `columns` these are; ValueError or TypeError where they cannot be."""
        values = dict(zip(ROUND_COLUMNS, columns, strict=True))
        for name in JSON_COLUMNS:
            values[name] = None if values[name] is None else json.loads(values[name])
            _check_numbers(_flat(values[name] or ()))
        _check_numbers(values[name] for name in _FLOATS)
        return cls(**values)

    def as_round(self, runs: Any = None) -> bridges.Round:
        """The loop's round again, with the runs of its step where it was repeated."""
        values = self._asdict()
        del values["trial"], values["agent"]
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = np.array(value, dtype=np.float64)
            elif name in _FLOATS:
                values[name] = math.nan if value is None else float(value)
        return bridges.Round(**values, runs=None if runs is None else np.array(runs, dtype=np.float64))


ROUND_COLUMNS = StoredRound._fields
JSON_COLUMNS = ("policy", "outcomes", "noise_variance", "expected_outcomes")
_FLOATS = ("objective", "expected", "regret", "seconds", "step_seconds")


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """The entries of a list, or of a list of lists."""
    for one in values:
        yield from one if isinstance(one, list) else (one,)


def _check_numbers(values: Iterable[Any]) -> None:
    if not all(one is None or isinstance(one, int | float) for one in values):
        raise ValueError("not a number")


def as_real(value: float | None) -> float | None:
    """A number as a column of reals gives it back: nan and what is not finite is None."""
    return float(value) if value is not None and math.isfinite(value) else None


Kind = Literal["info", "kernels", "learned", "surprises", "runs"]
DETAILS: tuple[Kind, ...] = get_args(Kind)


class Detail(NamedTuple):
    """What a round leaves beside its numbers.

    Attributes
    ----------
    trial, agent, round
        Whose it is.
    kind : str
        "info", what the simulator says of its step (curves, replicates); "kernels", the most probable
        hyperparameters that an agent learned when it was told of the round; "learned", all that it needs to
        go on from there without learning again, of which a study keeps the last one; "surprises", what an
        agent was told of the round and had predicted otherwise: tables of the `group` (None: the composed
        value), its `value`, what was `predicted` and its `deviation`; "runs", where the step was repeated,
        the outcomes of each run, R lists of J numbers.
    value : dict
        Plain data.
    """

    trial: int
    agent: str
    round: int
    kind: Kind
    value: Any

    def columns(self) -> tuple[Any, ...]:
        """As stored, by the columns of `details`: the value is compressed JSON."""
        return *self[:-1], zlib.compress(to_json(self.value).encode())

    @classmethod
    def stored(cls, columns: Sequence[Any]) -> Detail:
        """The detail whose `columns` these are; ValueError where they cannot be."""
        trial, agent, number, kind, value = columns
        try:
            return cls(trial, agent, number, kind, json.loads(zlib.decompress(value)))
        except zlib.error as error:
            raise ValueError(f"not a detail: {error}") from error


class HeldOut(NamedTuple):
    """A policy simulated again, once on each held-out seed: None where a group or the whole step is missing.

    Attributes
    ----------
    outcomes : list of list
        J numbers a seed.
    objective : list
        One number a seed.
    """

    outcomes: list[Numbers]
    objective: Numbers


class Advice(NamedTuple):
    """An agent's recommendation at the end of its trial.

    Attributes
    ----------
    trial, agent, rounds
        Whose it is, and how many rounds were known when it was made.
    policy, mean, low, high, group_means, group_low, group_high, best_observed, best_observed_value
        As in `optimizer.Recommendation`, policies by their entries.
    row : int or None
        The policy's candidate row in a finite space.
    expected_outcomes : list of J numbers, or None
        Noise-free outcomes of the policy, None where unknown.
    held_out : HeldOut or None
        The policy simulated again, where its regret is unknown.
    tried : int or None
        How many rounds observed it; 0: it is a prediction. None in a study from before this was stored.
    expected : float or None
        Noise-free objective of the policy.
    simple_regret : float or None
    """

    trial: int
    agent: str
    rounds: int
    policy: list[float]
    mean: float | None
    low: float | None
    high: float | None
    group_means: Numbers | None
    group_low: Numbers | None
    group_high: Numbers | None
    best_observed: list[float] | None
    best_observed_value: float | None
    row: int | None
    expected_outcomes: list[float] | None
    held_out: HeldOut | None
    tried: int | None
    expected: float | None
    simple_regret: float | None

    @classmethod
    def of(cls, advice: Recommendation, **rest: Any) -> Advice:
        """What an agent recommends, with all else that is to be stored of it."""
        said = {name: value for name, value in plain(advice).items() if name in cls._fields}
        return cls(**{**said, **rest})

    def columns(self) -> tuple[Any, ...]:
        """As stored, by `ADVICE_COLUMNS`: what the agent says of its policy is one text."""
        value = {name: getattr(self, name) for name in _SAID}
        if self.held_out is None:
            del value["held_out"]
        else:
            value["held_out"] = self.held_out._asdict()
        worth = as_real(self.expected), as_real(self.simple_regret)
        return self.trial, self.agent, self.rounds, to_json(value), *worth

    @classmethod
    def stored(cls, columns: Sequence[Any]) -> Advice:
        """The advice whose `columns` these are; ValueError where they cannot be."""
        trial, agent, rounds, value, expected, simple_regret = columns
        try:
            said = dict.fromkeys(_LATER) | json.loads(value)
            said = {name: said[name] for name in _SAID}
            said["held_out"] = said["held_out"] and HeldOut(**said["held_out"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no recommendation: {value}") from error
        _check_numbers((expected, simple_regret))
        return cls(trial, agent, rounds, **said, expected=expected, simple_regret=simple_regret)


ADVICE_COLUMNS = ("trial", "agent", "rounds", "value", "expected", "simple_regret")
_SAID = Advice._fields[3:-2]
_LATER = ("row", "expected_outcomes", "held_out", "tried")  # a study may have been written before them


class StoredOptimum(NamedTuple):
    """`bridges.Optimum` as it is stored."""

    policy: list[float]
    row: int | None
    value: float
    outcomes: list[float]

    @classmethod
    def of(cls, optimum: bridges.Optimum) -> StoredOptimum:
        """What the bridge has found."""
        return cls(**plain(optimum))

    def as_optimum(self) -> bridges.Optimum:
        """The bridge's optimum again."""
        policy, outcomes = (np.array(one, dtype=np.float64) for one in (self.policy, self.outcomes))
        return bridges.Optimum(policy, self.row, float(self.value), outcomes)


class WorldRecord(NamedTuple):
    """What was learned of a world before its first round.

    Attributes
    ----------
    seed : int or None
        Of the world, where each trial has its own.
    priors : dict
        `optimizer.Prior.to_dict()`, of the "groups" and, where an agent needs it, of its "own" values. Empty
        where each trial learns from its own rounds.
    optimum : StoredOptimum or None
        None where it is unknown, or another one in every round.
    """

    seed: int | None
    priors: dict[str, dict[str, Any]]
    optimum: StoredOptimum | None


def plain(value: Any) -> Any:
    """A dataclass, array or number as plain Python data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def to_json(value: Any) -> str:
    """A value as JSON text; nan becomes null, floats keep every bit."""
    return json.dumps(without_nan(value), allow_nan=False, separators=(",", ":"))


def without_nan(value: Any) -> Any:
    """Plain data with None in place of numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return value
