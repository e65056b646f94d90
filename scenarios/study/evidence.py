"""What a study's rounds teach of a world: those of one agent a trial, or of all where there is no noise.

Agents of a trial share policies and noise: the same step on the same seed is one observation, whoever asked
for it, and steps of one round with different policies share what the simulator draws. So rows that are equal
in world, trial, round and policy count once, and where there is noise one agent a trial teaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optimizer.agents.names import GP_AGENTS
from optimizer.prior.learned import Learned
from policyloop.messages import unknown_name
from scenarios.declaration.code import files_named
from scenarios.errors import UserError
from scenarios.study.records import ALL_TRIALS, StoredRound
from scenarios.study.study import Study

Array = NDArray[np.float64]


class Evidence(NamedTuple):
    """What is known of one world.

    Attributes
    ----------
    world : str
        "all", or the trial's number.
    trials : list of int
    agents : list of str
        Whose rounds they are.
    rounds : list of StoredRound
        Each observation once; without rounds that were lost. First those of a study that it continues from.
    forgotten : bool
        Whether those cannot be read any more, or are others now, and so are not among the rounds.
    """

    world: str
    trials: list[int]
    agents: list[str]
    rounds: list[StoredRound]
    forgotten: bool

    @property
    def policies(self) -> NDArray[np.generic]:
        """Policies as they travel: (n, d), or candidate rows (n,)."""
        if self.rounds and self.rounds[0].row is not None:
            return np.array([one.row for one in self.rounds], dtype=np.int64)
        return np.array([one.policy for one in self.rounds], dtype=float)

    @property
    def outcomes(self) -> Array:
        """(n, J), nan where missing."""
        return np.array([one.outcomes for one in self.rounds], dtype=float)

    @property
    def noise(self) -> Array:
        """Stated noise variances (n, J), nan where none is."""
        found = np.full((len(self.rounds), len(self.rounds[0].outcomes)), np.nan)
        for row, one in zip(found, self.rounds, strict=True):
            if one.noise_variance is not None:
                stated = np.array(one.noise_variance, dtype=float)
                row[:] = np.diag(stated) if stated.ndim == 2 else stated
        return found


def evidence(study: Study, agent: str | None = None, trial: int | None = None) -> list[Evidence]:
    """What is known of each of a study's worlds, in order.

    Parameters
    ----------
    study : Study
    agent : str, optional
        Whose rounds teach; unless given all agents' where the simulator has no noise, else those of the first
        agent that models every group, or of the first agent.
    trial : int, optional
        Only the rounds of this one.

    Raises
    ------
    UserError
        The world lives, so that old rounds say little of it; there is no such agent; nothing was observed.
    """
    refuse_living(study)
    labels = study.scenario.labels
    if agent is not None and agent not in labels:
        raise UserError(f"{study.path}: {unknown_name('agent', agent, labels)}")
    rounds = [one for one in study.rounds() if one.status != "lost" and trial in (None, one.trial)]
    if trial is not None and not rounds:
        raise UserError(f"{study.path}: it has no trial {trial}; accepted: 1 to {study.scenario.trials}")
    if not any(any(value is not None for value in one.outcomes) for one in rounds):
        raise UserError(f"{study.path}: no round has observed anything: there is nothing to learn from")
    chosen = [agent] if agent else (_with_rounds(labels, rounds) if _exact(rounds) else [teacher(study)])
    apart = study.scenario.environment.new_world_each_trial
    found: dict[str, list[StoredRound]] = {}
    for one in rounds:
        if one.agent in chosen:
            found.setdefault(str(one.trial) if apart else ALL_TRIALS, []).append(one)
    before = _continued_from(study)
    return [
        _evidence(world, own, None if before is None else before.get(world, []))
        for world, own in sorted(found.items(), key=lambda item: _number(item[0]))
    ]


def _continued_from(study: Study) -> dict[str, list[StoredRound]] | None:
    """The rounds with which the agents of a study began, by world; None where it has changed since."""
    path = study.scenario.continue_from
    if not path:
        return {}
    known = next((run["inputs"]["files"].get(path) for run in study.runs if run["inputs"]), None)
    if known is None or files_named(path).get(path) != known:
        return None
    return {one.world: one.rounds for one in evidence(Study(path))}


def refuse_living(study: Study) -> None:
    """Raise UserError where the study's world lives: old rounds say little of it."""
    if study.environment.lives:
        raise UserError(
            f"{study.path}: its world lives: the outcomes of a policy change while it runs, and questions "
            "cannot be asked of them afterwards"
        )


def _number(world: str) -> int:
    return 0 if world == ALL_TRIALS else int(world)


def _evidence(world: str, rounds: Sequence[StoredRound], before: Sequence[StoredRound] | None) -> Evidence:
    distinct = {
        (one.trial, one.round, one.row if one.row is not None else tuple(one.policy)): one for one in rounds
    }
    own = sorted(distinct.values(), key=lambda one: (one.trial, one.round))
    agents = list(dict.fromkeys(one.agent for one in rounds))
    trials = sorted({one.trial for one in own})
    return Evidence(world, trials, agents, [*(before or ()), *own], before is None)


def _with_rounds(labels: Sequence[str], rounds: Sequence[StoredRound]) -> list[str]:
    present = {one.agent for one in rounds}
    return [label for label in labels if label in present]


def _exact(rounds: Sequence[StoredRound]) -> bool:
    """Whether every observation is known to be without noise."""
    return all(
        one.expected_outcomes is not None
        and all(y is None or y == f for y, f in zip(one.outcomes, one.expected_outcomes, strict=True))
        for one in rounds
        if one.status in ("ok", "partial")
    )


def teacher(study: Study) -> str:
    """The first agent with rounds that models every group; else the first with rounds."""
    present = _with_rounds(study.scenario.labels, study.rounds())
    for label in present:
        if _decomposed(study, label):
            return label
    return present[0]


def _decomposed(study: Study, label: str) -> bool:
    return GP_AGENTS.get(study.scenario.agent(label).name, ("",))[0] == "decomposed"


def stored_learning(study: Study, found: Evidence) -> list[Learned]:
    """What the agents of these rounds had learned of every group, of each trial's last learning."""
    agents = {label for label in found.agents if _decomposed(study, label)}
    latest: dict[tuple[int, str], tuple[int, Learned]] = {}
    for detail in study.details("learned"):
        key = detail.trial, detail.agent
        if detail.trial not in found.trials or detail.agent not in agents:
            continue
        if key not in latest or detail.round > latest[key][0]:
            latest[key] = detail.round, Learned.from_dict(detail.value)
    return [learned for _, learned in latest.values()]
