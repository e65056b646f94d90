"""Agents on an environment with a general g: propagation, kernels and beta come of themselves."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import bridges
from optimizer import GeneralComposition, Prior
from simulators import make


def environment():
    world = make("synthetic", groups=2, points=60, seed=3)
    kind = type(world)

    class Squares(kind):
        bounds = np.array([8.0, 8.0])

        def compose(self, outcomes, policies):
            return -((np.asarray(outcomes) - 1.0) ** 2).sum(axis=-1)

        def weights(self, policies):
            return None

        def gradient(self, outcomes, policies):
            return -2.0 * (np.asarray(outcomes) - 1.0)

    world.__class__ = Squares
    return world


@pytest.mark.parametrize("propagation", ["default", "bound", "delta", "sampled"])
@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-ts"])
def test_decomposed_agents_run_under_every_propagation(name, propagation):
    world = environment()
    agent = bridges.make_agent(name, world, prior=bridges.known_prior(world), propagation=propagation)
    assert isinstance(agent.composition, GeneralComposition)
    rounds = list(bridges.Loop(world, agent, 0, optimum=bridges.find_optimum(world)).run(5))
    assert all(r.status == "ok" and r.regret >= -1e-9 for r in rounds)


def test_aggregate_agents_have_a_kernel_of_the_composed_values_without_being_told():
    world = environment()
    own = Prior([RBF(0.2)], np.array([1e-3]), [-1.0])
    agent = bridges.make_agent("gp-ucb", world, prior=own)
    rounds = list(bridges.Loop(world, agent, 0).run(4))
    assert all(r.status == "ok" for r in rounds)


def test_beta_counts_the_groups_that_are_modelled():
    world = environment()
    prior = bridges.known_prior(world)
    decomposed = bridges.make_agent("d-gpucb", world, prior=prior, scale_down=1.0)
    aggregate = bridges.make_agent("gp-ucb", world, scale_down=1.0)
    difference = decomposed.exploration.beta(1) - aggregate.exploration.beta(1)
    assert difference == pytest.approx(2 * np.log(2))
