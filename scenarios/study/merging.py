"""Joins studies of one scenario that were run apart."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.study.compatibility import changes, lever_changes
from scenarios.study.records import DETAILS, Advice, Detail, StoredRound, WorldRecord
from scenarios.study.store import new_study
from scenarios.study.study import Study, check_target

Rounds = dict[tuple[int, str, int], StoredRound]


def merge(studies: Sequence[str | Path], out: str | Path, *, force: bool = False) -> Study:
    """Join studies of one scenario: their trials, agents and rounds, each once.

    Parameters
    ----------
    studies : sequence of path
        Study files, finished or not. Rounds that several of them hold must be the same, bit for bit, save
        for their times, which are the first one's.
    out : str or Path
        The file to write. A study that is not complete there goes on with `policyloop resume`.
    force : bool, default False
        Replace a study in `out`.

    Raises
    ------
    UserError
        The scenarios differ in more than rounds, trials and agents, or the levers do; a world or a round
        differs; `out` exists or is one of the studies. Nothing has been written then.
    """
    target = Path(out)
    if len(studies) < 2:
        raise UserError("merge: give two studies or more")
    if any(Path(path).resolve() == target.resolve() for path in studies):
        raise UserError(f"{target}: is one of the studies to be merged; give another --out")
    check_target(target, force)
    parts = [Study(path) for path in studies]
    scenario = parts[0].scenario
    for part in parts[1:]:
        scenario = _joined(scenario, part.scenario, str(part.path))
        if found := lever_changes(parts[0].environment, part.environment):
            raise UserError(f"{part.path}: has other levers than the first study: {'; '.join(found)}")
    worlds: dict[str, WorldRecord] = {}
    rounds: Rounds = {}
    for part in parts:
        _add_worlds(worlds, part)
        _add_rounds(rounds, part)
    advice: dict[tuple[int, str], Advice] = {}
    for part in parts:
        for one in part.recommendations():
            known = advice.get((one.trial, one.agent))
            if known is None or known.rounds < one.rounds:
                advice[one.trial, one.agent] = one
    meta = {**parts[0].meta, "scenario": scenario.model_dump(mode="json")}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with new_study(target, force=force) as store:
        store.set_meta({**meta, "merged": {"when": now, "from": [part.path.name for part in parts]}})
        for part in parts:
            for run in part.runs:
                store.log_run(run)
        for key, world in worlds.items():
            store.set_world(key, world)
        store.add(rounds.values(), advice.values(), _details(parts))
    return Study(target)


def _joined(one: Scenario, other: Scenario, where: str) -> Scenario:
    """The scenario of which two are parts."""
    common = [spec.label for spec in one.agents if spec.label in other.labels]
    grown = {
        "rounds": max(one.rounds, other.rounds),
        "trials": max(one.trials, other.trials),
        "agents": [*one.agents, *(spec for spec in other.agents if spec.label not in common)],
    }
    found = changes(one, other)
    for label in common:
        if one.agent(label) != other.agent(label):
            found.append(f"agents {label}: {one.agent(label)!r} and {other.agent(label)!r}")
    if found:
        raise UserError(f"{where}: holds another scenario than the first study: {'; '.join(found)}")
    return one.model_copy(update=grown)


def _add_worlds(worlds: dict[str, WorldRecord], part: Study) -> None:
    for key, world in part.worlds.items():
        known = worlds.setdefault(key, world._replace(priors={}))
        same = (known.seed, known.optimum) == (world.seed, world.optimum)
        for name, prior in world.priors.items():
            same = same and known.priors.setdefault(name, prior) == prior
        if not same:
            raise UserError(
                f"{part.path}: its kernels or its optimum (world {key}) are not those of the studies before: "
                "they were learned on a machine or with packages that compute otherwise. Run one part first, "
                "and begin the others from copies of its file, with --resume"
            )


def _add_rounds(rounds: Rounds, part: Study) -> None:
    for one in part.rounds():
        known = rounds.setdefault((one.trial, one.agent, one.round), one)
        if known._replace(seconds=one.seconds, step_seconds=one.step_seconds) != one:
            raise UserError(
                f"{part.path}: round {one.round} of {one.agent} in trial {one.trial} differs from "
                "that of the studies before; equal scenarios give equal rounds only with equal packages"
            )


def _details(parts: Sequence[Study]) -> list[Detail]:
    """What all rounds left beside their numbers, by the part that was named first; the last state of each."""
    found: dict[tuple[int, str, int, str], Detail] = {}
    for part in parts:
        for kind in DETAILS:
            for one in part.details(kind):
                found.setdefault(one[:4], one)
    return sorted(found.values(), key=lambda one: one[:4])
