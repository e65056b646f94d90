"""Makes a sound study of what is whole in a damaged one."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from scenarios.errors import UserError
from scenarios.outputs import whole_file
from scenarios.study.records import ALL_TRIALS, DETAILS, StoredRound
from scenarios.study.soundness import first_gap
from scenarios.study.store import new_study
from scenarios.study.study import Study, check_target, for_spreadsheets

Run = tuple[int, str]  # trial and agent


def repair(path: str | Path, out: str | Path, *, force: bool = False) -> list[str]:
    """Write a new study with all that is whole of a damaged one; `policyloop resume` goes on with it.

    Kept are the rounds that are what was written, with their details and recommendations, the worlds, and the
    record of runs. An agent goes on from the rounds that it has seen in order, and so its rounds after one
    that is lost are not in the new study, but in a CSV beside it, `NAME-set-aside.csv`; a batch that lacks
    some of its rounds is kept. A recommendation is kept where all rounds that it is made of are.

    Parameters
    ----------
    path : str or Path
        The damaged study, which is left as it is.
    out : str or Path
        The study to write.
    force : bool, default False
        Replace a study in `out`, and the CSV beside it.

    Returns
    -------
    list of str
        What was lost, in words, and what is to be done about it.

    Raises
    ------
    UserError
        The study is sound, or what it is about is lost; `out` exists, or is the study itself. Nothing has
        been written then.
    """
    target = Path(out)
    if Path(path).resolve() == target.resolve():
        raise UserError(f"{target}: is the damaged study; give another --out")
    aside = target.with_name(f"{target.name.removesuffix('.sqlite').removesuffix('.study')}-set-aside.csv")
    for one in (target, aside):
        check_target(one, force)
    study = Study(path, damaged=True)
    details = [one for kind in DETAILS for one in study.details(kind)]
    if not study.damage:
        raise UserError(
            f"{path}: is sound: there is nothing to repair, and nothing was written; go on with it"
        )
    kept, later = _in_order(study)
    counts = {run: len(rounds) for run, rounds in kept.items()}
    advice = [one for one in study.recommendations() if counts.get((one.trial, one.agent), 0) >= one.rounds]
    worlds = [] if ALL_TRIALS in study.worlds else sorted({str(trial) for trial, _ in kept} - {*study.worlds})
    lines = [
        f"damage: {study.damage}",
        *_found_damaged(study),
        *_missing(study, {(one.trial, one.agent): one.round for one in details}, kept),
    ]
    if later:
        lines.append(f"set aside: {len(later)} rounds that come after a lost one: in {aside}")
    if gone := len(study.recommendations()) - len(advice):
        lines.append(f"recommendations of which rounds are lost: {gone}; resume makes them again")
    if worlds or study.lost.keys() & {"worlds", "priors"}:
        lines.append("what was learned of some worlds before their rounds is lost; resume learns it again")
    runs = study.runs
    if not runs:
        lines.append("which packages and inputs the runs had is lost; resume asks for --accept-changes")
        runs = [{"began": "unknown", "versions": {}, "inputs": {}, "accepted": []}]
    known = {(one.trial, one.agent, one.round) for rounds in kept.values() for one in rounds}
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    repaired = {"when": now, "from": study.path.name, "lost": lines, "worlds": worlds}
    with new_study(target, force=force) as store:
        store.set_meta({"created": "unknown", "versions": {}, **study.meta, "repaired": repaired})
        for run in runs:
            store.log_run(run)
        for key, world in study.worlds.items():
            store.set_world(key, world)
        store.add(
            [one for rounds in kept.values() for one in rounds],
            advice,
            [one for one in details if one[:3] in known],
        )
    if later:
        with whole_file(aside) as partial:
            for_spreadsheets(study.table_of(later)).to_csv(partial, index=False)
    total = study.scenario.rounds * study.scenario.trials * len(study.scenario.agents)
    lines.append(
        f"kept: {len(known)} of {total} rounds, {len(advice)} recommendations; sound, and can be resumed"
    )
    return lines


def _in_order(study: Study) -> tuple[dict[Run, list[StoredRound]], list[StoredRound]]:
    """Every agent's rounds up to the first batch that lacks some, with it; and those that come later."""
    found: dict[Run, list[StoredRound]] = defaultdict(list)
    for one in study.rounds():
        found[one.trial, one.agent].append(one)
    kept, later = {}, []
    for run, rounds in found.items():
        gap, batch = first_gap({one.round for one in rounds}, study.scenario.batch), study.scenario.batch
        last = study.scenario.rounds if gap is None else ((gap - 1) // batch + 1) * batch
        kept[run] = [one for one in rounds if one.round <= last]
        later += [one for one in rounds if one.round > last]
    return {run: rounds for run, rounds in kept.items() if rounds}, later


def _found_damaged(study: Study) -> list[str]:
    """How many rows of each table were found that are not what was written."""
    if not study.lost:
        return []
    return [f"found changed: {', '.join(f'{count} of {table}' for table, count in study.lost.items())}"]


def _missing(study: Study, seen: dict[Run, int], kept: dict[Run, list[StoredRound]]) -> list[str]:
    """A line an agent's trial of which rounds are lost, or are not there: they may never have been run."""
    lines, found = [], defaultdict(set)
    for one in study.rounds():
        found[one.trial, one.agent].add(one.round)
    advised = {(one.trial, one.agent): one.rounds for one in study.recommendations()}
    for trial in range(1, study.scenario.trials + 1):
        for agent in study.scenario.labels:
            run = trial, agent
            there = max(found[run], default=0), advised.get(run, 0), seen.get(run, 0)
            lost = set(range(1, max(there) + 1)) - found[run]
            rest = set(range(max(there) + 1, study.scenario.rounds + 1))
            words = [f"rounds {_spans(lost)} are lost"] if lost else []
            words += [f"rounds {_spans(rest)} were not found: lost, or not run yet"] if rest else []
            if words:
                words.append(f"{len(kept.get(run, ()))} kept")
                lines.append(f"trial {trial}, {agent}: {'; '.join(words)}")
    return lines


def _spans(numbers: Iterable[int]) -> str:
    """Whole numbers in words: "3, 5-9"."""
    spans: list[list[int]] = []
    for one in sorted(numbers):
        if spans and one == spans[-1][1] + 1:
            spans[-1][1] = one
        else:
            spans.append([one, one])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
