"""Networks of a handful of stations, of calm ones, and with a dead channel: what agents believe and ask."""

import numpy as np
import pandas as pd
import pytest

import bridges
from optimizer.prior.learning import FEW, outcome_units, widened_for_few
from simulators import make

COLUMNS = {"id": "id", "lon": "lon", "lat": "lat", "temperature": "t", "humidity": "h", "wind": "w"}
UNITS = {"temperature": "degC", "humidity": "percent", "wind": "m/s"}


def few(n, seed, calm_aside=False):
    """n stations that have nothing to do with one another; a third of them are set aside."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": [f"s{i}" for i in range(n)]})
    table["lon"], table["lat"] = rng.uniform(-100, -98, n), rng.uniform(38, 40, n)
    table["t"], table["h"] = 25 + rng.normal(0, 3, n), rng.uniform(40, 80, n)
    table["w"] = rng.uniform(1, 8, n)
    given = {"columns": COLUMNS, "units": UNITS, "quality": "off", "seed": seed}
    env = make("weather", data=table, **given)
    if calm_aside:
        table.loc[np.setdiff1d(np.arange(n), env.nodes), "w"] = 0.0
        env = make("weather", data=table, **given)
    return env


def learned(env, seed=0):
    return bridges.learn_prior(env, family="matern-1/2", samples=100, restarts=0, seed=seed)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_of_three_to_five_stations_the_recommended_one_lies_in_its_interval(n):
    inside = []
    for seed in range(6):
        env = few(n, seed)
        prior = learned(env)
        assert all(kernel.get_params()["k1__constant_value"] > 0.1 for kernel in prior.kernels)
        agent = bridges.make_agent("d-gpucb", env, prior=prior)
        list(bridges.Loop(env, agent, seed).run(8))
        found = agent.recommend()
        groups = env.expected([found.policy])[0]
        inside += [found.low <= env.compose(groups, [found.policy]) <= found.high]
        inside += ((found.group_low <= groups) & (groups <= found.group_high)).tolist()
    assert sum(inside) >= 21  # of 24, each with 95 %


@pytest.mark.parametrize(("n", "calm"), [(6, False), (12, False), (12, True)])
def test_what_was_not_read_yet_lies_in_its_interval_however_few_were_set_aside(n, calm):
    inside = []
    for seed in range(12):
        env = few(n, seed, calm)
        assert not calm or (env.set_aside[1][:, 2] == 0).all()
        agent = bridges.make_agent("d-gpucb", env, prior=learned(env))
        rows = np.arange(env.policy_space.size)
        means, variances = agent.belief.at(None).predict_groups(rows)
        inside.append(np.abs(means - env.expected(rows)) < 1.96 * np.sqrt(variances))
    assert (np.concatenate(inside).mean(axis=0) > 0.87).all()


def test_the_spread_of_few_samples_is_widened_to_students_interval():
    # Tables of Student's t at 0.975: 12.706 with 1 degree of freedom, 4.303 with 2, 2.262 with 9.
    for n, t in ((2, 12.706), (3, 4.303), (10, 2.262)):
        rng = np.random.default_rng(n)
        draws = rng.normal(size=(20000, n + 1))
        spread = draws[:, :n].std(axis=1)  # as `outcome_units` has it
        half = 1.95996 * np.sqrt(widened_for_few(n)) * spread
        assert half == pytest.approx(t * np.sqrt(1 + 1 / n) * draws[:, :n].std(axis=1, ddof=1), rel=1e-3)
        inside = np.abs(draws[:, n] - draws[:, :n].mean(axis=1)) < half
        assert inside.mean() == pytest.approx(0.95, abs=0.006)
    assert widened_for_few(FEW) == widened_for_few(1000) == 1.0


def test_few_samples_that_differ_by_their_noise_alone_do_not_vary():
    wind, others = np.array([4.49, 4.50]), np.array([280.0, 290.0])
    units, varies = outcome_units([others, wind], np.array([0.04, 0.005]))
    assert varies == [True, False] and units == pytest.approx([5.0, 4.5])
    assert outcome_units([others, wind], np.array([np.nan, np.nan]))[1] == [True, True]
    many = np.tile(wind, FEW)
    assert outcome_units([many], np.array([0.005]))[1] == [True]


def test_a_station_whose_channel_is_dead_is_not_asked_for_round_after_round():
    """The warmest sensor never tells its humidity."""
    env = make("weather-live", sensors=60, channel_life=np.inf, sensor_life=np.inf, repair=1e9)
    prior = bridges.learn_prior(env, family="matern-3/2", samples=60, restarts=0)
    agent = bridges.make_agent("d-gpucb", env, prior=prior)
    env.reset(0)
    rows = np.arange(env.policy_space.size)
    dead = int(np.argmax(env.compose(env.expected(rows), rows)))
    env.model.broken[env.nodes[dead], 1] = True
    asked = []
    for hour in range(30):
        (row,) = agent.ask(context=float(hour)).tolist()
        told = env.step(row)
        assert np.isnan(told.values).any() == (row == dead)
        agent.tell([row], told.values[None], env.noise_variances[None], context=float(hour))
        asked.append(row)
    assert asked.count(dead) <= 3


@pytest.mark.parametrize("propagation", ["sampled", "delta"])
def test_exploration_has_its_settings_in_the_weather(propagation):
    env = make("weather", sensors=120)
    prior = learned(env)
    traces = []
    for scale_down in (5.0, 0.5, 0.05):
        agent = bridges.make_agent(
            "d-gpucb", env, prior=prior, propagation=propagation, scale_down=scale_down
        )
        traces.append([int(one.row) for one in bridges.Loop(env, agent, 0).run(12)])
    assert traces[0] != traces[1] != traces[2] != traces[0]
