"""What holds of every sound study, whatever happened to its runs; in words, what a damaged one breaks."""

from __future__ import annotations

import sqlite3
from collections import defaultdict

import numpy as np

from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.study.file import damage
from scenarios.study.reading import Contents, read_all
from scenarios.study.records import ALL_TRIALS, NOTHING, Advice, Facts, StoredRound


def examine(connection: sqlite3.Connection) -> tuple[str, Contents | None]:
    """What is wrong with a study, "" if nothing is, and all that it holds, None where that cannot be read."""
    if found := damage(connection):
        return found, None
    try:
        contents = read_all(connection)
    except (sqlite3.Error, ValueError) as error:
        return on_one_line(error), None
    if "scenario" not in contents.meta:  # a run was stopped before it began
        return "", contents
    try:
        scenario = Scenario.model_validate(contents.meta["scenario"])
        facts = Facts.stored(contents.meta["environment"])
        return fault(contents, scenario, facts), contents
    except (ValueError, TypeError, KeyError) as error:
        return f"what is stored of its scenario cannot be read: {on_one_line(error)}", contents


def fault(contents: Contents, scenario: Scenario, facts: Facts) -> str:
    """The first thing that is not as it must be, "" where all is."""
    seen: dict[tuple[int, str], set[int]] = defaultdict(set)
    for one in contents.rounds:
        if found := round_fault(one, scenario, facts):
            return f"trial {one.trial}, {one.agent}, round {one.round}: {found}"
        seen[one.trial, one.agent].add(one.round)
    for (trial, agent), rounds in seen.items():
        whole = (max(rounds) - 1) // scenario.batch * scenario.batch  # of the last batch any may be missing
        if missing := set(range(1, whole + 1)) - rounds:
            return f"trial {trial}, {agent}: round {min(missing)} is missing, and later ones are there"
        if str(trial) not in contents.worlds and ALL_TRIALS not in contents.worlds:
            return f"trial {trial}: what was learned of its world before its rounds is missing"
    for advice in contents.recommendations:
        stored = len(seen.get((advice.trial, advice.agent), ()))
        if found := advice_fault(advice, scenario, facts):
            return f"trial {advice.trial}, {advice.agent}: {found}"
        if stored < advice.rounds:
            return (
                f"trial {advice.trial}, {advice.agent}: recommended after {advice.rounds} rounds, but "
                f"{stored} are stored"
            )
    return ""


def round_fault(one: StoredRound, scenario: Scenario, facts: Facts) -> str:
    """What cannot be of a stored round, "" where all can."""
    J = len(facts.groups)
    if not _belongs(one, scenario) or one.round not in range(1, scenario.rounds + 1):
        return "is none of this study's"
    if not facts.may_hold(one.policy) or not np.isfinite(one.policy).all():
        return f"its policy {one.policy} is none"
    if (one.row is not None) != facts.finite:
        return f"its candidate row is {one.row}"
    if len(one.outcomes) != J:
        return f"{len(one.outcomes)} outcomes, but there are {J} groups"
    if one.noise_variance is not None and len(one.noise_variance) != J:
        return f"{len(one.noise_variance)} noise variances, but there are {J} groups"
    missing = sum(value is None for value in one.outcomes)
    if (one.status in NOTHING, one.status == "ok") != (missing == J, missing == 0):
        return f'its status is "{one.status}", and {missing} of {J} outcomes are missing'
    if one.seconds is None or one.step_seconds is None:
        return "its times are missing"
    return ""


def advice_fault(one: Advice, scenario: Scenario, facts: Facts) -> str:
    """What cannot be of a stored recommendation, "" where all can."""
    if not _belongs(one, scenario) or one.rounds not in range(1, scenario.rounds + 1):
        return "a recommendation that is none of this study's"
    return "" if facts.may_hold(one.policy) else f"the recommended policy {one.policy} is none"


def _belongs(one: StoredRound | Advice, scenario: Scenario) -> bool:
    return one.agent in scenario.labels and one.trial in range(1, scenario.trials + 1)
