"""Mixtures over draws of the hyperparameters, against as many of scikit-learn's regressors mixed by hand."""

import copy

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from optimizer import Composition, DecomposedGP, GaussianProcess, GeneralComposition
from optimizer.acquisition.draws import joint_draw
from optimizer.composition.objective import Moments
from optimizer.kernels.batch import BoundKernels
from optimizer.kernels.gradients import bind
from optimizer.posterior import gaussian_process, process_mixture
from optimizer.posterior.candidate_mixture import CandidateMixture
from optimizer.posterior.process_mixture import ProcessMixture

RNG = np.random.default_rng(0)
GRID = RNG.random((60, 2))
ROWS = RNG.permutation(60)[:15]
X = GRID[ROWS]
Y = RNG.standard_normal((15, 2))
Y[3, 1] = np.nan
NOISE = np.where(RNG.random((15, 2)) < 0.5, np.nan, 0.05)
MEANS = [0.3, -0.2]
WEIGHTS = [1.0, -2.0]
S = 4
FORMS = {
    "rbf": lambda: ConstantKernel(RNG.uniform(0.5, 2)) * RBF(RNG.uniform(0.2, 1, 2)) + ConstantKernel(0.7),
    "matern": lambda: ConstantKernel(RNG.uniform(0.5, 2)) * Matern(RNG.uniform(0.2, 1, 2), nu=1.5),
    "rq": lambda: RationalQuadratic(RNG.uniform(0.3, 1), RNG.uniform(0.5, 2)),
    "one's own": lambda: RBF(RNG.uniform(0.3, 1)) + DotProduct(RNG.uniform(0.3, 1)),
}
GROUPS = {
    name: [
        ([form() for _ in range(S)], RNG.uniform(0.01, 0.1, S), RNG.dirichlet(np.ones(S))) for _ in range(2)
    ]
    for name, form in FORMS.items()
}


def by_hand(groups, at):
    """Means and variances (n, 2): every component by scikit-learn, then the law of total variance."""
    moments = np.empty((2, len(at), 2))
    for j, (kernels, noises, weights) in enumerate(groups):
        known = np.isfinite(Y[:, j])
        means, variances = [], []
        for kernel, own in zip(kernels, noises, strict=True):
            alpha = np.where(np.isnan(NOISE[:, j]), own, NOISE[:, j])[known]
            peer = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
            mean, deviation = peer.fit(X[known], Y[known, j] - MEANS[j]).predict(at, return_std=True)
            means.append(mean + MEANS[j])
            variances.append(deviation**2)
        mixed = weights @ np.array(means)
        moments[:, :, j] = mixed, weights @ (np.array(variances) + np.array(means) ** 2) - mixed**2
    return moments


def anywhere(groups, composition=None):
    composition = composition or Composition(2, weights=WEIGHTS)
    model = DecomposedGP.of_mixtures(groups, composition, MEANS)
    for some in (slice(0, 9), slice(9, 10), slice(10, 15)):
        model.observe(X[some], Y[some], NOISE[some])
    return model


def over_candidates(groups):
    model = CandidateMixture(groups, Composition(2, weights=WEIGHTS), MEANS, features=GRID)
    for some in (slice(0, 9), slice(9, 10), slice(10, 15)):
        model.observe(ROWS[some], Y[some], NOISE[some])
    return model


@pytest.mark.parametrize("name", GROUPS)
def test_moments_are_those_of_scikit_learns_regressors_mixed_by_hand(name):
    means, variances = by_hand(GROUPS[name], GRID)
    for found in (
        anywhere(GROUPS[name]).predict_groups(GRID),
        over_candidates(GROUPS[name]).predict_groups(),
    ):
        np.testing.assert_allclose(found[0], means, atol=1e-9)
        np.testing.assert_allclose(found[1], variances, atol=1e-9)
    np.testing.assert_allclose(anywhere(GROUPS[name]).predict_group_means(GRID), means, atol=1e-9)


