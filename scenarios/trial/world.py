"""The world of a trial: its environment, made once, and what is learned of it before the first round."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import bridges
import optimizer
from optimizer.agents.confirmation import Confirming
from policyloop.messages import failure
from scenarios.declaration.schema import Scenario
from scenarios.study.evidence import Evidence
from scenarios.study.records import ALL_TRIALS, StoredOptimum, WorldRecord
from scenarios.trial.building import (
    GROUPS,
    OWN,
    build_agent,
    build_environment,
    environment_options,
    kernel_family,
    needed_priors,
    prior_means,
    replication,
    world_seed,
)
from scenarios.trial.continued import earlier_rounds, teach
from scenarios.trial.step_process import StepProcesses
from scenarios.trial.whole_copy import whole_copy
from simulators import Environment
from simulators.contract.process_state import kept_process_state

log: logging.Logger = logging.getLogger("policyloop")


@dataclass(frozen=True)
class World:
    """The world of a trial.

    Every agent lives in an environment of its own, which nobody has stepped before. The contract would let
    agents share one, since `reset` restarts noise and memory; but a simulator may keep more than it declares
    (a counter, a memory that its `reset` forgets), and what an agent sees must not depend on who else lives
    in its process. Such an environment is a copy of the one that was made; where no whole copy can be had
    (`whole_copy`), it is made anew, as another process does.

    Attributes
    ----------
    scenario : Scenario
    trial : int
        From 1.
    environment : Environment
        As it was made: it may be asked what it knows (`expected`, `compose`), and is never stepped.
    """

    scenario: Scenario
    trial: int
    environment: Environment
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # of all its trials

    @classmethod
    def of(cls, scenario: Scenario, trial: int) -> World:
        """Make the world of a trial; UserError where the scenario's environment cannot be."""
        with threadpool_limits(1):  # several threads change the last bits
            return cls(scenario, trial, build_environment(scenario, trial))

    @property
    def key(self) -> str:
        """Under which the study stores what is learned of it."""
        return world_key(self.scenario, self.trial)

    def prepare(self, say: Callable[[str], None] = lambda text: None) -> None:
        """Let the environment do its long work before the first step, once: its copies have it then."""
        try:
            with kept_process_state(), threadpool_limits(1):
                self.environment.prepare(say)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the steps will fail by themselves, one by one
            log.warning("%s could not be prepared: %s", self.environment.name, failure(error))

    def fresh(self) -> Environment:
        """An environment like the one that was made, for one use."""
        self.prepare()
        copied = whole_copy(self.environment)
        return build_environment(self.scenario, self.trial) if copied is None else copied

    @contextmanager
    def steps(self, children: int = 1) -> Iterator[bridges.Steps | None]:
        """Who takes its steps: child processes, if there are several or steps have limits; else None."""
        spec = self.scenario.environment
        if children == 1 and not spec.limited:
            yield None
            return
        with StepProcesses(spec, environment_options(self.scenario, self.trial), children) as processes:
            yield processes

    def learned(self) -> WorldRecord:
        """All that is stored of it."""
        return WorldRecord(world_seed(self.scenario, self.trial), self.priors(), self.optimum())

    def priors(
        self, say: Callable[[str], None] = lambda text: None, jobs: int = 1
    ) -> dict[str, dict[str, Any]]:
        """Its kernels, as stored: learned from samples outside the trials, or named by the environment.

        Parameters
        ----------
        say : callable, optional
            Is told what has been learned, in words.
        jobs : int, default 1
            Processes that learn groups side by side. The result does not depend on it.
        """
        scenario, prior = self.scenario, self.scenario.prior
        needed = needed_priors(scenario, self.environment)
        if not needed:
            return {}
        if prior.source == "environment":
            return {GROUPS: bridges.known_prior(self.environment).to_dict()}
        count = len(self.environment.groups)
        with threadpool_limits(1), self.steps() as steps:
            environment = self.fresh()
            learn = partial(
                bridges.learn_prior,
                environment,
                family=kernel_family(scenario),
                samples=prior.samples,
                restarts=prior.restarts,
                seed=bridges.seed_sequence(scenario.seed, self.trial if scenario.apart else 0, "samples"),
                mean_from=prior_means(scenario, environment),
                steps=steps,
                correlated=prior.correlated,
            )
            by_group = learn(jobs=jobs, on_group=lambda j: say(f"group {j + 1} of {count} done"))
            learned = {GROUPS: by_group.to_dict()}
            if OWN in needed:
                learned[OWN] = learn(own=True).to_dict()
        return learned

    def optimum(self) -> StoredOptimum | None:
        """Its true optimum; None where it is unknown, another one in each round, or there are several."""
        if self.environment.lives or self.scenario.objectives:
            return None
        seed = bridges.seed_sequence(self.scenario.seed, self._seeded, "optimum")
        with threadpool_limits(1):
            found = bridges.find_optimum(self.environment, seed=bridges.as_int(seed))
        return None if found is None else StoredOptimum.of(found)

    @property
    def earlier(self) -> Evidence | None:
        """What a study from which this one continues knows of it; None without one, or if that is nothing."""
        if "earlier" not in self._known:
            continues = self.scenario.continue_from
            found = earlier_rounds(self.scenario, self.environment, self.trial) if continues else None
            self._known["earlier"] = found
        known: Evidence | None = self._known["earlier"]
        return known

    @property
    def worst(self) -> float:
        """The objective of its worst policy within the limits; nan without limits."""
        if "worst" not in self._known:
            seed = bridges.seed_sequence(self.scenario.seed, self._seeded, "optimum")
            with threadpool_limits(1):
                self._known["worst"] = bridges.find_worst(self.environment, seed=bridges.as_int(seed))
        return float(self._known["worst"])

    @property
    def _seeded(self) -> int:
        # A world that all trials share has seeds of its own, those of "trial 0".
        return self.trial if self.scenario.environment.new_world_each_trial else 0

    @property
    def _noise(self) -> np.random.SeedSequence:
        """Of the noise of a trial's rounds.

        A study that continues from another of the same seed has noise of its own: with that of the same
        rounds there, it would err as what it began with did. Rounds count from 1, so that none is at 0.
        """
        index = () if self.earlier is None else (0, len(self.earlier.rounds))
        return bridges.seed_sequence(self.scenario.seed, self.trial, "noise", *index)

    def loop(self, label: str, learned: WorldRecord, steps: bridges.Steps | None = None) -> bridges.Loop:
        """The loop of an agent's trial, before its first round."""
        scenario, trial = self.scenario, self.trial
        environment = self.fresh()
        agent = build_agent(scenario, scenario.agent(label), environment, trial, learned.priors)
        if self.earlier is None:
            first = design_size(scenario, environment)
            seed = bridges.seed_sequence(scenario.seed, trial, "design")
            design = bridges.initial_design(environment, first, seed)
        else:
            design = None
            teach(agent, environment, self.earlier)
        return bridges.Loop(
            environment,
            self._confirming(agent, environment),
            self._noise,
            design=design,
            optimum=learned.optimum and learned.optimum.as_optimum(),
            worst=self.worst if learned.optimum else math.nan,
            parallel=scenario.batch,
            steps=steps,
            replication=replication(scenario, environment),
        )

    def _confirming(self, agent: optimizer.Agent, environment: Environment) -> optimizer.Agent:
        scenario = self.scenario
        if not scenario.confirm:
            return agent
        return Confirming(
            agent,
            bridges.composition(environment),
            rounds=scenario.rounds,
            confirm=scenario.confirm,
            batch=scenario.batch,
        )


def design_size(scenario: Scenario, environment: Environment) -> int:
    """How many first rounds are a design that all agents share."""
    return 1 if scenario.prior.given else max(5, 2 * environment.policy_space.d)


class Worlds:
    """The worlds of a scenario's trials in this process: the last one is kept for the agents to come."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._last: World | None = None

    def of(self, trial: int) -> World:
        """The world of a trial; made, unless it is the last one."""
        # None: one world, though trials may learn priors of their own.
        seed = world_seed(self._scenario, trial)
        if self._last is None or world_seed(self._scenario, self._last.trial) != seed:
            self._last = None  # two may not fit
            self._last = World.of(self._scenario, trial)
        return replace(self._last, trial=trial)


def world_key(scenario: Scenario, trial: int) -> str:
    """The key under which what is learned of a trial's world is stored."""
    return str(trial) if scenario.apart else ALL_TRIALS
