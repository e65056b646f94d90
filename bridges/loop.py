"""The loop that joins one agent to one environment, a record a round."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from bridges.composing import composed, watched_failures
from bridges.feedback import observation, search_space
from bridges.members import apart
from bridges.optimum import Optimum, find_optimum, regret
from bridges.replication import Replicated, Replication
from bridges.round import Round, moment
from bridges.seeds import as_int, child
from bridges.steps import OneByOne, Part, Steps, Taken, whole_policy
from optimizer.agents.agent import Agent, Query, Recommendation
from optimizer.agents.surprises import Surprise
from optimizer.arrays import Array, Policies
from optimizer.prior.learned import Learned
from policyloop.messages import failure
from simulators.contract.environment import Environment, Outcomes, StepLost
from simulators.contract.observed import as_values, checked
from simulators.contract.process_state import kept_process_state, seeded_globals

log = logging.getLogger("policyloop")

SAME = 1e-6
"""How far two policies may differ, as a share of their entries, and be the same on another run."""


class Parted(ValueError):
    """A stored round is not what the agent asks for now."""

    def __init__(self, number: int, stored: str, asked: str) -> None:
        super().__init__(number, stored, asked)
        self.round, self.stored, self.asked = number, stored, asked

    def __str__(self) -> str:
        return f"round {self.round} is stored with policy {self.stored}, but the agent asks for {self.asked}"


class Loop:
    """One agent against one environment.

    Parameters
    ----------
    environment : Environment
        Asked for outcomes. Without memory, its noise is reset before every step from (seed, round), so that a
        round can be repeated alone. In one that lives, the agent is told the time, as `context`.
    agent : Agent
        Asked for policies and told their outcomes.
    seed : int or SeedSequence
        Of the noise: the same for all agents of a trial.
    design : policies, optional
        The first policies of the trial, tried before the agent is asked; they count as rounds.
    optimum : Optimum, optional
        x*, against which regret is charged; without it regret is nan. A living world has another one in every
        round, and is searched for it.
    worst : float, default nan
        The objective with which a round that breaks a limit on outcomes is charged.
    parallel : int, default 1
        Rounds that the agent is asked for together, before it is told any of them.
    steps : Steps, optional
        Who takes the steps; default: the environment itself, one by one. Outcomes must not depend on it.
    replication : Replication, optional
        How often a round repeats its step; once unless given.

    Attributes
    ----------
    learned : (int, Learned) or None
        What the agent has learned last of its priors, from its own rounds up to this one.
    surprises : list of (int, sequence of Surprise)
        What the agent had predicted otherwise, by the round. Whoever reads it may empty it.

    Raises
    ------
    ValueError
        If the environment has memory, and others' steps, several runs or a batch are wanted, but for one of
        steps that it takes at once: its steps hang together.
    """

    def __init__(
        self,
        environment: Environment,
        agent: Agent,
        seed: int | np.random.SeedSequence,
        *,
        design: Policies | None = None,
        optimum: Optimum | None = None,
        worst: float = float("nan"),
        parallel: int = 1,
        steps: Steps | None = None,
        replication: Replication | None = None,
    ) -> None:
        if parallel < 1:
            raise ValueError(f"parallel = {parallel}; accepted: a whole number, 1 or more")
        apart_in_time = environment.steps_at_once % parallel
        if environment.has_memory and (apart_in_time or steps is not None or replication is not None):
            raise ValueError(f"{environment.name} has memory: its steps cannot be taken side by side")
        self.environment = environment
        self.agent = agent
        self.seed = seed
        self.design = design
        self.optimum, self.worst = optimum, worst
        self.parallel = parallel
        self._steps = apart(steps or OneByOne(environment), environment)
        self._noise_of = None
        if replication is not None:
            self._steps = replicated = Replicated(self._steps, environment, replication)
            self._noise_of = replicated.noise
        self.learned: tuple[int, Learned] | None = None
        self.surprises: list[tuple[int, Sequence[Surprise]]] = []
        self._warned = False
        self._best: Round | None = None

    def run(
        self,
        rounds: int,
        history: Sequence[Round] = (),
        learned: Mapping[int, Learned] | None = None,
        compare: bool = False,
    ) -> Iterator[Round]:
        """Run up to round `rounds`, and yield each round as it ends.

        Parameters
        ----------
        rounds : int
            The last round's number.
        history : sequence of Round, optional
            Rounds that were run before: the agent is told them again, and goes on as if it had never stopped.
            Of the last batch any may be missing. An environment with memory takes their steps again.
        learned : mapping of int to Learned, optional
            What the agent had `learned` after some of these rounds, by their numbers: it goes on from there
            without learning again. The latest is used from which all is known that `compare` asks for.
        compare : bool, default False
            Ask the agent for the last batch of the history again, and compare.

        Raises
        ------
        Parted
            The agent would not have asked for a policy of the history, within 1e-6 of its range.
        """
        if self.environment.lives:
            # The first step does it again: here the time is asked for, and a failure is that step's.
            with suppress(Exception), kept_process_state():
                self.environment.reset(self._start)
        past = {one.round: one for one in history}
        batches = [range(t, t + self.parallel) for t in range(1, rounds + 1, self.parallel)]
        told = [whole for whole in batches if all(t in past for t in whole)]
        known = {t: one for t, one in (learned or {}).items() if t in past}
        if compare and told:
            known = {t: one for t, one in known.items() if t < told[-1].start}
        if self._picks_again:
            known = {}
        recalled = max(known, default=0)
        if recalled:
            self.agent.postpone()
        for whole in told:
            if compare and whole == told[-1]:
                self._compare(self._policies(whole, self.environment.context), past)
            queries = self._policies(whole, self.environment.context) if self._picks_again else {}
            for t in whole:
                self._replay(past[t], queries.get(t))
                if t == recalled:
                    self.agent.recall(known[t])
        for whole in batches[len(told) :]:
            yield from self._batch(whole, rounds, past, compare)

    @property
    def _picks_again(self) -> bool:
        """Whether rounds are replayed by asking again: they do not say of which groups they were."""
        environment = self.environment
        return environment.has_memory and getattr(environment, "query_costs", None) is not None

    def _replay(self, past: Round, asked: Any = None) -> None:
        context = self.environment.context
        self._retake(past, asked)
        self._tell(past, context)

    def _retake(self, past: Round, asked: Any = None) -> None:
        """Take the step of a stored round again, where a memory needs it."""
        if self.environment.has_memory:
            for _ in self._steps.take([(self._begin(past.round), past.asked if asked is None else asked)]):
                pass

    def _compare(self, policies: Mapping[int, Any], past: Mapping[int, Round]) -> None:
        """Check that an agent asks for what it asked for before."""
        space = self.environment.policy_space
        for t, asked in policies.items():
            if t not in past:
                continue
            policy = whole_policy(asked)
            before, now = past[t].policy, space.resolve(np.asarray([policy]))[0]
            reach = np.maximum(np.abs(before), np.abs(now))
            if (np.abs(before - now) > SAME * np.maximum(reach, 1e-3)).any():
                raise Parted(t, self._text(past[t].asked), self._text(policy))

    def _batch(self, whole: range, rounds: int, past: Mapping[int, Round], compare: bool) -> Iterator[Round]:
        """Take those steps of a batch that are missing, then tell the agent all of them, in order.

        The last of them is yielded after the telling, whose time it bears.
        """
        numbers = [t for t in whole if t <= rounds]
        missing = [t for t in numbers if t not in past]
        context = self.environment.context
        start = perf_counter()
        queries = self._policies(whole, context) if missing else {}
        if compare:
            self._compare(queries, past)
        policies = {t: whole_policy(asked) for t, asked in queries.items()}
        share = (perf_counter() - start) / max(len(missing), 1)
        # Before the step: a living world is another one after it.
        expected = {t: self._expected(policies[t]) for t in missing}
        optimum = find_optimum(self.environment) if self.environment.lives else self.optimum
        ended = {t: past[t] for t in numbers if t in past}
        for t in ended if missing else ():
            self._retake(past[t], queries[t])
        asked = [(self._begin(t), queries[t]) for t in missing]
        last: Round | None = None
        for taken in self._steps.take(asked):
            t = missing[taken.which]
            last = ended[t] = self._round(t, policies[t], taken, expected[t], optimum, share)
            if len(ended) < len(numbers):
                yield last
        start = perf_counter()
        for t in numbers:
            before = self._known
            if found := self._tell(ended[t], context):
                self.surprises.append((t, found))
            if self._known is not None and self._known is not before:
                self.learned = t, self._known
        if last is not None:
            yield replace(last, seconds=share + perf_counter() - start)

    def _noise(self, t: int) -> int:
        return as_int(child(self.seed, t))

    @property
    def _start(self) -> int:
        """The seed with which a memory begins."""
        return as_int(child(self.seed, 0))

    def _begin(self, t: int) -> int | None:
        """With which seed a step begins anew; None where it goes on from the step before."""
        if not self.environment.has_memory:
            return self._noise(t)
        return self._start if t == 1 else None

    def _policies(self, whole: range, context: float | None) -> dict[int, Any]:
        """What is asked of the steps of a whole batch, by round: the design's policies, then the agent's."""
        chosen: list[Any] = [] if self.design is None else list(self.design[whole[0] - 1 : whole[-1]])
        if len(chosen) < len(whole):
            chosen += self._asked(len(whole) - len(chosen), whole[0], context)
        return dict(zip(whole, chosen, strict=True))

    def recommend(self) -> Recommendation:
        """What the agent recommends; where the composition fails it, the best observed, or the first."""
        context = self.environment.context
        with kept_process_state(), watched_failures() as failed:
            try:
                return self.agent.recommend(**moment(context))
            except Exception:
                if not failed or self._best is None:
                    raise
        log.warning("the best observed is recommended, for compose or weights fails: %s", failed[0])
        unknown, best = float("nan"), self._best
        seen = not np.isnan(best.objective)
        return Recommendation(
            best.asked,
            unknown,
            unknown,
            unknown,
            tried=int(seen),
            best_observed=best.asked if seen else None,
            best_observed_value=best.objective,
        )

    def _asked(self, n: int, t: int, context: float | None) -> list[Any]:
        """The agent's policies; random ones where it cannot choose, because the composition fails it."""
        with kept_process_state(), watched_failures() as failed:
            try:
                asked = self.agent.ask(n, **moment(context))
                if isinstance(asked, Query):
                    return [Part(*one) for one in zip(*asked, strict=True)]
                return list(asked)
            except Exception:
                if not failed:
                    raise
        log.warning("round %d: a random policy is tried, for compose or weights fails: %s", t, failed[0])
        return list(search_space(self.environment).sample(n, np.random.default_rng(self._noise(t))))

    def _round(
        self,
        t: int,
        policy: Any,
        taken: Taken,
        expected: tuple[float, Array | None],
        optimum: Optimum | None,
        seconds: float,
    ) -> Round:
        """The record of a step that has ended."""
        outcomes, objective, error = self._judge(taken.outcomes, policy, self._noise(t))
        missing = np.isnan(outcomes.values)
        gone = isinstance(taken.outcomes, StepLost | MemoryError)
        space = self.environment.policy_space
        return Round(
            round=t,
            policy=np.array(space.resolve(np.asarray([policy]))[0], dtype=float),
            row=int(policy) if space.finite else None,
            outcomes=outcomes.values,
            noise_variance=outcomes.noise_variance,
            objective=objective,
            expected=expected[0],
            expected_outcomes=expected[1],
            regret=float("nan")
            if optimum is None
            else regret(self.environment, optimum, self.worst, *expected),
            seconds=seconds,
            step_seconds=taken.seconds,
            status=("lost" if gone else "failed") if missing.all() else "partial" if missing.any() else "ok",
            error=error,
            info=outcomes.info or {},
            runs=taken.runs,
        )

    def _judge(self, outcomes: Outcomes | Exception, policy: Any, seed: int) -> tuple[Outcomes, float, str]:
        """What a step is worth, and its objective; a failure gives nan for every group, and says why."""
        environment = self.environment
        nothing = Outcomes(np.full(len(environment.groups), np.nan)), float("nan")
        try:
            if isinstance(outcomes, Exception):
                raise outcomes
            observed = checked(outcomes, environment.groups, environment.outcome_range)
            with kept_process_state(), seeded_globals(0):
                objective = composed(environment, observed.values, policy)
        except Exception as error:  # the round's failure, not the study's
            return *nothing, f"{failure(error)} (policy {self._text(policy)}, seed {seed})"
        if np.isnan(observed.values).all():
            return *nothing, f"every outcome is nan (policy {self._text(policy)}, seed {seed})"
        return observed, objective, ""

    def _text(self, policy: Any) -> str:
        """A policy in a message: its row, or its entries as people read them."""
        space = self.environment.policy_space
        if space.finite:
            return str(int(policy))
        entries = space.named(policy).values()
        return f"[{', '.join(f'{x:.6g}' if isinstance(x, float) else str(x) for x in entries)}]"

    def _tell(self, one: Round, context: float | None) -> Sequence[Surprise]:
        """Tell the agent of a round; or that it says nothing, lost or without a composed value.

        Returns what it had predicted otherwise.
        """
        best, sign = self._best, self.environment.sign
        if best is None or not sign * one.objective <= sign * best.objective and not np.isnan(one.objective):
            self._best = one
        alive = self.environment.lives
        gap = one.status == "partial" and self.agent.feedback == "aggregate" and not alive
        if self._noise_of is not None:
            self._noise_of.tell(one.runs)
        outcomes = Outcomes(one.outcomes, one.noise_variance)
        values, noise = observation(self.agent, self.environment, outcomes, one.asked, one.objective)
        if (one.status == "lost" or gap) and isinstance(self.agent, Agent):
            self.agent.lose(np.asarray([one.asked]), values, **moment(context), partly=gap)
            return ()
        self.agent.tell(np.asarray([one.asked]), values, noise, **moment(context))
        return self.agent.surprises if isinstance(self.agent, Agent) else ()

    @property
    def _known(self) -> Learned | None:
        return self.agent.learned if isinstance(self.agent, Agent) else None

    def _expected(self, policy: Any) -> tuple[float, Array | None]:
        """The noise-free objective, and outcomes (J,); nan and None where unknown or their code fails."""
        environment = self.environment
        unknown = float("nan"), None
        if environment.has_memory and not environment.lives:
            return unknown
        try:
            with kept_process_state(), seeded_globals(0):
                outcomes = as_values(environment.expected(np.array([policy]))[0], environment.groups)
                return composed(environment, outcomes, policy), outcomes
        except NotImplementedError:
            return unknown
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if not self._warned:
                self._warned = True
                log.warning(
                    "no regret where expected fails, first at policy %s: %s",
                    self._text(policy),
                    failure(error),
                )
            return unknown
