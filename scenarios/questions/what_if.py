"""What-if: a study's groups, composed anew. The answer is a policy, with what is known of it.

The posteriors of the groups are rebuilt from the stored rounds, by the kernels that were learned from them.
What is asked changes the composition, the limits and where policies are looked for, and nothing of what the
groups' outcomes are; so no simulation is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
import optimizer
from optimizer.agents.gp_agent import GPAgent
from optimizer.prior.pooling import pooled
from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.questions.answer import Answer, answered
from scenarios.questions.framing import Framed, framed, of_study
from scenarios.questions.question import Question
from scenarios.study.evidence import Evidence, evidence, stored_learning
from scenarios.study.study import Study
from scenarios.trial.building import GROUPS

if TYPE_CHECKING:
    from pathlib import Path

LEARNING_SECONDS = 1e-9
"""Of learning kernels anew: so many a group and cubed number of observations, up to `own_rounds.MOST`."""


def what_if(
    study: Study | str | Path,
    question: Question | None = None,
    *,
    agent: str | None = None,
    trial: int | None = None,
    relearn: bool = False,
    say: Callable[[str], None] = lambda text: None,
    **asked: Any,
) -> list[Answer]:
    """Answer a question from a study's rounds, without a simulation.

    Parameters
    ----------
    study : Study or path
        Finished, or still running.
    question : Question, optional
        Or, in place of it, its parts by name: `weights`, `objective`, `limits`, `limit_probability`,
        `budget`, `fix`.
    agent : str, optional
        Whose rounds teach; see `scenarios.study.evidence`.
    trial : int, optional
        Only the rounds of this trial; else those of all trials of a world.
    relearn : bool, default False
        Learn the kernels anew, from all these rounds together.
    say : callable, optional
        Is told beforehand what takes long.

    Returns
    -------
    list of Answer
        One where all trials share a world, else one a trial.

    Raises
    ------
    UserError
        The study cannot be asked this.

    Examples
    --------
    >>> import scenarios
    >>> scenarios.what_if("flu.study.sqlite", weights=["70+*10"], budget=0.3)  # doctest: +SKIP
    """
    opened = study if isinstance(study, Study) else Study(study)
    meant = of_study(opened, question or Question(**asked))
    bound = framed(opened, meant)
    with threadpool_limits(1):
        return [
            answered(opened, meant, bound, found, believer(opened, meant, bound, found, relearn, say))
            for found in evidence(opened, agent, trial)
        ]


def believer(
    study: Study,
    question: Question,
    bound: Framed,
    found: Evidence,
    relearn: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> GPAgent:
    """An agent that has been told all the evidence, and asks the question."""
    scenario = study.scenario
    settings: dict[str, Any] = {
        "seed": bridges.as_int(bridges.seed_sequence(scenario.seed, found.trials[0], "agent")),
        "within": bound.within,
        "limit_probability": question.probability,
    }
    learned = None
    if scenario.prior.given and not relearn:
        settings["prior"] = _given(study, found)
    else:
        settings["family"] = _family(study)
    if "family" in settings and not relearn:
        known = stored_learning(study, found)
        if known:
            observed = int(np.isfinite(found.outcomes).any(axis=1).sum())
            learned = pooled(known, observed)
    agent = bridges.make_agent("d-ei", bound.environment, **settings)
    assert isinstance(agent, GPAgent)
    if learned is not None:
        agent.postpone()
    elif "prior" not in settings:
        _announce(found, say)
    agent.tell(found.policies, found.outcomes, found.noise)
    if learned is not None:
        agent.recall(learned)
    if agent.belief.model is None:
        raise UserError(
            f"{study.path}: too little was observed to learn from: {len(found.rounds)} rounds, and every "
            f"group at least twice in {agent.belief.design_size} of them is needed"
        )
    return agent


def _family(study: Study) -> str:
    """The family of the kernels that agents learned from their own rounds; nothing is imported for it."""
    family = study.scenario.prior.family
    if family not in optimizer.family_names():
        raise UserError(
            f"{study.path}: its kernels are of the family {family}, which is code: who reads a study imports "
            "none; import it yourself, and register it by this name (optimizer.register_family)"
        )
    return family


def _given(study: Study, found: Evidence) -> optimizer.Prior:
    """The prior that the study's agents were handed."""
    scenario, world = study.scenario, study.world(found.trials[0])
    if world is None or GROUPS not in world.priors:
        raise UserError(f"{study.path}: it holds no kernels of its groups; give --relearn")
    if scenario.prior.mean_from is not None:
        raise UserError(
            f"{study.path}: its prior means are outcomes of {scenario.prior.mean_from.name}, which would "
            "have to be simulated; give --relearn to learn from its rounds alone"
        )
    try:
        return optimizer.Prior.from_dict(world.priors[GROUPS])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{study.path}: its kernels cannot be used without its simulator ({on_one_line(error)}); give "
            "--relearn to learn others from its rounds"
        ) from error


def _announce(found: Evidence, say: Callable[[str], None]) -> None:
    """Tell beforehand how long kernels take to be learned anew, where that is more than a moment."""
    n, J = found.outcomes.shape
    seconds = LEARNING_SECONDS * J * min(n, 1000) ** 3
    if seconds > 2:
        say(f"kernels of {J} groups are learned anew from {n} rounds: some {seconds:.0f} s")