@pytest.mark.parametrize("name", ["rbf", "rq"])
def test_the_objective_is_composed_of_the_mixtures_moments(name):
    means, variances = by_hand(GROUPS[name], GRID)
    for model, at in ((anywhere(GROUPS[name]), GRID), (over_candidates(GROUPS[name]), np.arange(60))):
        for found in (model.predict(at), model.posterior(at)):
            np.testing.assert_allclose(found.mean, means @ WEIGHTS, atol=1e-9)
            np.testing.assert_allclose(found.variance, variances @ np.square(WEIGHTS), atol=1e-9)


def test_large_factors_multiplied_one_by_one_give_the_same(monkeypatch):
    means, variances = by_hand(GROUPS["rbf"], GRID)
    monkeypatch.setattr(process_mixture, "ONE_BY_ONE", 1)
    monkeypatch.setattr(process_mixture, "CHUNK", 400)  # a few points at a time
    np.testing.assert_allclose(anywhere(GROUPS["rbf"]).predict_group_means(GRID), means, atol=1e-9)
    found = anywhere(GROUPS["rbf"]).predict_groups(GRID)
    np.testing.assert_allclose(found[0], means, atol=1e-9)
    np.testing.assert_allclose(found[1], variances, atol=1e-9)


@pytest.mark.parametrize("one_by_one", [1, 1000])
@pytest.mark.parametrize("name", GROUPS)
def test_gradients_are_those_of_differences(name, one_by_one, monkeypatch):
    monkeypatch.setattr(process_mixture, "ONE_BY_ONE", one_by_one)
    linear = anywhere(GROUPS[name])
    general = anywhere(GROUPS[name], GeneralComposition(2, lambda F, X: F[..., 0] * F[..., 1]))
    at = GRID[20:24] + 0.013
    for model in (linear, general):
        _, pullback = model.posterior_and_pullback(at)
        slopes = pullback(Moments(np.ones(4), np.full(4, 0.7)))

        def value(x, model=model):
            moments = model.predict(x[None])
            return float(moments.mean[0] + 0.7 * moments.variance[0])

        for x, slope in zip(at, slopes, strict=True):
            np.testing.assert_allclose(slope, approx_fprime(x, value, 1e-7), rtol=2e-4, atol=2e-4)


def test_before_any_observation_a_mixture_has_its_prior_moments():
    kernels, noise, weights = GROUPS["rbf"][0]
    process = ProcessMixture(kernels, noise, weights)
    prior = weights @ [kernel.k1.k1.constant_value + 0.7 for kernel in kernels]
    mean, variance = process.predict(GRID)
    assert not mean.any() and not process.predict_mean(GRID).any()
    np.testing.assert_allclose(variance, prior)
    assert not process.predict_with_gradients(GRID).mean_gradient.any()


