"""A score weighed by the probability that limits are kept has the gradient of differences."""

import numpy as np
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from optimizer import Composition, Prior, SearchSpace, make_agent
from optimizer.acquisition.improvement import ExpectedImprovement
from optimizer.acquisition.search import weighed
from optimizer.composition.outcome_limits import OutcomeLimits


def test_the_gradient_of_weighed_expected_improvement_is_that_of_differences():
    kernel = ConstantKernel(4.0) * RBF([1.0, 1.0])
    prior = Prior([kernel, kernel], np.full(2, 1e-4), [0.0, 0.0])
    limits = OutcomeLimits([[0.0, 1.0]], [-np.inf], [0.5])
    space, g = SearchSpace(Bounds([0.0, 0.0], [1.0, 1.0])), Composition(2, weights=[1.0, -0.5])
    agent = make_agent("d-ei", space, g, prior=prior, limits=limits)
    X = np.random.default_rng(0).random((9, 2))
    agent.tell(X[:4], np.stack([X[:4].sum(axis=1), (X[:4] ** 2).sum(axis=1)], axis=1))
    search = agent.search()
    model, improvement = search.model, ExpectedImprovement(0.5)

    def value(at):
        return improvement.score(model.posterior(at))

    def with_gradient(at):
        posterior, pullback = model.posterior_and_pullback(at)
        return improvement.score(posterior), pullback(improvement.slopes(posterior))

    of, of_with_gradient = weighed(search.limits, value, with_gradient)
    values, gradients = of_with_gradient(X[4:])
    np.testing.assert_allclose(values, of(X[4:]))
    np.testing.assert_allclose(values, value(X[4:]) + search.limits.log(X[4:]))
    for i, step in enumerate(1e-5 * np.eye(2)):
        found = (of(X[4:] + step) - of(X[4:] - step)) / 2e-5
        np.testing.assert_allclose(gradients[:, i], found, rtol=1e-4, atol=1e-5)
