"""Worlds that live, compose in any way, or have set measurements aside: what the bridges make of them."""

import numpy as np
import pytest

from bridges import Loop, composition, find_optimum, is_general, learn_prior, make_agent, seed_sequence
from bridges.feedback import composed_noise
from bridges.priors.samples import sample
from optimizer import Composition
from optimizer.composition.general import GeneralComposition
from optimizer.kernels.space_time import SpaceTimeKernel
from simulators import Environment, Outcomes, PolicySpace, SimulationError

PLACES = np.linspace(0, 6, 25)


class Tide(Environment):
    """Height and slope of a wave that runs along 25 places; their product is the objective."""

    name = "tide"
    groups = ("height", "slope")
    group_units = ("m", "m/h")
    objective_unit = "m2/h"
    sense = "maximize"
    noise = 0.02

    def __init__(self, lives=True, silent=(), measured=None):
        self.policy_space = PolicySpace(("place",), ("km",), candidates=PLACES[:, None])
        self.lives = self.has_memory = lives
        self.silent, self.measured, self.hour = tuple(silent), measured, 0

    def reset(self, seed=None):
        super().reset(seed)
        self.hour = 0

    @property
    def context(self):
        return float(self.hour) if self.lives else None

    @property
    def set_aside(self):
        return self.measured

    def expected(self, policies):
        phase = PLACES[np.asarray(policies)] - 0.3 * self.hour
        return np.stack([2 + np.sin(phase), 1.5 + np.cos(phase)], axis=-1)

    def step(self, policy):
        values = self.expected([policy])[0] + self.noise * self.rng.standard_normal(2)
        hour = self.hour
        if self.lives:
            self.hour += 1
        if hour in self.silent:
            raise SimulationError("the gauge is silent")
        return Outcomes(values, np.full(2, self.noise**2))

    def compose(self, outcomes, policies):
        return np.prod(outcomes, axis=-1)


class SlopedTide(Tide):
    """The same, with the slopes of the product."""

    def gradient(self, outcomes, policies):
        return np.asarray(outcomes)[..., ::-1]


@pytest.fixture(scope="module")
def priors():
    return {own: learn_prior(Tide(), samples=120, restarts=0, own=own, seed=3) for own in (False, True)}


def agent(name, environment, priors):
    own = not name.startswith("d-")
    return make_agent(name, environment, prior=priors[own], kernel="own" if own else "composed", seed=1)


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "random"])
def test_regret_is_against_the_best_place_of_the_hour(name, priors):
    environment = Tide()
    done = list(Loop(environment, agent(name, environment, priors), seed_sequence(0, 1, "noise")).run(15))
    for one in done:
        world = Tide()
        world.hour = one.round - 1
        everywhere = world.compose(world.expected(np.arange(25)), np.arange(25))
        assert one.expected == pytest.approx(everywhere[one.row], abs=1e-12)
        assert one.regret == pytest.approx(everywhere.max() - everywhere[one.row], abs=1e-12)
    assert environment.hour == 15


def test_an_agent_that_knows_the_time_follows_the_wave(priors):
    regret = {}
    for name in ("d-gpucb", "random"):
        environment = Tide()
        done = Loop(environment, agent(name, environment, priors), 4).run(40)
        regret[name] = np.mean([one.regret for one in done][10:])
    assert regret["d-gpucb"] < 0.7 * regret["random"]


@pytest.mark.parametrize("name", ["d-gpucb", "gp-ucb", "d-ts"])
def test_a_living_world_replayed_from_any_round_goes_on_bit_for_bit(name, priors):
    def run(history=()):
        environment = Tide(silent=(3,))
        return list(Loop(environment, agent(name, environment, priors), 4).run(9, history=history))

    whole = run()
    assert [one.status for one in whole].count("failed") == 1 and whole[3].status == "failed"
    for stopped in (1, 4, 8):
        rest = run(whole[:stopped])
        assert [one.round for one in rest] == list(range(stopped + 1, 10))
        for a, b in zip(whole[stopped:], rest, strict=True):
            assert a.row == b.row and a.regret == b.regret
            np.testing.assert_array_equal(a.outcomes, b.outcomes)


