"""An agent without a prior, at the round in which it first learns one: by the public parts it is made of."""

import numpy as np
import pytest
from scipy.optimize import Bounds

from optimizer import Composition, DecomposedGP, SearchSpace, learn_prior, make_agent

X = np.array([[0.05], [0.3], [0.45], [0.7], [0.95]])
Y = np.stack([np.sin(6 * X[:, 0]), 2 + X[:, 0] ** 2], axis=1)
NEW = np.linspace(0, 1, 9)[:, None]
WEIGHTS = np.array([1.0, -2.0])
STATED = np.array([[0.01, 0.02], [0.03, 0.05], [0.002, 0.01], [0.02, 0.02], [0.04, 0.3]])


@pytest.mark.parametrize("stated", [True, False])
def test_after_its_design_a_decomposed_agent_predicts_by_kernels_learned_from_it(stated):
    g = Composition(2, weights=WEIGHTS, sense="minimize")
    agent = make_agent("d-gpucb", SearchSpace(Bounds([0.0], [1.0])), g, seed=4)
    for i in range(5):
        assert np.isnan(agent.predict(NEW)[0]).all()
        agent.tell(X[[i]], Y[[i]], STATED[[i]] if stated else None)
    known = STATED.mean(axis=0) if stated else None
    prior = learn_prior("rbf", X, Y, noise_variances=known, seed=4)
    model = DecomposedGP(prior.kernels, prior.noise_variances, g, prior.means)
    mean, variance = model.observe(X, Y, STATED if stated else None).predict(NEW)
    found = agent.predict(NEW)
    np.testing.assert_allclose(found[0], -mean, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.sqrt(variance), rtol=1e-6)


def test_after_its_design_an_aggregate_agent_predicts_by_a_kernel_of_composed_values():
    g = Composition(2, weights=WEIGHTS)
    agent = make_agent("gp-ucb", SearchSpace(Bounds([0.0], [1.0])), g, seed=4)
    y, noise = Y @ WEIGHTS, STATED @ WEIGHTS**2
    agent.tell(X, y, noise)
    prior = learn_prior("rbf", X, y[:, None], noise_variances=[noise.mean()], seed=4)
    model = DecomposedGP(prior.kernels, prior.noise_variances, Composition(1), prior.means)
    mean, variance = model.observe(X, y[:, None], noise[:, None]).predict(NEW)
    found = agent.predict(NEW)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.sqrt(variance), rtol=1e-6)
