"""A living network that several sensors are read of in an hour: batches, and what is replayed of them."""

import numpy as np
import pytest

import bridges
from simulators import make

OPTIONS = {"sensors": 25, "gateways": 2, "battery": 9.0, "standby": 0.4, "harvest": 1.0, "energy_budget": 1.6}


def loop(name="d-gpucb", parallel=3, **changes):
    env = make("weather-live", readings=3, **OPTIONS | changes)
    prior = bridges.learn_prior(env, family="matern-3/2", samples=60, own=name == "gp-ucb", restarts=0)
    agent = bridges.make_agent(name, env, prior=prior, propagation="delta")
    return bridges.Loop(env, agent, 5, parallel=parallel)


def told(rounds):
    return [(one.row, one.outcomes.tolist(), one.info, one.error) for one in rounds]


@pytest.fixture(scope="module")
def whole():
    return list(loop().run(18))


def test_a_batch_is_read_in_one_hour_within_its_budget(whole):
    hours = [one.info["hour"] for one in whole if one.info]
    assert hours == sorted(hours) and max(hours) == 5
    for start in range(0, 18, 3):
        batch = whole[start : start + 3]
        assert {one.info["hour"] for one in batch if one.info} <= {start // 3}
        assert sum(one.info.get("cost", 0.0) for one in batch) <= 1.6 * (1 + 1e-9)
        assert len({one.row for one in batch}) == 3
    assert any(one.status == "partial" for one in whole)


@pytest.mark.parametrize("stopped", [3, 7, 11, 12])
def test_it_goes_on_from_any_round_as_if_it_had_never_stopped(whole, stopped):
    assert repr(told(loop().run(18, whole[:stopped], compare=True))) == repr(told(whole[stopped:]))


def test_others_read_whole_sensors_in_the_same_batches():
    rounds = list(loop("gp-ucb", sensors=30).run(6))
    assert [one.info["hour"] for one in rounds if one.info] == [0, 0, 0, 1, 1, 1]
    assert all(np.isfinite(one.outcomes).all() for one in rounds if one.status == "ok")


def test_batches_that_do_not_fit_into_an_hour_are_refused():
    with pytest.raises(ValueError, match="weather-live has memory: its steps cannot be taken side by side"):
        loop(parallel=2)
