"""A step that was lost says nothing of its policy; one that failed does."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

import bridges
from optimizer import Prior
from simulators import Environment, Outcomes, PolicySpace, SimulationError, StepLost
from simulators.contract.environment import failure_kind

PRIOR = Prior([RBF(0.3)] * 2, np.full(2, 1e-4), [0.0, 0.0])


class World(Environment):
    groups = ("a", "b")
    group_units = ("", "")
    objective_unit = ""
    sense = "maximize"
    policy_space = PolicySpace(["x"], [""], bounds=Bounds([0.0], [1.0]))

    def __init__(self, faults):
        self.faults, self.steps = faults, 0

    def step(self, policy):
        self.steps += 1
        fault = self.faults.get(self.steps)
        if isinstance(fault, Exception):
            raise fault
        values = np.array([policy[0], 1.0])
        values[fault or []] = np.nan
        return Outcomes(values)


def run(name, faults, rounds=6, history=()):
    world = World(faults)
    agent = bridges.make_agent(name, world, prior=PRIOR)
    return agent, list(bridges.Loop(world, agent, 1).run(rounds, history=history))


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_what_a_model_raises_is_evidence_and_what_ends_it_from_outside_is_none(name):
    faults = {2: RuntimeError("diverged"), 3: StepLost("stopped"), 4: MemoryError(), 5: SimulationError("no")}
    agent, rounds = run(name, faults)
    assert [one.status for one in rounds] == ["ok", "failed", "lost", "lost", "failed", "ok"]
    assert agent.rounds == 6
    alike = abs(rounds[2].policy[0] - rounds[3].policy[0]) <= 0.01  # lost twice counts as failed
    assert agent.belief.history.failures == 2 + alike


def test_a_partial_round_is_no_failure_for_an_agent_that_is_told_the_composed_value():
    agent, rounds = run("gp-ucb", {2: [1], 3: [0]})
    assert [one.status for one in rounds][:3] == ["ok", "partial", "partial"]
    assert agent.belief.history.failures == 0 and agent.rounds == 6
    agent, _ = run("d-gpucb", {2: [1], 3: [0]})
    assert agent.belief.history.failures == 0 and len(agent.observed) == 6


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb"])
def test_a_resumed_trial_with_lost_rounds_goes_on_as_it_would_have(name):
    faults = {2: StepLost("stopped"), 3: StepLost("stopped"), 5: RuntimeError("diverged")}
    _, whole = run(name, faults, 8)
    rest = {step - 4: fault for step, fault in faults.items() if step > 4}
    _, later = run(name, rest, 8, history=whole[:4])
    assert [one.policy.tolist() for one in later] == [one.policy.tolist() for one in whole[4:]]


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (-9, StepLost),
        (-15, StepLost),
        (-14, StepLost),
        (-11, SimulationError),
        (-8, SimulationError),
        (1, SimulationError),
        (MemoryError(), StepLost),
        (StepLost("x"), StepLost),
        (ValueError("x"), SimulationError),
    ],
)
def test_a_kill_or_a_limit_loses_a_step_and_a_crash_fails_it(cause, kind):
    assert failure_kind(cause) is kind
