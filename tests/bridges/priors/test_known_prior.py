"""The prior that a drawn world names, and the optimum that enumeration finds."""

import numpy as np
import pytest

from bridges import Loop, find_optimum, known_prior, make_agent
from optimizer import CandidatePosterior, Composition, Prior
from simulators import FluODE, Synthetic, make


def test_the_prior_of_a_drawn_world_is_what_it_was_drawn_from():
    world = make("synthetic", groups=3, noise_variance=[1e-4, 2e-4, 3e-4])
    prior = known_prior(world)
    assert tuple(prior.kernels) == world.kernels
    assert prior.noise_variances.tolist() == [1e-4, 2e-4, 3e-4]
    assert list(prior.means) == [0.0] * 3
    again = Prior.from_dict(prior.to_dict())
    assert tuple(again.kernels) == world.kernels


@pytest.mark.parametrize("family", ["rbf", "matern", "rq"])
def test_predictions_under_it_err_as_much_as_they_say(family):
    J = 100
    world = make("synthetic", groups=J, family=family, points=80, noise_variance=1e-2, seed=1)
    prior, rows = known_prior(world), np.arange(3, 80, 9)
    world.reset(2)
    Y = np.stack([world.step(row).values for row in rows])
    posterior = CandidatePosterior(
        prior.kernels,
        prior.noise_variances,
        Composition(J),
        prior.means,
        features=world.policy_space.candidates,
    ).observe(rows, Y)
    means, variances = posterior.predict_groups()
    standardised = (world.expected(np.arange(80)) - means) / np.sqrt(variances)
    assert np.mean(standardised**2) == pytest.approx(1, abs=0.1)


def test_the_optimum_of_a_drawn_world_is_the_best_of_all_candidates():
    for options in ({}, {"weights": "cosine", "d": 2}):
        world = make("synthetic", **options)
        rows = np.arange(world.policy_space.size)
        values = (world.weights(rows) * world.functions).sum(axis=1)
        optimum = find_optimum(world)
        assert optimum.row == np.argmax(values)
        assert optimum.value == pytest.approx(values.max())


def test_an_agent_with_the_known_prior_closes_in_on_the_optimum():
    world = make("synthetic", groups=4, points=200)
    agent = make_agent("d-gpucb", world, prior=known_prior(world), delta=0.05)
    regrets = [r.regret for r in Loop(world, agent, 0, optimum=find_optimum(world)).run(40)]
    assert min(regrets) >= 0
    assert np.mean(regrets[-10:]) < 0.1 * np.mean(regrets[:10])


class Drawn(Synthetic):
    """A world that may forget what it was drawn from."""


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (FluODE, "FluODE names no prior"),
        (lambda: forgetful("kernels", None), "Drawn names no prior"),
        (lambda: forgetful("noise_variances", None), "Drawn names no prior"),
        (lambda: forgetful("kernels", ()), "Drawn names 0 kernels for 3 groups"),
    ],
)
def test_an_environment_that_names_no_prior_is_told_so(world, message):
    with pytest.raises(ValueError, match=message) as refusal:
        known_prior(world())
    assert "\n" not in str(refusal.value)


def forgetful(attribute, value):
    world = Drawn(groups=3)
    setattr(world, attribute, value)
    return world