def test_prior_of_a_living_world_is_over_places_and_time(priors):
    for prior in priors.values():
        for kernel in prior.kernels:
            assert isinstance(kernel.k2, SpaceTimeKernel)
            assert 1 < kernel.k2.k2.length_scale < 40  # hours, of a wave with a period of 21
    assert len(priors[False].kernels) == 2 and len(priors[True].kernels) == 1
    at_rest = learn_prior(Tide(lives=False), samples=30, restarts=0)
    assert not isinstance(at_rest.kernels[0].k2, SpaceTimeKernel)


def test_pilot_run_samples_every_hour_and_bears_silent_gauges():
    taken = sample(Tide(silent=(0, 7)), 200, 5)
    hours = taken.features[:, -1]
    assert taken.features.shape == (200, 2) and sorted(set(hours)) == list(range(96))
    world = Tide()
    for row in (0, 77, 199):
        world.hour = int(hours[row])
        np.testing.assert_array_equal(taken.values[row], world.expected([taken.policies[row]])[0])
    np.testing.assert_allclose(taken.noise, Tide.noise**2)


def test_measurements_set_aside_are_the_samples():
    X = np.random.default_rng(0).uniform(0, 6, (60, 1))
    Y = np.column_stack([2 + np.sin(X), 1.5 + np.cos(X)])
    environment = Tide(lives=False, measured=(X, Y))
    taken = sample(environment, 1000, 1)
    assert sorted(taken.features[:, 0]) == sorted(X[:, 0])
    np.testing.assert_allclose(taken.values[:, 0], 2 + np.sin(taken.features[:, 0]))
    assert len(sample(environment, 20, 1).values) == 20
    own = learn_prior(environment, restarts=0, own=True)
    assert own.means[0] == pytest.approx(Y.prod(axis=1).mean())


def test_jobs_do_not_change_a_learned_prior():
    one, two = (learn_prior(Tide(), samples=40, restarts=0, jobs=jobs).to_dict() for jobs in (1, 2))
    assert one == two


def test_a_product_is_a_general_composition_and_a_sum_is_not():
    assert is_general(Tide())
    made = composition(Tide())
    assert isinstance(made, GeneralComposition) and made.gradient is None

    class Sum(Tide):
        compose = Environment.compose

    assert not is_general(Sum()) and isinstance(composition(Sum()), Composition)
    Y = np.array([[2.0, 3.0], [1.0, -1.0]])
    np.testing.assert_array_equal(composition(SlopedTide()).slopes(Y, np.arange(2)), Y[:, ::-1])


def test_composed_noise_is_that_of_the_slopes_with_and_without_a_gradient():
    Y, noise = np.array([[2.0, 3.0], [1.0, -1.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    expected = [9 * 0.1 + 4 * 0.2, 1 * 0.3 + 1 * 0.4]
    for environment in (SlopedTide(), Tide()):
        np.testing.assert_allclose(composed_noise(environment, Y, noise, np.arange(2)), expected, rtol=1e-8)


def test_where_a_slope_is_infinite_the_composed_noise_is_that_of_a_step_of_one_deviation():
    class Root(Tide):
        def compose(self, outcomes, policies):
            return np.sqrt(np.maximum(np.asarray(outcomes)[..., 0], 0.0)) + np.asarray(outcomes)[..., 1]

        def gradient(self, outcomes, policies):
            with np.errstate(divide="ignore"):
                slope = 0.5 / np.sqrt(np.asarray(outcomes)[..., 0])
            return np.stack([slope, np.ones_like(slope)], axis=-1)

    noise = composed_noise(Root(), np.array([[0.0, 1.0]]), np.array([[0.04, 0.01]]), np.zeros(1, dtype=int))
    assert noise[0] == pytest.approx((np.sqrt(0.2) / 0.4) ** 2 * 0.04 + 0.01)


def test_optimum_of_a_living_world_is_that_of_the_coming_step():
    environment = Tide()
    first = find_optimum(environment)
    for _ in range(10):
        environment.step(0)
    later = find_optimum(environment)
    assert first.row != later.row
    values = environment.expected(np.arange(25)).prod(axis=1)
    assert later.row == values.argmax() and later.value == pytest.approx(values.max())
