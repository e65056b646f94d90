"""What holds of every sound study, whatever happened to its runs; in words, what a damaged one breaks."""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Any

from policyloop.messages import on_one_line
from scenarios.declaration.schema import Scenario
from scenarios.study.checksums import UNREADABLE, rows
from scenarios.study.facts import Facts
from scenarios.study.file import damage
from scenarios.study.reading import Columns, Contents, read_all
from scenarios.study.records import ALL_TRIALS, NOTHING, Advice, Numbers, StoredRound
from simulators.contract.levers import OneOf


def examine(connection: sqlite3.Connection) -> tuple[str, Contents | None]:
    """What is wrong with a study, "" if nothing is, and all that it holds, None where that cannot be read."""
    if found := damage(connection):
        return found, None
    try:
        contents, columns = read_all(connection)
    except (*UNREADABLE, ValueError) as error:
        return on_one_line(error), None
    if "scenario" not in contents.meta:  # a run was stopped before it began
        return "", contents
    try:
        scenario = Scenario.model_validate(contents.meta["scenario"])
        facts = Facts.stored(contents.meta["environment"])
        return Rules(scenario, facts).fault(contents, columns), contents
    except (ValueError, TypeError, KeyError) as error:
        return f"what is stored of its scenario cannot be read: {on_one_line(error)}", contents


def details_fault(connection: sqlite3.Connection) -> str:
    """The first of the rounds' details that is not what was written, "" where all are."""
    try:
        for _ in rows(connection, "details"):
            pass
    except (*UNREADABLE, ValueError) as error:
        return on_one_line(error)
    return ""


def first_gap(rounds: set[int], batch: int) -> int | None:
    """The first round that is missing though one of a later batch is there; of the last batch any may be."""
    whole = (max(rounds) - 1) // batch * batch
    return min(set(range(1, whole + 1)) - rounds, default=None)


def whole_trials(columns: Columns) -> dict[tuple[int, str], int] | None:
    """How many rounds each (trial, agent) has, where they are 1..n of each, in order; None where not."""
    trials, agents, rounds = columns["trial"], columns["agent"], columns["round"]
    found: dict[tuple[int, str], int] = {}
    start = 0
    while start < len(rounds):
        key = trials[start], agents[start]
        end = bisect_right(range(len(rounds)), key, start, key=lambda i: (trials[i], agents[i]))
        count = end - start
        if (
            key in found
            or not trials[start:end].count(key[0]) == agents[start:end].count(key[1]) == count
            or rounds[start:end] != list(range(1, count + 1))
        ):
            return None
        found[key], start = count, end
    return found


def _numbers(lists: Iterable[list[Any]]) -> bool:
    """Whether lists hold finite numbers alone; False, too, where their sum is none."""
    try:
        return math.isfinite(sum(chain.from_iterable(lists)))
    except TypeError:
        return False


