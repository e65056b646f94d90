"""Kernels by cross-validation: predictions by scikit-learn, densities by scipy, and the true one wins."""

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

from optimizer import learn_prior
from scenarios import UserError
from scenarios.questions import kernel_choice
from scenarios.questions.kernel_choice import KernelChoice, Scores, choose_kernel, log_density
from simulators.stations import Stations
from simulators.stations.sphere import points_on_sphere
from simulators.weather.sensor_network import NOISE_VARIANCE


def drawn(n=120, kernel=None, seed=0):
    """Stations whose readings are of Gaussian processes over the sphere, with the noise of the package."""
    rng = np.random.default_rng(seed)
    lon, lat = rng.uniform(-105, -85, n), rng.uniform(30, 45, n)
    K = (kernel or Matern(0.8, nu=0.5))(points_on_sphere(lon, lat) / 1000.0) + 1e-9 * np.eye(n)
    fields = np.linalg.cholesky(K) @ rng.standard_normal((n, 3))
    readings = [290.0, 55.0, 8.0] + [4.0, 9.0, 1.5] * fields
    readings += np.sqrt(NOISE_VARIANCE) * rng.standard_normal((n, 3))
    names = np.array([f"S{i}" for i in range(n)])
    time = np.full(n, np.datetime64("NaT", "s"))
    return Stations(names, names, lon, lat, time, *readings.T)


def test_a_density_is_that_of_a_normal_distribution():
    error, variance = np.array([0.3, -2.0, 0.0]), np.array([0.5, 4.0, 1.0])
    np.testing.assert_allclose(log_density(error, variance), norm.logpdf(error, scale=np.sqrt(variance)))


def test_a_fold_is_predicted_as_by_scikit_learn():
    stations, out = drawn(60), np.arange(60) % 5 == 2
    density, error = kernel_choice._predicted("matern-3/2", stations, out, False, 7, 1)
    X, Y = points_on_sphere(stations.lon, stations.lat) / 1000.0, stations.readings
    rows = np.flatnonzero(~out)
    prior = learn_prior("matern-3/2", X[rows], Y[rows], noise_variances=NOISE_VARIANCE, restarts=1, seed=7)
    for j in range(3):
        oracle = GaussianProcessRegressor(prior.kernels[j], alpha=NOISE_VARIANCE[j], optimizer=None)
        oracle.fit(X[rows], Y[rows, j] - prior.means[j])
        mean, deviation = oracle.predict(X[out], return_std=True)
        np.testing.assert_allclose(error[:, j], mean + prior.means[j] - Y[out, j], atol=1e-6)
        scale = np.sqrt(deviation**2 + NOISE_VARIANCE[j])
        np.testing.assert_allclose(
            density[:, j], norm.logpdf(Y[out, j], mean + prior.means[j], scale), atol=1e-6
        )


@pytest.mark.parametrize(("kernel", "true"), [(Matern(0.8, nu=0.5), "matern-1/2"), (RBF(0.6), "rbf")])
def test_the_kernel_that_made_the_readings_is_chosen(kernel, true):
    said = []
    choice = choose_kernel(drawn(kernel=kernel), families=("rbf", "matern-1/2"), folds=3, seen=said.append)
    other = "matern-1/2" if true == "rbf" else "rbf"
    apart, error = choice.difference(other)
    assert choice.best == true and apart < -2 * error < 0
    assert said[0] == "rbf, fold 1 of 3; family 1 of 2" and len(said) == 6


def test_every_station_is_predicted_once_and_the_same_seed_gives_the_same():
    stations = drawn(40)
    one, two, other = (
        choose_kernel(stations, families=("matern-1/2",), folds=4, seed=seed) for seed in (3, 3, 4)
    )
    density = one.scores["matern-1/2"].density
    assert density.shape == (40, 3) and np.isfinite(density).all()
    assert (density == two.scores["matern-1/2"].density).all()
    assert (density != other.scores["matern-1/2"].density).any()


def test_differences_are_paired_by_station_and_errors_are_root_mean_squares():
    rng = np.random.default_rng(0)
    scores = {name: Scores(rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), 1.0) for name in "ab"}
    choice = KernelChoice(scores, 5, 0, False, 30)
    totals = {name: one.density.sum(axis=1) for name, one in scores.items()}
    best, worse = sorted(totals, key=lambda name: -totals[name].mean())
    d = totals[worse] - totals[best]
    assert choice.best == best and choice.difference(best) == (0.0, 0.0)
    assert choice.difference(worse) == pytest.approx((d.mean(), np.sqrt(d.var(ddof=1) / 30)))
    told = choice.to_dict()["families"]["a"]["quantities"]["wind"]
    assert told["rmse"] == pytest.approx(np.sqrt((scores["a"].error[:, 2] ** 2).mean()))
    assert told["minus_best"] == pytest.approx(
        min(0.0, scores["a"].density[:, 2].mean() - scores["b"].density[:, 2].mean())
    )
    assert choice.rows()[0][0] == best and choice.rows()[0][2] == "best"


def test_of_very_many_stations_some_take_part(monkeypatch):
    monkeypatch.setattr(kernel_choice, "MOST_STATIONS", 30)
    choice = choose_kernel(drawn(50), families=("matern-1/2",), folds=2)
    assert (choice.stations, choice.drawn_from) == (30, 50)


def test_folds_that_cannot_be_are_refused():
    for folds in (1, 30):
        with pytest.raises(UserError, match=f"--folds {folds}; accepted: 2 to 20"):
            choose_kernel(drawn(40), folds=folds)
    with pytest.raises(UserError, match="kernel family 'cubic'; accepted: rbf"):
        choose_kernel(drawn(40), families=("cubic",))


def test_the_command_prints_the_families_and_the_lines_of_a_scenario(policyloop, tmp_path):
    path = tmp_path / "s.csv"
    frame = drawn(40).to_dataframe().drop(columns=["time", "elevation"])
    frame = frame.rename(columns={"ids": "id", "names": "name"})
    frame.to_csv(path, index=False)
    command = ["stations", path, "--kernels", "--folds", "2", "--option", "quality=off"]
    columns = ",".join(f"{name}={name}" for name in frame)
    command += ["--columns", columns, "--units", "temperature=K,humidity=percent,wind=m/s"]
    code, out, error = policyloop(*command, "--quiet")
    assert (code, error) == (0, "")
    assert "2-fold cross-validation on 40 stations" in out and "standard error" in out
    code, text, _ = policyloop(*command, "--format", "json", "--quiet")
    told = json.loads(text)["kernels"]
    assert code == 0 and set(told["families"]) == set(kernel_choice.KERNELS)
    assert f'family = "{told["best"]}"' in out and told["families"][told["best"]]["minus_best"] == 0
    code, _, error = policyloop("stations", path, "--learn-noise")
    assert code == 2 and error.count("\n") == 1 and "--kernels" in error
    code, _, error = policyloop(*command[:3], "--folds", "30", *command[5:])
    assert code == 2 and error.count("\n") == 1 and "--folds 30" in error
