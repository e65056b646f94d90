"""The what-if panel: posteriors are rebuilt once and kept, and only the search for a policy runs again.

A slider changes the composition, the limits or where policies are looked for, and nothing of what is believed
of the groups. So the believer is made once for each world, and every question is asked of a shallow copy of
it, whose search begins at the last answers besides.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import bridges
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.recommending import contradicted
from scenarios.declaration.asked import TOTAL
from scenarios.errors import UserError
from scenarios.questions.answer import PAYS, answered, next_simulation, predicted
from scenarios.questions.framing import Framed, framed, of_study
from scenarios.questions.frontier import asking, traced
from scenarios.questions.question import Question
from scenarios.questions.what_if import believer
from scenarios.study.evidence import Evidence, evidence
from scenarios.study.study import Study
from scenarios.watching.controls import Controls

POINTS = 9
"""How finely the frontier is traced: coarser than `policyloop frontier`, since it follows sliders."""
BETWEEN = (TOTAL, "worst-group")


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Kept:
    """What is believed of one world, with its sliders.

    Parameters
    ----------
    study : Study
    found : Evidence

    Raises
    ------
    UserError
        The study cannot be asked, or too little was observed.
    """

    def __init__(self, study: Study, found: Evidence) -> None:
        self.study: Study
        self.found: Evidence
        self.study, self.found = study, found
        self.controls: Controls = Controls(study, found)
        question = of_study(study, Question(objective=self.controls.objectives[0]))
        self.agent: GPAgent = believer(study, question, framed(study, question), found)
        contradicted(self.agent.belief)  # remembered: it holds for every question
        self.last: deque[Any] = deque(maxlen=3)  # answers, where searches begin besides

    def asked(self, question: Question) -> tuple[Framed, GPAgent]:
        """A question bound to the study, and who answers it."""
        bound = framed(self.study, question)
        agent = bridges.asked(
            self.agent,
            bound.environment,
            within=bound.within,
            limit_probability=question.probability,
            near=() if self.agent.space.finite else tuple(self.last),
        )
        return bound, agent


class Panel:
    """The calls of the what-if panel.

    Parameters
    ----------
    path : Path
        Of the study.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._study: Study | None = None
        self._found: list[Evidence] = []
        self._kept: dict[str, Kept] = {}

    def begin(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """The sliders of a world: `{"world": .., "anew": whether newer rounds are to be read}`."""
        with self._lock, threadpool_limits(1):
            if self._study is None or asked.get("anew") is True:
                study = Study(self.path)
                self._found, self._study, self._kept = evidence(study), study, {}
            kept = self._of(asked.get("world"))
            return {
                "apart": [one.world for one in self._found],
                "world": kept.found.world,
                "rounds": len(kept.found.rounds),
                "agents": kept.found.agents,
                "stored": len(kept.study.rounds()),
                **kept.controls.told(),
            }

    def _of(self, world: Any) -> Kept:
        """What is believed of a world, the first unless it is named."""
        study = self._study
        if study is None:
            raise UserError("the panel has to begin before it is asked")
        chosen = [one for one in self._found if one.world == world] or self._found
        name = chosen[0].world
        if name not in self._kept:
            self._kept[name] = Kept(study, chosen[0])
        return self._kept[name]

    def answer(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """The recommended policy under the question that sliders make, and what is predicted of it."""
        began = time.perf_counter()
        kept, question = self._question(asked)
        with threadpool_limits(1):
            bound, agent = kept.asked(question)
            found = answered(kept.study, question, bound, kept.found, agent, ahead=False)
        if not agent.space.finite:
            kept.last.append(_as_policy(kept, found.best.policy))
        told = found.to_dict()
        del told["next_policy"], told["expected_improvement"]
        return told | {"seconds": time.perf_counter() - began}

    def trade_offs(self, asked: dict[str, Any], left: threading.Event) -> dict[str, Any]:
        """The frontier between the total and the worst group, and which simulation would teach most."""
        kept, question = self._question(asked)
        study = kept.study

        def seen(done: int, total: int) -> None:
            if left.is_set():
                raise Gone

        with threadpool_limits(1):
            bound, agent = kept.asked(question)
            best = predicted(study, bound, agent, agent.recommend().policy)
            seen(0, 0)
            following, gain = next_simulation(agent, best)
            entries = study.environment.titled(agent.space.resolve([following])[0].tolist())
            pays = abs(best.objective.mean) > 0 and gain > PAYS * abs(best.objective.mean)
            told: dict[str, Any] = {"next": entries, "gain": gain, "pays": pays, "points": [], "problem": ""}
            try:
                told |= self._frontier(kept, question, seen)
            except UserError as error:
                told["problem"] = str(error)
        return told

    def _frontier(self, kept: Kept, question: Question, seen: Callable[[int, int], None]) -> dict[str, Any]:
        study, total = kept.study, replace(question, objective="")
        bounds = [framed(study, asking(study, name, total)) for name in BETWEEN]
        _, agent = kept.asked(total)
        found = traced(study, total, BETWEEN, bounds, kept.found.world, agent, POINTS, seen, all_tried=False)
        return {
            "units": found.units,
            "senses": found.senses,
            "points": [asdict(one) for one in found.points],
            "remarks": found.remarks,
        }

    def _question(self, asked: dict[str, Any]) -> tuple[Kept, Question]:
        with self._lock:
            kept = self._of(asked.get("world"))
        question = asked.get("question")
        return kept, of_study(
            kept.study, kept.controls.question(question if isinstance(question, dict) else {})
        )


def _as_policy(kept: Kept, policy: dict[str, Any]) -> list[float]:
    """A policy by label as numbers, categories by their number."""
    levers = zip(kept.study.environment.kinds, policy.values(), strict=True)
    return [lever.number(entry) for lever, entry in levers]
