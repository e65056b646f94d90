"""Records keep every bit on their way to the file and back, and old studies may lack some of their parts."""

import json
import math

import numpy as np
import pytest
from studies import a_round

from optimizer.agents.agent import Recommendation
from scenarios.study.facts import Facts
from scenarios.study.records import (
    Advice,
    Detail,
    HeldOut,
    StoredOptimum,
    StoredRound,
)
from scenarios.trial.sink import Claim, from_wire, to_wire
from simulators import FluODE

ADVICE = Advice.of(
    Recommendation(policy=np.array([0.1, 1 / 3]), mean=np.float64(0.1 + 0.2), low=math.nan, high=1e300),
    trial=2, agent="a", rounds=7, policy=[0.1, 1 / 3], row=None, expected_outcomes=None,
    held_out=HeldOut([[5e-324, None]], [None]), expected=math.nan, simple_regret=0.1,
)  # fmt: skip


def test_a_round_is_the_loops_again():
    known = {"outcomes": [math.pi, None], "expected_outcomes": [1 / 7, None], "objective": None}
    stored = a_round(**known, noise_variance=[1e-300, 0.1], row=3)
    again = StoredRound.of(1, "a", stored.as_round())
    assert np.isnan(again.outcomes[1]) and np.isnan(again.objective)
    assert again._replace(**known) == stored
    assert StoredRound.stored(again.columns()) == stored


def test_advice_is_the_same_without_nan():
    known = ADVICE._replace(expected=0.3)
    assert Advice.stored(known.columns()) == known._replace(low=None, best_observed_value=None)
    assert "held_out" not in json.loads(ADVICE._replace(held_out=None).columns()[3])


def test_what_was_stored_before_a_part_was_known_lacks_it():
    trial, agent, rounds, value, *rest = ADVICE.columns()
    old = json.loads(value)
    for name in ("row", "expected_outcomes", "held_out"):
        del old[name]
    advice = Advice.stored((trial, agent, rounds, json.dumps(old), *rest))
    assert advice.policy == ADVICE.policy and advice.held_out is None and advice.row is None
    facts = Facts.of(FluODE())
    stored = json.loads(json.dumps(facts._asdict()))
    assert Facts.stored({**stored, "another": 1}) == facts and facts.sign == -1.0
    del stored["lives"], stored["current_policy"], stored["current_policy_label"]
    assert Facts.stored(stored) == facts._replace(current_policy=None, current_policy_label="")


@pytest.mark.parametrize("value", ["null", "[]", "{}", "3", '{"policy": [1]}'])
def test_what_is_no_advice_is_refused(value):
    trial, agent, rounds, _, *rest = ADVICE.columns()
    with pytest.raises(ValueError, match="no recommendation"):
        Advice.stored((trial, agent, rounds, value, *rest))


@pytest.mark.parametrize(
    "message",
    [
        Claim(1, "a"),
        a_round(outcomes=[1.5, None], objective=None, expected_outcomes=None),
        Detail(1, "a", 3, "info", {"peak": 0.1 + 0.2, "curve": [1, None]}),
    ],
)
def test_messages_arrive_as_they_were_sent(message):
    assert from_wire(to_wire(message)) == message


def test_advice_arrives_without_nan():
    arrived = from_wire(to_wire(ADVICE))
    assert arrived == ADVICE._replace(low=None, best_observed_value=None, expected=None)


def test_an_optimum_is_the_bridges_again():
    stored = StoredOptimum([0.1, 1 / 3], 4, 5e-324, [math.pi])
    assert StoredOptimum.of(stored.as_optimum()) == stored


def test_a_detail_is_stored_with_every_bit_and_refused_where_it_is_none():
    detail = Detail(1, "a", 3, "learned", {"theta": [0.1 + 0.2, 5e-324], "family": "rbf"})
    assert Detail.stored(detail.columns()) == detail
    with pytest.raises(ValueError, match="not a detail"):
        Detail.stored((*detail[:-1], b"no zlib"))
