"""What agents of a living network know of its sensors' drift."""

import numpy as np
import pytest

import bridges
from bridges.kept_noise import kept_noise
from simulators import make


@pytest.fixture(scope="module")
def env():
    return make("weather-live", sensors=40)


def test_the_part_of_each_channel_is_that_of_its_drift(env):
    humidity = kept_noise(env, "decomposed")[1]
    assert humidity.share == pytest.approx(1.0 / 1.03)
    assert humidity.hours == 720.0
    drift, noise = np.array([0.2, 1.0, 0.1]) ** 2, np.array([0.04, 0.03, 0.005])
    shares = [one.share for one in kept_noise(env, "decomposed")]
    assert shares == pytest.approx(drift / (drift + noise))


def test_errors_of_a_sensor_covary_by_the_part_that_is_stated():
    env = make("weather-live", sensors=300, channel_life=np.inf, sensor_life=np.inf)
    env.reset(3)
    world, errors = env.model, []
    for _ in range(49):
        errors.append(world.drift + world.noise)
        world.step()
    for j, one in enumerate(kept_noise(env, "decomposed")):
        for apart in (1, 48):
            pairs = np.array([np.mean(errors[t][:, j] * errors[t + apart][:, j]) for t in range(49 - apart)])
            stated = one.share * env.noise_variances[j] * np.exp(-apart / one.hours)
            assert pairs.mean() == pytest.approx(stated, rel=0.15)


def test_of_the_composed_value_the_part_lies_between_those_of_the_channels(env):
    (whole,) = kept_noise(env, "aggregate")
    shares = [one.share for one in kept_noise(env, "decomposed")]
    assert min(shares) < whole.share < max(shares)
    slopes = env.gradient(env.set_aside[1], np.zeros(len(env.set_aside[1]), dtype=int)) ** 2
    stated = env.kept_noise
    assert whole.share == pytest.approx((slopes @ stated.kept).mean() / (slopes @ stated.whole).mean())


def test_agents_of_a_living_network_are_told_and_no_others(env):
    prior = bridges.learn_prior(env, family="matern-3/2", samples=20, restarts=0)
    agent = bridges.make_agent("d-gpucb", env, prior=prior)
    assert agent.settings.kept_noise == kept_noise(env, "decomposed")
    assert bridges.make_agent("random", env).name == "random"
    still = make("weather", sensors=40)
    assert kept_noise(still, "decomposed") is None
    env.reset(0)
    for hour in range(25):
        agent.tell([3], env.step(3).values[None], env.noise_variances[None], context=float(hour))
    believed = np.sqrt(agent.belief.at(25.0).predict_groups(np.array([3]))[1][0])
    assert (believed > 0.8 * np.array([0.2, 1.0, 0.1])).all()
