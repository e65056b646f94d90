"""What a search asks of the posterior: means where it needs no more, and the right ones."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GaussianProcess, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.acquisition.search import posterior_means

KERNELS = [RBF([0.3, 0.5]), 2.0 * RBF([0.6, 0.4])]
NOISE = np.array([0.01, 0.04])
SPACE = SearchSpace(Bounds([0, 0], [1, 1]))
RNG = np.random.default_rng(2)
X, Y = RNG.random((60, 2)), RNG.standard_normal((60, 2))
X[40:] = X[:20]  # some are tried twice


def made(composition, name="d-gpucb"):
    prior = Prior(KERNELS, NOISE, [0.3, -0.2])
    agent = make_agent(name, SPACE, composition, prior=prior, propagation="delta")
    agent.tell(X, Y)
    return agent


def groups(at):
    """Posterior means (n, 2) by scikit-learn."""
    return np.stack(
        [
            GaussianProcessRegressor(kernel, alpha=NOISE[j], optimizer=None)
            .fit(X, Y[:, j] - [0.3, -0.2][j])
            .predict(at)
            + [0.3, -0.2][j]
            for j, kernel in enumerate(KERNELS)
        ],
        axis=1,
    )


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize(
    ("make", "g"),
    [
        (lambda sense: Composition(2, weights=[1.0, -2.0], sense=sense), lambda F: F @ [1.0, -2.0]),
        (
            lambda sense: GeneralComposition(2, lambda F, X: F.max(axis=-1) ** 2, sense=sense),
            lambda F: F.max(axis=-1) ** 2,
        ),
    ],
    ids=["linear", "general"],
)
def test_leaders_and_the_incumbent_are_of_the_best_signed_means_at_policies_tried(make, g, sense):
    search = made(make(sense)).search()
    sign = 1.0 if sense == "maximize" else -1.0
    distinct = np.unique(X, axis=0)
    means = sign * g(groups(distinct))
    best = distinct[np.argsort(-means)[:3]]
    assert np.array_equal(search.leaders(), best)
    assert search.incumbent == pytest.approx(means.max())
    assert posterior_means(search.model, distinct) == pytest.approx(means)


@pytest.mark.parametrize("name", ["d-gpucb", "d-ei", "d-mpi"])
def test_variances_are_not_computed_at_all_that_was_ever_tried(monkeypatch, name):
    """They take O(T^3) there, which was most of an ask after 1,000 observations."""
    agent = made(Composition(2), name)
    points, solve = [], GaussianProcess._multiplied

    def counted(self, inverse, B, transposed):
        points.append(B.shape[1])
        return solve(self, inverse, B, transposed)

    monkeypatch.setattr(GaussianProcess, "_multiplied", counted)
    agent.ask()
    assert 512 + 3 in points and 40 not in points and 60 not in points
