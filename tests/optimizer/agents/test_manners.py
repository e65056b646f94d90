"""What an agent does where it is told the impossible, too little, or all that there is."""

import logging

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent

GRID = np.linspace(0, 1, 8)[:, None]
PRIOR = Prior([RBF(0.05)] * 2, np.zeros(2), [0.0, 0.0])
BOX = SearchSpace(Bounds([0.0], [1.0]))


@pytest.mark.parametrize("finite", [True, False])
def test_a_tell_that_fails_half_way_leaves_nothing_changed(finite, monkeypatch):
    space = SearchSpace(candidates=GRID) if finite else BOX
    agent = make_agent("d-gpucb", space, Composition(2), prior=PRIOR)
    policies = np.array([1, 4]) if finite else GRID[[1, 4]]
    agent.tell(policies, [[1.0, 2.0], [0.5, 0.3]])
    before, asked = agent.predict(policies), agent.ask()

    def broken(*arguments):
        raise ArithmeticError("half way")

    with monkeypatch.context() as patch:
        if finite:
            patch.setattr(agent.belief.model, "_extend", broken)
        else:
            patch.setattr(agent.belief.model.groups[1], "observe", broken)
        with pytest.raises(ArithmeticError, match="half way"):
            agent.tell(policies[:1], [[5.0, 5.0]])
    assert agent.rounds == 2 and len(agent.observed) == 2
    assert np.array_equal(agent.predict(policies), before) and np.array_equal(agent.ask(), asked)
    if not finite:
        assert [len(group) for group in agent.belief.model.groups] == [2, 2]


def test_an_objective_that_cannot_be_composed_leaves_nothing_changed():
    def g(outcomes, policies):
        if np.any(np.asarray(outcomes) == 7.0):
            raise ZeroDivisionError("at seven")
        return np.asarray(outcomes).sum(axis=-1)

    agent = make_agent("d-gpucb", BOX, GeneralComposition(2, g), prior=PRIOR)
    agent.tell(GRID[:1], [[1.0, 1.0]])
    with pytest.raises(ZeroDivisionError):
        agent.tell(GRID[2:3], [[7.0, 1.0]])
    assert agent.rounds == 1 and len(agent.observed) == 1 and agent.belief.history.failures == 0


def test_a_group_that_was_never_observed_is_named_once(caplog):
    agent = make_agent("d-gpucb", BOX, Composition(3))
    with caplog.at_level(logging.WARNING, "policyloop"):
        for _ in range(14):
            x = agent.ask()
            agent.tell(x, np.column_stack([x, np.full(1, np.nan), x]))
    (record,) = caplog.records
    assert "after 10 rounds there is too little of group 1 (0 times)" in record.getMessage()


def test_that_all_candidates_are_known_is_said_once(caplog):
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(2), prior=PRIOR)
    with caplog.at_level(logging.WARNING, "policyloop"):
        for t in range(12):
            row = agent.ask() if t >= 8 else [t]
            agent.tell(row, np.column_stack([GRID[row], GRID[row]]))
    (record,) = caplog.records
    assert record.getMessage().startswith("d-gpucb knows all 8 candidates exactly after 8 rounds")


def test_points_of_a_design_are_asked_once_whatever_is_pending_or_abandoned():
    agent = make_agent("d-gpucb", BOX, Composition(1))
    first = agent.ask(3)
    agent.tell(first[:1], [[0.1]])
    fourth = agent.ask(pending=first[1:])
    assert not any(np.array_equal(fourth[0], one) for one in first)
    agent.tell(first[2:], [[0.2]])  # the second is never told
    again = agent.ask(2)
    assert not any(np.array_equal(one, told) for one in again for told in (first[0], first[2]))
    pending = agent.ask(2, pending=first[1:2])
    assert not any(np.array_equal(one, first[1]) for one in pending)
