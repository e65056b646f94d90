"""Algorithm 1 and its version on candidates: against scikit-learn, against each other, and Theorem 1."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from optimizer import CandidatePosterior, Composition, DecomposedGP, RowStorage
from optimizer.composition.objective import Moments
from optimizer.differences import jacobian
from optimizer.kernels.composed import WeightedSumKernel, compose_kernels, joined_features
from optimizer.posterior.cholesky import pivoted_cholesky

KERNELS = [ConstantKernel(1.5) * RBF(0.3), Matern(0.5, nu=1.5), RationalQuadratic(0.4, 0.5)]
NOISE = np.array([0.01, 0.02, 0.005])


def varying(X):
    return np.stack([np.ones(len(X)), 1 + X[:, 0], -X[:, 0] * X[:, -1]], axis=1)


def cost(X):
    return 3 * X.sum(axis=1)


def data(n=20, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.stack([np.sin(4 * X[:, 0]), X[:, -1] ** 2, X.sum(axis=1)], axis=1), rng.random((6, d))


def test_groups_equal_scikit_learns_regressors_and_compose_by_the_weights():
    X, Y, new = data()
    model = DecomposedGP(KERNELS, NOISE, Composition(3, weights=varying, offset=cost)).observe(X, Y)
    peers = [
        GaussianProcessRegressor(k, alpha=v, optimizer=None).fit(X, Y[:, j])
        for j, (k, v) in enumerate(zip(KERNELS, NOISE, strict=True))
    ]
    means = np.stack([peer.predict(new) for peer in peers], axis=1)
    variances = np.stack([peer.predict(new, return_std=True)[1] ** 2 for peer in peers], axis=1)
    np.testing.assert_allclose(model.predict_groups(new), [means, variances], atol=1e-8)
    mean, variance = model.predict(new)
    np.testing.assert_allclose(mean, (varying(new) * means).sum(axis=1) + cost(new), atol=1e-8)
    np.testing.assert_allclose(variance, (varying(new) ** 2 * variances).sum(axis=1), atol=1e-8)


@pytest.mark.parametrize("T", [0, 20, 300])
def test_means_alone_are_those_of_predictions(T):
    X, Y, new = data(max(T, 1))
    model = DecomposedGP(
        KERNELS,
        NOISE,
        Composition(3),
        [0.5, lambda X: np.sin(X[:, 0]), 0.0],
        embed=lambda X: np.stack([X[:, 0] * X[:, 1], X[:, 0], np.cos(X[:, 1])], axis=1),
    )
    if T:
        Y[3, 1] = np.nan
        model.observe(X, Y)
    np.testing.assert_allclose(model.predict_group_means(new), model.predict_groups(new)[0], atol=1e-9)


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
def test_gradients_equal_finite_differences_with_weights_cost_means_and_features(sense):
    X, Y, new = data()
    model = DecomposedGP(
        KERNELS,
        NOISE,
        Composition(3, weights=varying, offset=cost, sense=sense),
        [0.5, lambda X: np.sin(X[:, 0]), 0.0],
        embed=lambda X: np.stack([X[:, 0] * X[:, 1], X[:, 0], np.cos(X[:, 1])], axis=1),
    ).observe(X, Y)
    posterior, pullback = model.posterior_and_pullback(new)
    np.testing.assert_allclose(posterior, model.predict(new), atol=1e-12)
    one, zero = np.ones(len(new)), np.zeros(len(new))
    for k, slopes in enumerate((Moments(one, zero), Moments(zero, one))):
        numeric = jacobian(lambda x, k=k: model.predict(x)[k], new)
        np.testing.assert_allclose(pullback(slopes), numeric, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 12), st.floats(1e-4, 1.0), st.integers(0, 10**6), st.booleans())
def test_decomposed_variance_is_never_above_entire_variance(J, T, noise, seed, constant):
    """Theorem 1: the aggregate GP has the composed kernel and noise."""
    rng = np.random.default_rng(seed)
    kernels = [ConstantKernel(rng.uniform(0.2, 2)) * RBF(rng.uniform(0.05, 2)) for _ in range(J)]
    W = rng.standard_normal((2, J))
    composition = Composition(J, weights=W[0] if constant else lambda X: W[0] + X @ W[1:])
    X, new = rng.random((T, 1)), rng.random((8, 1))
    noises = noise * rng.uniform(0.5, 2.0, J)
    decomposed = DecomposedGP(kernels, noises, composition).observe(X, rng.standard_normal((T, J)))
    features = joined_features(lambda X: X, composition)
    entire = DecomposedGP(
        [compose_kernels(kernels, composition)], [0.0], Composition(1), embed=features
    ).observe(X, np.zeros((T, 1)), composition.variance(np.tile(noises, (T, 1)), X)[:, None])
    below, above = decomposed.predict(new)[1], entire.predict(new)[1]
    assert (below <= above + 1e-9 * (1 + above)).all()


def test_composed_kernel_is_the_weighted_sum_with_varying_weights():
    X, _, _ = data()
    composition = Composition(3, weights=varying)
    kernel = compose_kernels(KERNELS, composition)
    assert isinstance(kernel, WeightedSumKernel)
    rows = joined_features(lambda X: X, composition)(X)
    W = varying(X)
    expected = sum(np.outer(W[:, j], W[:, j]) * k(X) for j, k in enumerate(KERNELS))
    np.testing.assert_allclose(kernel(rows), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(rows), np.diag(expected), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.4), st.booleans())
def test_candidate_posterior_equals_the_regression_from_scratch(seed, missing, own_noise):
    rng = np.random.default_rng(seed)
    C = rng.random((30, 2))
    kernels = [
        KERNELS[0],
        KERNELS[0],
        KERNELS[1],
        KERNELS[0],
    ]  # shared kernels, and shared noise in two of them
    noises = np.array([0.01, 0.01, 0.02, 0.03])
    means = [0.5, 0.0, 1.0, 2.0]
    weights = np.array([1.0, -2.0, 0.0, 0.5])
    candidates = CandidatePosterior(kernels, noises, Composition(4, weights=weights), means, features=C)
    scratch = DecomposedGP(kernels, noises, Composition(4, weights=weights), means)
    for _ in range(12):
        rows = rng.integers(0, 30, rng.integers(1, 3))
        Y = rng.standard_normal((len(rows), 4))
        Y[rng.random(Y.shape) < missing] = np.nan
        noise = rng.choice([0.01, 0.05], Y.shape) if own_noise else None
        candidates.observe(rows, Y, noise)
        scratch.observe(C[rows], Y, noise)
    np.testing.assert_allclose(candidates.predict(), scratch.predict(C), atol=1e-8)
    np.testing.assert_allclose(
        candidates.predict_groups([3, 7]), scratch.predict_groups(C[[3, 7]]), atol=1e-8
    )


@pytest.mark.parametrize(
    ("storage", "accuracy"),
    [
        (RowStorage(rank_tolerance=1e-10), 1e-5),
        (RowStorage(dtype="float32"), 2e-3),
        (RowStorage(rank_tolerance=1e-10, max_bytes=10**9), 1e-5),
    ],
)
def test_rows_stored_in_fewer_bytes_give_the_same_posterior(storage, accuracy):
    C = np.linspace(0, 1, 400)[:, None]
    kernels = [ConstantKernel(1.5) * RBF(0.2), RBF(0.1), RationalQuadratic(0.3, 1.0)]
    rng = np.random.default_rng(0)
    exact, small = (
        CandidatePosterior(kernels, NOISE, Composition(3), 0.5, features=C, storage=s)
        for s in (RowStorage(), storage)
    )
    for _ in range(60):
        row, Y = rng.integers(0, 400, 1), rng.standard_normal((1, 3))
        Y[0, 1] = np.nan if rng.random() < 0.2 else Y[0, 1]
        exact.observe(row, Y)
        small.observe(row, Y)
    np.testing.assert_allclose(small.predict(), exact.predict(), atol=accuracy)
    assert small.nbytes < exact.nbytes


def test_pivoted_cholesky_gives_the_kernel_matrix_back():
    C = np.random.default_rng(0).random((200, 2))
    for kernel, columns in ((RBF(0.5), 200), (Matern(0.5, nu=0.5), 200)):
        F = pivoted_cholesky(kernel, C, 1e-12, columns)
        np.testing.assert_allclose(F @ F.T, kernel(C), atol=1e-10)
    assert pivoted_cholesky(RBF(0.5), C, 1e-12, 200).shape[1] < 150
    assert pivoted_cholesky(RBF(0.5), C, 0.0, 7).shape == (200, 7)


def test_memory_limit_refuses_the_observation_that_would_pass_it():
    posterior = CandidatePosterior(
        [RBF(0.3)], [0.1], Composition(1), features=np.eye(3)[:, :1], storage=RowStorage(max_bytes=1000)
    )
    with pytest.raises(MemoryError, match="max_bytes"):
        posterior.observe([0], [1.0])


def test_missing_group_skips_that_groups_update_only():
    X, Y, new = data(30)
    Y[[2, 7, 11, 12, 29], 1] = np.nan
    model = DecomposedGP(KERNELS, NOISE, Composition(3)).observe(X, Y)
    assert [len(group) for group in model.groups] == [30, 25, 30]
    on_rows = CandidatePosterior(KERNELS, NOISE, Composition(3), features=X).observe(np.arange(30), Y)
    assert on_rows.observed.tolist() == [30, 25, 30]


def test_group_that_is_always_zero_contributes_exactly_zero():
    X, Y, new = data()
    Y[:, 1] = 0.0
    with_zero = DecomposedGP(KERNELS, NOISE, Composition(3)).observe(X, Y)
    np.testing.assert_array_equal(with_zero.predict_groups(new)[0][:, 1], 0.0)


def test_known_cost_in_the_objective_is_exact():
    X, Y, new = data()
    plain = DecomposedGP(KERNELS, NOISE, Composition(3)).observe(X, Y)
    costly = DecomposedGP(KERNELS, NOISE, Composition(3, offset=cost)).observe(X, Y)
    np.testing.assert_allclose(costly.predict(new)[0] - plain.predict(new)[0], cost(new), rtol=1e-14)
    np.testing.assert_array_equal(costly.predict(new)[1], plain.predict(new)[1])
    nothing = DecomposedGP(KERNELS, NOISE, Composition(3, offset=cost)).observe(X, 0 * Y)
    np.testing.assert_array_equal(nothing.predict(new)[0], cost(new))


def test_minimising_f_and_maximising_minus_f_are_the_same_numbers():
    X, Y, new = data()
    down = DecomposedGP(KERNELS, NOISE, Composition(3, sense="minimize")).observe(X, Y)
    up = DecomposedGP(KERNELS, NOISE, Composition(3)).observe(X, -Y)
    np.testing.assert_array_equal(down.predict(new), up.predict(new))


def test_kept_rows_of_many_candidates_stay_within_their_memory():
    C = np.random.default_rng(0).random((100_000, 2))
    posterior = CandidatePosterior(KERNELS, NOISE, Composition(3), features=C)
    tracemalloc.start()
    for t in range(50):
        posterior.observe([t * 997], np.ones((1, 3)))
    posterior.predict()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DecomposedGP(KERNELS[:2], NOISE, Composition(3)), "2 kernels"),
        (lambda: DecomposedGP(KERNELS, NOISE, Composition(3), [0.0]), "1 prior means"),
        (
            lambda: DecomposedGP(KERNELS, NOISE, Composition(3)).observe([[0.0]], [[1.0, 2.0]]),
            r"shape \(1, 3\)",
        ),
        (lambda: Composition(3, weights=[1.0, 2.0]), "3 numbers"),
        (lambda: Composition(3, sense="least"), "sense"),
        (
            lambda: CandidatePosterior(KERNELS, NOISE, Composition(3), features=np.eye(4)).observe(
                [4], [[1, 2, 3]]
            ),
            "0..3",
        ),
    ],
)
def test_wrong_shapes_are_refused_in_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
