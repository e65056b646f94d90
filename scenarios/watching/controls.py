"""The what-if panel's sliders: which a study can have, how far they go, and the question that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import bridges
from scenarios.errors import UserError
from scenarios.questions.framing import framed
from scenarios.questions.question import HEAVIEST, Question
from scenarios.study.evidence import Evidence
from scenarios.study.members import members_of
from scenarios.study.study import Study

OBJECTIVES = ("weighted-sum", "worst-group", "worst-rate", "group-gap")


class Controls:
    """What can be asked of a study with sliders.

    Parameters
    ----------
    study : Study
    found : Evidence
        Of the world that is asked about.

    Attributes
    ----------
    members : Members or None
        Where the study has an ensemble.
    groups : list of str
        Those that have sliders: of an ensemble the groups of a world, each for all worlds.
    objectives : list of str
        That the study can be asked for, its own first.

    Raises
    ------
    UserError
        It can be asked for none.
    """

    def __init__(self, study: Study, found: Evidence) -> None:
        self.study: Study
        self.found: Evidence
        self.study, self.found = study, found
        self.facts = study.environment
        self.members = members_of(study)
        self.groups: list[str] = list(self.facts.groups) if self.members is None else self.members.groups
        self.objectives: list[str] = self._objectives()
        self.weighted: bool = self.facts.composition is not None
        self.more: bool = (self.facts.group_sense or self.facts.sense) == "maximize"

    def _objectives(self) -> list[str]:
        """Those that the study can be asked for: "" is its own."""
        found, refused = [], None
        for name in ("", *OBJECTIVES):
            try:
                framed(self.study, Question(objective=name))
            except UserError as error:
                refused = refused or error
                continue
            own = self.study.scenario.objective or "weighted-sum"
            if name != own:
                found.append(name)
        if not found:
            raise refused or UserError(f"{self.study.path}: nothing can be asked of it")
        return found

    def told(self) -> dict[str, Any]:
        """The sliders, as the page draws them."""
        members = self.members
        return {
            "objectives": self.objectives,
            "weights": self.groups if self.weighted else [],
            "limits": [
                {"group": group, "low": low, "high": high, "unit": unit}
                for group, low, high, unit in self._ranges()
            ],
            "at_least": self.more,
            "budget": self._budget(),
            "worlds": None if members is None or not self.weighted else members._asdict(),
            "probability": self.study.scenario.limit_probability,
        }

    def _ranges(self) -> list[tuple[str, float, float, str]]:
        """Every group with the least and the most of it that was observed, and its unit."""
        outcomes, every = self.found.outcomes, len(self.groups)
        found = []
        for j, group in enumerate(self.groups):
            seen = outcomes[:, j::every]  # of an ensemble, in every world
            seen = seen[np.isfinite(seen)]
            if len(seen) and seen.max() > seen.min():
                room = 0.05 * float(seen.max() - seen.min())
                ends = float(seen.min()) - room, float(seen.max()) + room
                found.append((group, *ends, self.facts.group_units[j]))
        return found

    def _budget(self) -> dict[str, float] | None:
        """The least and the most that policies of the space need, and today's budget."""
        environment = framed(self.study, Question(objective=self.objectives[0])).environment
        space = bridges.search_space(environment)
        limited = [(w, low, high) for w, low, high in space.constraint_rows() if np.isfinite(high)]
        if len(limited) != 1:
            return None
        weights, low, high = limited[0]
        candidates = environment.policy_space.candidates
        if candidates is not None:
            used = np.asarray(candidates) @ weights
        else:
            used = np.array([np.minimum(weights * space.lower, weights * space.upper).sum()])
            used = np.append(used, np.maximum(weights * space.lower, weights * space.upper).sum())
        least = max(float(used.min()), low) if low < high else float(used.min())
        if not least < float(used.max()):
            return None
        return {"low": least, "high": max(float(used.max()), high), "value": high}

    def question(self, asked: Mapping[str, Any]) -> Question:
        """The question that sliders make; UserError where they cannot be set so.

        Parameters
        ----------
        asked : mapping
            `objective`, `budget` (a number or None), `weights` and `limits` (numbers by group), `member` (a
            number or None) and `probability`; what is left out is as in the study.
        """
        objective = asked.get("objective", self.objectives[0])
        if objective not in self.objectives:
            raise UserError(f"objective {objective!r}: it cannot be asked of this study")
        member = self._member(asked.get("member"))
        limits = _numbers("limits", asked.get("limits"), self.groups)
        budget, probability = asked.get("budget"), asked.get("probability")
        for name, value in (("budget", budget), ("probability", probability)):
            if not (value is None or _is_number(value)):
                raise UserError(f"{name} {value!r}; accepted: a number")
        sign = ">=" if self.more else "<="
        question = Question(
            weights=self._weights(asked, objective, member),
            objective=objective,
            limits=[f"{name} {sign} {limits[g]:.12g}" for g in limits for name in self._named(g, member)],
            budget=budget,
            limit_probability=probability,
        )
        # The slider of the probability is there before there is a limit.
        return question if limits or self.study.limits else replace(question, limit_probability=None)

    def _weights(self, asked: Mapping[str, Any], objective: str, member: int | None) -> list[str]:
        """The groups whose weight changes, by the sliders and by the world that is asked about."""
        if not self.weighted or objective not in ("", "weighted-sum"):
            return []
        factors = _numbers("weights", asked.get("weights"), self.groups)
        if any(not 0 <= value <= HEAVIEST for value in factors.values()):
            raise UserError("weights: accepted: no negative numbers")
        found = []
        for group in self.groups:
            for i, name in enumerate(self._named(group, None)):
                factor = factors.get(group, 1.0)
                if member is not None and self.members is not None:
                    factor *= 1 / self.members.shares[i] if i == member else 0.0
                if factor != 1.0:
                    found.append(f"{name}*{factor:.12g}")
        return found

    def _named(self, group: str, member: int | None) -> list[str]:
        """The names of a group in the study: in an ensemble one a world, or that of one world."""
        if self.members is None:
            return [group]
        names = [f"{one}: {group}" for one in self.members.names]
        return names if member is None else [names[member]]

    def _member(self, asked: Any) -> int | None:
        if asked is None or self.members is None:
            return None
        if not isinstance(asked, int) or not 0 <= asked < len(self.members.names):
            raise UserError(f"world {asked!r}; accepted: 0 to {len(self.members.names) - 1}")
        return asked


def _numbers(name: str, given: Any, groups: Sequence[str]) -> dict[str, float]:
    """Finite numbers by group."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(
        group in groups and _is_number(value) for group, value in given.items()
    ):
        raise UserError(f"{name}: accepted: numbers by group ({', '.join(groups)})")
    return {group: float(value) for group, value in given.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
