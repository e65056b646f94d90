"""Thompson sampling: draws have the posterior's mean and covariance."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import Composition, DecomposedGP, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.acquisition import draws
from optimizer.acquisition.draws import CandidateDraws, factor, joint_draw

KERNELS = [ConstantKernel(2.0) * RBF(0.3), Matern(0.4, nu=1.5), Matern(0.4, nu=1.5)]
NOISE = np.array([0.01, 0.1, 0.1])
C = np.random.default_rng(5).random((12, 2))
DRAWS = 4000


def told():
    rng = np.random.default_rng(1)
    rows = np.array([0, 3, 3, 7, 9])
    Y = rng.standard_normal((5, 3))
    Y[2, 1] = np.nan
    return rows, Y


def posterior(j, mean):
    rows, Y = told()
    known = np.isfinite(Y[:, j])
    peer = GaussianProcessRegressor(KERNELS[j], alpha=NOISE[j], optimizer=None)
    peer.fit(C[rows[known]], Y[known, j] - mean)
    centre, covariance = peer.predict(C, return_cov=True)
    return centre + mean, covariance


def check(draws):
    """Mean and covariance within five standard errors of the posterior's."""
    for j, mean in enumerate((0.5, 0.0, -1.0)):
        centre, covariance = posterior(j, mean)
        variance = np.diag(covariance)
        error = np.abs(draws[:, :, j].mean(axis=0) - centre)
        assert (error <= 5 * np.sqrt(variance / len(draws)) + 1e-6).all()
        spread = np.sqrt((np.outer(variance, variance) + covariance**2) / len(draws))
        assert (np.abs(np.cov(draws[:, :, j].T) - covariance) <= 5 * spread + 1e-6).all()
    between = np.corrcoef(draws[:, 5].T)[np.triu_indices(3, 1)]
    assert (np.abs(between) < 5 / np.sqrt(len(draws))).all()  # groups are independent


def test_draws_over_candidates_have_the_posteriors_mean_and_covariance():
    rng = np.random.default_rng(0)
    draws = CandidateDraws(Prior(KERNELS, NOISE, [0.5, 0.0, -1.0]), C)
    rows, Y = told()
    draws.observe(rows[:2], Y[:2])
    draws.observe(rows[2:], Y[2:], np.tile(NOISE, (3, 1)))
    check(np.array([draws.draw(rng) for _ in range(DRAWS)]))


def test_joint_draws_have_the_posteriors_mean_and_covariance():
    rng = np.random.default_rng(0)
    rows, Y = told()
    model = DecomposedGP(KERNELS, NOISE, Composition(3), [0.5, 0.0, -1.0]).observe(C[rows], Y)
    check(np.array([joint_draw(model, C, rng) for _ in range(DRAWS)]))


@pytest.mark.parametrize("dense", [4096, 10])
def test_factor_makes_the_kernel_matrix_again_dense_or_by_columns(dense, monkeypatch):
    monkeypatch.setattr(draws, "DENSE", dense)
    for kernel in (*KERNELS[:2], ConstantKernel(0.0, "fixed") * RBF(1.0)):
        grid = np.repeat(np.linspace(0, 1, 30), 2)[:, None]  # every candidate twice: singular
        F = factor(RBF(0.5) if dense == 10 else kernel, grid)
        expected = (RBF(0.5) if dense == 10 else kernel)(grid)
        np.testing.assert_allclose(F @ F.T, expected, atol=1e-8)
        assert F.shape[1] <= 30


@pytest.mark.parametrize("composition", [Composition(2), GeneralComposition(2, lambda F, X: F.prod(axis=-1))])
@pytest.mark.parametrize("finite", [True, False])
def test_thompson_agent_repeats_itself_from_its_seed_and_differs_between_seeds(composition, finite):
    grid = np.random.default_rng(0).random((80, 2))
    space = SearchSpace(candidates=grid) if finite else SearchSpace(Bounds([0.0, 0.0], [1.0, 1.0]))
    prior = Prior([RBF([0.3, 0.3])] * 2, np.full(2, 1e-4), [0.0, 0.0])

    def trace(seed):
        agent = make_agent("d-ts", space, composition, prior=prior, seed=seed)
        asked = []
        for _ in range(6):
            x = agent.ask()
            X = grid[x] if finite else x
            assert space.contains(x).all()
            agent.tell(x, np.stack([np.sin(5 * X[:, 0]), X[:, 1]], axis=1))
            asked.append(X[0])
        return np.array(asked)

    np.testing.assert_array_equal(trace(1), trace(1))
    assert not np.array_equal(trace(1), trace(2))


def test_thompson_agent_keeps_to_feasible_candidates_and_takes_batches():
    grid = np.linspace(0, 1, 30)[:, None]
    space = SearchSpace(candidates=grid, bounds=Bounds([0.2], [0.6]))
    agent = make_agent("d-ts", space, Composition(1), prior=Prior([RBF(0.05)], np.array([1e-4]), [0.0]))
    batch = agent.ask(8)
    assert space.contains(batch).all() and len(set(batch.tolist())) > 2
