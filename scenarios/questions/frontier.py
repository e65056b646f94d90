"""Trade-offs: the policies that no other beats in all of several objectives, from a study's posteriors.

Every objective is a composition of the same groups, so one posterior has all of them. The frontier of
posterior means is traced by scalarisation: the augmented Chebyshev function of normalised objectives (Knowles
2006), whose optima for all weights are the whole frontier, convex or not. Policies that were simulated are
looked at as well.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc
from threadpoolctl import threadpool_limits

import bridges
from optimizer.acquisition.search import Search
from optimizer.agents.gp_agent import GPAgent
from optimizer.agents.recommending import SLACK, best_predicted, keeping_limits, objective_interval
from optimizer.composition.general import GeneralComposition
from optimizer.composition.linear import BaseComposition, Composition
from optimizer.composition.scalarised import Scale, chebyshev, nondominated, signed
from optimizer.posterior.decomposed_gp import DecomposedGP
from scenarios.declaration.asked import TOTAL, group_named
from scenarios.declaration.rates import by_size
from scenarios.errors import UserError
from scenarios.questions.estimate import Estimate
from scenarios.questions.framing import Framed, framed, of_study
from scenarios.questions.question import Question
from scenarios.questions.what_if import believer
from scenarios.study.evidence import evidence
from scenarios.study.facts import Facts
from scenarios.study.levers import Entry, policy_in_words
from scenarios.study.study import Study

POINTS = 16
"""Weights of the scalarisation, besides one for each objective alone."""
ALIKE = 0.02
"""Points of the frontier nearer to each other than this, as a share of every objective's range, are one."""