class Rules:
    """What a study's rounds and recommendations must be, by its scenario and the facts of its environment."""

    def __init__(self, scenario: Scenario, facts: Facts) -> None:
        # Looked up once, not in every one of 100,000 rounds.
        self._labels, self._trials, self._rounds = set(scenario.labels), scenario.trials, scenario.rounds
        self._batch = scenario.batch
        self._entries, self._groups, self._finite = len(facts.labels), len(facts.groups), facts.finite
        self._named = [(i, len(one.names)) for i, one in enumerate(facts.kinds) if isinstance(one, OneOf)]

    def fault(self, contents: Contents, columns: Columns) -> str:
        """The first thing that is not as it must be, "" where all is."""
        stored = whole_trials(columns)
        if stored is None or not self._plainly_sound(columns, stored):
            for one in contents.rounds:
                if found := self.round_fault(one):
                    return f"trial {one.trial}, {one.agent}, round {one.round}: {found}"
        if stored is None:
            seen: dict[tuple[int, str], set[int]] = defaultdict(set)
            for one in contents.rounds:
                seen[one[:2]].add(one[2])
            for (trial, agent), rounds in seen.items():
                if missing := first_gap(rounds, self._batch):
                    return f"trial {trial}, {agent}: round {missing} is missing, and later ones are there"
            stored = {key: len(rounds) for key, rounds in seen.items()}
        # A repair may have found rounds without their world, which the next run learns again.
        lost = contents.meta.get("repaired", {}).get("worlds", [])
        for trial, _ in stored:
            if not {str(trial), ALL_TRIALS} & {*contents.worlds, *lost}:
                return f"trial {trial}: what was learned of its world before its rounds is missing"
        for advice in contents.recommendations:
            count = stored.get((advice.trial, advice.agent), 0)
            if found := self.advice_fault(advice):
                return f"trial {advice.trial}, {advice.agent}: {found}"
            if count < advice.rounds:
                return (
                    f"trial {advice.trial}, {advice.agent}: recommended after {advice.rounds} rounds, but "
                    f"{count} are stored"
                )
        return ""

    def _plainly_sound(self, columns: Columns, stored: dict[tuple[int, str], int]) -> bool:
        """Whether no round can have a fault, seen column by column, which is fast; False decides nothing."""
        outcomes, noise, status = columns["outcomes"], columns["noise_variance"], columns["status"]
        return (
            all(self._belongs(trial, agent, count) for (trial, agent), count in stored.items())
            and not self._named
            and set(map(len, columns["policy"])) <= {self._entries}
            and _numbers(columns["policy"])
            and columns["row"].count(None) == (0 if self._finite else len(columns["row"]))
            and set(map(len, outcomes)) <= {self._groups}
            and {len(one) for one in noise if one is not None} <= {self._groups}
            and self._missing_as_said(outcomes, status)
            and None not in columns["seconds"]
            and None not in columns["step_seconds"]
        )

    def _missing_as_said(self, outcomes: list[Numbers], status: list[str]) -> bool:
        if set(status) <= {"ok"} and _numbers(outcomes):
            return True
        missing = zip(status, [one.count(None) for one in outcomes], strict=True)
        return set(missing) <= {("ok", 0), *[(word, self._groups) for word in NOTHING]}

    def round_fault(self, one: StoredRound) -> str:
        """What cannot be of a stored round, "" where all can."""
        J, missing = self._groups, one.outcomes.count(None)
        if not self._belongs(one.trial, one.agent, one.round):
            return "is none of this study's"
        if not self._may_be(one.policy):
            return f"its policy {one.policy} is none"
        if (one.row is not None) != self._finite:
            return f"its candidate row is {one.row}"
        if len(one.outcomes) != J:
            return f"{len(one.outcomes)} outcomes, but there are {J} groups"
        if one.noise_variance is not None and len(one.noise_variance) != J:
            return f"{len(one.noise_variance)} noise variances, but there are {J} groups"
        if (one.status in NOTHING, one.status == "ok") != (missing == J, missing == 0):
            return f'its status is "{one.status}", and {missing} of {J} outcomes are missing'
        if one.seconds is None or one.step_seconds is None:
            return "its times are missing"
        return ""

    def advice_fault(self, one: Advice) -> str:
        """What cannot be of a stored recommendation, "" where all can."""
        if not self._belongs(one.trial, one.agent, one.rounds):
            return "a recommendation that is none of this study's"
        return "" if self._may_be(one.policy) else f"the recommended policy {one.policy} is none"

    def _belongs(self, trial: int, agent: str, rounds: int) -> bool:
        return agent in self._labels and 1 <= trial <= self._trials and 1 <= rounds <= self._rounds

    def _may_be(self, policy: list[float]) -> bool:
        return (
            len(policy) == self._entries
            and None not in policy
            and all(map(math.isfinite, policy))
            and all(policy[i] in range(count) for i, count in self._named)
        )
