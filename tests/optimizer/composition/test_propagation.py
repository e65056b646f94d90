"""Propagation through a general g (Algorithm 3): against linear compositions, closed forms, differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ncx2, norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import Composition, DecomposedGP, GeneralComposition
from optimizer.composition.objective import Moments, Samples
from optimizer.composition.propagation import Bound, Delta, Sampled, credible_interval, standard_normal_points
from optimizer.differences import jacobian

KERNELS = [ConstantKernel(1.5) * RBF(0.3), Matern(0.5, nu=2.5), RBF([0.4, 0.6])]
NOISE = np.array([0.01, 0.02, 0.005])
WEIGHTS = np.array([1.0, -2.0, 0.5])
EVERY = [Bound(), Delta(), Sampled(3, seed=1)]


def smooth(F, X):
    return np.sin(F[..., 0]) * F[..., 1] + F[..., 2] ** 2 + X[..., 0] * F[..., 0]


def smooth_slopes(F, X):
    return np.stack([np.cos(F[..., 0]) * F[..., 1] + X[..., 0], np.sin(F[..., 0]), 2 * F[..., 2]], axis=-1)


def general(gradient=smooth_slopes, sense="maximize", propagation=None):
    composition = GeneralComposition(3, smooth, gradient=gradient, bounds=[3.0, 1.0, 4.0], sense=sense)
    return composition.propagated(propagation or Delta())


def linear(**options):
    return GeneralComposition(3, lambda F, X: F @ WEIGHTS, **options)


def constant(F, X):
    return np.broadcast_to(WEIGHTS, F.shape)


def groups(n=7, J=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, J)), rng.uniform(0.01, 1, (n, J)), rng.random((n, 2))


# Moments


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("propagation", [Delta(), Sampled(3)])
def test_linear_g_written_as_a_general_one_has_the_linear_moments(propagation, sense):
    means, variances, X = groups()
    exact = Composition(3, weights=WEIGHTS, sense=sense).moments(means, variances, X)
    given = linear(gradient=constant, sense=sense).propagated(propagation)
    np.testing.assert_allclose(given.moments(means, variances, X), exact, rtol=1e-12, atol=1e-12)
    by_differences = linear(sense=sense).propagated(propagation)
    np.testing.assert_allclose(by_differences.moments(means, variances, X), exact, rtol=1e-8)


def test_bound_is_algorithm_3s_line_4():
    means, variances, X = groups()
    mean, variance = general(propagation=Bound()).moments(means, variances, X)
    np.testing.assert_array_equal(mean, smooth(means, X))
    np.testing.assert_allclose(variance, 3 * (9 * variances[:, 0] + variances[:, 1] + 16 * variances[:, 2]))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_bound_is_never_below_delta_where_the_slopes_keep_to_it(J, seed):
    means, variances, X = groups(20, J, seed)
    wave = GeneralComposition(J, lambda F, X: np.sin(2 * F).sum(axis=-1), bounds=np.full(J, 2.0))
    bound = wave.propagated(Bound()).moments(means, variances, X)[1]
    assert (bound >= wave.propagated(Delta()).moments(means, variances, X)[1]).all()


def test_sampled_moments_of_a_square_are_those_of_the_noncentral_chi_square():
    mean, sd = np.array([[0.3], [1.5]]), np.array([[0.8], [0.4]])
    square = GeneralComposition(1, lambda F, X: F[..., 0] ** 2)
    moments = square.propagated(Sampled(1, samples=4096)).moments(mean, sd**2, np.zeros((2, 1)))
    law = ncx2(1, (mean / sd)[:, 0] ** 2, scale=sd[:, 0] ** 2)
    np.testing.assert_allclose(moments, [law.mean(), law.var()], rtol=0.01)
    middle, low, high = credible_interval(square, mean[:1], sd[:1] ** 2, np.zeros((1, 1)))
    np.testing.assert_allclose([low, high], [law.ppf(0.025)[0], law.ppf(0.975)[0]], rtol=0.03, atol=2e-3)


def test_common_random_numbers_have_exact_moments_and_depend_on_the_seed_alone():
    z = standard_normal_points(64, 5, seed=3)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(z.T @ z / 64, np.eye(5), atol=1e-12)
    np.testing.assert_array_equal(z, standard_normal_points(64, 5, seed=3))
    assert not np.array_equal(z, standard_normal_points(64, 5, seed=4))


@pytest.mark.parametrize("propagation", EVERY)
def test_minimising_g_is_maximising_its_negative(propagation):
    means, variances, X = groups()
    down = general(sense="minimize", propagation=propagation)
    up = GeneralComposition(
        3,
        lambda F, X: -smooth(F, X),
        gradient=lambda F, X: -smooth_slopes(F, X),
        bounds=[3.0, 1.0, 4.0],
    ).propagated(propagation)
    np.testing.assert_array_equal(down.moments(means, variances, X), up.moments(means, variances, X))


# Slopes


def test_differences_through_g_equal_its_gradient():
    means, variances, X = groups()
    np.testing.assert_allclose(
        general(None).slopes(means, X, np.sqrt(variances)), smooth_slopes(means, X), atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_differences_keep_to_the_size_of_the_outcomes(scale):
    means, variances, X = groups()
    means[0] = 0.0
    product = GeneralComposition(3, lambda F, X: F[..., 0] * F[..., 1] + scale * F[..., 2])
    slopes = product.slopes(scale * means, X, scale * np.sqrt(variances)) / scale
    expected = np.stack([means[:, 1], means[:, 0], np.ones(len(X))], axis=1)
    np.testing.assert_allclose(slopes, expected, atol=1e-7)


def moments_and_gradients(model, X):
    """Moments of a model's objective, and the gradients of the mean and of the variance in the policy."""
    posterior, pullback = model.posterior_and_pullback(X)
    if isinstance(posterior, Samples):
        S, centred = len(posterior.values), posterior.values - posterior.values.mean(axis=0)
        in_mean, in_variance = Samples(np.full_like(centred, 1 / S)), Samples(2 / S * centred)
        posterior = Moments(posterior.values.mean(axis=0), posterior.values.var(axis=0))
    else:
        one, zero = np.ones(len(X)), np.zeros(len(X))
        in_mean, in_variance = Moments(one, zero), Moments(zero, one)
    return posterior, pullback(in_mean), pullback(in_variance)


