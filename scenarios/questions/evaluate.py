"""What would this policy do: named policies, simulated on common random numbers, in one or several worlds.

All policies are simulated on the same seeds, and so are compared in pairs: what they share of the noise
cancels in their differences. How certain a ranking is, is asked of the Bayesian bootstrap over seeds (Rubin
1981): the share of its draws in which a policy's mean is the best.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bridges
from policyloop.messages import failure
from scenarios.declaration.schema import Scenario
from scenarios.errors import UserError
from scenarios.questions.estimate import Estimate
from scenarios.questions.evaluation import Evaluated, Evaluation, certainty, mean_of
from scenarios.questions.policies import CURRENT, policy_of
from scenarios.results.intervals import FEWEST, UNLIMITED
from scenarios.study.facts import Facts
from scenarios.trial.world import World
from simulators import Environment, Outcomes, SimulationError
from simulators.contract.validation import expected_ranges

MOST_WORLDS = 1000
MOST_SEEDS = 100_000

Array = NDArray[np.float64]


def evaluate(
    scenario: Scenario,
    policies: Sequence[str],
    *,
    seeds: int = 20,
    worlds: Sequence[str] = (),
    jobs: int = 1,
    seen: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Simulate named policies on common random numbers.

    Parameters
    ----------
    scenario : Scenario
        Whose environment is asked, with its objective and its limits.
    policies : sequence of str
        Entries in the order of the levers, "0.5,0.5,0"; or by their labels, "nurses=4,tariff=flat"; a
        candidate's row; "current", today's practice; or STUDY.sqlite:AGENT, what an agent recommends there.
    seeds : int, default 20
        Of the noise, the same for all policies and worlds.
    worlds : sequence of str
        `OPTION=VALUE,VALUE`: one world for each value of an option of the environment, all of equal weight.
        Several options make all their combinations.
    jobs : int, default 1
        Processes that step side by side. The result does not depend on it.
    seen : callable, optional
        Is told how many steps of all have ended.

    Raises
    ------
    UserError
        A policy that the environment cannot try, an unknown option, fewer than one seed or policy.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise UserError(f"seeds = {seeds}; accepted: a whole number from 1 to {MOST_SEEDS:,}")
    if jobs < 1:
        raise UserError(f"jobs = {jobs}; accepted: a whole number, 1 or more")
    if not policies:
        raise UserError(f"no policy to evaluate; give --policy {CURRENT}, say, or --policy 0.5,0.5")
    variants = list(_variants(scenario, worlds))
    made = [World.of(one, 1) for _, one in variants]
    first = made[0].environment
    if first.lives:
        raise UserError(f"{scenario.source}: its world lives: the same policy is another one an hour later")
    chosen = [policy_of(text, first) for text in policies]
    total = len(made) * len(chosen) * seeds
    J = len(first.groups)
    outcomes = np.full((len(chosen), len(made), seeds, J), np.nan)
    objective = np.full((len(chosen), len(made), seeds), np.nan)
    failed, why = np.zeros(len(chosen), dtype=int), ""
    done = 0
    for w, world in enumerate(made):
        pairs = [(p, s) for s in range(seeds) for p in range(len(chosen))]
        environment = world.fresh()
        with world.steps(1 if environment.has_memory else jobs) as steps:
            asked = [(_seed(scenario, s), chosen[p]) for p, s in pairs]
            for taken in (steps or bridges.OneByOne(environment)).take(asked):
                p, s = pairs[taken.which]
                done += 1
                seen(done, total)
                got = _judged(world.environment, taken.outcomes, chosen[p])
                if isinstance(got, Exception):
                    failed[p] += 1
                    why = why or f"policy {policies[p]}, seed {_seed(scenario, s)}: {failure(got)}"
                else:
                    outcomes[p, w, s], objective[p, w, s] = got
    return _summed(made, variants, policies, chosen, outcomes, objective, failed, why)


def _seed(scenario: Scenario, number: int) -> int:
    return bridges.as_int(bridges.seed_sequence(scenario.seed, 0, "evaluate", number))


def _judged(
    environment: Environment, outcomes: Outcomes | Exception, policy: Any
) -> tuple[Array, float] | Exception:
    """What a step observed, and its objective; or why it failed, a composition that fails included."""
    if isinstance(outcomes, Exception):
        return outcomes
    try:
        return outcomes.values, bridges.composed(environment, outcomes.values, policy)
    except SimulationError as error:
        return error


def _variants(scenario: Scenario, worlds: Sequence[str]) -> Iterator[tuple[str, Scenario]]:
    """The scenario of every world, with its name; one without a name where there is only one."""
    options = [_values(text) for text in worlds]
    count = int(np.prod([len(values) for _, values in options]))
    if count > MOST_WORLDS:
        raise UserError(f"{count} worlds; accepted: {MOST_WORLDS} at most")
    for chosen in itertools.product(*(values for _, values in options)):
        changes = {name: value for (name, _), value in zip(options, chosen, strict=True)}
        spec = scenario.environment.model_copy(
            update={"options": {**scenario.environment.options, **changes}}
        )
        variant = scenario.model_copy(update={"environment": spec})
        variant._source = scenario.source
        yield ", ".join(f"{name} = {value}" for name, value in changes.items()), variant


def _values(text: str) -> tuple[str, list[Any]]:
    name, sign, values = text.partition("=")
    if not sign or not name.strip() or not values.strip():
        raise UserError(f"worlds {text!r}; accepted: OPTION=VALUE,VALUE, such as r0=1.3,1.6,2.0")
    try:
        return name.strip(), list(tomllib.loads(f"values = [{values}]")["values"])
    except ValueError:
        return name.strip(), [one.strip() for one in values.split(",")]


def _summed(
    made: Sequence[World],
    variants: Sequence[tuple[str, Scenario]],
    texts: Sequence[str],
    chosen: Sequence[Any],
    outcomes: Array,
    objective: Array,
    failed: NDArray[np.int_],
    why: str,
) -> Evaluation:
    """The evaluation of outcomes (P, W, S, J) and objectives (P, W, S)."""
    environment = made[0].environment
    # Worlds weigh alike, and share their seeds: a seed's value is the mean over worlds.
    by_seed, group_by_seed = objective.mean(axis=1), outcomes.mean(axis=1)
    limits = bridges.outcome_limits(environment)
    best, keeps = certainty(by_seed, group_by_seed, environment.sign, limits)
    facts = Facts.of(environment)
    names = [name for name, _ in variants]
    ranges = expected_ranges(environment)
    found = []
    for p, text in enumerate(texts):
        ends = bridges.objective_range(environment, chosen[p])
        numbers = environment.policy_space.resolve(np.asarray([chosen[p]]))[0].tolist()
        found.append(
            Evaluated(
                name=text,
                policy=facts.named(numbers),
                objective=mean_of(by_seed[p], ends),
                difference=mean_of(by_seed[p] - by_seed[0]),
                probability_best=float(best[p]),
                probability_limits=float(keeps[p]),
                groups=_by_group(facts.groups, group_by_seed[p], ranges),
                group_differences=_by_group(facts.groups, group_by_seed[p] - group_by_seed[0]),
                worlds={name: mean_of(objective[p, w], ends) for w, name in enumerate(names) if name},
                failed=int(failed[p]),
            )
        )
    remarks = [f"{failed.sum()} steps failed; the first: {why}"] if failed.any() else []
    if len(found) > 1 and all(one.difference.high - one.difference.low < 1e-9 for one in found[1:]):
        remarks.append(
            "Differences vary by nothing over seeds: the simulator adds the same noise to every policy, so "
            "they are exact, however small."
        )
    if by_seed.shape[1] < FEWEST:
        remarks.append(f"Fewer than {FEWEST} seeds are too few for an interval; more --seeds give one.")
    units = dict(zip(facts.groups, facts.group_units, strict=True))
    return Evaluation(
        outcomes.shape[2], [n for n in names if n], facts.objective_unit, facts.sense, units, found, remarks
    )


def _by_group(groups: Sequence[str], values: Array, ranges: Array | None = None) -> dict[str, Estimate]:
    ends = [UNLIMITED] * len(groups) if ranges is None else [(low, high) for low, high in ranges.tolist()]
    return {name: mean_of(values[:, j], ends[j]) for j, name in enumerate(groups)}
