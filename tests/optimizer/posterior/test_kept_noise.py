"""Noise that a place keeps: the posterior by its dense formula, and 100 readings of a drifting sensor."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from optimizer import Composition
from optimizer.posterior.decomposed_gp import DecomposedGP
from optimizer.posterior.gaussian_process import GaussianProcess
from optimizer.posterior.kept_noise import KeptNoise
from optimizer.posterior.process_mixture import ProcessMixture

RNG = np.random.default_rng(2)
PLACES = RNG.uniform(0, 1, (4, 2))
KEPT = KeptNoise(0.7, 30.0)
KERNEL = 1.5 * RBF([0.5, 0.5, 20.0])


def readings(n):
    """Points (place, time), with places that repeat; values; and variances."""
    X = np.column_stack([PLACES[RNG.integers(4, size=n)], np.arange(n, dtype=float)])
    return X, RNG.standard_normal(n), RNG.uniform(0.1, 0.6, n)


def dense(X, y, v, at, kernel=KERNEL, kept=KEPT):
    """Mean and variance at points, entry by entry."""
    n = len(X)
    N = np.diag(v)
    for i in range(n):
        for k in range(n):
            if i != k and np.array_equal(X[i, :-1], X[k, :-1]):
                fades = np.exp(-abs(X[i, -1] - X[k, -1]) / kept.hours)
                N[i, k] = kept.share * np.sqrt(v[i] * v[k]) * fades
    K = kernel(X) + N
    cross = kernel(at, X)
    return cross @ np.linalg.solve(K, y), kernel.diag(at) - np.einsum(
        "ij,ji->i", cross, np.linalg.solve(K, cross.T)
    )


@pytest.mark.parametrize("parts", [[12], [1] * 12, [5, 1, 6]])
def test_the_posterior_is_that_of_the_whole_covariance_of_the_noise(parts):
    X, y, v = readings(12)
    at = np.column_stack([PLACES, np.full(4, 14.0)])
    gp, mixture = GaussianProcess(KERNEL, 0.3, kept=KEPT), ProcessMixture([KERNEL], [0.3], [1.0], KEPT)
    for some in np.split(np.arange(12), np.cumsum(parts)[:-1]):
        gp.observe(X[some], y[some], v[some])
        mixture.observe(X[some], y[some], v[some])
    for known in (gp.predict(at), mixture.predict(at), mixture.drawn(RNG).predict(at)):
        for one, other in zip(known, dense(X, y, v, at), strict=True):
            assert one == pytest.approx(other, abs=1e-9)


def test_noise_that_is_not_kept_is_independent():
    X, y, v = readings(9)
    at = np.column_stack([PLACES, np.full(4, 9.0)])
    plain = GaussianProcess(KERNEL, 0.3).observe(X, y, v).predict(at)
    none = GaussianProcess(KERNEL, 0.3, kept=KeptNoise(0.0, 30.0)).observe(X, y, v).predict(at)
    assert np.allclose(plain, none, atol=1e-12)


def test_readings_of_a_drifting_sensor_say_no_more_than_its_drift_lets_them():
    """Humidity: noise variance 0.03, drift of deviation 1 over 720 hours, 100 readings of a still field."""
    noise, drift, hours, n = 0.03, 1.0, 720.0, 100
    times = np.arange(n, dtype=float)
    X, at = np.column_stack([np.zeros(n), times]), np.array([[0.0, float(n)]])
    field = ConstantKernel(400.0) * Matern([1.0, 1e7], nu=1.5)
    kept = KeptNoise(drift**2 / (noise + drift**2), hours)
    white, known = (GaussianProcess(field, noise + drift**2, kept=one) for one in (None, kept))
    rng = np.random.default_rng(0)
    inside, errors = {"white": 0, "known": 0}, []
    for trial in range(300):
        truth, bias, y = 20.0 * rng.standard_normal(), drift * rng.standard_normal(), []
        for _ in range(n):
            y.append(truth + bias + np.sqrt(noise) * rng.standard_normal())
            bias = np.exp(-1 / hours) * bias + np.sqrt(1 - np.exp(-2 / hours)) * drift * rng.standard_normal()
        if not trial:
            white.observe(X, y)
            known.observe(X, y)
            K = field(X) + noise * np.eye(n) + drift**2 * np.exp(-np.abs(times[:, None] - times) / hours)
            gains = {
                "white": np.linalg.solve(field(X) + (noise + drift**2) * np.eye(n), field(X, at))[:, 0],
                "known": np.linalg.solve(K, field(X, at))[:, 0],
            }
            believed = {"white": white.predict(at)[1][0] ** 0.5, "known": known.predict(at)[1][0] ** 0.5}
            assert known.predict(at)[0] == pytest.approx(gains["known"] @ y, abs=1e-6)
        for name, gain in gains.items():
            error = gain @ y - truth
            inside[name] += abs(error) < 1.96 * believed[name]
            if name == "known":
                errors.append(error)
    assert believed["white"] == pytest.approx(0.10, abs=0.005)
    assert believed["known"] == pytest.approx(np.std(errors), rel=0.1)
    assert 0.8 < believed["known"] < 1.05
    assert inside["white"] / 300 < 0.3
    assert inside["known"] / 300 == pytest.approx(0.95, abs=0.03)


def test_groups_keep_what_is_theirs():
    X, _, v = readings(8)
    Y, at = RNG.standard_normal((8, 2)), np.column_stack([PLACES, np.full(4, 9.0)])
    other = KeptNoise(0.2, 5.0)
    model = DecomposedGP([KERNEL, KERNEL], [0.3, 0.3], Composition(2), kept=[KEPT, other])
    means, variances = model.observe(X, Y, np.stack([v, v], axis=1)).predict_groups(at)
    for j, kept in enumerate((KEPT, other)):
        mean, variance = dense(X, Y[:, j], v, at, kept=kept)
        assert means[:, j] == pytest.approx(mean, abs=1e-9)
        assert variances[:, j] == pytest.approx(variance, abs=1e-9)