@pytest.mark.parametrize("gradient", [smooth_slopes, None])
@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("propagation", EVERY)
def test_gradients_of_a_model_equal_finite_differences(propagation, sense, gradient):
    """The chain rule through g, which depends on the policy, the groups, their means and features."""
    rng = np.random.default_rng(0)
    X, new = rng.random((15, 2)), rng.random((6, 2))
    Y = np.stack([np.sin(4 * X[:, 0]), X[:, -1] ** 2, X.sum(axis=1)], axis=1)
    model = DecomposedGP(
        KERNELS,
        NOISE,
        general(gradient, sense, propagation),
        [0.5, lambda X: np.sin(X[:, 0]), 0.0],
        embed=lambda X: np.stack([X[:, 0] * X[:, 1], np.cos(X[:, 1])], axis=1),
    ).observe(X, Y)
    moments, *gradients = moments_and_gradients(model, new)
    np.testing.assert_allclose(moments, model.predict(new), atol=1e-12)
    for k, gradient in enumerate(gradients):
        numeric = jacobian(lambda x, k=k: model.predict(x)[k], new)
        np.testing.assert_allclose(gradient, numeric, atol=2e-5)


def test_gradients_of_a_linear_g_are_the_linear_compositions():
    rng = np.random.default_rng(0)
    X, new = rng.random((15, 2)), rng.random((6, 2))
    Y = rng.standard_normal((15, 3))
    exact = DecomposedGP(KERNELS, NOISE, Composition(3, weights=WEIGHTS)).observe(X, Y)
    for propagation in (Delta(), Sampled(3)):
        model = DecomposedGP(KERNELS, NOISE, linear(gradient=constant).propagated(propagation)).observe(X, Y)
        found, expected = moments_and_gradients(model, new), moments_and_gradients(exact, new)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


# Misuse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GeneralComposition(2, smooth, bounds=[1.0]), "bounds must be 2 numbers"),
        (lambda: GeneralComposition(1, smooth, bounds=[np.inf]), "finite"),
        (lambda: GeneralComposition(1, smooth, bounds=[-1.0]), "not negative"),
        (lambda: GeneralComposition(1, smooth, sense="max"), "sense"),
        (lambda: GeneralComposition(0, smooth), "groups"),
        (lambda: GeneralComposition(2, smooth).propagated(Bound()), "B_j"),
        (
            lambda: GeneralComposition(2, lambda F, X: F).unsigned(np.ones((4, 2)), np.ones((4, 1))),
            "one each",
        ),
        (
            lambda: GeneralComposition(2, smooth, gradient=lambda F, X: F[0]).slopes(
                np.ones((4, 2)), np.ones((4, 1))
            ),
            "gradient of g",
        ),
        (lambda: Sampled(2, samples=100), "power of two"),
    ],
)
def test_misuse_is_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_mean_of_an_interval_is_the_mean_and_not_its_middle():
    """Of a square: mu^2 + var, which the samples' exact moments give exactly."""
    square = GeneralComposition(2, lambda F, X: F[..., 0] ** 2, sense="minimize")
    mean, low, high = credible_interval(
        square, np.array([[0.3, 5.0]]), np.array([[0.49, 1.0]]), np.zeros((1, 1))
    )
    law = ncx2(1, 0.09 / 0.49, scale=0.49)
    assert mean == pytest.approx(0.09 + 0.49)
    assert [low, high] == pytest.approx(list(law.interval(0.95)), rel=0.03, abs=2e-3)
    assert abs(mean - law.median()) > 0.2


def test_samples_of_groups_end_at_their_ranges():
    """A clipped normal has a closed form: E = a Phi(a') + b (1 - Phi(b')) + what lies between."""
    same = GeneralComposition(1, lambda F, X: F[..., 0])
    mu, s, a, b = 0.4, 0.5, 0.0, 1.2
    lower, upper = (a - mu) / s, (b - mu) / s
    between = mu * (norm.cdf(upper) - norm.cdf(lower)) - s * (norm.pdf(upper) - norm.pdf(lower))
    expected = a * norm.cdf(lower) + b * norm.sf(upper) + between
    found = credible_interval(
        same, np.array([[mu]]), np.array([[s**2]]), np.zeros((1, 1)), np.array([[a, b]])
    )
    assert found == (pytest.approx(expected, abs=2e-3), a, b)
    free = credible_interval(same, np.array([[mu]]), np.array([[s**2]]), np.zeros((1, 1)))
    assert free == pytest.approx((mu, *norm(mu, s).interval(0.95)), abs=0.02)