ROUNDING = 1e-6
"""Ends of an objective that differ by less than this share of it are one."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FrontierPoint:
    """A policy, and what is believed of its objectives.

    Attributes
    ----------
    policy : dict
        Entries by label.
    objectives : dict of Estimate
        By name.
    tried : int
        Rounds that observed it.
    on_frontier : bool
        Whether no other point is better in all objectives, by the means.
    knee : bool
        Whether it is the frontier's point furthest from the plane through its ends (Das 1999): the most of
        all objectives together.
    probability : float
        That it keeps the limits.
    """

    policy: dict[str, Entry]
    objectives: dict[str, Estimate]
    tried: int
    on_frontier: bool
    knee: bool
    probability: float


@dataclass(frozen=True)
class Frontier:
    """The trade-offs between several objectives.

    Attributes
    ----------
    question : str
    world : str
    objectives, units, senses : list of str
    remarks : list of str
        What has to be known besides.
    points : list of FrontierPoint
        Those on the frontier, ordered by the first objective, then the policies simulated that are not.
    """

    question: str
    world: str
    objectives: list[str]
    units: list[str]
    senses: list[str]
    points: list[FrontierPoint]
    remarks: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def frontier(
    study: Study | str | Path,
    between: Sequence[str],
    question: Question | None = None,
    *,
    agent: str | None = None,
    trial: int | None = None,
    relearn: bool = False,
    points: int = POINTS,
    seen: Callable[[int, int], None] = lambda done, total: None,
) -> list[Frontier]:
    """The trade-offs between objectives, from a study's rounds, without a simulation.

    Parameters
    ----------
    study : Study or path
    between : sequence of str
        Two or three of: "total" (the study's objective), a group, "worst-group", "worst-rate" (per person of
        the group, where outcomes are per person of all), "group-gap", "cvar:LEVEL",
        "count:THRESHOLD". Empty: the objectives of the study's scenario, where it has several.
    question : Question, optional
        Limits, a budget and fixed levers, which all policies keep, and weights of the total.
    agent, trial, relearn
        As for `what_if`.
    points : int, default 16
        How finely the frontier is traced.
    seen : callable, optional
        Is told how many of a world's searches are done.

    Returns
    -------
    list of Frontier
        One a world, as for `what_if`.

    Raises
    ------
    UserError
        Fewer than two objectives, an unknown one, or a study that cannot be asked.
    """
    opened = study if isinstance(study, Study) else Study(study)
    meant = of_study(opened, question or Question())
    between = list(between) or opened.scenario.objectives
    if not between:
        raise UserError(
            f"{opened.path}: it has one objective; name two or three, --between total --and 0-19, say"
        )
    if not 2 <= len(between) <= 3 or len(set(between)) < len(between):
        raise UserError(f"objectives {', '.join(between)}: accepted: two or three different ones")
    bounds = [framed(opened, asking(opened, name, meant)) for name in between]
    frontiers = []
    with threadpool_limits(1):
        for found in evidence(opened, agent, trial):
            knows = believer(opened, meant, bounds[0], found, relearn)
            frontiers.append(traced(opened, meant, between, bounds, found.world, knows, points, seen))
    return frontiers


def asking(study: Study, name: str, question: Question) -> Question:
    """The question with one of the objectives."""
    if name == TOTAL and not group_named(name, study.environment.groups):
        return question
    return replace(question, weights=(), objective=name)


def traced(
    study: Study,
    question: Question,
    between: Sequence[str],
    bounds: Sequence[Framed],
    world: str,
    agent: GPAgent,
    points: int,
    seen: Callable[[int, int], None],
    *,
    all_tried: bool = True,
) -> Frontier:
    """The frontier as an agent that knows the evidence sees it, with or without all others tried."""
    facts = study.environment
    compositions = [bridges.composition(bound.environment) for bound in bounds]
    search = agent.search()
    if search.limits is not None:
        search = replace(search, level=question.probability)
    ends = np.asarray([_best(search, one) for one in compositions])
    tried = agent.belief.history.tried()[0]
    tried = tried[search.space.contains(tried)]
    if search.limits is not None:
        known = search.limits.probability(np.concatenate([ends, tried]))
        if known.max() < question.probability - SLACK:
            raise UserError(f"{study.path}: {_unreached(agent, search, question, facts, tried)}")
    values = signed_means(agent, compositions, ends)
    low, high = values.min(axis=0), values.max(axis=0)
    span = spans(low, high)
    found = list(ends)
    for done, weights in enumerate(simplex(len(between), points)):
        seen(done, points)
        found.append(_toward(search, compositions, chebyshev(compositions, weights, Scale(low, span))))
    pool, simulated = np.asarray([*found, *tried]), np.arange(len(found) + len(tried)) >= len(found)
    means = signed_means(agent, compositions, pool)
    keeps = np.ones(len(pool))
    if search.limits is not None:
        between_ends = search.limits.probability(np.asarray(found[len(ends) :]))
        keeps = np.concatenate([known[: len(ends)], between_ends, known[len(ends) :]])
        kept = keeps >= question.probability - SLACK
        pool, means, keeps, simulated = pool[kept], means[kept], keeps[kept], simulated[kept]
    # By the means of the groups first, then by the numbers told: a mean over what is uncertain, in its range.
    leading = nondominated(means)
    told = {int(i): _estimates(agent, compositions, pool[[i]]) for i in np.flatnonzero(leading)}
    signs = [one.sign for one in compositions]
    for i, found_there in told.items():
        means[i] = [sign * one.mean for sign, one in zip(signs, found_there, strict=True)]
    leading[leading] = nondominated(means[leading])
    order = np.flatnonzero(leading)[np.argsort(means[leading, 0], kind="stable")]
    order = order[_apart(means[order] / span)]
    best = knee((means[order] - low) / span)
    chosen = {tuple(np.atleast_1d(pool[i]).tolist()) for i in order}
    others = np.flatnonzero(simulated & ~leading & all_tried)
    made = []
    for place, i in enumerate([*order, *others]):
        on = place < len(order)
        if not on and tuple(np.atleast_1d(pool[i]).tolist()) in chosen:
            continue
        at = pool[[i]]
        numbers = agent.space.resolve(at)[0].tolist()
        made.append(
            FrontierPoint(
                policy=study.environment.named(numbers),
                objectives=dict(
                    zip(between, told.get(int(i)) or _estimates(agent, compositions, at), strict=True)
                ),
                tried=agent.times_observed(pool[i]),
                on_frontier=on,
                knee=on and place == best,
                probability=float(keeps[i]),
            )
        )
    return Frontier(
        question.words,
        world,
        list(between),
        [bound.environment.objective_unit for bound in bounds],
        [bound.environment.sense for bound in bounds],
        made,
        [line for name in between if (line := by_size(name, facts.group_units, facts.persons, facts.groups))],
    )


def _unreached(agent: GPAgent, search: Search, question: Question, facts: Facts, tried: Any) -> str:
    """That no policy keeps the limits, and which comes nearest: the answer of a what-if."""
    assert search.limits is not None
    nearest = np.asarray([keeping_limits(search, tried, search.model.predict(tried).mean, False)])
    named = facts.named(agent.space.resolve(nearest)[0].tolist())
    return (
        f"no policy is known to keep the limits with probability {question.probability:g}: the nearest by "
        f"its prediction, {policy_in_words(named)}, does with {search.limits.probability(nearest)[0]:.3g}"
    )


def _best(search: Search, composition: BaseComposition) -> Any:
    """The policy that is predicted to be best by a composition."""
    model = copy.copy(search.model)
    model.composition = composition
    return best_predicted(replace(search, model=model))


def _toward(search: Search, compositions: Sequence[BaseComposition], goal: GeneralComposition) -> Any:
    """The policy whose posterior means have the best value of a goal made of compositions.

    Where no limit asks for variances, and the objectives depend on the groups' outcomes alone, none is
    computed: that takes a tenth of the time.
    """
    model = search.model
    if search.limits is not None or not isinstance(model, DecomposedGP) or not all(map(_fixed, compositions)):
        return _best(search, goal)

    def value(policies: Array) -> Array:
        return goal.compose(model.predict_group_means(policies), policies)

    def value_and_gradient(X: Array) -> tuple[Array, Array]:
        means, gradients = model.group_means_with_gradients(X)
        return goal.compose(means, X), np.einsum("nj,njd->nd", goal.slopes(means, X), gradients)

    return search.maximise(value, value_and_gradient)


def _fixed(composition: BaseComposition) -> bool:
    """Whether a composition is the same function of the outcomes at every policy."""
    if isinstance(composition, Composition):
        return composition.constant_weights is not None and not composition.offset_varies
    return isinstance(composition, GeneralComposition) and composition.ready is not None


def signed_means(agent: GPAgent, compositions: Sequence[BaseComposition], policies: Any) -> Array:
    """Objectives (n, K) of posterior means, all to be maximised."""
    model = agent.belief.at(None)
    means = (
        model.predict_group_means(policies)
        if isinstance(model, DecomposedGP)
        else model.predict_groups(policies)[0]
    )
    return signed(compositions, means, policies)


def simplex(objectives: int, points: int) -> Array:
    """So many weights of objectives, evenly spread: in a row of two, else quasi-random (Sobol)."""
    if objectives == 2:
        share = (np.arange(points) + 0.5) / points
        return np.stack([share, 1 - share], axis=1)
    u = qmc.Sobol(objectives, scramble=False).random(1 << points.bit_length())[1 : points + 1]
    e = -np.log(np.clip(u, 1e-9, 1.0))
    weights: Array = e / e.sum(axis=1, keepdims=True)
    return weights


def spans(low: Array, high: Array) -> Array:
    """The ranges (K,) of objectives, 1 of those whose ends differ by rounding alone."""
    least = ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.where(high - low > least, high - low, 1.0)


def _apart(values: Array) -> list[int]:
    """Rows (n, K) of which none lies within `ALIKE` of one before it."""
    kept: list[int] = []
    for i, one in enumerate(values):
        if all(np.abs(one - values[other]).max() > ALIKE for other in kept):
            kept.append(i)
    return kept


def knee(values: Array) -> int:
    """The row furthest above the plane through the rows that are best in one column each, (n, K)."""
    ends = values[values.argmax(axis=0)]
    if len(np.unique(ends, axis=0)) < values.shape[1]:
        return int(values.sum(axis=1).argmax())
    normal = np.linalg.lstsq(ends, np.ones(len(ends)), rcond=None)[0]
    return int((values @ normal).argmax()) if (normal > 0).all() else int(values.sum(axis=1).argmax())


def _estimates(agent: GPAgent, compositions: Sequence[BaseComposition], at: Any) -> list[Estimate]:
    means, variances = agent.belief.at(None).predict_groups(at)
    ranges = agent.settings.outcome_range
    return [Estimate(*objective_interval(one, means, variances, at, ranges)) for one in compositions]
