"""A predicted policy is recommended where it is probably better than the best one tried, else that one."""

import numpy as np
import pytest
from scipy.optimize import Bounds
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from optimizer import Composition, GeneralComposition, Prior, SearchSpace, make_agent
from optimizer.agents.names import BASELINES, GP_AGENTS
from optimizer.agents.recommending import CONTRADICTED, SURE, left_out_errors, probably_better

GRID = np.linspace(0, 1, 41)[:, None]
KERNELS = [RBF(0.15), 2.0 * RBF(0.3)]
NOISE = np.array([0.01, 0.04])
PRIOR = Prior(KERNELS, NOISE, [0.0, 0.5])
WEIGHTS = np.array([1.0, -0.5])
TOLD = np.array([2, 9, 20, 27, 36])
Y = np.random.default_rng(3).multivariate_normal([0, 0.5], np.diag([1.0, 2.0]), 5)


def made(composition, finite=True, prior=PRIOR, Y=Y, **options):
    space = SearchSpace(candidates=GRID) if finite else SearchSpace(Bounds([0.0], [1.0]))
    agent = make_agent("d-gpucb", space, composition, prior=prior, **options)
    agent.tell(TOLD if finite else GRID[TOLD], Y)
    return agent


def joint(a, b):
    """Means (2, J) and covariances (J, 2, 2) of the groups at two points, by scikit-learn."""
    at = np.array([[a], [b]])
    found = [
        GaussianProcessRegressor(kernel, alpha=NOISE[j], optimizer=None)
        .fit(GRID[TOLD], Y[:, j] - PRIOR.means[j])
        .predict(at, return_cov=True)
        for j, kernel in enumerate(KERNELS)
    ]
    return np.stack([m + PRIOR.means[j] for j, (m, _) in enumerate(found)], axis=1), np.stack(
        [c for _, c in found]
    )


@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize(("row", "other"), [(10, 9), (31, 27), (15, 36), (9, 20)])
def test_the_probability_of_being_better_is_that_of_the_joint_posterior(row, other, sense, finite):
    agent = made(Composition(2, weights=WEIGHTS, sense=sense), finite)
    means, covariances = joint(GRID[row, 0], GRID[other, 0])
    sign = 1 if sense == "maximize" else -1
    gain = sign * float(np.diff(means[::-1] @ WEIGHTS)[0])
    apart = np.array([1.0, -1.0])
    variance = sum(w**2 * apart @ c @ apart for w, c in zip(WEIGHTS, covariances, strict=True))
    policies = (row, other) if finite else (GRID[row], GRID[other])
    found = probably_better(agent.belief.model, *policies)
    assert found == pytest.approx(norm.cdf(gain / np.sqrt(variance)), abs=1e-6)


def test_under_a_general_objective_it_is_that_of_joint_samples():
    product = GeneralComposition(2, lambda F, X: F.prod(axis=-1))
    agent = made(product)
    for row, other in [(10, 9), (31, 27), (15, 36)]:
        means, covariances = joint(GRID[row, 0], GRID[other, 0])
        rng = np.random.default_rng(0)
        F = np.stack(
            [rng.multivariate_normal(means[:, j], covariances[j], 200_000) for j in range(2)], axis=-1
        )
        expected = np.mean(F[:, 0].prod(axis=-1) > F[:, 1].prod(axis=-1))
        assert probably_better(agent.belief.model, row, other) == pytest.approx(expected, abs=0.02)


def test_left_out_errors_are_those_of_fits_without_each_observation():
    agent = made(Composition(2))
    for j, errors in enumerate(left_out_errors(agent.belief)):
        for i in range(5):
            rest = np.arange(5) != i
            gp = GaussianProcessRegressor(KERNELS[j], alpha=NOISE[j], optimizer=None)
            gp.fit(GRID[TOLD[rest]], Y[rest, j] - PRIOR.means[j])
            mean, deviation = gp.predict(GRID[TOLD[[i]]], return_std=True)
            z = (Y[i, j] - PRIOR.means[j] - mean[0]) / np.sqrt(deviation[0] ** 2 + NOISE[j])
            assert errors[i] == pytest.approx(z, abs=1e-6)


def test_an_untried_policy_is_recommended_where_it_is_probably_better():
    """The posterior mean of a peak between two observations on its slopes is well known."""
    smooth = Prior([RBF(0.5)], np.array([1e-6]), [0.0])
    space = SearchSpace(candidates=GRID)
    agent = make_agent("d-gpucb", space, Composition(1), prior=smooth)
    rows = np.array([0, 8, 16, 24, 32, 40])
    agent.tell(rows, np.exp(-(((GRID[rows] - 0.5) / 0.3) ** 2)))
    found = agent.recommend()
    assert found.policy == 20 and found.tried == 0
    agent.tell([20], [[1.0]])
    agent.tell([20], [[1.0]])
    assert agent.recommend().policy == 20 and agent.recommend().tried == 2


def test_a_doubtful_prediction_yields_to_the_best_policy_tried():
    """Beyond the last observations the mean goes on rising, and nobody knows."""
    agent = make_agent(
        "d-gpucb", SearchSpace(candidates=GRID), Composition(1), prior=Prior([RBF(0.1)], [1e-4], [0.0])
    )
    rows = np.array([0, 4, 8, 12, 16])
    agent.tell(rows, -1.0 + 0.1 * GRID[rows])  # below the prior mean: the unknown looks better
    best = int(np.argmax(agent.belief.model.predict(np.arange(41)).mean))
    assert best not in rows
    assert probably_better(agent.belief.model, best, 16) > 0.5 or best == 40
    sure = probably_better(agent.belief.model, best, 16) >= SURE
    assert (agent.recommend().policy == best) == sure
    noisy = make_agent(
        "d-gpucb", SearchSpace(candidates=GRID), Composition(1), prior=Prior([RBF(0.1)], [1e-4], [0.0])
    )
    noisy.tell(rows, -0.1 + 0.1 * GRID[rows])
    assert noisy.recommend().policy == 16 and noisy.recommend().tried == 1


def test_predictions_that_the_data_contradict_are_not_recommended():
    """Kernels far too smooth and too small for the data, which an extrapolated mean would follow."""
    wrong = Prior([0.01 * RBF(0.6)], np.array([1e-6]), [0.0])
    agent = make_agent("d-gpucb", SearchSpace(candidates=GRID), Composition(1), prior=wrong)
    rows = np.arange(0, 30, 3)
    agent.tell(rows, np.sin(12 * GRID[rows]))
    assert np.sqrt(np.mean(left_out_errors(agent.belief)[0] ** 2)) > CONTRADICTED
    found = agent.recommend()
    assert found.policy in rows and found.tried == 1


@pytest.mark.parametrize("name", [*GP_AGENTS, *BASELINES])
def test_every_agent_says_how_often_its_policy_was_tried(name):
    agent = make_agent(name, SearchSpace(Bounds([0.0], [1.0])), Composition(2), prior=PRIOR, current=[0.5])
    assert agent.recommend().tried == 0
    for _ in range(6):
        x = agent.ask()
        F = np.column_stack([-((x[:, 0] - 0.3) ** 2), np.zeros(len(x))])
        agent.tell(x, F if agent.feedback == "decomposed" else F.sum(axis=1))
    found = agent.recommend()
    expected = {"current": 6, "uniform": 6, "random": 1}
    assert found.tried == expected.get(name, found.tried) and isinstance(found.tried, int)
