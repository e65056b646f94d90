"""What an environment is asked for when priors are learned: seeds, policies and noise."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import bridges
from simulators import Environment, Outcomes, PolicySpace, SimulationError


class Diary(Environment):
    """Notes every reset and every step; some steps fail."""

    name, groups, group_units, objective_unit = "diary", ("a", "b"), ("", ""), ""
    sense = "maximize"

    def __init__(self, fails=(), known=False):
        self.policy_space = PolicySpace(["x"], [""], bounds=Bounds([0.0], [1.0]))
        self.fails, self.known = fails, known
        self.seeds, self.noise, self.asked = [], [], []

    def reset(self, seed=None):
        super().reset(seed)
        self.seeds.append(seed)

    def expected(self, policies):
        if not self.known:
            raise NotImplementedError
        x = np.asarray(policies)[:, 0]
        return np.stack([x**2, 1 - x], axis=1)

    def step(self, policy):
        x = self.policy_space.check(policy)[0]
        noise = self.rng.standard_normal(2)
        self.asked.append(x)
        self.noise.append(noise)
        if len(self.asked) in self.fails:
            raise SimulationError("no power")
        return Outcomes(np.array([x**2, 1 - x]) + 0.1 * noise, np.array([0.01, 0.02 * (1 + x)]))


def learned(environment, seed=5, **options):
    return bridges.learn_prior(environment, samples=24, restarts=0, seed=seed, **options)


@pytest.mark.parametrize("known", [True, False])
def test_an_environment_is_reset_before_it_is_sampled(known):
    environment = Diary(known=known)
    first = learned(environment)
    assert len(environment.seeds) == 1
    environment.step([0.5])  # whatever happened in between
    assert learned(environment).to_dict() == first.to_dict()
    assert environment.seeds[0] == environment.seeds[1]
    learned(environment, seed=6)
    assert environment.seeds[2] != environment.seeds[0]
    steps = 16 if known else 24  # where outcomes are known, a few steps tell the noise alone
    assert len(environment.asked) == 3 * steps + 1 and len(set(environment.asked[:steps])) == steps


def test_after_each_failure_the_noise_begins_anew_with_another_seed():
    environment = Diary(fails=(3, 4, 9))
    learned(environment)
    assert len(environment.seeds) == 4 and len(set(environment.seeds)) == 4
    noise = np.array(environment.noise)
    assert len(np.unique(noise, axis=0)) == 24
    for seed, first in zip(environment.seeds, (0, 3, 4, 9), strict=True):
        stream = np.random.default_rng(seed)
        assert (noise[first] == stream.standard_normal(2)).all()


@pytest.mark.parametrize("known", [True, False])
def test_the_noise_of_a_learned_prior_is_the_mean_of_what_its_steps_stated(known):
    environment = Diary(fails=(3, 4, 9), known=known)
    prior = learned(environment)
    x = np.delete(environment.asked, [2, 3, 8])
    np.testing.assert_allclose(prior.noise_variances, [0.01, np.mean(0.02 * (1 + x))])
    space = bridges.search_space(environment)
    policies = space.sample(24, np.random.default_rng(bridges.seeds.child(5, 0)))[:, 0]
    if known:
        assert prior.means == pytest.approx([np.mean(policies**2), np.mean(1 - policies)])
    else:
        kept = np.delete(policies, [2, 3, 8])
        values = np.stack([kept**2, 1 - kept], axis=1) + 0.1 * np.delete(environment.noise, [2, 3, 8], axis=0)
        assert prior.means == pytest.approx(values.mean(axis=0))


def test_the_noise_of_composed_values_is_that_of_their_groups_through_g():
    class Square(Diary):
        def compose(self, outcomes, policies):
            return np.asarray(outcomes)[..., 0] ** 2 + 3 * np.asarray(outcomes)[..., 1]

    environment = Square(known=True)
    prior = learned(environment, own=True)
    policies = bridges.search_space(environment).sample(24, np.random.default_rng(bridges.seeds.child(5, 0)))
    noise = np.array([0.01, np.mean(0.02 * (1 + np.array(environment.asked)))])
    slopes = np.stack([2 * policies[:, 0] ** 2, np.full(24, 3.0)], axis=1)  # at f_1 = x^2
    np.testing.assert_allclose(prior.noise_variances, [np.mean(slopes**2 @ noise)], rtol=1e-6)


class Living(Diary):
    """Its outcomes grow with the hours."""

    has_memory, lives, hour = True, True, 0

    def reset(self, seed=None):
        super().reset(seed)
        self.hour = 0

    @property
    def context(self):
        return float(self.hour)

    def expected(self, policies):
        return np.stack([np.asarray(policies)[:, 0] + self.hour, np.full(len(policies), 1.0)], axis=1)

    def step(self, policy):
        self.hour += 1
        return super().step(policy)


def test_a_pilot_of_a_living_world_takes_a_step_an_hour_after_one_reset():
    environment = Living(fails=(2,))
    prior = learned(environment)
    assert environment.hour == 24 and len(environment.seeds) == 1
    policies = bridges.search_space(environment).sample(24, np.random.default_rng(bridges.seeds.child(5, 0)))
    assert environment.asked == policies[:, 0].tolist()
    assert prior.means[0] == pytest.approx(np.mean(policies[:, 0] + np.arange(24)))
