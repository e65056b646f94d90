"""What the page is told of a study: what it is about, and the rounds that it does not know yet."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from scenarios.figures.outline import plain_lines
from scenarios.figures.unwrapping import unwrapped
from scenarios.numbers import duration
from scenarios.study.facts import Facts
from scenarios.study.records import Advice, StoredRound
from scenarios.study.study import Study
from scenarios.watching.following import Follower
from simulators.contract.levers import OneOf, Whole

MOST = 5000
"""Rounds in one answer; the page asks again for more."""


class Story:
    """The calls of a study's page that read its rounds.

    Parameters
    ----------
    follower : Follower
    """

    def __init__(self, follower: Follower) -> None:
        self.follower = follower

    def new_rounds(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """What is new since the page has asked last: `{"generation": .., "known": ..}`."""
        follower = self.follower
        seen = follower.look()
        study, rounds = follower.study, follower.rounds
        first = asked.get("known") if asked.get("generation") == seen.generation else 0
        first = first if isinstance(first, int) and 0 <= first <= len(rounds) else 0
        some = rounds[first : first + MOST]
        found = {
            "generation": seen.generation,
            "from": first,
            "more": first + len(some) < len(rounds),
            "rounds": columns(some),
            "total": follower.total,
            "left": None if seen.seconds_left is None else duration(seen.seconds_left),
            "silent": duration(seen.silent_seconds),
            "problem": seen.problem,
            "advice": [told(one) for one in follower.advice],
        }
        return found | {"about": about(study)} if first == 0 else found


def about(study: Study) -> dict[str, Any]:
    """What a study is about."""
    facts, scenario = study.environment, study.scenario
    return {
        "name": scenario.name,
        "title": scenario.title,
        "file": study.path.name,
        "environment": facts.name,
        "created": str(study.meta.get("created", "")),
        "agents": scenario.labels,
        "trials": scenario.trials,
        "rounds": scenario.rounds,
        "finite": facts.finite,
        "levers": [
            {"label": label, "unit": unit} | _lever(kind)
            for label, unit, kind in zip(facts.labels, facts.units, facts.kinds, strict=True)
        ],
        "groups": [
            {"label": label, "unit": unit}
            for label, unit in zip(facts.groups, facts.group_units, strict=True)
        ],
        "unit": facts.objective_unit,
        "sense": facts.sense,
        "current": facts.current_policy,
        "current_label": facts.current_policy_label or "current practice",
        "lives": facts.lives,
        "map": _map(facts),
    }


def _map(facts: Facts) -> dict[str, Any] | None:
    """Where stations are and what they are called, with the lines of their map; None of other policies."""
    if not facts.stations:
        return None
    places = facts.by_place()
    lon, lat = np.array(list(places)).T
    turned = unwrapped(lon)
    return {
        "lon": turned.tolist(),
        "lat": lat.tolist(),
        "places": [list(place) for place in places],  # as policies have them
        "names": [str(station) for station in places.values()],
        "lines": plain_lines(turned, lat),
    }


def _lever(kind: Any) -> dict[str, Any]:
    if isinstance(kind, OneOf):
        return {"kind": "category", "names": list(kind.names)}
    if isinstance(kind, Whole):
        return {"kind": "whole", "low": kind.low, "high": kind.high, "step": kind.step}
    return {"kind": "real", "low": kind.low, "high": kind.high}


def told(one: Advice) -> dict[str, Any]:
    """What an agent's last word on a trial is worth: as its model has it, and on held-out seeds."""
    again = [value for value in (one.held_out.objective if one.held_out else ()) if value is not None]
    return {
        "trial": one.trial,
        "agent": one.agent,
        "mean": one.mean,
        "again": float(np.mean(again)) if again else None,
        "seeds": len(again),
    }


def columns(rounds: list[StoredRound]) -> dict[str, list[Any]]:
    """Rounds by field; of outcomes a list a round."""
    names = ["trial", "agent", "round", "policy", "outcomes", "objective", "expected", "regret"]
    names += ["status", "error"]
    return {name: [getattr(one, name) for one in rounds] for name in names}
