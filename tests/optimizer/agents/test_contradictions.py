"""Repeats without noise that differ are pointed out, once, with their policy."""

import logging

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, Prior, SearchSpace, make_agent

GRID = np.linspace(0, 1, 9)[:, None]


def agent(noise=0.0, finite=True, name="d-gpucb", **options):
    space = SearchSpace(candidates=GRID) if finite else SearchSpace(Bounds([0.0], [1.0]))
    prior = Prior([RBF(0.3)] * 2, np.full(2, noise), [0.0, 0.0])
    return make_agent(name, space, Composition(2), prior=prior, **options)


@pytest.mark.parametrize(("finite", "where"), [(True, "policy 4 group 1"), (False, "policy [0.5] group 1")])
def test_the_policy_the_group_and_both_values_are_named_once(caplog, finite, where):
    told = agent(finite=finite)
    at = [4] if finite else GRID[[4]]
    with caplog.at_level(logging.WARNING, "policyloop"):
        told.tell(at, [[1.0, 2.0]])
        assert not caplog.messages
        told.tell(at, [[1.0, 2.5]])
        told.tell(at, [[3.0, 2.5]])
    (message,) = caplog.messages
    assert where in message and "was 2, and is 2.5 now" in message and "\n" not in message
    assert told.belief.model.predict_groups(at)[0][0] == pytest.approx([5 / 3, 7 / 3], abs=1e-6)


def test_of_several_told_at_once_each_is_compared_with_those_before_it(caplog):
    with caplog.at_level(logging.WARNING, "policyloop"):
        agent().tell([3, 4, 3], [[1.0, 2.0], [0.0, 0.0], [1.5, 2.0]])
    assert "policy 3 group 0 was 1, and is 1.5 now" in caplog.messages[0]


@pytest.mark.parametrize(
    ("noise", "first", "stated"),
    [
        (0.0, [1.0, 2.0], None),  # alike
        (0.0, [1.0 + 1e-9, np.nan], None),  # up to rounding; and what is missing contradicts nothing
        (0.1, [5.0, 5.0], None),
        (0.0, [5.0, 5.0], [[0.1, 0.1]]),
    ],
)
def test_nothing_is_said_of_repeats_that_are_alike_or_noisy(caplog, noise, first, stated):
    told = agent(noise)
    with caplog.at_level(logging.WARNING, "policyloop"):
        told.tell([4], [first], stated)
        told.tell([4], [[1.0, 2.0]], stated)
    assert not caplog.messages


def test_a_composed_value_contradicts_as_well(caplog):
    told = agent(name="gp-ucb")
    with caplog.at_level(logging.WARNING, "policyloop"):
        told.tell([4], [1.0])
        told.tell([4], [2.0])
    assert "group 0 was 1, and is 2 now" in caplog.messages[0]


def test_the_same_policy_at_another_time_may_differ(caplog):
    prior = Prior([RBF([0.3, 5.0])] * 2, np.zeros(2), [0.0, 0.0])
    told = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(2), prior=prior, context=True)
    with caplog.at_level(logging.WARNING, "policyloop"):
        told.tell([4], [[1.0, 2.0]], context=0.0)
        told.tell([4], [[2.0, 2.0]], context=9.0)
    assert not caplog.messages