def test_a_mixture_of_one_is_a_gaussian_process():
    kernel = GROUPS["rbf"][0][0][0]
    one = ProcessMixture([kernel], [0.1], [1.0]).observe(X, Y[:, 0])
    process = GaussianProcess(kernel, 0.1).observe(X, Y[:, 0])
    for found, expected in zip(
        one.predict_with_gradients(GRID), process.predict_with_gradients(GRID), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_the_constant_mean_is_as_uncertain_as_the_observations_leave_it():
    """k + c about zero is k about an unknown mean of variance c, whose posterior variance is included."""
    scale, c, noise = 0.05, 2.0, 0.3  # far from all observations, nothing but the mean is known
    process = ProcessMixture([RBF(scale) + ConstantKernel(c)] * 2, [noise] * 2, [0.4, 0.6])
    process.observe(np.arange(5.0)[:, None], np.array([1.0, 2.0, 4.0, 1.0, 3.0]))
    mean, variance = process.predict(np.array([[100.0]]))
    precision = 5 / (1 + noise) + 1 / c
    assert variance[0] == pytest.approx(1 + 1 / precision)
    assert mean[0] == pytest.approx(11 / (1 + noise) / precision)


def test_noise_repeated_without_noise_and_missing_groups_end_in_no_exception():
    kernels, _, weights = GROUPS["rbf"][0]
    process = ProcessMixture(kernels, np.zeros(S), weights)
    process.observe(np.repeat(X[:1], 3, axis=0), np.array([1.0, 1.0, np.nan]))
    assert process.predict(X[:1])[0] == pytest.approx(1.0, abs=1e-4) and len(process) == 2
    model = CandidateMixture([(kernels, np.zeros(S), weights)], Composition(1), features=GRID)
    model.observe([4, 4, 4], [[1.0], [1.0], [np.nan]])
    assert model.predict_groups([4])[0][0, 0] == pytest.approx(1.0, abs=1e-4)
    with pytest.raises(ValueError, match=r"integer of 0\.\.59"):
        model.observe([60], [[1.0]])


@pytest.mark.parametrize("make", [anywhere, over_candidates])
def test_what_a_copy_is_told_leaves_the_original_alone(make):
    model = make(GROUPS["rbf"])
    at = GRID if make is anywhere else np.arange(60)
    before = model.predict_groups(at)
    other = copy.deepcopy(model)
    other.observe(at[:1], [[5.0, 5.0]])
    np.testing.assert_array_equal(model.predict_groups(at), before)
    assert np.abs(other.predict_groups(at)[0] - before[0]).max() > 0.1


def test_a_draw_of_a_function_is_of_one_component():
    """Two components that differ by far: draws have the mixture's moments, and are of one or the other."""
    groups = [([ConstantKernel(0.01), ConstantKernel(100.0)], [1e-4, 1e-4], [0.3, 0.7])]
    model = DecomposedGP.of_mixtures(groups, Composition(1))
    rng = np.random.default_rng(0)
    drawn = np.array([joint_draw(model, GRID[:3], rng)[:, 0] for _ in range(2000)])
    assert drawn.var() == pytest.approx(0.3 * 0.01 + 0.7 * 100, rel=0.1)
    assert np.mean(np.abs(drawn[:, 0]) < 0.4) == pytest.approx(0.3 + 0.7 * 0.032, abs=0.03)
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 2], atol=0.01)


def test_the_component_that_is_drawn_knows_all_observations():
    groups = GROUPS["rbf"]
    model = anywhere(groups)
    certain = copy.copy(model.groups[0])
    certain.weights = np.array([0.0, 0.0, 1.0, 0.0])
    one = certain.drawn(np.random.default_rng(0))
    alpha = np.where(np.isnan(NOISE[:, 0]), groups[0][1][2], NOISE[:, 0])
    peer = GaussianProcessRegressor(groups[0][0][2], alpha=alpha, optimizer=None).fit(X, Y[:, 0] - MEANS[0])
    np.testing.assert_allclose(one.predict(GRID)[0], peer.predict(GRID), atol=1e-9)


@pytest.mark.parametrize("name", GROUPS)
def test_kernels_together_are_those_alone(name):
    kernels = GROUPS[name][0][0]
    together = BoundKernels(kernels, X)
    K, pullback = together.value_and_pullback(GRID)
    np.testing.assert_allclose(together.value(GRID), np.stack([k(GRID, X) for k in kernels]), atol=1e-12)
    W = RNG.standard_normal(K.shape)
    expected = sum(
        bind(kernel, X).value_and_pullback(GRID)[1](w) for kernel, w in zip(kernels, W, strict=True)
    )
    np.testing.assert_allclose(pullback(W), expected, atol=1e-9)


def test_an_inverse_that_is_extended_predicts_as_one_made_anew(monkeypatch):
    kernel = ConstantKernel(2.0) * RBF(0.4)
    anew = GaussianProcess(kernel, 0.01).observe(GRID, GRID.sum(axis=1))
    monkeypatch.setattr(gaussian_process, "KEEPS_INVERSE", 5)
    extended = GaussianProcess(kernel, 0.01)
    for some in (slice(0, 3), slice(3, 7), slice(7, 8), slice(8, 40), slice(40, 60)):
        extended.observe(GRID[some], GRID[some].sum(axis=1))
    for found, expected in zip(
        extended.predict_with_gradients(GRID + 0.1), anew.predict_with_gradients(GRID + 0.1), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-8)
    one = extended.predict_with_gradients(GRID[:1] + 0.1)
    for found, expected in zip(one, anew.predict_with_gradients(GRID[:1] + 0.1), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)
